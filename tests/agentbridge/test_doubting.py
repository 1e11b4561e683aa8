"""Whoever settles a doubt is told its age, whom to ask of which run, and whether the agent has done anything since."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agentbridge.models import Agent, Resume, Run
from approvals import people
from approvals.models import Queue, User
from tests import bridge_rows as rows
from tests.pages import Page
from tests.people import OpenCase

ASK = "Ask the agent's owner what became of this run:"
BOTH = pytest.mark.parametrize("address", ["/deliveries/", "/cases/{code}/delivery/"])
Doubts = Callable[..., Resume]


@pytest.fixture
def agent(payments: Queue) -> Agent:
    return rows.add_agent(payments)


@pytest.fixture
def doubt(open_case: OpenCase, agent: Agent) -> Doubts:
    """`doubt("in_doubt")`: answers that left once, and where they stand."""

    def make(state: str = "in_doubt", *, n: int = 1, answer_class: str = "H", **more: Any) -> Resume:
        case, run = open_case(), rows.add_run(agent, f"run-{n}", f"thread-{n}")
        rows.bind(run, case.tasks.all())
        resume = rows.seal(case, run, state=state, answer_class=answer_class, **more)
        rows.attempt(resume, n, thread_id=f"thread-{n}", answer_class=answer_class)
        return resume

    return make


def words(client: Client, user: User, address: str, resume: Resume) -> str:
    client.force_login(user)
    return Page(client.get(address.format(code=resume.case.code)).content.decode()).text


@BOTH
def test_the_owner_is_asked_of_the_run_that_may_have_acted(
    client: Client, olga: User, doubt: Doubts, address: str
) -> None:
    said = words(client, olga, address, doubt())
    assert f"{ASK} resumed-1, thread thread-1" in said


@BOTH
@pytest.mark.parametrize(
    ("state", "answer_class"), [("finished", "E"), ("rejected", "A"), ("agent_error", "C"), ("abandoned", "H")]
)
def test_nobody_is_asked_where_nothing_is_in_doubt(
    client: Client, olga: User, doubt: Doubts, address: str, state: str, answer_class: str
) -> None:
    assert ASK not in words(client, olga, address, doubt(state, answer_class=answer_class))


def test_a_refusal_after_a_doubt_leaves_the_doubt(client: Client, olga: User, doubt: Doubts) -> None:
    resume = doubt("rejected")
    rows.add_run(resume.agent, "refused", kind=Run.Kind.RESUMED, resume=resume, attempt=2, answer_class="A")
    assert f"{ASK} resumed-1," in words(client, olga, "/deliveries/", resume)


@BOTH
def test_an_agent_that_works_again_shows_it(client: Client, olga: User, doubt: Doubts, address: str) -> None:
    resume = doubt()
    assert "Payer on has run nothing since then" in words(client, olga, address, resume)
    rows.add_run(resume.agent, "later", "thread-9", status=Run.Status.SUCCEEDED)
    rows.add_run(resume.agent, "not-yet", "thread-8", status=Run.Status.QUEUED, armed_at=None)
    assert "Payer on its newest run since then: succeeded" in words(client, olga, address, resume)


def test_an_agent_that_is_switched_off_shows_it(client: Client, olga: User, doubt: Doubts) -> None:
    resume = doubt()
    Agent.objects.update(enabled=False)
    assert "Payer switched off has run nothing" in words(client, olga, "/deliveries/", resume)


def test_nothing_is_told_of_runs_that_are_not_ones_own(
    client: Client, alice: User, doubt: Doubts, travel_run: Callable[[Agent], Run]
) -> None:
    resume = doubt()
    travel_run(resume.agent)
    said = words(client, alice, "/cases/{code}/delivery/", resume)
    assert ASK in said and "since then" not in said


@pytest.fixture
def travel_run(open_case: OpenCase) -> Callable[[Agent], Run]:
    """A run of the same agent that asked another queue."""

    def make(agent: Agent) -> Run:
        travel = people.set_queue("travel", now=timezone.now())
        case, run = open_case(), rows.add_run(agent, "of-travel", "thread-7")
        case.tasks.update(queue=travel)
        rows.bind(run, case.tasks.all())
        return run

    return make


def test_the_age_of_a_doubt_stands_on_its_case(client: Client, olga: User, doubt: Doubts) -> None:
    resume = doubt()
    Resume.objects.update(changed_at=timezone.now() - timedelta(days=3, hours=4, minutes=30))
    assert "· 3 d 4 h" in words(client, olga, "/cases/{code}/delivery/", resume)


def test_many_doubts_ask_no_more_questions_than_few(
    client: Client, olga: User, doubt: Doubts, django_assert_max_num_queries: Any
) -> None:
    doubt()
    client.force_login(olga)
    with django_assert_max_num_queries(200) as few:
        client.get("/deliveries/")
    for n in range(2, 7):
        doubt(n=n)
    with django_assert_max_num_queries(len(few)):
        client.get("/deliveries/")
