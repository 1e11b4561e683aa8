"""From a schema and a value to the fields of a form, as first shown or as posted."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import regex
from django.utils.translation import gettext as _

from approvals import jsontext, schemas
from approvals.foreign import glyphs
from approvals.forms import controls, items, kinds, members
from approvals.forms.fields import Field, Option
from approvals.forms.kinds import Plan, Schema
from approvals.forms.posted import Posted
from approvals.jsontext import Document, Node
from approvals.validation.keywords import is_plain, matches

MOST_LEVELS = 10  # of fields inside fields; deeper parts are raw JSON
MOST_FIELDS = 300
MOST_BRANCHES = 30
OPEN_LEVELS = 3  # how far members that are not there yet are laid out
GROUPS = ("object", "array", "branches")


def parsed(text: str | None) -> Document | None:
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
    is_place: bool = False
    is_new: bool = False
    level: int = 0
    absent_levels: int = 0  # how many parents are not there either
    conditional: Any = None
    path: tuple[int, ...] = ()  # the schemas above, to stop where one repeats itself


class Builder:
    """Makes the fields of one form. `first`: the value as it was proposed, where the form stands over another."""

    def __init__(
        self,
        root: Schema,
        document: Document | None,
        posted: Posted,
        first: Document | None,
        secrets: Mapping[str, str],
    ) -> None:
        self.root = root
        self.document = document
        self.posted = posted
        self.first = first
        self.secrets = secrets  # token → what it hides
        self.made = 0
        self.is_slow = False  # a pattern or a branch could not be judged in its time: no other one is tried

    def field(self, spot: Spot) -> Field:
        self.made += 1
        plan = self.bounded(spot, kinds.plan(self.root, spot.schema, spot.node, self.document))
        made = self.empty(spot, plan)
        hidden = self.hidden_by(spot) or ""
        made.hides = {None: "", '"': "text"}.get(hidden[:1] or None, "number")
        made.multiline = "\\n" in hidden  # a key has lines, and a control of one line takes them out
        if plan.kind == "branches":
            return self.branches(spot, plan, made)
        if plan.kind == "object":
            members.lay_out(self, spot, plan, made)
        elif plan.kind == "array":
            items.lay_out(self, spot, plan, made)
        elif plan.kind != "fixed":
            controls.fill(made, self.posted)
        controls.say(made, self.posted)
        return made

    def bounded(self, spot: Spot, plan: Plan) -> Plan:
        """Not a control where the schema keeps the place; raw JSON where laying out fields would not end."""
        if schemas.is_fixed(plan.node) and spot.pointer and (spot.node is not None or not spot.required):
            return Plan("fixed", plan.node, plan.nullable)
        if self.hidden_by(spot) is not None:
            return Plan("hidden", plan.node)
        if plan.kind not in GROUPS:
            return plan
        inside = len(plan.node.get("properties") or ()) + (len(spot.node.members) if spot.node else 0)
        if spot.level >= MOST_LEVELS or self.made + inside > MOST_FIELDS:
            return Plan("raw", plan.node, plan.nullable, reason=_("There is too much here to be laid out as fields."))
        if len(plan.branches) > MOST_BRANCHES:
            return Plan("raw", plan.node, plan.nullable, reason=_("It may have too many shapes to be laid out."))
        repeats = id(spot.schema) in spot.path or spot.absent_levels >= OPEN_LEVELS
        if spot.node is None and repeats and not (spot.is_new or self.is_opened(spot.pointer)):
            return Plan("raw", plan.node, plan.nullable, reason=_("The schema repeats itself here."), can_open=True)
        if spot.node is not None and len(spot.node.items) > items.MOST_ITEMS:
            return Plan("raw", plan.node, plan.nullable, reason=_("There are too many items to be laid out as fields."))
        return plan

    def hidden_by(self, spot: Spot) -> str | None:
        """What a token in this place hides; None where there is none."""
        return self.secrets.get(spot.node.text) if spot.node is not None and spot.node.kind == "string" else None

    def is_opened(self, pointer: str) -> bool:
        return self.posted.about("open", pointer) == "1" or self.posted.action("open", pointer)

    def matches(self, pattern: Any, name: str) -> bool:
        """Whether a name is one of a pattern's; a pattern that costs too much matches nothing here."""
        if self.is_slow or not is_plain(pattern):
            return False
        try:
            return matches(pattern, name)
        except (TimeoutError, regex.error):
            self.is_slow = True
            return False

    def empty(self, spot: Spot, plan: Plan) -> Field:
        digest = hashlib.sha256(spot.pointer.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        names = self.posted.names
        default = plan.node.get("default", ...)
        source = self.source(spot.node)
        return Field(
            kind=plan.kind,
            pointer=spot.pointer,
            name=names.value(spot.pointer),
            id=f"f-{names.prefix}-{digest}",
            label=spot.label,
            schema=plan.node,
            source=source,
            proposed=self.proposed(spot.pointer) if self.first is not None else source,
            required=spot.required and not spot.is_item,
            nullable=plan.nullable,
            reason=plan.reason,
            state_name=names.about("state", spot.pointer),
            ticks_name=names.about("ticks", spot.pointer),
            open_name=names.about("open", spot.pointer),
            is_open=self.is_opened(spot.pointer),
            can_open=plan.can_open,
            conditional=spot.conditional,
            choices=plan.choices,
            default=None if default is ... or source is not None else jsontext.dumps(default),
            is_item=spot.is_item,
            is_place=spot.is_place,
            is_new=spot.is_new,
        )

    def source(self, node: Node | None) -> str | None:
        return self.document.source(node) if self.document is not None and node is not None else None

    def proposed(self, pointer: str) -> str | None:
        node = self.first.at(pointer) if self.first is not None else None
        return self.first.source(node) if self.first is not None and node is not None else None

    def removed(self, spot: Spot, part: str | int) -> bool:
        return self.posted.action("remove", spot.pointer + jsontext.pointer(part))

    def inside(self, spot: Spot, name: str, inner: Any, node: Node | None, required: bool = False, **more: Any) -> Spot:
        # What somebody asked for is laid out as if it began here: the next repetition is theirs to ask for again.
        asked = spot.is_new or self.is_opened(spot.pointer)
        return Spot(
            pointer=spot.pointer + jsontext.pointer(name),
            label=name,
            schema=inner,
            node=node,
            required=required,
            level=spot.level + 1,
            absent_levels=spot.absent_levels + 1 if spot.node is None and spot.pointer and not asked else 0,
            path=(id(spot.schema),) if asked else (*spot.path, id(spot.schema)),
            **more,
        )

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
        field.proposed = made.proposed
        field.branch_name = self.posted.names.about("branch", spot.pointer)
        field.branches = [
            Option(str(number), glyphs.spelled(title), chosen=number == at, foreign=True)
            for number, (title, _s) in enumerate(plan.branches)
        ]
        field.is_new = field.is_new or at != own
        return field

    def own_branch(self, spot: Spot, plan: Plan) -> int:
        """The branch that the value is of: the one it fits, or whose constants it has; else the first."""
        text = self.source(spot.node)
        if text is None:
            return 0
        wrong = [self.misfits(branch, text) for _title, branch in plan.branches]
        return wrong.index(min(wrong))

    def misfits(self, branch: Schema, text: str) -> tuple[int, int]:
        """How much is wrong with a value by one branch: in its own members, which tell the shapes apart, and at all."""
        if self.is_slow:
            return len(text), len(text)
        try:
            wrong = schemas.problems(schemas.part(self.root, branch), text)
        except schemas.UnusableSchema:
            self.is_slow = True
            return len(text), len(text)
        return sum(one.pointer.count("/") < 2 for one in wrong), len(wrong)
