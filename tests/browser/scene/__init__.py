"""What the pictures show: every page in every state, made the real way, and who looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.browser.scene import audit, delivery, house, review, staff
from tests.browser.scene.view import KINDS, Stage, View
from tests.desk import Desk

__all__ = ["KINDS", "Stage", "View", "set_up", "views"]


@contextmanager
def set_up(desk: Desk, demo_agent: str) -> Iterator[Stage]:
    """The queues, people who have several of them or none, and the agents, until they are not needed any more."""
    desk.manage("add_agent", "ledgerline", demo_agent, "--name", "Ledgerline", "--queue", "payments")
    desk.manage("add_queue", "vault", "--risk", "high")
    desk.manage("add_queue", "mail", "--risk", "low")
    queues = [word for queue in ("payments", "vault", "mail") for word in ("--queue", queue)]
    desk.manage("add_user", "alice", "--role", "reviewer", *queues)
    for name, has in (("nora", ("--queue", "quiet")), ("nils", ())):
        desk.passwords[name] = desk.passwords["bob"]
        words = ("--role", "reviewer", *has, "--password-stdin")
        desk.manage("add_user", name, *words, given=desk.passwords[name] + "\n")
    with Stage(desk) as stage:
        yield stage


def views(stage: Stage) -> dict[str, View]:
    """By the name of the picture. The order is that of the stories; the last one changes how the desk delivers."""
    return {
        **review.finished(stage), **review.at_work(stage), **review.unusual(stage), **review.in_the_queue(stage),
        **delivery.views(stage), **house.views(stage), **staff.views(stage), **audit.views(stage),
    }  # fmt: skip
