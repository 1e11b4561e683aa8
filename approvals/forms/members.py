"""Which members an object has in a form: those its schema names, those that are there, and those added to a map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext as _

from approvals import jsontext, schemas
from approvals.forms import kinds, texts
from approvals.forms.fields import Field

if TYPE_CHECKING:
    from approvals.forms.building import Builder, Spot
    from approvals.forms.kinds import Plan, Schema
    from approvals.jsontext import Node


NAMING = {"properties", "patternProperties", "additionalProperties", "unevaluatedProperties"}


def lay_out(builder: Builder, spot: Spot, plan: Plan, made: Field) -> None:
    """Give an object its members, in the order of the schema; what the schema does not name stands behind."""
    members = dict(spot.node.members) if spot.node is not None and spot.node.kind == "object" else {}
    properties = plan.node.get("properties") if isinstance(plan.node.get("properties"), dict) else {}
    needed = plan.node.get("required") if isinstance(plan.node.get("required"), list) else []
    for name, inner in (properties or {}).items():
        if (inner is not False or name in members) and not texts.is_fragile_name(name):
            there = members.get(name)
            made.children.append(builder.field(builder.inside(spot, name, inner, there, name in (needed or []))))
    for name, (inner, condition) in kinds.conditional(builder.root, plan.node).items():
        if name not in (properties or {}):
            made.children.append(
                builder.field(builder.inside(spot, name, inner, members.get(name), conditional=condition))
            )
    _others(builder, spot, plan, made, members)


def _others(builder: Builder, spot: Spot, plan: Plan, made: Field, members: dict[str, Node]) -> None:
    known = {child.label for child in made.children}
    added = _added(builder, spot, plan, made, known | members.keys())
    for name in [*members, *added]:
        if name not in known:
            inner = schema_of(builder, plan.node, name)
            child = builder.inside(
                spot, name, {} if inner is False else inner, members.get(name), is_new=name not in members
            )
            made.children.append(builder.field(child))
            made.children[-1].can_remove = name not in members
    made.names_name = builder.posted.names.about("names", spot.pointer)
    made.new_name = builder.posted.names.about("new", spot.pointer)
    made.new_names = jsontext.dumps(added)
    # Arguments may only grow where their schema says so; an answer of any shape may hold anything.
    is_free = plan.node.get("type") == "object" and not plan.node.keys() & NAMING
    made.can_add = schemas.invites(plan.node) or (is_free and (bool(spot.pointer) or spot.node is None))


def schema_of(builder: Builder, node: Schema, name: str) -> Any:
    """The schema of a member that is not named; False where there may be none of that name."""
    patterns = node.get("patternProperties")
    found = [inner for one, inner in patterns.items() if builder.matches(one, name)] if patterns else []
    if found:
        return found[0] if len(found) == 1 else {"allOf": found}
    extra = node.get("additionalProperties", node.get("unevaluatedProperties", True))
    return {} if extra is True else extra


def _added(builder: Builder, spot: Spot, plan: Plan, made: Field, taken: set[str]) -> list[str]:
    """Names added in this form and not taken out again; one that may not stand here is told and kept for mending."""
    names = [name for name in builder.posted.new_names(spot.pointer) if not builder.removed(spot, name)]
    wanted = builder.posted.about("new", spot.pointer)
    if wanted and builder.posted.action("add", spot.pointer):
        why_not = _why_not(builder, plan.node, wanted, taken | {*names})
        made.new_shown = wanted if why_not else ""
        made.problems += [why_not] if why_not else []
        names += [] if why_not else [wanted]
    elif wanted:
        made.new_shown = wanted
    return [name for name in dict.fromkeys(names) if name not in taken and not texts.is_fragile_name(name)]


def _why_not(builder: Builder, node: Schema, name: str, taken: set[str]) -> str:
    if name in taken:
        return _("There is a member of this name already.")
    if texts.is_fragile_name(name):
        return _("This name holds characters that a form cannot carry. Write it as raw JSON.")
    names = node.get("propertyNames", True)
    if schema_of(builder, node, name) is False or not schemas.holds(builder.root, names, jsontext.dumps(name)):
        return _("A member may not have this name.")
    return ""
