"""What a schema says about the shape of a value: its members, whatever they stand behind. Pure.

For kits and forms, which need to know what can be filled in. Whether a value fits is `schemas.problems` alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from approvals import jsontext
from approvals.schema_check import subschemas

Schema = dict[str, Any]


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
    todo, seen = [node], set[int]()
    while todo:
        part = todo.pop(0)
        if not isinstance(part, dict) or id(part) in seen:
            continue
        seen.add(id(part))
        whole = resolve(root, part)
        yield whole
        for keyword in ("anyOf", "oneOf"):
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
        reference = part.get("$ref")
        if isinstance(reference, str) and (target := local(schema, reference)) is not None:
            todo.append(target)
        todo += part["allOf"] if isinstance(part.get("allOf"), list) else []
        _merge(merged, {key: value for key, value in part.items() if key not in ("$ref", "allOf")})
    return merged


def _merge(into: dict[str, Any], part: dict[str, Any]) -> None:
    """What stands nearer wins; members and required names of all parts count."""
    for keyword, value in part.items():
        known = into.get(keyword)
        if isinstance(known, dict) and isinstance(value, dict) and keyword in ("properties", "$defs", "definitions"):
            into[keyword] = known | {name: inner for name, inner in value.items() if name not in known}
        elif isinstance(known, list) and isinstance(value, list) and keyword == "required":
            into[keyword] = known + [name for name in value if name not in known]
        elif keyword not in into:
            into[keyword] = value


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
