"""The rows that the trail speaks of: each decision and exhibit has its entry, each entry its row, and both agree.

Rows are read before the entries and compared after them, so that work going on meanwhile raises no alarm: a row's
entry is never younger than the row, and entries beyond the head at the start are not asked for a row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q

from approvals import exhibits
from approvals.fields import raw, text_of
from approvals.models import AuditEntry, Case, Decision, Exhibit, State, Task
from approvals.trail import chain
from approvals.trail.verification.entries import Written
from approvals.trail.verification.findings import Report
from approvals.verbs.deciding import facts

ERASED = "entry.erased"  # data: {"entries": [[seq, column], …]}
COLUMNS = ("verb", "at", "actor_kind", "actor__pseudonym", "case__code", "task__code")
Place = tuple[str, str, str | None]  # task, moment, pseudonym: in every body, whatever was erased


@dataclass(frozen=True, slots=True)
class Stored:
    id: int
    digest: bytes
    recalled: bool
    voided: bool


@dataclass
class Rows:
    """What the tables hold at the start, and what the entries then tell about it."""

    report: Report
    until: int  # entries after this one may be younger than the rows
    after: int = 0  # entries up to this one are believed, and looked up only for rows that no later one tells of
    decisions: dict[Place, list[Stored]] = field(default_factory=dict)  # more than one only if a clock stood still
    shown: set[tuple[str, str]] = field(default_factory=set)
    told_shown: set[tuple[str, str]] = field(default_factory=set)
    told_recalled: set[int] = field(default_factory=set)
    told_voided: set[int] = field(default_factory=set)
    seen: set[Place] = field(default_factory=set)
    untold: set[str] = field(default_factory=set)  # tasks of which an entry's data was erased
    covered: set[tuple[int, str]] = field(default_factory=set)
    emptied: set[tuple[str, str]] = field(default_factory=set)  # case and task of exhibits without a body
    erased: set[str] = field(default_factory=set)  # cases of which an entry says that their content was erased

    @classmethod
    def read(cls, report: Report, *, since: datetime | None = None, after: int = 0) -> Rows:
        """`since`, `after`: only rows from then on; what entries up to `after` tell of them is looked up."""
        head = AuditEntry.objects.order_by("-seq").values_list("seq", flat=True).first() or 0
        rows = cls(report=report, until=head, after=after)
        made = Decision.objects.filter(at__gte=since) if since else Decision.objects.all()
        made = made.annotate(asked=F("task__code"), who=F("by__pseudonym"))  # not the whole task: it is long
        for decision in made.order_by("pk").iterator(chunk_size=2000):
            place = (decision.asked, chain.moment(decision.at), decision.who)
            ends = (decision.recalled_at is not None, decision.voided_at is not None)
            rows.decisions.setdefault(place, []).append(Stored(decision.pk, _digest(facts(decision)), *ends))
        kept = Exhibit.objects.filter(frozen_at__gte=since) if since else Exhibit.objects.all()
        frozen = kept.order_by("pk").values_list("task__case__code", "task__code", "digest", "body")
        for case, code, shown, body in frozen.iterator(chunk_size=2000):
            if not body:
                rows.emptied.add((case, code))
            elif exhibits.digest(body) != shown:
                report.tampered(f"What was shown for {code} does not have its digest.")
            rows.shown.add((code, shown))
        return rows

    def _look_back(self) -> None:
        """What entries before the start tell of rows that no later one told of."""
        untold = {place[0] for place in self.decisions.keys() - self.seen}
        untold |= {code for code, _shown in self.shown - self.told_shown}
        for codes in batched(sorted(untold)):
            self._tell_again(Q(task__code__in=codes))
        self._tell_again(Q(verb=ERASED))

    def _tell_again(self, wanted: Q) -> None:
        told = AuditEntry.objects.filter(wanted, verb__in=_TELLS, seq__lte=self.after).order_by("seq")
        for seq, body, data in told.values_list("seq", "body", raw("data")).iterator(chunk_size=2000):
            try:
                members = chain.read_body(body)
            except chain.NotCanonical as problem:
                self.report.tampered(f"Entry {seq} is {problem}.", seq)
                continue
            self.told(seq, members, data)

    def _is_asked(self, seq: int) -> bool:
        """Do the rows that were read cover what this entry tells of?"""
        return self.after < seq <= self.until

    def columns(self, entry: Written, members: dict[str, Any]) -> None:
        """The columns that people filter by say what the body says."""
        actor = members["actor"] or {"kind": "system", "id": None}
        said = (members["type"], members["at"], actor["kind"], actor["id"], members["case"], members["task"])
        known = (entry.verb, chain.moment(entry.at), entry.actor_kind, entry.actor, entry.case, entry.task)
        if said == known:
            return
        for name, one, other in zip(COLUMNS, said, known, strict=True):
            # A person who was erased has no name any more; the entry keeps its pseudonym.
            if one != other and not (name == "actor__pseudonym" and other is None):
                self.report.tampered(f"Entry {entry.seq} is filed under another {name.partition('__')[0]}.", entry.seq)

    def told(self, seq: int, members: dict[str, Any], data: bytes | None) -> None:
        """Remember what an entry says about rows."""
        tell = _TELLS.get(members["type"])
        if tell is None:
            return
        if data is None:
            self.untold.add(members["task"])
        tell(self, seq, members, {} if data is None else read_data(text_of(data)))

    def told_decided(self, seq: int, members: dict[str, Any], data: dict[str, Any]) -> None:
        place = (members["task"], members["at"], members["actor"] and members["actor"]["id"])
        stored = self.decisions.get(place, [])
        self.seen.add(place)
        if not stored and self._is_asked(seq):
            self.report.tampered(f"The decision of entry {seq} is gone or was made by somebody else.", seq)
        elif stored and data:
            for beside in ("changedPaths", "batch"):  # told with the decision, stored nowhere else
                data.pop(beside, None)
            digest = _digest(data)
            if all(one.digest != digest for one in stored):
                self.report.tampered(f"The decision of entry {seq} is not what was decided.", seq)

    def told_exhibit(self, seq: int, members: dict[str, Any], data: dict[str, Any]) -> None:
        if not data:
            return
        place = (members["task"], data["shownDigest"])
        self.told_shown.add(place)
        if place not in self.shown and self._is_asked(seq):
            self.report.tampered(f"What was shown by entry {seq} is gone.", seq)

    def told_recall(self, seq: int, members: dict[str, Any], data: dict[str, Any]) -> None:
        self.told_recalled.update([int(data["decision"])] if data else [])

    def told_void(self, seq: int, members: dict[str, Any], data: dict[str, Any]) -> None:
        self.told_voided.update([int(data["decision"])] if data else [])

    def told_erased(self, seq: int, members: dict[str, Any], data: dict[str, Any]) -> None:
        self.covered.update((int(number), column) for number, column in data.get("entries", []))
        self.erased.add(members["case"])

    def compare(self) -> None:
        """After all entries: rows that none of them tells of."""
        if self.after:
            self._look_back()
        for case, code in sorted(self.emptied):
            if case not in self.erased:
                self.report.incomplete(f"What was shown for {code} is gone, and no entry says that it was erased.")
        for place, all_stored in self.decisions.items():
            if place not in self.seen:
                self.report.tampered(f"There is a decision on {place[0]} that no entry tells of.")
            for stored in all_stored if place[0] not in self.untold else []:
                self._compare_ends(place[0], stored)
        for code, _digest_shown in sorted(self.shown - self.told_shown):
            if code not in self.untold:
                self.report.tampered(f"Something was shown for {code} that no entry tells of.")

    def _compare_ends(self, code: str, stored: Stored) -> None:
        if stored.recalled and stored.id not in self.told_recalled:
            self.report.tampered(f"A decision on {code} was recalled, and no entry tells of it.")
        if stored.voided and stored.id not in self.told_voided:
            self.report.tampered(f"A decision on {code} was voided, and no entry tells of it.")


_TELLS = {
    "task.decided": Rows.told_decided,
    "task.opened": Rows.told_exhibit,
    "exhibit.changed": Rows.told_exhibit,
    "case.recalled": Rows.told_recall,
    "task.voided": Rows.told_void,
    ERASED: Rows.told_erased,
}


def batched(codes: list[str], size: int = 500) -> Iterator[list[str]]:
    return (codes[start : start + size] for start in range(0, len(codes), size))


def read_data(text: str) -> dict[str, Any]:
    """What an entry tells: a JSON object that every reader takes alike. Raises ValueError."""
    found = json.loads(text, object_pairs_hook=_unambiguous)
    if not isinstance(found, dict):
        raise ValueError("not an object")
    return found


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a member is there twice")
    return found


def _digest(members: dict[str, Any]) -> bytes:
    """Of a JSON object, whatever the order of its members."""
    return hashlib.sha256(json.dumps(members, sort_keys=True).encode()).digest()


def illegal_states() -> Iterator[str]:
    """Sentences about states that no verb makes."""
    live = Decision.objects.live().filter(task=OuterRef("pk"))
    asked = Task.objects.exclude(case__state=State.WITHDRAWN)
    for code in asked.filter(Exists(live), ~Q(state=State.SETTLED)).order_by("pk").values_list("code", flat=True):
        yield f"{code} has a decision and is not settled."
    # An operator who closes an expired case settles what nobody answered in time; the entry bears their name.
    closed = AuditEntry.objects.filter(case=OuterRef("case"), verb="case.taken", actor__isnull=False)
    undecided = asked.filter(~Exists(live), ~Exists(closed), state=State.SETTLED)
    for code in undecided.order_by("pk").values_list("code", flat=True):
        yield f"{code} is settled without a decision."
    open_tasks = Task.objects.filter(case=OuterRef("pk"), state=State.OPEN)
    ended = Case.objects.filter(Exists(open_tasks), state__in=[State.SETTLED, State.DELIVERED])
    for code in ended.order_by("pk").values_list("code", flat=True):
        yield f"{code} is settled although a task of it is open."
    twice = Decision.objects.live().values("task__code").annotate(count=Count("pk")).filter(count__gt=1)
    for row in twice.order_by("task__code"):
        yield f"{row['task__code']} has {row['count']} live decisions."
