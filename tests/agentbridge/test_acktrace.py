"""Our stories as approval traces, judged by a checker that knows nothing of us: legal ones pass, broken ones do not."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from agentack.engine import evaluate_events
from agentack.parser import read_jsonl
from django.utils import timezone

from agentbridge.delivery import settling
from agentbridge.models import Incident
from agentbridge.record import acktrace
from approvals import reviewing
from approvals.models import Case
from tests.bridge_work import paused_case, register, work
from tests.people import decide
from tests.scripted_agent import call, finishing, interrupt, pausing

pytestmark = pytest.mark.django_db(transaction=True)
Event = dict
_made: list[str] = []
TWO = (interrupt(), interrupt("int-2", "tc-2"))


def told(case: Case) -> list[Event]:
    return [json.loads(line) for line in acktrace.lines(Case.objects.get(pk=case.pk))]


def status(events: list[Event], tmp_path) -> str:
    file = tmp_path / "trace.jsonl"
    file.write_text("".join(json.dumps(event) + "\n" for event in events))
    return evaluate_events(read_jsonl(file)).status


@pytest.fixture
def tell(script, alice, olga):
    """`case = tell("approved", "rejected")`: pauses on as many calls, decides and delivers."""

    def play(*verdicts: str, edits: str | None = None, ends=None) -> Case:
        asked = TWO[: len(verdicts)]
        calls = b"".join(call(id_=one["toolCallId"]) for one in asked)
        case = paused_case(register(script(pausing(*asked, calls=calls), *(ends or [finishing()]))), alice)
        for task, verdict in zip(case.tasks.order_by("position"), verdicts, strict=True):
            decide(task, olga if verdict == "cancelled" else alice, verdict, edits=edits)
        work()
        return case

    return play


def test_what_was_approved_and_ran_passes(tell, tmp_path):
    events = told(tell("approved"))
    assert [event["type"] for event in events] == [
        "action_proposed", "approval_requested", "approval_decision", "action_executed", "session_end",
    ]  # fmt: skip
    assert status(events, tmp_path) == "PASS"


@pytest.mark.parametrize(
    "verdicts", [("rejected",), ("rejected", "approved"), ("approved", "rejected"), ("cancelled",)]
)
def test_denied_cancelled_and_parallel_calls_pass(tell, tmp_path, verdicts):
    place = verdicts.index("approved") if "approved" in verdicts else None
    ends = [finishing(None) if place is None else finishing(id_=TWO[place]["toolCallId"])]
    assert status(told(tell(*verdicts, ends=ends)), tmp_path) == "PASS"


def test_an_edited_call_passes_as_another_call(tell, tmp_path):
    events = told(tell("approved", edits='{"amount": 1.0}'))
    ran = next(event for event in events if event["type"] == "action_executed")
    assert ran["action"]["parameters"] == {"amount": 1.0}
    assert status(events, tmp_path) == "PASS"


def test_a_question_asked_again_passes_both_times(tell, tmp_path, alice):
    first = tell("approved", ends=[pausing(interrupt("int-9", "tc-9"), calls=call(id_="tc-9")), finishing(id_="tc-9")])
    assert status(told(first), tmp_path) == "PASS"
    second = Case.objects.latest("pk")
    decide(second.tasks.get(), alice)
    work()
    assert second.pk != first.pk
    assert status(told(second), tmp_path) == "PASS"


@pytest.mark.parametrize("action", ["send_cancelled", "abandon"])
def test_a_call_that_nobody_decided_in_time_passes(script, alice, olga, tmp_path, action):
    deadline = timezone.now() + timedelta(seconds=60)
    case = paused_case(register(script(pausing(interrupt(expiresAt=deadline.isoformat())))), alice)
    settling.close_expired(case, action=action, reason="late", by=olga, now=deadline + timedelta(seconds=1))
    assert status(told(case), tmp_path) == "PASS"


def test_a_withdrawn_call_passes(script, alice, tmp_path):
    case = paused_case(register(script(pausing())), alice)
    reviewing.withdraw(case, because="superseded", now=timezone.now())
    assert status(told(case), tmp_path) == "PASS"


def test_a_number_that_is_none_to_others_is_told_by_its_digest(script, alice):
    calls = call(args='{"amount": 1e999}')
    asked = of(told(paused_case(register(script(pausing(interrupt(), calls=calls))), alice)), "approval_requested")
    assert list(asked["action"]["parameters"]) == ["sha256"]


def test_a_call_that_waits_is_not_called_complete(script, alice, tmp_path):
    assert status(told(paused_case(register(script(pausing())), alice)), tmp_path) == "INCOMPLETE"


@pytest.mark.parametrize(("kind", "verdict"), [("denied_but_ran", "rejected"), ("ran_twice", "approved")])
def test_an_incident_fails(tell, tmp_path, kind, verdict):
    case = tell(verdict, ends=[finishing() if verdict == "approved" else finishing(None)])
    task = case.tasks.get()
    Incident.objects.create(case=case, task=task, kind=kind, text="It ran.", opened_at=timezone.now())
    assert status(told(case), tmp_path) == "FAIL"


def test_other_arguments_fail(tell, tmp_path):
    again = finishing()
    again.parts.insert(1, call(args='{"amount": 9999}'))
    assert status(told(tell("approved", ends=[again])), tmp_path) == "FAIL"


def of(events: list[Event], kind: str) -> Event:
    return next(event for event in events if event["type"] == kind)


def without(kind: str) -> Callable[[list[Event]], None]:
    return lambda events: events.remove(of(events, kind))


def with_change(kind: str, **members: object) -> Callable[[list[Event]], None]:
    return lambda events: of(events, kind).update(members)


def moved(kind: str, before: str) -> Callable[[list[Event]], None]:
    def change(events: list[Event]) -> None:
        events.remove(event := of(events, kind))
        events.insert(events.index(of(events, before)), event)

    return change


def doubled(kind: str, **members: object) -> Callable[[list[Event]], None]:
    return lambda events: events.insert(events.index(of(events, kind)) + 1, {**of(events, kind), **members})


OTHER = {"tool": "mcp", "operation": "pay", "parameters": {"amount": 9999}}
BROKEN: dict[str, Callable[[list[Event]], None]] = {
    "other arguments ran": with_change("action_executed", action=OTHER),
    "other arguments were shown": with_change("approval_requested", action=OTHER),
    "no decision": without("approval_decision"),
    "nobody was asked": without("approval_requested"),
    "never proposed": without("action_proposed"),
    "ran twice": doubled("action_executed"),
    "denied and ran": with_change("approval_decision", decision="deny"),
    "ran too late": with_change("action_executed", timestamp="2099-01-01T00:00:00.000000Z"),
    "ran before it was decided": moved("action_executed", "approval_decision"),
    "decided before it was asked": moved("approval_decision", "approval_requested"),
    "ran without an approval": with_change("action_executed", approval_id=None),
    "another call on the same approval": doubled("action_executed", action_id="other"),
    "decided twice, otherwise": doubled("approval_decision", decision="deny"),
    "no end": without("session_end"),
}


@pytest.fixture
def legal(request) -> list[Event]:
    """The trace of a call that was approved and ran, made once."""
    if not _made:
        _made.append(json.dumps(told(request.getfixturevalue("tell")("approved"))))
    return json.loads(_made[0])


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_trace_does_not_pass(legal, tmp_path, name):
    """R-09"""
    events = legal
    BROKEN[name](events)
    assert status(events, tmp_path) != "PASS"
