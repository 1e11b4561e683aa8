"""`manage.py probe_agent`: eight checks, what each saw, and the class that they prove."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agentbridge.guard.agent import Agent as Upstream
from agentbridge.guard.app import Application
from agentbridge.guard.guarding import Bounds, Guard
from agentbridge.guard.journal import Journal
from agentbridge.guard.trust import Trust
from agentbridge.models import Agent
from agentbridge.probing import talking
from approvals.models import AuditEntry
from tests.agentbridge.probing.careless import PLANS, Careless
from tests.pages import Page
from tests.served import served
from tests.waiting import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)
clock = partial(datetime.now, UTC)
Probe = Callable[..., dict[str, str]]


@pytest.fixture
def careless(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Careless]:
    settings.EGRESS_ALLOW = settings.EGRESS_ALLOW or ()
    monkeypatch.setattr(talking, "SETTLE_SECONDS", 0)
    with Careless() as agent:
        yield agent


@pytest.fixture
def guarded(careless: Careless, tmp_path: Path) -> Iterator[str]:
    """The same agent, behind the guard."""
    journal = Journal(tmp_path / "state", agent=careless.url)
    guard = Guard(Upstream(careless.url, silence=PATIENCE), journal, Trust(clock=clock), clock=clock, bounds=Bounds())
    with served(Application(guard)) as url:
        yield url + "/agent"
    journal.close()


@pytest.fixture
def probe(careless: Careless, tmp_path: Path) -> Probe:
    """`probe(url)`: each check's result; `left` names inputs that are not given."""
    for name in PLANS:
        (tmp_path / name).write_text(json.dumps({"messages": [{"id": "m", "role": "user", "content": name}]}))

    def run(url: str, *left: str, ledger: str = careless.url, **wanted: str) -> dict[str, str]:
        call_command("add_agent", "payer", url, queue="payments", stdout=StringIO(), **wanted)
        more = {"parallel_input": "several", "expiring_input": "soon"}
        files = {name: str(tmp_path / file) for name, file in more.items() if name not in left}
        out = StringIO()
        try:
            call_command(
                "probe_agent", "payer", input=str(tmp_path / "one"), chain_input=str(tmp_path / "chain"),
                ledger=ledger, as_json=True, stdout=out, **files,
            )  # fmt: skip
        except SystemExit as ended:
            assert ended.code == 1
        return {check["check"]: check["result"] for check in json.loads(out.getvalue())["checks"]}

    return run


def test_a_careless_agent_behind_the_guard_passes_all_eight(probe: Probe, guarded: str) -> None:
    assert set(probe(guarded).values()) == {"passed"}
    agent = Agent.objects.get()
    assert (agent.replay_class, agent.probe["class"], len(agent.probe["checks"])) == ("guarded", "guarded", 8)
    entry = AuditEntry.objects.get(verb="agent.probed")
    assert "8 of 8 checks passed" in entry.sentence and json.loads(entry.data)["checks"] == agent.probe["checks"]


def test_without_the_guard_the_probe_says_which_fail(probe: Probe, careless: Careless) -> None:
    careless.thinks = 0.6  # what is sent twice at once meets in it, also on a busy machine
    found = probe(careless.url, replay="verified")
    assert {name for name, result in found.items() if result == "passed"} == {"P1"}
    assert {name for name, result in found.items() if result == "failed"} == {"P2", "P3", "P4", "P5", "P6", "P7", "P8"}
    assert Agent.objects.get().replay_class == "unknown"


def test_what_could_not_be_tried_is_not_passed(probe: Probe, guarded: str) -> None:
    found = probe(guarded, "parallel_input", "expiring_input")
    assert {name for name, result in found.items() if result == "not made"} == {"P4", "P6"}
    assert Agent.objects.get().replay_class == "unknown"


def test_without_a_ledger_nothing_is_taken_for_silence(probe: Probe, guarded: str) -> None:
    assert set(probe(guarded, ledger="http://127.0.0.1:9/ledger").values()) == {"not made"}


def test_the_page_shows_the_evidence_and_when_it_is_of_another_address(
    probe: Probe, guarded: str, client: Any, adam: Any
) -> None:
    probe(guarded, "parallel_input", "expiring_input")
    client.force_login(adam)
    page = Page(client.get("/agents/payer/").content.decode())
    assert "Only one question was asked at once" in page.text and "of another address" not in page.text
    Agent.objects.update(url_version=2, replay_class="verified")
    page = Page(client.get("/agents/payer/").content.decode())
    assert "of another address" in page.text and "a person has set another class since" in page.text


def test_a_person_reads_a_table(probe: Probe, guarded: str, tmp_path: Path) -> None:
    probe(guarded)
    out = StringIO()
    with pytest.raises(SystemExit):
        call_command(
            "probe_agent", "payer", input=str(tmp_path / "one"), chain_input=str(tmp_path / "one"),
            ledger="http://127.0.0.1:9/", stdout=out,
        )  # fmt: skip
    assert "P2  not made  the same answers again" in out.getvalue() and "0 of 8 passed" in out.getvalue()


@pytest.mark.parametrize(("name", "said"), [("none", "cannot be used"), ("broken", "is not JSON")])
def test_an_input_that_is_none_is_named(probe: Probe, guarded: str, tmp_path: Path, name: str, said: str) -> None:
    probe(guarded, "expiring_input")
    (tmp_path / "broken").write_text("{")
    with pytest.raises(CommandError, match=said):
        call_command("probe_agent", "payer", input=str(tmp_path / name), chain_input="x", ledger="http://127.0.0.1:9/")
