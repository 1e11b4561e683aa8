"""How a story ends: the whole trail is good, and it tells exactly what happened, in its order.

Each test of a module in STORIES has its list in `tests/told/`: who did what, one line for each turn; a story without a
list fails. `pytest --tell` writes the lists of what it runs anew, to be read before they are committed. Besides,
`tells(case, "case.opened", …)` at the end of a story says it of one case, and `desk_tells(desk, code, …)` of a desk.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from agentbridge.record import verifying
from approvals.models import AuditEntry, Case
from approvals.trail import trailsearch, verification
from tests.desk import Desk
from tests.waiting import PATIENCE

# Tests that go through the verbs, and write no row past them.
STORIES = {
    "approvals": (
        "api_decision", "attempts", "batch", "case_posts", "claim", "decide", "drafts", "expiry", "friction", "intake",
        "lifecycle", "not_now", "notes", "people", "publishing", "queue_rules", "reasons", "recall", "returning",
        "sightings", "take", "workbench",
    ),
    "agentbridge": (
        "api_runs", "backoff", "erasing", "receipts", "recorder", "registering", "resuming", "sealing",
        "settling", "standing_still", "starting", "trails", "translation", "two_send_again", "unasked", "unblocking",
        "watch", "worker",
    ),
    "ways": ("callers", "connector", "following", "intermediary", "keeping", "push_and_pull", "relay"),
}  # fmt: skip
AT_ONCE = (  # their programs write side by side
    "callers", "connector", "following", "intermediary", "keeping", "push_and_pull", "relay", "worker",
)  # fmt: skip
TOLD = Path(__file__).parent / "told"
# What the desk writes of itself when its time comes, whatever the story is.
ITS_OWN = ("anchor.", "checkpoint.", "clock.", "config.", "desk.", "key.")

Lists = dict[str, list[str]]


def is_story(item: pytest.Item) -> bool:
    told = item.path.stem.removeprefix("test_") in STORIES.get(item.path.parent.name, ())
    keeps = item.get_closest_marker("django_db") is not None or "db" in getattr(item, "fixturenames", ())
    return told and keeps and item.get_closest_marker("tampers") is None


class Story:
    """One test that is told: what its fixtures did stands before it begins."""

    def __init__(self, item: pytest.Item) -> None:
        module = item.path.stem.removeprefix("test_")
        self.name, self.file = item.name, TOLD / item.path.parent.name / f"{module}.txt"
        self.in_any_order = module in AT_ONCE or item.get_closest_marker("in_any_order") is not None
        self.begun_after = AuditEntry.objects.order_by("-seq").values_list("seq", flat=True).first() or 0

    def turns(self) -> list[str]:
        """`alice: task.claimed, task.decided`, with the number of the case where there are several."""
        rows = AuditEntry.objects.order_by("seq").values_list("seq", "actor__username", "case__code", "verb")
        rows = [row for row in rows if not row[3].startswith(ITS_OWN)]
        cases = list(dict.fromkeys(case for _, _, case, _ in rows if case))
        told = [
            (f"{who or 'the desk'} in {cases.index(case) + 1}" if case and len(cases) > 1 else who or "the desk", verb)
            for seq, who, case, verb in rows
            if seq > self.begun_after
        ]
        return list(spoken(sorted(told) if self.in_any_order else told))

    def ends(self) -> None:
        """Good, and as its list says. What runs beside the story may have a word left to write."""
        expected = read(self.file).get(self.name)
        assert expected is not None, f"{self.file.name} tells nothing of {self.name}; `pytest --tell {self.name}` would"
        late = time.monotonic() + PATIENCE
        while (told := self.turns()) != expected and time.monotonic() < late:
            time.sleep(0.05)
        assert told == expected
        good()

    def is_written(self) -> None:
        """Its list, anew; those of other tests stay."""
        good()
        write(self.file, read(self.file) | {self.name: self.turns()})


def spoken(told: Iterable[tuple[str, str]]) -> Iterator[str]:
    for who, turn in itertools.groupby(told, key=lambda one: one[0]):
        counted = ((verb, len(list(same))) for verb, same in itertools.groupby(verb for _, verb in turn))
        yield f"{who}: {', '.join(verb if count == 1 else f'{verb} ×{count}' for verb, count in counted)}"


def read(file: Path) -> Lists:
    """The lists of one module, by test."""
    parts = file.read_text("utf-8").strip().split("\n\n") if file.exists() else []
    return {name: [turn.strip() for turn in turns] for name, *turns in (part.split("\n") for part in parts)}


def write(file: Path, told: Lists) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    parts = ("\n".join([name, *(f"    {turn}" for turn in turns)]) for name, turns in sorted(told.items()))
    file.write_text("\n\n".join(parts) + "\n", "utf-8")


def tells(case: Case, *verbs: str) -> None:
    """Exactly these entries, without those of people who only looked, in a trail without any fault."""
    told = case.entries.exclude(verb__in=trailsearch.READS).order_by("seq").values_list("verb", flat=True)
    assert list(told) == list(verbs), f"{case.code} tells {list(told)}"
    good()


def good() -> None:
    """What `verify_audit` exits 0 for."""
    report = verification.verify(checks=[verifying.checks])
    assert [finding.sentence for finding in report.findings] == []


def desk_tells(desk: Desk, code: str, *verbs: str) -> None:
    """The same for a running desk, through its API and its command."""
    entries = desk.get(f"cases/{code}/trail?limit=200", "carol")["entries"]
    told = [entry["verb"] for entry in entries if entry["verb"] not in trailsearch.READS]
    assert told == list(verbs), f"{code} tells {told}"
    desk_is_good(desk)


def desk_is_good(desk: Desk) -> None:
    desk.manage("verify_audit")  # anything but exit 0 raises
