"""One picture, and the stage on which the desk's stories are played before anybody looks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from playwright.sync_api import Page

from tests.browser.hosts import Host, host
from tests.browser.visiting import Visitor
from tests.desk import Desk, Json
from tests.scripted_agent import Answer, ScriptedAgent

Act = Callable[[Page], object]
# What a browser is besides its size and theme.
KINDS: dict[str, dict[str, Any]] = {
    "": {}, "plain": {"java_script_enabled": False}, "korean": {"locale": "ko-KR"}, "contrast": {"contrast": "more"},
    "forced": {"forced_colors": "active"}, "paper": {}, "apart": {},  # a window that nobody else uses afterwards
}  # fmt: skip


@dataclass(frozen=True)
class View:
    """Who looks, at what, after doing what, in which kind of browser."""

    who: str
    path: str
    act: Act | None = None
    kind: str = ""


@dataclass
class Stage:
    """A desk, its agents and the hosts of those that have no address."""

    desk: Desk
    open: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self.visitor = cache(lambda name: Visitor(self.desk, name))
        self.hosts = {
            "payer": host(self.desk, "payer", "Ledgerline EU"),
            "keeper": host(self.desk, "keeper", "Keyholder", "vault"),
            "mailer": host(self.desk, "mailer", "Parcelhand", "mail"),
        }

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *ended: object) -> None:
        self.open.close()

    @property
    def payer(self) -> Host:
        return self.hosts["payer"]

    @property
    def keeper(self) -> Host:
        return self.hosts["keeper"]

    @property
    def mailer(self) -> Host:
        return self.hosts["mailer"]

    def start(self, story: str, seed: int) -> list[Json]:
        """Of the demo agent; its open tasks once it pauses."""
        return self.runs("ledgerline", f"Please: {story}.", forwardedProps={"story": story, "seed": seed})

    def runs(self, slug: str, wish: str, **more: Any) -> list[Json]:
        told = {"messages": [{"id": "u1", "role": "user", "content": wish}], **more}
        thread = self.desk.post(f"agents/{slug}/runs", "alice", told)["threadId"]
        return self.desk.wait_until(lambda: self.desk.open_tasks(thread), f"{slug} pauses for “{wish}”")

    def scripted(self, slug: str, name: str, *answers: Answer) -> ScriptedAgent:
        """An agent that answers so, one request after the other."""
        playing = self.open.enter_context(ScriptedAgent(answers))
        given = {"slug": slug, "name": name, "url": playing.url, "queue": "payments", "dialect": "auto"}
        self.visitor("adam").post("agents/new/", replay="unknown", **given)
        return playing

    def approve(self, task: Json, *states: str) -> Json:
        """The case once its delivery is in one of these states."""
        self.desk.decide(task, "approved", "bob")
        return self.until(task, *states)

    def until(self, task: Json, *states: str) -> Json:
        case: Json = {}

        def is_there() -> bool:
            case.update(self.desk.get(f"cases/{task['case']}", "olga"))
            return (case["delivery"] or {}).get("state") in states

        self.desk.wait_until(is_there, f"{task['case']} is {' or '.join(states)}")
        return case


def case(who: str, task: Json, act: Act | None = None, kind: str = "") -> View:
    return View(who, f"cases/{task.get('case') or task['code']}/", act, kind)


def record(who: str, task: Json, more: str = "", kind: str = "") -> View:
    return View(who, f"cases/{task.get('case') or task['code']}/record/{more}", kind=kind)
