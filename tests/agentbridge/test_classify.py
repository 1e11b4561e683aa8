"""What came back, and what it means for the delivery."""

from __future__ import annotations

from typing import Any

import pytest

from agentbridge.wire.classify import classify, verdict
from agentbridge.wire.record import RunView


def run(status: str, **more: Any) -> RunView:
    return RunView(run_id="r", thread_id="t", ours=True, status=status, **more)  # type: ignore[arg-type]


def judged(status: int | None = 200, view: RunView | None = None, **more: Any) -> tuple[str, str]:
    found = verdict(http_status=status, run=view, **more)
    return found.state, found.letter


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (run("failed", started=False, error="no"), ("agent_error", "B")),
        (run("failed", error="no"), ("agent_error", "C")),
        (run("failed", error="no", acted=True), ("agent_error", "D")),
        (run("succeeded"), ("finished", "E")),
        (run("interrupted"), ("interrupted_again", "F")),
        (run("cancelled"), ("finished", "G")),
        (run("truncated"), ("outcome_unknown", "H")),
        (run("unknown"), ("outcome_unknown", "H")),
        (run("rejected"), ("outcome_unknown", "I")),
        (run("succeeded", late_error="oops"), ("finished", "J")),
        (run("interrupted", late_error="oops"), ("interrupted_again", "J")),
        (run("failed", error="Execution outcome is INDETERMINATE; do not retry"), ("outcome_unknown", "H")),
    ],
)
def test_what_a_stream_means(view: RunView, expected: tuple[str, str]) -> None:
    assert judged(view=view) == expected


@pytest.mark.parametrize("status", [301, 307, 400, 401, 403, 404, 409, 413, 422])
def test_a_refusal_by_http_waits_for_a_person(status: int) -> None:
    assert judged(status) == ("rejected", "A")


@pytest.mark.parametrize("status", [500, 502, 504])
def test_a_server_error_leaves_us_in_doubt(status: int) -> None:
    assert judged(status) == ("in_doubt", "H")
    assert judged(status, replay="verified") == ("ready", "H")


def test_too_many_requests_is_tried_again() -> None:
    assert judged(429) == ("ready", "A")


def test_service_unavailable_is_trusted_only_where_it_was_promised() -> None:
    assert judged(503, retry_after=True, busy_is_not_taken=True) == ("ready", "A")
    assert judged(503, retry_after=True) == ("rejected", "A")
    assert judged(503, busy_is_not_taken=True) == ("in_doubt", "H")


@pytest.mark.parametrize("view", [None, run("truncated", started=False), run("rejected", started=False)])
def test_without_our_run_started_we_are_in_doubt(view: RunView | None) -> None:
    state, _ = judged(None if view is None else 200, view, error="the connection was reset")
    assert state == "in_doubt"


def test_a_safe_agent_is_asked_again_only_before_its_run_began() -> None:
    assert judged(view=run("truncated"), replay="guarded") == ("outcome_unknown", "H")


def test_who_says_that_nobody_knows_is_not_asked_again_by_itself() -> None:
    said = run("failed", started=False, error="the outcome is indeterminate")
    assert judged(view=said) == judged(view=said, replay="guarded") == ("in_doubt", "H")


def test_known_codes_help_the_reader_and_decide_nothing() -> None:
    known = verdict(http_status=200, run=run("failed", error="nope", error_code="UNKNOWN_INTERRUPT_ID"))
    other = verdict(http_status=200, run=run("failed", error="nope", error_code="X"))
    assert "answered before" in known.sentence
    assert known[:2] == other[:2]


def test_a_late_error_is_quoted() -> None:
    assert "disk full" in verdict(http_status=200, run=run("succeeded", late_error="disk full")).sentence
    assert classify(http_status=200, run=run("succeeded", late_error="disk full")) == "J"
