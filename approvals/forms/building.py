"""From a schema and a value to the fields of a form, as first shown or as posted."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from approvals import jsontext, schemas
from approvals.forms import controls, kinds, texts
from approvals.forms.fields import Field, FieldTree, Option
from approvals.forms.kinds import Plan, Schema
from approvals.forms.posted import Names, Posted
from approvals.jsontext import Document, Node
from approvals.schemas import Problem

MOST_LEVELS = 10  # of fields inside fields; deeper parts are raw JSON
MOST_FIELDS = 300
MOST_ITEMS = 60
OPEN_LEVELS = 3  # how far members that are not there yet are laid out


def build(
    schema_text: str | None,
    value_text: str | None,
    *,
    prefix: str = "v",
    editable: bool = True,
    post: Mapping[str, str] | None = None,
    problems: list[Problem] | None = None,
) -> FieldTree:
    """The form for a value by its schema; without a schema by what the value is, without either one raw box.

    With `post` it shows what was posted: nothing that was typed is lost. `problems` are put beside their fields.
    """
    names = Names(prefix)
    posted = Posted(post or {}, names)
    document = _parsed(value_text)
    schema = usable(schema_text)
    builder = Builder(schema if isinstance(schema, dict) else {}, document, posted)
    root = builder.field(
        Spot(pointer="", label="", schema=schema, node=document.root if document else None, required=True)
    )
    rendered = texts.printable(jsontext.pretty(value_text)) if document and value_text else value_text or ""
    shown = posted.about("raw")
    tree = FieldTree(
        root=root,
        raw_name=names.about("raw"),
        raw_rendered=rendered,
        raw_shown=rendered if shown is None else shown,
        editable=editable,
    )
    tree.place(problems or [])
    return tree


def _parsed(text: str | None) -> Document | None:
    try:
        return None if text is None else jsontext.parse(text)
    except jsontext.JSONTextError:
        return None


def usable(text: str | None) -> Any:
    """The schema, or `{}` where there is none that can be used."""
    if text is None or schemas.usable(text) is not None:
        return {}
    return jsontext.loads(text)


@dataclass(frozen=True, kw_only=True)
class Spot:
    """One place to make a field for."""

    pointer: str
    label: str
    schema: Any
    node: Node | None
    required: bool = False
    is_item: bool = False
    is_new: bool = False
    level: int = 0
    absent_levels: int = 0  # how many parents are not there either
    conditional: tuple[Any, bool] | None = None
    path: tuple[int, ...] = ()  # the schemas above, to stop where one repeats itself


class Builder:
    """Makes the fields of one form."""

    def __init__(self, root: Schema, document: Document | None, posted: Posted) -> None:
        self.root = root
        self.document = document
        self.posted = posted
        self.made = 0

    def field(self, spot: Spot) -> Field:
        self.made += 1
        plan = self.bounded(spot, kinds.plan(self.root, spot.schema, spot.node, self.document))
        made = self.empty(spot, plan)
        if plan.kind == "branches":
            return self.branches(spot, plan, made)
        if plan.kind == "object":
            self.object(spot, plan, made)
        elif plan.kind == "array":
            self.array(spot, plan, made)
        else:
            controls.fill(made, self.posted)
        controls.say(made, self.posted)
        return made

    def bounded(self, spot: Spot, plan: Plan) -> Plan:
        """Raw JSON where laying out fields would not end, or not be read by anybody."""
        if plan.kind not in ("object", "array", "branches"):
            return plan
        named = plan.node.get("properties") or ()
        if (
            spot.level >= MOST_LEVELS
            or self.made + len(named) + len(spot.node.members if spot.node else ()) > MOST_FIELDS
        ):
            return Plan("raw", plan.node, plan.nullable, reason=_("There is too much here to be laid out as fields."))
        if spot.node is None and (id(spot.schema) in spot.path or spot.absent_levels >= OPEN_LEVELS):
            return Plan("raw", plan.node, plan.nullable, reason=_("The schema repeats itself here."))
        if spot.node is not None and len(spot.node.items) > MOST_ITEMS:
            return Plan("raw", plan.node, plan.nullable, reason=_("There are too many items to be laid out as fields."))
        return plan

    def empty(self, spot: Spot, plan: Plan) -> Field:
        digest = hashlib.sha256(spot.pointer.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        names = self.posted.names
        return Field(
            kind=plan.kind,
            pointer=spot.pointer,
            name=names.value(spot.pointer),
            id=f"f-{names.prefix}-{digest}",
            label=spot.label,
            schema=plan.node,
            source=self.source(spot.node),
            required=spot.required and not spot.is_item,
            nullable=plan.nullable,
            reason=plan.reason,
            state_name=names.about("state", spot.pointer),
            ticks_name=names.about("ticks", spot.pointer),
            conditional=spot.conditional,
            choices=plan.choices,
            is_item=spot.is_item,
            is_new=spot.is_new,
        )

    def source(self, node: Node | None) -> str | None:
        return self.document.source(node) if self.document is not None and node is not None else None

    def object(self, spot: Spot, plan: Plan, made: Field) -> None:
        members = dict(spot.node.members) if spot.node is not None and spot.node.kind == "object" else {}
        properties = plan.node.get("properties") if isinstance(plan.node.get("properties"), dict) else {}
        needed = plan.node.get("required") if isinstance(plan.node.get("required"), list) else []
        conditional = self.conditional_members(spot)
        for name, inner in (properties or {}).items():
            if (inner is not False or name in members) and not texts.is_fragile_name(name):
                made.children.append(
                    self.field(self.inside(spot, name, inner, members.get(name), name in (needed or [])))
                )
        for name, (inner, condition) in conditional.items():
            if name not in (properties or {}):
                child = self.inside(spot, name, inner, members.get(name), conditional=condition)
                made.children.append(self.field(child))
        self.other_members(spot, plan, made, members)

    def conditional_members(self, spot: Spot) -> dict[str, tuple[Any, tuple[Any, bool]]]:
        found: dict[str, tuple[Any, tuple[Any, bool]]] = {}
        for condition, then, otherwise in kinds.conditions(self.root, spot.schema):
            found |= {name: (inner, (condition, True)) for name, inner in then.items()}
            found |= {name: (inner, (condition, False)) for name, inner in otherwise.items() if name not in found}
        return found

    def other_members(self, spot: Spot, plan: Plan, made: Field, members: dict[str, Node]) -> None:
        """What the schema does not name: members that are there, and those added to a map in this form."""
        extra = plan.node.get("additionalProperties", ...)
        inner = extra if isinstance(extra, dict) else {}
        known = {child.label for child in made.children}
        added = self.added_names(spot, known | members.keys())
        for name in [*members, *added]:
            if name not in known:
                child = self.inside(spot, name, inner, members.get(name), is_new=name not in members)
                made.children.append(self.field(child))
        made.names_name = self.posted.names.about("names", spot.pointer)
        made.new_name = self.posted.names.about("new", spot.pointer)
        made.new_names = jsontext.dumps(added)
        made.can_add = extra is True or isinstance(extra, dict)

    def added_names(self, spot: Spot, taken: set[str]) -> list[str]:
        names = [name for name in self.posted.new_names(spot.pointer) if not self.removed(spot, name)]
        wanted = self.posted.about("new", spot.pointer)
        if wanted and self.posted.action("add", spot.pointer):
            names.append(wanted)
        return [name for name in dict.fromkeys(names) if name not in taken and not texts.is_fragile_name(name)]

    def removed(self, spot: Spot, part: str | int) -> bool:
        return self.posted.action("remove", spot.pointer + jsontext.pointer(part))

    def inside(self, spot: Spot, name: str, inner: Any, node: Node | None, required: bool = False, **more: Any) -> Spot:
        return Spot(
            pointer=spot.pointer + jsontext.pointer(name),
            label=name,
            schema=inner,
            node=node,
            required=required,
            level=spot.level + 1,
            absent_levels=spot.absent_levels + 1 if spot.node is None and spot.pointer else 0,
            path=(*spot.path, id(spot.schema)),
            **more,
        )

    def array(self, spot: Spot, plan: Plan, made: Field) -> None:
        nodes = spot.node.items if spot.node is not None and spot.node.kind == "array" else ()
        made.items_name = self.posted.names.about("items", spot.pointer)
        made.items = self.present_items(spot, len(nodes))
        made.can_add = len(made.items) < MOST_ITEMS
        for index in made.items:
            node = nodes[index] if index < len(nodes) else None
            inner = self.inside(
                spot, str(index), _item_schema(plan.node, index), node, is_item=True, is_new=node is None
            )
            made.children.append(self.field(inner))
        made.taken_out = [
            (index, texts.printable(self.source(node) or ""))
            for index, node in enumerate(nodes)
            if index not in made.items
        ]

    def present_items(self, spot: Spot, count: int) -> list[int]:
        """The items shown: those of the value, less those taken out, and those added."""
        listed = self.posted.numbers("items", spot.pointer)
        items = list(range(count)) if listed is None else sorted(set(listed))[:MOST_ITEMS]
        if self.posted.action("add", spot.pointer):
            items.append(max([*items, count - 1]) + 1)
        items = [index for index in items if not self.removed(spot, index)]
        back = [at for at in range(count) if self.posted.action("restore", spot.pointer + jsontext.pointer(at))]
        return sorted({*items, *back})

    def branches(self, spot: Spot, plan: Plan, made: Field) -> Field:
        own = self.own_branch(spot, plan)
        chosen = self.posted.numbers("branch", spot.pointer)
        at = chosen[0] if chosen and chosen[0] < len(plan.branches) else own
        # Another branch starts afresh: nothing of the old one may be left in the value.
        node = spot.node if at == own else None
        inner = Spot(
            **{**vars(spot), "schema": plan.branches[at][1], "node": node, "path": (*spot.path, id(spot.schema))}
        )
        field = self.field(inner)
        field.source = made.source if at == own else None
        field.branch_name = self.posted.names.about("branch", spot.pointer)
        field.branches = [
            Option(str(number), title, chosen=number == at, foreign=True)
            for number, (title, _s) in enumerate(plan.branches)
        ]
        field.is_new = field.is_new or at != own
        return field

    def own_branch(self, spot: Spot, plan: Plan) -> int:
        """The branch that the value is of: the one it fits, or whose constants it has; else the first."""
        text = self.source(spot.node)
        if text is None:
            return 0
        wrong = []
        for _title, branch in plan.branches:
            try:
                wrong.append(len(schemas.problems(schemas.part(self.root, branch), text)))
            except schemas.UnusableSchema:
                wrong.append(len(text))
        return wrong.index(min(wrong))


def _item_schema(node: Schema, index: int) -> Any:
    first = node.get("prefixItems", node.get("items") if isinstance(node.get("items"), list) else [])
    if isinstance(first, list) and index < len(first):
        return first[index]
    rest = node.get("additionalItems") if isinstance(node.get("items"), list) else node.get("items")
    return rest if isinstance(rest, dict) else {}
