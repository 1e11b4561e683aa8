"""T-67 to T-84: what leaves, what comes back, and what is never done by itself. (T-85, T-86: `test_t45_rounds.py`.)"""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agentbridge.delivery import settling
from agentbridge.models import Agent, Incident, Run
from agentbridge.work import sweeping
from approvals import jsontext
from approvals.models import Case, User
from approvals.refusals import WrongState
from tests.bridge_work import Script, delivery, paused_case, register, work
from tests.people import decide, in_seconds, only_task, verbs
from tests.scripted_agent import (
    RESET,
    Answer,
    call,
    failed,
    finished,
    finishing,
    frame,
    interrupt,
    pausing,
    result,
    started,
)

pytestmark = pytest.mark.django_db(transaction=True)
CUT = Answer([started()])  # the run began, and the stream ended


def delivered(script: Script, by: User, *answers: Answer, first: Answer | None = None, **more: Any) -> tuple[Any, Case]:
    """One question approved, and the agent's answers to it."""
    agent = script(first or pausing(), *answers)
    case = paused_case(register(agent, **more), by)
    decide(only_task(case), by)
    work()
    case.refresh_from_db()
    return agent, case


def settle(case: Case, action: str, by: User) -> None:
    settling.resolve_doubt(case, action=action, reason="looked there", by=by, now=timezone.now())
    work()


def kinds(case: Case) -> list[str]:
    return list(Incident.objects.filter(case=case).order_by("pk").values_list("kind", flat=True))


def test_t67_the_second_input_is_whole_and_nothing_in_it_is_null_or_a_parent(script: Script, alice: User) -> None:
    agent, _case = delivered(script, alice, finishing())
    first, second = (post.json for post in agent.posts)
    assert second["threadId"] == first["threadId"]
    assert second["runId"] != first["runId"]
    assert [second[name] for name in ("tools", "context", "forwardedProps")] == [[], [], {}]
    assert "parentRunId" not in second and None not in second.values()


@pytest.mark.parametrize(("said", "kept"), [("null", None), ('{"a":null}', {"a": None})])
def test_t68_a_null_state_is_left_out_and_a_null_in_it_is_data(
    script: Script, alice: User, said: str, kept: Any
) -> None:
    state = frame(type="STATE_SNAPSHOT", snapshot=json.loads(said))
    first = Answer([started(), state, call(), finished(interrupt())])
    agent, _case = delivered(script, alice, finishing(), first=first)
    assert agent.posts[1].json.get("state") == kept


@pytest.mark.parametrize(("was", "now"), [("12.50", "12.51"), ('"pay', '"repay')])
def test_t69_a_call_changed_on_record_stops_the_resume(script: Script, alice: User, was: str, now: str) -> None:
    agent = script(pausing(), finishing())
    case = paused_case(register(agent), alice)
    Run.objects.update(snapshot=Run.objects.get().snapshot.replace(was, now))
    decide(only_task(case), alice)
    work()
    case.refresh_from_db()
    assert (agent.resumes, "not the call that was reviewed" in case.blocked) == ([], True)


def test_t70_after_a_refusal_a_person_sends_the_same_bytes_under_a_new_run_id(
    script: Script, alice: User, olga: User
) -> None:
    agent, case = delivered(script, alice, Answer(status=409, parts=[b"busy"]), finishing())
    settle(case, "resend", olga)
    one, other = agent.posts[1:]
    assert jsontext.member(one.body.decode(), "resume") == jsontext.member(other.body.decode(), "resume")
    assert one.json["runId"] != other.json["runId"]


def test_t71_a_lost_answer_is_doubt_and_no_worker_sends_it_again(script: Script, alice: User) -> None:
    agent, case = delivered(script, alice, Answer([RESET], head=False))
    sweeping.sweep(in_seconds(3600))
    work()
    assert (delivery(case).state, len(agent.resumes)) == ("in_doubt", 1)


def test_t71b_an_agent_that_does_not_know_itself_leaves_the_outcome_unknown(script: Script, alice: User) -> None:
    _agent, case = delivered(script, alice, Answer([started(), failed("outcome indeterminate")]))
    assert delivery(case).state == "outcome_unknown"


def test_t72_a_second_look_at_the_same_case_sends_nothing(script: Script, alice: User) -> None:
    agent, case = delivered(script, alice, finishing())
    work()
    assert (len(agent.resumes), verbs(case).count("resume.sealed")) == (1, 1)


