"""How a queue decides, as administrators set it: its risk, its reasons, what is opened first, who may decide.

A form that was drawn before somebody else saved is refused with what they changed. What loosens a protection is named,
and counts only when it was agreed to by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime

import regex
from django.db import transaction
from django.utils.translation import gettext as _

from approvals import jsontext, people
from approvals.foreign import hiding
from approvals.models import Queue, User
from approvals.models.people import Role
from approvals.refusals import Changed, Invalid, Refused
from approvals.schemas import Problem
from approvals.verbs import reasons, staffing

LONGEST_REASON = 1000  # that a queue may ask for
MOST_NAME, MOST_LOOKS = 200, 500  # characters of a rule that hides
RISKS = list(Queue.Risk.values)  # from low to high


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What a form shows and a deed writes."""

    risk: str
    reason_required: bool
    reason_length: int
    whole_text_first: bool
    reason_codes: Sequence[Sequence[str]]
    members: Sequence[str]  # names, sorted

    @classmethod
    def of(cls, queue: Queue) -> Rules:
        members = queue.members.filter(groups__name__in=Role.values).distinct()
        return cls(
            risk=queue.risk, reason_required=queue.reason_required, reason_length=queue.reason_length,
            whole_text_first=queue.whole_text_first, reason_codes=[list(pair) for pair in queue.reason_codes],
            members=sorted(members.values_list("username", flat=True)),
        )  # fmt: skip

    @property
    def text(self) -> str:
        """What a form keeps, to notice that something changed meanwhile."""
        return jsontext.dumps(asdict(self))

    @property
    def told(self) -> dict[str, str]:
        """Each rule by its name on the page, in words."""
        yes_no = {True: _("yes"), False: _("no")}
        return {
            _("Risk"): str(Queue.Risk(self.risk).label),
            _("Every decision needs a comment"): yes_no[self.reason_required],
            _("Characters of a comment, at least"): str(self.reason_length),
            _("Long texts are opened before a yes"): yes_no[self.whole_text_first],
            _("Reasons to pick"): "; ".join(" = ".join(pair) for pair in self.reason_codes) or _("the usual ones"),
            _("Who decides"): ", ".join(self.members) or _("nobody"),
        }


@dataclass(frozen=True)
class Difference:
    """One rule that is another now."""

    name: str
    was: str
    now: str


class Stale(Changed):
    """Somebody saved meanwhile; `differences` tell what."""

    def __init__(self, differences: list[Difference]) -> None:
        super().__init__(_("Somebody changed this queue meanwhile. Nothing was saved."))
        self.differences = differences


class Loosens(Refused):
    """What was asked for protects less; `sentences` by the name of each rule."""

    code = "loosens"
    status = 422

    def __init__(self, sentences: dict[str, str]) -> None:
        super().__init__(_("This loosens a protection. Nothing was saved yet."))
        self.sentences = sentences


def read(text: str) -> Rules | None:
    """What `Rules.text` wrote; None for anything else."""
    try:
        rules = Rules(**jsontext.plain(jsontext.loads(text)))
        _said = rules.told  # fails for what no queue can have
    except (ValueError, TypeError, KeyError):
        return None
    return rules


def differences(was: Rules, now: Rules) -> list[Difference]:
    before = was.told
    return [Difference(name, before[name], value) for name, value in now.told.items() if value != before[name]]


def loosened(was: Rules, now: Rules) -> dict[str, str]:
    """What protects less than before, each with what that means."""
    found = {}
    if RISKS.index(now.risk) < RISKS.index(was.risk):
        found["risk"] = _less_risk(was.risk)
    if was.reason_required and not now.reason_required:
        found["reason_required"] = _("Decisions will need no comment any more.")
    elif was.reason_required and now.reason_length < was.reason_length:
        said = _("A comment may be shorter: %(now)d characters where it was %(was)d.")
        found["reason_length"] = said % {"now": now.reason_length, "was": was.reason_length}
    if was.whole_text_first and not now.whole_text_first:
        found["whole_text_first"] = _("A yes will count before the long texts were opened.")
    return found


def merged(was: Rules, wanted: Rules, now: Rules) -> Rules:
    """What somebody wants who changed `was` into `wanted` while it became `now`: theirs where they changed it."""
    names = [field.name for field in fields(Rules) if field.name != "members"]
    kept = {name: getattr(now if getattr(was, name) == getattr(wanted, name) else wanted, name) for name in names}
    came, left = set(wanted.members) - set(was.members), set(was.members) - set(wanted.members)
    return Rules(**kept, members=sorted((set(now.members) | came) - left))


