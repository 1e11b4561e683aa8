"""How long a reviewer waits for the page and for the answer when an agent sent a schema made to hurt (R-54)."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

from django.test import Client
from django.utils import timezone

from approvals import intake
from approvals.kit import standard_kit
from approvals.models import Queue, Task
from approvals.models.people import Role
from approvals.validation import worker
from benchmarks import Measured, row
from tests.approvals.test_hostile_schemas import HOSTILE, VALUE, text_of
from tests.pages import Page
from tests.people import asked, new_task, person


@row("hostile", what="a schema made to hurt: its case opened, shown, answered; the slowest", goal="≤ 1 s")
def hostile() -> Measured:
    """Each schema meets a desk that has not heard of it. The process beside ours runs, as after any check."""
    alice = Client()
    alice.force_login(person("alice", Role.REVIEWER, "payments"))
    worker.failures("{}", "{}", worker.Limits())
    alice.get("/queue/")  # a server that has answered before has read its own code
    taken = {f"{step} “{name}”": seconds for name in HOSTILE for step, seconds in steps(alice, name)}
    worst = sorted(taken, key=lambda step: taken[step])[-5:]
    slowest = taken[worst[-1]]
    detail = ", ".join(f"{step} {taken[step]:.2f} s" for step in reversed(worst))
    return Measured(figure=f"{slowest:.2f} s", met=slowest <= 1, detail=detail)


def steps(alice: Client, name: str) -> Iterator[tuple[str, float]]:
    began = perf_counter()
    task = opened(name)
    yield "opened", perf_counter() - began
    began = perf_counter()
    page = Page(alice.get(f"/cases/{task.case.code}/").content.decode())
    yield "shown", perf_counter() - began
    (form,) = page.decisions()
    began = perf_counter()
    answer = alice.post(form.action, form.filled(verdict="answered", **{form.raw or "": VALUE}))
    yield f"answered {answer.status_code}", perf_counter() - began


def opened(name: str) -> Task:
    queue = Queue.objects.get(name="payments")
    kit = standard_kit(reason="input_required", schema=text_of(name), has_call=False, proposal=None)
    refs = {"agent": "payer", "threadId": name, "runId": "run-1"}
    tasks = [new_task(queue, exhibit=asked(), kit=kit)]
    case = intake.NewCase(agent="payer", thread_key=name, refs=refs, tasks=tasks)
    return intake.open_case(case, now=timezone.now()).tasks.get()