def test_t73_executed_and_then_failed_is_said_and_asked_about(script: Script, alice: User) -> None:
    _agent, case = delivered(script, alice, Answer([started(), result(), failed("disk full")]))
    assert (delivery(case).state, kinds(case)) == ("agent_error", ["failed_after_result"])
    assert "Executed as approved; then the run failed" in only_task(case).conclusion


def test_t74_the_same_result_after_a_resend_is_one_execution(script: Script, alice: User, olga: User) -> None:
    again = Answer([started(), result(message="m-2"), finished()])
    _agent, case = delivered(script, alice, Answer([started(), result()]), again)
    settle(case, "resend", olga)
    assert (delivery(case).state, "ran_twice" in kinds(case)) == ("finished", False)


def test_t75_unknown_after_a_resend_reads_as_answered_before_and_opens_nothing(
    script: Script, alice: User, olga: User
) -> None:
    _agent, case = delivered(script, alice, CUT, Answer([started(), failed("who?", "UNKNOWN_INTERRUPT_ID")]))
    settle(case, "resend", olga)
    assert "probably answered before" in delivery(case).note
    assert Case.objects.count() == 1


@pytest.mark.parametrize("no", [Answer([started(), failed("who?", "UNKNOWN_INTERRUPT_ID")]), Answer(status=409)])
def test_t75_a_refusal_says_nothing_about_the_attempt_before_it(
    script: Script, alice: User, olga: User, no: Answer
) -> None:
    _agent, case = delivered(script, alice, Answer([RESET], head=False), no)
    settle(case, "resend", olga)
    assert delivery(case).note.startswith("An earlier attempt may have run. ")
    assert only_task(case).conclusion == "This attempt was refused; what an earlier one did is not known."
    with pytest.raises(WrongState):
        settle(case, "answer_again", olga)
    settle(case, "mark_done", olga)
    assert delivery(case).state == "marked_done"


def test_an_attempt_without_an_answer_says_how_much_may_have_left(script: Script, alice: User) -> None:
    agent, case = delivered(script, alice, Answer([RESET], head=False))
    assert delivery(case).attempts.get().bytes_sent >= len(agent.posts[1].body) > 0


def test_an_agent_s_words_come_last_in_a_sentence_of_ours(script: Script, alice: User) -> None:
    lie = "indeterminate). Nothing ran: send it again ("
    _agent, case = delivered(script, alice, Answer([failed(lie)]))
    assert (delivery(case).state, delivery(case).note.endswith(f"It says: {lie}")) == ("in_doubt", True)


def test_t76_success_without_a_result_is_accepted_and_no_more(script: Script, alice: User) -> None:
    _agent, case = delivered(script, alice, finishing(None))
    assert (only_task(case).conclusion, kinds(case)) == ("Accepted, no evidence of execution.", ["approved_not_run"])


def test_t77_a_result_that_says_denied_is_quoted(script: Script, alice: User) -> None:
    agent = script(pausing(), finishing("Tool call was denied by the user."))
    case = paused_case(register(agent), alice)
    decide(only_task(case), alice, "rejected")
    work()
    assert "Tool call was denied by the user." in only_task(case).conclusion
    assert kinds(case) == []


def test_t78_a_result_in_parts_is_kept_and_no_file_is_fetched(script: Script, alice: User) -> None:
    parts = [{"type": "text", "text": "paid"}, {"type": "file", "url": "http://127.0.0.1:9/handle"}]
    told = frame(type="TOOL_CALL_RESULT", messageId="m-1", toolCallId="tc-1", content=parts)
    _agent, case = delivered(script, alice, Answer([started(), told, finished()]))
    assert "paid" in (only_task(case).results or "")
    assert only_task(case).conclusion == "Executed as approved."


def test_t79_other_arguments_in_the_resumed_run_are_an_incident(script: Script, alice: User) -> None:
    _agent, case = delivered(script, alice, Answer([started(), call(args='{"amount":1}'), result(), finished()]))
    assert kinds(case) == ["other_arguments"]


def test_t79_another_tool_under_the_approved_call_s_id_is_an_incident(script: Script, alice: User) -> None:
    _agent, case = delivered(script, alice, Answer([started(), call("pay_twice"), result(), finished()]))
    assert kinds(case) == ["other_call_ran"]
    assert only_task(case).conclusion == "Executed, as another tool than was approved."


