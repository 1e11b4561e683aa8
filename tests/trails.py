"""How a story ends: the whole trail is good, and a case tells exactly what happened, in its order.

`from tests.trails import tells`; `tells(case, "case.opened", …)` at the end of a story in one process. Stories with
processes ask `desk_tells(desk, code, …)`. The files of STORIES need not ask: each of their tests ends so (`conftest`).
"""

from __future__ import annotations

import pytest

from agentbridge.record import verifying
from approvals.models import Case
from approvals.trail import trailsearch, verification
from tests.desk import Desk

# Tests that go through the verbs, and write no row past them.
STORIES = {
    "approvals": (
        "api_decision", "attempts", "batch", "case_posts", "claim", "decide", "expiry", "friction", "intake", "not_now",
        "notes", "reasons", "recall", "sightings", "take",
    ),
    "agentbridge": (
        "checking", "receipts", "resuming", "sealing", "settling", "starting", "translation", "unasked", "watch",
    ),
}  # fmt: skip


def is_story(item: pytest.Item) -> bool:
    told = item.path.stem.removeprefix("test_") in STORIES.get(item.path.parent.name, ())
    return told and (item.get_closest_marker("django_db") is not None or "db" in getattr(item, "fixturenames", ()))


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
