"""R-27 and R-28: what belongs together stays together, whoever acts at once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from agentbridge.models import Run
from agentbridge.ways import push
from approvals.models import AuditEntry, Case, Queue, User
from approvals.models.people import Role
from approvals.refusals import WrongState
from tests import bridge_rows
from tests.bars import races
from tests.bars.crew import Crew
from tests.people import person
from tests.scripted_agent import ScriptedAgent, call, finished, finishing, interrupt, pausing, started

NAMES = ("one", "two", "three")


def partly_expired(crew: Crew, *, times: int) -> None:
    """Three questions, three reviewers at once, one near its deadline: all three answers leave in time, or none."""
    hours = [interrupt(f"int-{name}", None, expiresAt=f"{2090 + n}-01-01T00:00:00Z") for n, name in enumerate(NAMES)]
    reviewers = [crew.alice, *(person(name, Role.REVIEWER, "payments") for name in ("bob", "carl"))]
    with ScriptedAgent([*[pausing(*hours, calls=b"")] * times, finishing(None)]) as agent:
        payer = crew.register("three", agent.url)
        cases = crew.cases(payer, [f"three-{n}" for n in range(times)])
        crew.spawn()
        for case in cases:
            assert case.deadline == min(case.tasks.values_list("deadline", flat=True))
            _decide_near_the_deadline(crew, case, reviewers)
        crew.settled()
    sent = [post for post in agent.posts if post.resume is not None]
    assert all(len(post.resume or ()) == len(NAMES) for post in sent)
    assert len({post.json["threadId"] for post in sent}) == len(sent) == Case.objects.filter(state="delivered").count()
    armed = Run.objects.exclude(resume=None).exclude(armed_at=None).select_related("resume__case")
    assert all(run.armed_at < run.resume.case.deadline for run in armed)  # type: ignore[operator, union-attr]


def _decide_near_the_deadline(crew: Crew, case: Case, reviewers: list[User]) -> None:
    """From well in time to just too late."""
    margin = crew.conditions["EXPIRY_MARGIN_SECONDS"]
    edge = timezone.now() + timedelta(seconds=margin + crew.random.uniform(0, 1.5) ** 3 / 2)
    tasks = list(case.tasks.order_by("position"))
    case.tasks.filter(pk=crew.random.choice(tasks).pk).update(deadline=edge)
    Case.objects.filter(pk=case.pk).update(deadline=edge)
    races.at_once(*[races.decides(task, by, "approved") for task, by in zip(tasks, reviewers, strict=True)])


def pushed_at_once(crew: Crew, *, times: int) -> None:
    """One pause pushed ten times at once is one case; other bytes under its name are refused, a later one is new."""
    agent = bridge_rows.add_agent(Queue.objects.get(name="payments"), "host")
    for n in range(times):
        first, other, later = (_run(n, name, text) for name, text in (("a", "May I?"), ("a", "Now?"), ("b", "Now?")))
        handed_in = races.at_once(*[lambda run=first: push.push(agent, run, now=timezone.now())] * 10)
        assert {run.pk for run in handed_in} == {Run.objects.get(thread__thread_id=f"t{n}").pk}
        refused = races.at_once(lambda run=other: push.push(agent, run, now=timezone.now()))
        assert isinstance(refused[0], WrongState)
        case = Case.objects.get(thread_key=handed_in[0].thread.key)
        races.at_once(*[lambda run=later: push.push(agent, run, now=timezone.now())] * 10)
        again = Case.objects.get(previous=case)
        assert [flag["slug"] for flag in again.tasks.get().flags] == ["asked-again"]
        assert Case.objects.get(pk=case.pk).ended_because == "superseded"
        assert AuditEntry.objects.filter(verb="run.interrupted", thread_key=case.thread_key).count() == 2


def _run(n: int, name: str, message: str) -> Any:
    said = started() + call() + finished(interrupt(message=message))
    body = said.replace(b"__THREAD__", b"t%d" % n).replace(b"__RUN__", f"{name}{n}".encode())
    asked = f'{{"threadId":"t{n}","runId":"{name}{n}","messages":[]}}'
    return push.Pushed(thread_id=f"t{n}", run_id=f"{name}{n}", input=asked.encode(), stream=body)
