"""`/deliveries/` for the operator on duty: what waits, what comes next, and what sending again would mean."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agentbridge.models import Agent, Run
from agentbridge.models.agents import key_of
from agentbridge.views import deliveries, nextsteps
from approvals.models import Case, Queue, User
from tests import bridge_rows as rows
from tests.people import OpenCase, decide, in_seconds

PAYLOAD = 9007199254740993


@pytest.fixture
def agent(payments: Queue) -> Agent:
    return rows.add_agent(payments)


@pytest.fixture
def paused(open_case: OpenCase, agent: Agent) -> Any:
    """`paused(2)`: the case of a second thread, and the run that asked."""

    def make(n: int = 1) -> tuple[Case, Run]:
        case = open_case(case={"thread_key": key_of(f"thread-{n}")})
        run = rows.add_run(agent, f"run-{n}", f"thread-{n}")
        rows.bind(run, case.tasks.all())
        return case, run

    return make


def page(client: Client, user: User, address: str = "/deliveries/", **query: Any) -> str:
    client.force_login(user)
    return client.get(address, query).content.decode()


def test_the_number_beside_deliveries_is_what_its_page_shows(client: Client, olga: User, paused: Any) -> None:
    (doubtful, asked), (late, _), (stopped, _) = paused(1), paused(2), paused(3)
    rows.seal(doubtful, asked)
    Case.objects.filter(pk=late.pk).update(deadline=in_seconds(-1))
    Case.objects.filter(pk=stopped.pk).update(blocked="no usable id")
    for address in ("/deliveries/", "/queue/"):
        assert "3 wait" in page(client, olga, address)
    assert "3 deliveries wait for a person." in page(client, olga)


def test_what_waits_goes_on_on_a_next_page(
    client: Client, olga: User, paused: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "PAGE", 2)
    made = [paused(n) for n in range(5)]
    for case, run in made[:3]:
        rows.seal(case, run)
    Case.objects.filter(pk__in=[case.pk for case, _run in made[3:]]).update(blocked="no usable id")
    seen = [page(client, olga, view="waiting", skip=skip) for skip in (0, 2, 4)]
    assert [[f"delivery-{case.code}" in text for text in seen].index(True) for case, _run in made] == [0, 0, 1, 1, 2]
    assert ["More that wait" in text for text in seen] == [True, True, False]


def test_sending_again_shows_the_sealed_bytes_and_its_risk(client: Client, olga: User, paused: Any) -> None:
    case, run = paused()
    entries = [{"interruptId": "int-1", "status": "resolved", "payload": {"n": PAYLOAD}}]
    rows.attempt(rows.seal(case, run, entries=entries))
    text = page(client, olga)
    assert f"{PAYLOAD}" in text and "may act twice" in text


def test_nothing_is_shown_to_send_again_once_the_thread_has_moved_on(client: Client, olga: User, paused: Any) -> None:
    case, run = paused()
    rows.attempt(rows.seal(case, run))
    assert 'value="resend"' in page(client, olga)
    rows.add_run(run.thread.agent, "later", "thread-1", kind=Run.Kind.OBSERVED)
    text = page(client, olga)
    assert 'value="resend"' not in text and "sending again would send" not in text


@pytest.mark.parametrize(
    ("state", "more", "said"),
    [
        ("ready", {"next_try_at": in_seconds(86_400)}, "Tried again at"),
        ("ready", {}, "The next free worker sends it."),
        ("in_doubt", {}, "A person settles it."),
    ],
)
def test_what_comes_next_is_said(
    client: Client, olga: User, paused: Any, state: str, more: dict[str, Any], said: str
) -> None:
    rows.seal(*paused(), state=state, **more)
    assert said in page(client, olga)


def test_a_run_under_way_has_an_end_in_sight(client: Client, olga: User, paused: Any) -> None:
    rows.attempt(rows.seal(*paused(), state="accepted"), ended_at=None, status=Run.Status.RUNNING)
    assert "Read to the end of its run" in page(client, olga)


def test_an_agent_that_asked_again_leads_to_the_next_case(client: Client, olga: User, paused: Any) -> None:
    (case, run), (later, _) = paused(1), paused(2)
    rows.seal(case, run, state="interrupted_again")
    Case.objects.filter(pk=later.pk).update(previous=case)
    assert f'Asked again in <a class="val" href="/cases/{later.code}/">' in page(client, olga)


def test_a_held_case_says_when_it_leaves(client: Client, olga: User, alice: User, paused: Any, settings: Any) -> None:
    settings.UNDO_SECONDS = 300
    case, _run = paused()
    decide(case.tasks.get(), alice)
    assert "Leaves at" in page(client, olga) and "Leaves at" in page(client, alice, f"/cases/{case.code}/standing/")


def test_a_moment_of_another_day_is_told_with_its_day() -> None:
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)
    with timezone.override(UTC):
        assert nextsteps.clock(now + timedelta(hours=1), now) == "13:00:00 UTC"
        assert nextsteps.clock(now + timedelta(days=1), now) == "1 Dec, 12:00:00 UTC"


def test_the_head_of_a_case_says_that_it_is_in_doubt(client: Client, alice: User, paused: Any) -> None:
    case, run = paused()
    assert f'hx-get="/cases/{case.code}/standing/"' not in page(client, alice, f"/cases/{case.code}/")
    rows.seal(case, run)
    assert f'hx-get="/cases/{case.code}/standing/"' in page(client, alice, f"/cases/{case.code}/")
    assert "in doubt" in page(client, alice, f"/cases/{case.code}/standing/")


def test_what_stands_in_the_way_looks_the_same_here_and_on_the_case(client: Client, olga: User, paused: Any) -> None:
    (late, _), (stopped, _) = paused(1), paused(2)
    Case.objects.filter(pk=late.pk).update(deadline=in_seconds(-1))
    Case.objects.filter(pk=stopped.pk).update(state="quarantined")
    both = page(client, olga)
    for case, word in ((late, "expired"), (stopped, "quarantined")):
        tag = re.compile(rf'<span class="tag ([\w-]+)[^>]*>\s*<svg[^>]*><use href="[^"#]*#(\w+)"/></svg>\s*{word}<')
        look = tag.search(page(client, olga, f"/cases/{case.code}/"))
        assert look is not None and look.groups() in tag.findall(both)
