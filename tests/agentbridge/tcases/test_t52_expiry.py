"""T-52 to T-56: what a deadline allows, and what an expired case can still become. (T-53: `test_expiry.py`.)"""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from agentbridge.delivery import settling
from agentbridge.models import Resume
from agentbridge.models.agents import key_of
from approvals.models import AuditEntry, Case, Task, User
from approvals.refusals import Expired
from tests.bridge_work import Script, delivery, paused_case, register, work
from tests.people import decide, only_task, verbs
from tests.scripted_agent import Answer, call, failed, finishing, interrupt, pausing, started

pytestmark = pytest.mark.django_db(transaction=True)
THREE = [interrupt(f"int-{n}", f"tc-{n}") for n in (1, 2, 3)]
THREE_CALLS = b"".join(call(id_=f"tc-{n}") for n in (1, 2, 3))


def let_run_out(task: Task) -> Case:
    """Its deadline is now, and with it its case's."""
    Task.objects.filter(pk=task.pk).update(deadline=timezone.now())
    Case.objects.filter(pk=task.case_id).update(deadline=timezone.now())
    return Case.objects.get(pk=task.case_id)


def test_t52_within_the_margin_a_decision_is_late_and_nothing_is_recorded(script: Script, alice: User) -> None:
    soon = (timezone.now() + timedelta(seconds=30)).isoformat()
    task = only_task(paused_case(register(script(pausing(interrupt(expiresAt=soon)))), alice))
    with pytest.raises(Expired):
        assert task.deadline is not None
        decide(task, alice, now=task.deadline - timedelta(seconds=1))
    assert not task.decisions.exists()


def test_t54_two_in_time_go_out_and_the_late_one_is_cancelled_after_a_word(
    script: Script, alice: User, olga: User
) -> None:
    agent = script(pausing(*THREE, calls=THREE_CALLS), finishing())
    case = paused_case(register(agent), alice)
    first, second, third = case.tasks.order_by("position")
    decide(first, alice)
    decide(second, alice)
    case = let_run_out(third)
    work()
    assert agent.resumes == []
    settling.close_expired(case, action="send_cancelled", reason="two are in time", by=olga, now=timezone.now())
    work()
    assert [entry["status"] for entry in agent.resumes[0]] == ["resolved", "resolved", "cancelled"]
    assert case.entries.get(verb="case.taken").actor == olga


def test_t54_the_page_says_what_the_deadline_means_for_the_others(
    script: Script, alice: User, client: Client
) -> None:
    case = paused_case(register(script(pausing(*THREE, calls=THREE_CALLS))), alice)
    late = case.tasks.order_by("position").last()
    assert late is not None
    let_run_out(late)
    client.force_login(alice)
    page = client.get(f"/cases/{case.code}/delivery/").content.decode()
    assert "1 question here ran out of time, and with it the others" in page
    assert "An operator can still send the answers that are in time" in page


def test_t55_an_agent_that_refuses_a_cancel_as_late_leaves_a_case_that_can_be_closed_here(
    script: Script, alice: User, olga: User
) -> None:
    agent = script(pausing(), Answer([started(), failed("too late", "INTERRUPT_EXPIRED")]))
    case = let_run_out(only_task(paused_case(register(agent), alice)))
    settling.close_expired(case, action="send_cancelled", reason="tell it", by=olga, now=timezone.now())
    work()
    resume = delivery(case)
    assert (resume.state, "Expired" in resume.note) == ("agent_error", True)
    settling.resolve_doubt(case, action="abandon", reason="it refuses", by=olga, now=timezone.now())
    case.refresh_from_db()
    assert (case.state, case.ended_because) == ("withdrawn", "abandoned")


def test_t56_nobody_cancels_an_expired_case_by_itself(script: Script, alice: User) -> None:
    agent = script(pausing(), finishing())
    case = let_run_out(only_task(paused_case(register(agent), alice)))
    work()
    assert (agent.resumes, Resume.objects.count()) == ([], 0)
    assert "case.taken" not in verbs(case)
    assert not AuditEntry.objects.filter(thread_key=key_of("thread-1"), verb="case.withdrawn").exists()
