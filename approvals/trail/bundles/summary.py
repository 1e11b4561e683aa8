"""The part of a bundle for reading and printing: one HTML file that needs nothing beside it, told in English.

Every case is told from the entries in the bundle, and of the rows behind them only what such an entry stands for; what
is not among them is said to be missing. Secrets are hidden as on pages. It proves nothing: the other files do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.db.models import Prefetch
from django.template.loader import render_to_string
from django.utils import translation

from approvals import exhibits, jsontext
from approvals.exhibits import Content
from approvals.foreign import diff, hiding, masking
from approvals.models import AuditEntry, Case, Decision, Exhibit, Task
from approvals.trail import checkpoints, trailpage

if TYPE_CHECKING:
    from approvals.trail.bundles.writing import Bundle, Found

AT_ONCE = 20  # cases in memory: what was asked may be long
TABLE = 200  # cases in one table
MOST_TOLD = 1000  # cases told one by one: more would not open in a browser, and nobody would print them
OPENING = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Evidence from a Countersign trail</title>
"""
STAGES = {
    "Proposed": ("case.opened", "task.opened", "task.flagged", "exhibit.changed", "run.interrupted", "case.blocked",
                 "case.unblocked", "case.accepted"),
    "Seen": ("case.shown", "case.viewed", "text.opened", "values.shown", "note.added", "task.claimed",
             "task.taken_over", "task.released", "task.set_aside", "task.picked_up"),
    "Decided": ("task.decided", "task.refused", "case.refused", "task.voided", "case.recalled", "case.settled"),
    "Sealed": ("case.taken", "resume."),
    "Sent": ("case.sent", "delivery.", "run."),
    "Ran": ("task.result", "task.concluded", "case.delivered", "case.withdrawn", "incident."),
}  # fmt: skip
AFTERWARDS = "Afterwards"


@dataclass(frozen=True, kw_only=True)
class Given:
    """A decision whose entry is in the bundle, on what it was made."""

    decision: Decision
    content: Content | None

    @property
    def state(self) -> str:
        return "edited" if self.decision.edits is not None else self.decision.verdict

    @property
    def who(self) -> str:
        return self.decision.by.display_name if self.decision.by else self.decision.get_by_kind_display()

    @cached_property
    def changes(self) -> list[diff.Change]:
        if self.decision.edits is None or self.content is None or self.content.erased:
            return []
        return diff.argument_diff(self.content.proposal or "{}", self.decision.edits)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A task of which the bundle tells: each part empty where its entry is not there."""

    task: Task
    proposed: list[Content]  # every version that was frozen
    given: list[Given]
    results: list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One step of a case with its entries, oldest first."""

    name: str
    rows: list[trailpage.Row]


@dataclass(frozen=True, kw_only=True)
class Told:
    case: Case
    asked: list[Asked]
    stages: list[Stage]


@dataclass(frozen=True, kw_only=True)
class Line:
    """A case in the table: what is not in the bundle is empty."""

    case: Case
    tools: list[str]
    is_question: bool  # something was asked that is no call
    given: list[Given]
    entries: int


def pieces(bundle: Bundle, found: Found) -> Iterator[bytes]:
    """The file, a table or a case at a time."""
    style = (Path(__file__).parent / "summary.css").read_text(encoding="utf-8")
    yield f"{OPENING}<style>\n{style}</style>\n</head>\n<body>\n".encode()
    people = [(name, count) for name, count in found.people.most_common() if name]
    about = {"bundle": bundle, "found": found, "log": checkpoints.origin(), "people": people}
    yield _drawn("approvals/bundle_summary.html", {**about, "verbs": found.verbs.most_common(),
                                                        "decided": found.verbs["task.decided"]})  # fmt: skip
    codes = sorted(found.cases)
    for start in range(0, len(codes), TABLE):
        batch = codes[start : start + TABLE]
        places = {"first": start + 1, "last": start + len(batch), "count": len(codes), "linked": start < MOST_TOLD}
        yield _drawn("approvals/bundle_cases.html", {**places, "cases": [_line(told) for told in _read(bundle, batch)]})
    yield from map(_case, _read(bundle, codes[:MOST_TOLD]))
    yield _drawn("approvals/bundle_checking.html", {**about, "untold": max(0, len(codes) - MOST_TOLD)})
    yield b"</body>\n</html>\n"


