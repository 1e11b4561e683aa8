"""What a schema says about the shape of a value: its members, whatever they stand behind. Pure.

For kits and forms, which need to know what can be filled in. Whether a value fits is `schemas.problems` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import unquote

from approvals import jsontext
from approvals.validation.walking import REFERENCES, Schema, prefix, rest, rewritten, subschemas

TIGHTEST: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}
UNITED = ("$defs", "definitions", "dependencies", "dependentRequired", "dependentSchemas", "patternProperties")
CONDITION = ("if", "then", "else")
WHOLE = "whole"  # the name that a schema has among the definitions of a part of it
APART = ("anyOf", "oneOf", "not", "if")  # two of them are no single one: the second stays a part of its own


def members(schema_text: str) -> dict[str, Schema]:
    """The members that a value may have by this schema, behind references, choices and conditions too."""
    root = jsontext.loads(schema_text)
    return members_of(root, root) if isinstance(root, dict) else {}


def members_of(root: Schema, node: Any) -> dict[str, Schema]:
    """The same for a part of a schema; a member that several parts name is the first that says a type."""
    found: dict[str, Schema] = {}
    for part in in_place(root, node):
        for name, inner in (part["properties"] if isinstance(part.get("properties"), dict) else {}).items():
            if inner is False:
                continue
            known, new = found.get(name), resolve(root, inner)
            if known is None or ("type" in new and not {"type", "enum"} & known.keys()):
                found[name] = new
    return found


def in_place(root: Schema, node: Any) -> Iterator[Schema]:
    """The schema and every schema that may apply to the same value, resolved; each once."""
    todo, seen = [node], dict[int, Any]()  # what was seen is held: the number of a thing that is gone is given again
    while todo:
        part = todo.pop(0)
        if not isinstance(part, dict) or id(part) in seen:
            continue
        seen[id(part)] = part
        whole = resolve(root, part)
        yield whole
        for keyword in ("anyOf", "oneOf", "allOf"):
            todo += whole[keyword] if isinstance(whole.get(keyword), list) else []
        todo += [whole[keyword] for keyword in ("then", "else") if keyword in whole]


def resolve(schema: dict[str, Any], node: Any) -> dict[str, Any]:
    """A part of `schema` with its local `$ref` followed and `allOf` merged where that says the same.

    For kits and forms, which only need to know what can be filled in: what is not merged stays and is still checked.
    """
    merged: dict[str, Any] = {}
    todo = [node]
    seen: set[int] = set()
    while todo:
        part = todo.pop(0)
        if not isinstance(part, dict) or id(part) in seen:
            continue
        seen.add(id(part))
        todo += [target for target in _referred(schema, part) if target is not None]
        todo += part["allOf"] if isinstance(part.get("allOf"), list) else []
        _merge(merged, {key: value for key, value in part.items() if key not in (*REFERENCES, "allOf")})
    return merged


def _referred(schema: Schema, part: Schema) -> list[Any]:
    return [local(schema, part[name]) for name in REFERENCES if isinstance(part.get(name), str)]


def _merge(into: dict[str, Any], part: dict[str, Any]) -> None:
    """What stands nearer wins where only one can be shown; members, required names and limits of all parts count."""
    apart = [name for name in APART if name in into and name in part and into[name] != part[name]]
    if apart:
        kept = [name for name in part if name in apart or (name in CONDITION and "if" in apart)]
        into["allOf"] = [*into.get("allOf", []), {name: part[name] for name in kept}]
        part = {name: value for name, value in part.items() if name not in kept}
    for keyword, value in part.items():
        into[keyword] = _both(keyword, into[keyword], value) if keyword in into else value


def _both(keyword: str, known: Any, value: Any) -> Any:
    if isinstance(known, dict) and isinstance(value, dict):
        if keyword == "properties":
            return known | {name: _both_of(known[name], one) if name in known else one for name, one in value.items()}
        return value | known if keyword in UNITED else known
    if isinstance(known, list) and isinstance(value, list) and keyword == "required":
        return known + [name for name in value if name not in known]
    if isinstance(known, list) and isinstance(value, list) and keyword == "enum":
        return [one for one in known if one in value] or known
    if keyword in TIGHTEST:
        return _tighter(TIGHTEST[keyword], known, value)
    return "integer" if keyword == "type" and {str(known), str(value)} == {"integer", "number"} else known


def _both_of(known: Any, value: Any) -> Any:
    """One member that two parts of a schema speak of."""
    if known is value or known is False or value is True:
        return known
    return value if value is False or known is True else {"allOf": [known, value]}


def _tighter(choose: Callable[..., Any], known: Any, value: Any) -> Any:
    try:
        return choose(known, value, key=lambda one: Decimal(str(one)))
    except InvalidOperation:
        return known


def alone(root: Schema, node: Schema) -> Schema:
    """A part of a schema as a schema of its own. What it refers to comes along: the definitions, or else the whole."""
    shared: Schema = {name: root[name] for name in ("$schema", "$defs", "definitions") if name in root}
    near: Schema = {**shared, **node}
    nodes = list(subschemas(near))
    named = [one["$ref"] for one in nodes if isinstance(one.get("$ref"), str)]
    is_complete = not {"$defs", "definitions"} & shared.keys() & node.keys() and all(map(_is_shared, named))
    if is_complete or any("$id" in one for one in nodes[1:]):
        return near
    home = "definitions" if "definitions" in root and "$defs" not in root else "$defs"
    whole = {name: value for name, value in root.items() if name not in ("$schema", "$id", "id")}
    moved: Schema = _moved(node, f"#/{home}/{WHOLE}")
    named_draft = {name: root[name] for name in ("$schema",) if name in root}
    definitions: Schema = {**moved.get(home, {}), WHOLE: _moved(whole, f"#/{home}/{WHOLE}")}
    return {**named_draft, **moved, home: definitions}


def _is_shared(reference: str) -> bool:
    """Whether a reference leads to a definition, or to a name, which is found wherever it stands."""
    return reference.startswith(("#/$defs/", "#/definitions/")) or not (reference == "#" or reference.startswith("#/"))


def _moved(value: Any, place: str) -> Any:
    """A part of a schema whose references lead into the whole, which stands at another place now."""

    def led(node: Schema) -> Schema:
        reference = node.get("$ref")
        leads = isinstance(reference, str) and (reference == "#" or reference.startswith("#/"))
        return node | {"$ref": place + reference[1:]} if leads and isinstance(reference, str) else node

    return rewritten(value, led)


def is_fixed(node: Schema) -> bool:
    """Whether the schema keeps a place from being changed. `editable` is how some agents say it."""
    return node.get("readOnly") is True or node.get("editable") is False or node.get("x-editable") is False


def kept(schema_text: str, pointers: Iterable[str]) -> list[str]:
    """The places that a schema keeps from being changed, or stand inside one that it keeps."""
    if "readOnly" not in schema_text and "editable" not in schema_text:
        return []
    places = _Places(schema_text)
    return [one for one in pointers if any(is_fixed(node) for node in places.along(one))]


def secret(schema_text: str, pointers: Iterable[str]) -> list[str]:
    """The places whose values a schema says are not for everybody's eyes."""
    if "writeOnly" not in schema_text and '"password"' not in schema_text:
        return []
    places = _Places(schema_text)
    return [one for one in pointers if any(_is_secret(node) for node in places.along(one))]