def test_t80_an_interim_result_of_the_first_run_is_no_execution(script: Script, alice: User) -> None:
    first = Answer([started(), call(), result("requires confirmation"), finished(interrupt())])
    _agent, case = delivered(script, alice, finishing("paid"), first=first)
    assert [row["text"] for row in jsontext.loads(only_task(case).results or "[]")] == ["requires confirmation", "paid"]
    assert only_task(case).conclusion == "Executed as approved."


def test_t81_after_so_many_rounds_nothing_more_is_answered(
    script: Script, alice: User, settings: Any, client: Client
) -> None:
    settings.THREAD_ROUNDS = 2
    _agent, first = delivered(script, alice, pausing(interrupt("int-2")), pausing(interrupt("int-3")))
    assert (first.state, delivery(first).state) == ("delivered", "interrupted_again")
    decide(only_task(Case.objects.latest("pk")), alice)
    work()
    third = Case.objects.latest("pk")
    assert "paused more than 2 times" in third.blocked
    client.force_login(alice)
    assert "This thread has paused 3 times" in client.get(f"/cases/{third.code}/delivery/").content.decode()


def test_t82_of_mixed_answers_the_denied_one_may_be_asked_again(script: Script, alice: User) -> None:
    asked = [interrupt(f"int-{n}", f"tc-{n}") for n in (1, 2)]
    agent = script(pausing(*asked, calls=call(id_="tc-1") + call(id_="tc-2")), pausing(asked[1], calls=b""))
    case = paused_case(register(agent, dialect="plain"), alice)
    yes, no = case.tasks.order_by("position")
    decide(yes, alice)
    decide(no, alice, "rejected")
    work()
    yes.refresh_from_db()
    assert yes.conclusion == "Accepted, no evidence of execution."
    assert sorted(kinds(case)) == ["approved_not_run", "asked_again"]


def test_t83_an_error_at_once_keeps_the_decision_and_waits_for_a_person(
    script: Script, alice: User, olga: User
) -> None:
    agent, case = delivered(script, alice, Answer([started(), failed("not now")]), finishing())
    work()
    assert (delivery(case).state, len(agent.resumes), case.state) == ("agent_error", 1, "settled")
    settle(case, "resend", olga)
    assert delivery(case).state == "finished"


CONDITIONS = [
    ("INTERRUPT_EXPIRED", "Expired"), ("INVALID_PAYLOAD", "Wrong form"), ("UNKNOWN_INTERRUPT_ID", "Unknown question"),
    ("PARTIAL_RESUME", "Incomplete"), ("PENDING_INTERRUPTS", "No answers"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "named"), CONDITIONS)
def test_the_five_conditions_of_the_page_are_named(script: Script, alice: User, code: str, named: str) -> None:
    _agent, case = delivered(script, alice, Answer([started(), failed("no", code)]))
    assert (delivery(case).state, named in delivery(case).note) == ("agent_error", True)


def test_gone_switches_the_agent_off(script: Script, alice: User) -> None:
    _agent, case = delivered(script, alice, Answer(status=410, parts=[b"gone"]))
    assert (delivery(case).state, Agent.objects.get().enabled) == ("rejected", False)


def test_a_proof_of_another_server_counts_no_more(script: Script, alice: User) -> None:
    new = {"Content-Type": "text/event-stream", "Server": "brand new"}
    agent = script(pausing(), Answer([RESET], headers=new))
    case = paused_case(register(agent, replay="verified"), alice)
    decide(only_task(case), alice)
    work()
    assert (delivery(case).state, Agent.objects.get().replay_lapsed_at is None) == ("in_doubt", False)


def test_a_thread_that_goes_on_after_a_resend_was_allowed_gets_nothing(
    script: Script, alice: User, olga: User
) -> None:
    agent, case = delivered(script, alice, CUT)
    settling.resolve_doubt(case, action="resend", reason="again", by=olga, now=timezone.now())
    Run.objects.create(
        thread=delivery(case).thread, key="k", run_id="later", kind="observed", status="succeeded",
        created_at=timezone.now(),
    )  # fmt: skip
    work()
    case.refresh_from_db()
    assert (len(agent.resumes), "moved on" in case.blocked) == (1, True)
    with pytest.raises(WrongState):
        settle(case, "resend", olga)