@transaction.atomic
def make(name: str, *, by: User, now: datetime) -> Queue:
    """A new queue, of medium risk and without people. Raises NotAllowed, Invalid (at /name)."""
    staffing.turn()
    by = staffing.administrator(by)
    name = name.strip()
    if not 0 < len(name) <= 100 or not name.isprintable():
        raise Invalid([Problem("/name", _("A queue has a name of up to 100 characters."))])
    if Queue.objects.filter(name=name).exists():
        raise Invalid([Problem("/name", _("There is a queue of this name already."))])
    return people.set_queue(name, by=by, now=now)


@transaction.atomic
def change(
    queue: Queue, wanted: Rules, *, seen: str, agreed: Sequence[str], because: str, by: User, now: datetime
) -> list[Difference]:
    """What became different. `seen`: the text of the rules that were on the page; `agreed`: names of what is loosened.

    Raises NotAllowed, Invalid, Stale, Loosens.
    """
    because = staffing.reason(because)
    before = read(seen)
    moved = set(before.members if before else ()) ^ set(wanted.members)
    staffing.turn(*User.objects.filter(username__in=moved))
    by = staffing.administrator(by)
    persons = list(User.objects.select_for_update(no_key=True).filter(username__in=moved).order_by("pk"))
    queue = Queue.objects.select_for_update(no_key=True).get(pk=queue.pk)
    current = Rules.of(queue)
    if before is None or before != current:
        raise Stale(differences(before, current) if before else [])
    _check(wanted)
    loose = loosened(current, wanted)
    if set(loose) - set(agreed):
        raise Loosens(loose)
    people.set_queue(
        queue.name, risk=wanted.risk, reason_required=wanted.reason_required, reason_length=wanted.reason_length,
        reason_codes=wanted.reason_codes, whole_text_first=wanted.whole_text_first, by=by, because=because, now=now,
    )  # fmt: skip
    rights = [_with_or_without(person, queue, person.username in wanted.members) for person in persons]
    staffing.give([right for right in rights if right], because=because, by=by, now=now)
    return differences(current, wanted)


@transaction.atomic
def set_hidden(
    queue: Queue, *, name: str = "", looks: str = "", agent: str = "", remove: bool = False, because: str, by: User,
    now: datetime,
) -> None:  # fmt: skip
    """Hide values in a queue by the name of their place or by their looks, or no longer. Raises NotAllowed, Invalid."""
    because = staffing.reason(because)
    staffing.turn()
    by = staffing.administrator(by)
    name, looks = name.strip(), looks.strip()
    if bool(name) == bool(looks):
        raise Invalid([Problem("/name", _("Give the name of a place, or how the values look: one of the two."))])
    if len(name) > MOST_NAME or len(looks) > MOST_LOOKS:
        raise Invalid([Problem("/looks" if looks else "/name", _("This is too long."))])
    try:
        regex.compile(looks)
    except regex.error as problem:
        said = _("This is no regular expression: %(problem)s.")
        raise Invalid([Problem("/looks", said % {"problem": problem})]) from None
    hiding.set_rule(
        name=name, looks=looks, queue=queue, agent=agent, remove=remove, by=by, because=because, now=now
    )  # fmt: skip


def _less_risk(was: str) -> str:
    if was == Queue.Risk.HIGH:
        return _(
            "From high risk to less: a yes needs no second look and no typed value, several tasks can be decided side "
            "by side, and one operator alone sends again what is in doubt."
        )
    return _("Less risk: its tasks stand lower in the queue, and the comment is folded away.")


def _check(wanted: Rules) -> None:
    """Raises Invalid."""
    problems = []
    if wanted.risk not in RISKS:
        problems.append(Problem("/risk", _("There is no such risk.")))
    if not 1 <= wanted.reason_length <= LONGEST_REASON:
        problems.append(Problem("/reason_length", _("A number from 1 to %d.") % LONGEST_REASON))
    try:
        reasons.read_codes([f"{code}={words}" for code, words in wanted.reason_codes])
    except ValueError:
        said = _("Each line is code = words; the code has small letters, digits, - and _, and stands there once.")
        problems.append(Problem("/reason_codes", said))
    known = set(User.objects.filter(username__in=wanted.members, groups__name__in=Role.values).values_list("username"))
    if missing := [name for name in wanted.members if (name,) not in known]:
        problems.append(Problem("/members", _("There is nobody called %(name)s.") % {"name": missing[0]}))
    if problems:
        raise Invalid(problems)


def _with_or_without(person: User, queue: Queue, decides: bool) -> staffing.Right | None:
    """None where there is nothing to change."""
    if person.role is None:
        return None
    others = [own.name for own in person.own_queues if own.pk != queue.pk]
    return staffing.Right(person, person.role, [*others, queue.name] if decides else others)