def _is_secret(node: Schema) -> bool:
    return node.get("writeOnly") is True or node.get("format") == "password"


class _Places:
    """The schema of each place of a value, found once for all that stands inside it."""

    def __init__(self, schema_text: str) -> None:
        root = jsontext.loads(schema_text)
        self.root: Schema = root if isinstance(root, dict) else {}
        self.known: dict[tuple[str, ...], Schema] = {(): resolve(self.root, self.root)}

    def along(self, pointer: str) -> Iterator[Schema]:
        """The schemas on the way to a place, the outermost left out."""
        way = tuple(jsontext.parts(pointer))
        for end in range(1, len(way) + 1):
            if way[:end] not in self.known:
                self.known[way[:end]] = self.inside(self.known[way[: end - 1]], way[end - 1])
            yield self.known[way[:end]]

    def inside(self, node: Schema, part: str) -> Schema:
        inner = members_of(self.root, node).get(part)
        if inner is None:
            places = prefix(node)
            at = int(part) if part.isascii() and part.isdigit() and len(part) < 6 else -1
            inner = places[at] if 0 <= at < len(places) else rest(node)
        return resolve(self.root, inner) if isinstance(inner, dict) else {}


def invites(node: Schema) -> bool:
    """Whether a schema invites members that it does not name; one that says nothing of them does not."""
    said = [node.get(name, False) for name in ("additionalProperties", "unevaluatedProperties")]
    return any(one is not False for one in said) or bool(node.get("patternProperties"))


def local(schema: Any, reference: str) -> Any:
    """What a `$ref` inside this document means (pointer or `$anchor`), or None."""
    if not reference.startswith("#"):
        return None
    fragment = unquote(reference[1:])
    if fragment and not fragment.startswith("/"):
        anchored = (node for node in subschemas(schema) if fragment in _anchors(node))
        return next(anchored, None)
    node = schema
    for part in jsontext.parts(fragment):
        if isinstance(node, list) and part.isascii() and part.isdigit() and int(part) < len(node):
            node = node[int(part)]
        elif isinstance(node, dict) and part in node:
            node = node[part]
        else:
            return None
    return node


def _anchors(node: dict[str, Any]) -> tuple[Any, ...]:
    own_id = node.get("$id")
    return (node.get("$anchor"), node.get("$dynamicAnchor"), own_id[1:] if isinstance(own_id, str) else None)
