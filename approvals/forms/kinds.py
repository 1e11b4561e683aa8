"""Which control a place gets, from its schema and from the value that is there. Pure.

Nothing is coerced: where value and schema disagree, or the schema leaves it open, the place is a box of raw JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.translation import gettext as _

from approvals import jsontext, schemas
from approvals.foreign import glyphs
from approvals.forms import texts, ticks
from approvals.jsontext import Document, Node

Schema = dict[str, Any]
MOST_CONDITIONAL = 60
TYPES = {"true": "boolean", "false": "boolean"}  # of a node's kind; the others are called as in JSON Schema
HINTS = {
    "object": ("properties", "required", "additionalProperties", "patternProperties", "minProperties", "if"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
SUBSTANCE = {"type", "properties", "const", "enum", "items", "prefixItems", "anyOf", "oneOf", "additionalProperties"}


@dataclass(frozen=True)
class Plan:
    """What is to be drawn at one place."""

    kind: str  # text number boolean choice ticks constant fixed object array branches raw
    node: Schema = field(default_factory=dict)
    nullable: bool = False
    choices: tuple[tuple[Any, str], ...] = ()  # value, title
    branches: tuple[tuple[str, Schema], ...] = ()  # title, schema
    reason: str = ""  # why it is raw
    can_open: bool = False  # it is raw only until somebody asks for fields


def plan(root: Schema, schema: Any, value: Node | None, document: Document | None) -> Plan:
    """The plan for a place whose value is a node of `document`, or absent."""
    node, nullable = _without_null(root, schemas.resolve(root, schema))
    if value is not None and value.kind == "null" and nullable:
        value = None
    found = _constant_or_choice(root, node) or _branching(root, node) or _ticks(root, node) or _by_type(node, value)
    if found.kind == "ticks" and not _can_be_ticked(found, value, document):
        found = _by_type(node, value)
    found = _with_null(found) if nullable else found
    misfit = value is not None and document is not None and _misfit(found, value, document)
    return replace(found, kind="raw", reason=misfit) if misfit else found


def _without_null(root: Schema, node: Schema) -> tuple[Schema, bool]:
    """The schema without its `null`, and whether it had one beside something else."""
    kinds = node.get("type")
    if isinstance(kinds, list) and "null" in kinds and len(kinds) > 1:
        rest = [kind for kind in kinds if kind != "null"]
        return _of_types({**node, "type": rest[0] if len(rest) == 1 else rest})
    for keyword in ("anyOf", "oneOf"):
        parts = node.get(keyword)
        if not isinstance(parts, list):
            continue
        branches = [schemas.resolve(root, part) for part in parts]
        rest = [branch for branch in branches if branch.get("type") != "null" and branch.get("const", ...) is not None]
        if len(rest) == len(branches) or not rest:
            continue
        outer = {name: inner for name, inner in node.items() if name != keyword}
        if len(rest) == 1:
            return schemas.resolve(root, {**outer, "allOf": [*rest, *_apart(outer)]}), True
        return {**outer, keyword: rest}, True
    return node, False


def _of_types(node: Schema) -> tuple[Schema, bool]:
    """A schema of several types, null among them: an `enum` or `const` beside them may still leave null out."""
    values = [node["const"]] if "const" in node else node.get("enum", [None])
    if None in values and isinstance(node.get("enum"), list):
        return {**node, "enum": [value for value in values if value is not None] or values}, len(values) > 1
    return node, None in values


def _with_null(found: Plan) -> Plan:
    """The same where null may stand too: beside a constant that makes a choice of two, and any shape may be null."""
    if found.kind == "constant" and found.node["const"] is not None:
        return replace(found, kind="choice", nullable=True, choices=((found.node["const"], ""),))
    null = {"type": "null"}
    branches = tuple((title, {"anyOf": [branch, null]}) for title, branch in found.branches)
    return replace(found, nullable=True, branches=branches)


def _apart(node: Schema) -> list[Any]:
    """What `resolve` could not merge."""
    return list(node.get("allOf", ()))


def _constant_or_choice(root: Schema, node: Schema) -> Plan | None:
    if "const" in node:
        return Plan("constant", node)
    if isinstance(node.get("enum"), list):
        return Plan("choice", node, choices=tuple((value, "") for value in node["enum"]))
    for keyword in ("oneOf", "anyOf"):
        branches = [schemas.resolve(root, part) for part in node.get(keyword) or ()]
        values = [_only_value(branch) for branch in branches]
        if len(branches) > 1 and all(len(found) == 1 for found in values):
            titled = zip(values, (str(branch.get("title", "")) for branch in branches), strict=True)
            return Plan("choice", node, choices=tuple((found[0], title) for found, title in titled))
    return None


def _only_value(branch: Schema) -> list[Any]:
    """The one value that a branch is; before draft-06 an `enum` of one said so."""
    found = [branch["const"]] if "const" in branch else branch.get("enum", ())
    return list(found) if "properties" not in branch else []


def _branching(root: Schema, node: Schema) -> Plan | None:
    for keyword in ("oneOf", "anyOf"):
        branches = [schemas.resolve(root, part) for part in node.get(keyword) or ()]
        # Branches that only say what is required (or forbidden) are conditions on one shape, not shapes.
        if len(branches) < 2 or not all(branch.keys() & SUBSTANCE for branch in branches):
            continue
        outer = {name: inner for name, inner in node.items() if name not in (keyword, "title")}
        merged = [schemas.resolve(root, {**outer, "allOf": [branch, *_apart(outer)]}) for branch in branches]
        return Plan("branches", node, branches=tuple((_title(b), m) for b, m in zip(branches, merged, strict=True)))
    kinds = _types(node)
    if len(kinds) > 1 and set(kinds) != {"integer", "number"}:
        return Plan("branches", node, branches=tuple((kind, {**node, "type": kind}) for kind in kinds))
    return None


def _ticks(root: Schema, node: Schema) -> Plan | None:
    """A list of some of a few values, none of them twice: each is there or not."""
    if node.get("uniqueItems") is not True or _types(node) not in ([], ["array"]) or schemas.prefix(node):
        return None
    inner = plan(root, node.get("items", True), None, None)
    if inner.kind != "choice" or inner.nullable or not ticks.fits(inner.choices, ()):
        return None
    return Plan("ticks", node, choices=inner.choices)


def _can_be_ticked(found: Plan, value: Node | None, document: Document | None) -> bool:
    if value is None or document is None:
        return True
    return value.kind == "array" and ticks.fits(found.choices, [document.source(item) for item in value.items])


def _types(node: Schema) -> list[str]:
    kinds = node.get("type", [])
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _title(branch: Schema) -> str:
    kinds = branch.get("type")
    return str(branch.get("title") or (kinds if isinstance(kinds, str) else "") or jsontext.dumps(branch)[:40])


def _by_type(node: Schema, value: Node | None) -> Plan:
    kinds = _types(node)
    if value is not None:
        kind = TYPES.get(value.kind, value.kind)
    elif kinds:
        kind = "number" if "number" in kinds else kinds[0]
    else:
        kind = next((name for name, hints in HINTS.items() if node.keys() & set(hints)), "")
    control = {"string": "text", "integer": "number", "null": "raw", "": "raw"}.get(kind, kind)
    if control == "array" and value is None and not (isinstance(node.get("items"), dict) or schemas.prefix(node)):
        return Plan("raw", node)
    return Plan(control if control in ("text", "number", "boolean", "object", "array") else "raw", node)


def _misfit(found: Plan, value: Node, document: Document) -> str:
    """Why the value that is there cannot stand in the control; "" if it can."""
    if found.kind == "constant" and not jsontext.same(document.source(value), jsontext.dumps(found.node["const"])):
        return _("The value is not the one that the schema allows.")
    if found.kind in ("text", "number", "boolean", "object", "array") and not _is_of_type(found.node, value):
        return _("The value is of another type than the schema asks for.")
    if value.kind == "string" and found.kind == "text" and texts.is_fragile(value.text):
        return _("The text holds characters that a browser would not send back.")
    if value.kind == "string" and found.kind == "text" and glyphs.conceals(value.text):
        return _("The text holds characters that cannot be seen: they stand here as escapes.")
    if value.kind == "object" and any(texts.is_fragile_name(name) for name, _node in value.members):
        return _("A name holds characters that a browser would not send back.")
    if value.kind == "object" and len(value.members) != len({name for name, _node in value.members}):
        return _("A name stands here more than once.")
    return ""


def _is_of_type(node: Schema, value: Node) -> bool:
    kinds = _types(node)
    kind = TYPES.get(value.kind, value.kind)
    return not kinds or kind in kinds or (kind == "number" and "integer" in kinds)


def conditional(root: Schema, schema: Any) -> dict[str, tuple[Any, Schema]]:
    """The members that a schema knows only under a condition: their schema, and the condition as a schema.

    Conditions are `if`, and a member being there (`dependentSchemas`, and `dependencies` before it).
    """
    found: dict[str, tuple[Any, list[Any]]] = {}
    for condition, brings in _conditions(root, schema):
        for name, inner in _members(root, brings).items():
            if name in found or len(found) < MOST_CONDITIONAL:
                found.setdefault(name, (inner, []))[1].append(condition)
    return {name: (inner, {"anyOf": conditions}) for name, (inner, conditions) in found.items()}


def _conditions(root: Schema, schema: Any) -> Iterator[tuple[Any, Any]]:
    """Each condition with what the schema says then; one inside another holds only when both do."""
    todo: list[tuple[Any, list[Any]]] = [(schema, [])]
    seen: set[int] = set()
    while todo:
        part, guards = todo.pop(0)
        if not isinstance(part, dict) or id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part.get("$ref"), str):
            todo.append((schemas.local(root, part["$ref"]), guards))
        todo += [(one, guards) for one in (part["allOf"] if isinstance(part.get("allOf"), list) else [])]
        brings = [(part["if"], part.get("then")), ({"not": part["if"]}, part.get("else"))] if "if" in part else []
        for keyword in ("dependentSchemas", "dependencies"):
            named = part[keyword] if isinstance(part.get(keyword), dict) else {}
            brings += [({"required": [name]}, inner) for name, inner in named.items()]
        for condition, then in brings:
            if isinstance(then, dict):
                yield {"allOf": [*guards, condition]}, then
                todo.append((then, [*guards, condition]))


def _members(root: Schema, schema: Any) -> Schema:
    named = schemas.resolve(root, schema).get("properties")
    return {name: inner for name, inner in named.items() if inner is not False} if isinstance(named, dict) else {}
