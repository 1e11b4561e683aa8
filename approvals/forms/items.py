"""Which items a list has in a form, in which order, and by which schema each is laid out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from approvals import jsontext, schemas
from approvals.forms.fields import Field

if TYPE_CHECKING:
    from approvals.forms.building import Builder, Spot
    from approvals.forms.kinds import Plan, Schema

MOST_ITEMS = 60
MOST_PLACES = 10  # of a tuple, laid out before anything stands there


def lay_out(builder: Builder, spot: Spot, plan: Plan, made: Field) -> None:
    """Give a list its items: an item keeps the number it was first shown with, wherever it is moved to."""
    nodes = spot.node.items if spot.node is not None and spot.node.kind == "array" else ()
    first = len(schemas.prefix(plan.node))
    places = _places(spot, plan.node, first)
    made.items_name = builder.posted.names.about("items", spot.pointer)
    made.items = _present(builder, spot, len(nodes), places)
    rest = schemas.rest(plan.node)
    made.can_add = len(made.items) < _most(plan.node) and (rest is not False or len(made.items) < first)
    for index in made.items:
        node = nodes[index] if index < len(nodes) else None
        is_place = node is None and index < places
        child = builder.field(
            builder.inside(
                spot, str(index), schema_of(plan.node, index), node,
                is_item=True, is_place=is_place, is_new=node is None and not is_place,
            )
        )  # fmt: skip
        made.children.append(child)
    _moves(made, first)
    made.taken_out = [
        (index, jsontext.printable(builder.source(node) or ""))
        for index, node in enumerate(nodes)
        if index not in made.items
    ]


def schema_of(node: Schema, index: int) -> Any:
    first = schemas.prefix(node)
    if index < len(first):
        return first[index]
    rest = schemas.rest(node)
    return rest if isinstance(rest, dict) else {}


def _places(spot: Spot, node: Schema, first: int) -> int:
    """How many places are laid out whether or not something stands there: a tuple's, or those a new list must have."""
    least = str(node.get("minItems", "0"))
    needed = int(least) if spot.required and spot.node is None and least.isdigit() else 0
    return min(MOST_PLACES, max(first, needed))


def _most(node: Schema) -> int:
    most = str(node.get("maxItems", MOST_ITEMS))
    return min(MOST_ITEMS, int(most)) if most.isdigit() else MOST_ITEMS


def _present(builder: Builder, spot: Spot, count: int, places: int) -> list[int]:
    """The items shown, in order: those of the value, less those taken out, and those added."""
    posted = builder.posted
    listed = posted.numbers("items", spot.pointer)
    items = list(range(max(count, places))) if listed is None else list(dict.fromkeys(listed))[:MOST_ITEMS]
    if posted.action("add", spot.pointer):
        items.append(max([*items, count - 1]) + 1)
    items = [index for index in items if not builder.removed(spot, index)]
    for back in range(count):
        if back not in items and posted.action("restore", spot.pointer + jsontext.pointer(back)):
            items.insert(next((at for at, index in enumerate(items) if index > back), len(items)), back)
    for at, index in enumerate(items):
        step = _step(builder, spot.pointer + jsontext.pointer(index))
        if step and 0 <= at + step < len(items):
            items[at], items[at + step] = items[at + step], items[at]
            break
    return items


def _step(builder: Builder, pointer: str) -> int:
    return builder.posted.action("down", pointer) - builder.posted.action("up", pointer)


def _moves(made: Field, first: int) -> None:
    """What may be done with each item: the places of a tuple mean something: nothing moves into them."""
    last = len(made.children) - 1
    for at, child in enumerate(made.children):
        child.position = at
        child.can_remove = at >= first or (at == last and not child.is_place)
        child.can_move_up = at > first
        child.can_move_down = first <= at < last