def _case(told: Told) -> bytes:
    with masking.applying(hiding.rules_of_case(told.case.code)):
        return _drawn("approvals/bundle_case.html", {"told": told})


def _drawn(template: str, context: dict[str, Any]) -> bytes:
    with translation.override("en"):
        return render_to_string(template, context).encode()


def _read(bundle: Bundle, codes: Sequence[str]) -> Iterator[Told]:
    """These cases, some at a time, in a handful of queries each."""
    tasks = Task.objects.select_related("queue").order_by("position").prefetch_related(
        Prefetch("exhibits", Exhibit.objects.order_by("version")),
        Prefetch("decisions", Decision.objects.select_related("by").order_by("pk")),
    )  # fmt: skip
    for start in range(0, len(codes), AT_ONCE):
        some = Case.objects.filter(code__in=codes[start : start + AT_ONCE])
        told: dict[int | None, list[AuditEntry]] = defaultdict(list)
        for entry in bundle.entries.filter(case__in=some).select_related("actor", "task", "case").order_by("seq"):
            told[entry.case_id].append(entry)
        for case in some.order_by("code").prefetch_related(Prefetch("tasks", tasks)):
            yield _told(case, told[case.pk])


def _line(told: Told) -> Line:
    newest = [content for asked in told.asked for content in asked.proposed[-1:]]
    return Line(
        case=told.case,
        tools=list(dict.fromkeys(content.tool.name for content in newest if content.tool)),
        is_question=any(not content.tool and not content.erased for content in newest),
        given=[Given(decision=given.decision, content=None) for asked in told.asked for given in asked.given],
        entries=sum(len(stage.rows) for stage in told.stages),
    )


def _told(case: Case, entries: Sequence[AuditEntry]) -> Told:
    with translation.override("en"):
        rows = trailpage.rows(entries)
    stages: dict[str, list[trailpage.Row]] = {name: [] for name in (*STAGES, AFTERWARDS)}
    for row in rows:
        stages[stage_of(row.entry.verb)].append(row)
    asked = [_asked(task, [entry for entry in entries if entry.task_id == task.pk]) for task in case.tasks.all()]
    return Told(
        case=case,
        asked=[one for one in asked if one.proposed or one.given or one.results],
        stages=[Stage(name=name, rows=found) for name, found in stages.items() if found or name != AFTERWARDS],
    )


def stage_of(verb: str) -> str:
    """Whole names before their nouns: a run that paused proposes, any other is on its way."""
    noun = verb.partition(".")[0] + "."
    exact = (name for name, verbs in STAGES.items() if verb in verbs)
    return next(exact, None) or next((name for name, verbs in STAGES.items() if noun in verbs), AFTERWARDS)


def _asked(task: Task, entries: Sequence[AuditEntry]) -> Asked:
    """What the entries of this task stand for."""
    verbs = {entry.verb for entry in entries}
    decided = {entry.at for entry in entries if entry.verb == "task.decided"}
    versions = {shown.digest: exhibits.load(shown.body) for shown in task.exhibits.all()}
    opened = "task.opened" in verbs
    results = jsontext.loads(task.results) if task.results is not None and "task.result" in verbs else []
    return Asked(
        task=task,
        proposed=list(versions.values()) if opened else [],
        given=[
            Given(decision=decision, content=versions.get(decision.shown_digest))
            for decision in task.decisions.all()
            if decision.at in decided
        ],
        results=results,
    )
