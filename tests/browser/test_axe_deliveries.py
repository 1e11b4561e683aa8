"""What became of an answer passes axe too: each way in which a delivery stands or ends, to whoever has to settle it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from playwright.sync_api import Page

from tests.browser.scene.delivery import DENIED, LOCKED, REFUSED
from tests.browser.test_axe import LOOKS, faults
from tests.desk import Desk, Json
from tests.scripted_agent import RESET, Answer, ScriptedAgent, finishing, interrupt, pausing

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]
CUT = Answer([RESET], head=False)
ENDINGS = {  # what comes after each pause, and the deed of an operator
    "in doubt": ([CUT], None), "sent again": ([CUT, finishing()], "resend"), "settled": ([CUT], "mark_done"),
    "refused": ([REFUSED], None), "answered again": ([REFUSED], "answer_again"),
    "failed on its way": ([LOCKED], None), "an incident": ([DENIED], None),
}  # fmt: skip
WAITING = {"in_doubt", "agent_error", "rejected", "outcome_unknown", "finished"}


@dataclass
class Courier:
    """An agent that pauses and then makes something of the answer."""

    desk: Desk
    slug: str

    def asks(self) -> Json:
        told = {"messages": [{"id": "u1", "role": "user", "content": "Pay the courier."}]}
        thread = self.desk.post(f"agents/{self.slug}/runs", "alice", told)["threadId"]
        tasks: list[Json] = self.desk.wait_until(lambda: self.desk.get(f"tasks?thread={thread}")["tasks"], "a pause")
        return tasks[0]

    def answered(self, deed: str | None) -> str:
        """The code of a case whose answer has left, and what an operator made of it."""
        task = self.asks()
        case = f"cases/{task['case']}"
        self.desk.decide(task, "approved", "bob")
        self.desk.wait_until(lambda: self.delivery(case)["state"] in WAITING, "the delivery ends")
        if deed:
            self.desk.post(f"{case}/resolve-doubt", "olga", {"action": deed, "reason": "Seen in the ledger at nine."})
        if deed == "resend":
            self.desk.wait_until(lambda: self.delivery(case)["state"] == "finished", "it is sent again")
        return str(task["case"])

    def delivery(self, case: str) -> Json:
        found: Json = self.desk.get(case, "olga")["delivery"] or {"state": None, "attempts": []}
        return found


@contextmanager
def courier(desk: Desk, slug: str, *script: Answer) -> Iterator[tuple[Courier, ScriptedAgent]]:
    with ScriptedAgent(script) as agent:
        desk.manage("add_agent", slug, agent.url, "--name", "Courier", "--queue", "payments")
        yield Courier(desk, slug), agent


def unsent(desk: Desk) -> str:
    """Decided while the agent cannot be reached; the worker goes on trying."""
    with courier(desk, "away", pausing()) as (away, agent):
        task = away.asks()
        agent.down()
        desk.decide(task, "approved", "bob")
        return str(task["case"])


def test_every_end_of_a_delivery_has_no_fault(running_desk: Desk, sign_in: Callable[..., Page]) -> None:
    script = [answer for comes, _deed in ENDINGS.values() for answer in (pausing(), *comes)]
    cases = {"not sent": unsent(running_desk)}
    with courier(running_desk, "courier", *script, pausing(interrupt(id_=None))) as (asking, _agent):
        cases |= {name: asking.answered(deed) for name, (_comes, deed) in ENDINGS.items()}
        cases["blocked"] = asking.asks()["case"]
    paths = {name: f"cases/{code}/" for name, code in cases.items()}
    page, found = sign_in("olga"), {}
    for name, path in {**paths, "all of them": "deliveries/?view=all"}.items():
        for look, (width, height, scheme) in LOOKS.items():
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type] # a word of three
            page.goto(f"{running_desk.url}/{path}")
            page.wait_for_load_state("networkidle")
            page.evaluate("document.querySelectorAll('main details').forEach(fold => { fold.open = true; })")
            found[f"{name}, {look}"] = faults(page)
    assert {name: said for name, said in found.items() if said} == {}
