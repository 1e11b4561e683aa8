"""The people of the stories, their queues, and a pause for them to answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from approvals import exhibits, intake, people, reviewing
from approvals.kit import AnswerForm, VerdictKit
from approvals.models import Case, Decision, Queue, Task, User
from approvals.models.people import Role

ARGS = '{"to": "ops@example.org", "amount": 120.50, "note": "rent"}'
SCHEMA = """{"type": "object", "required": ["approved"], "properties": {
  "approved": {"type": "boolean"}, "editedArgs": {"type": "object"}, "reason": {"type": "string"}}}"""
PASSWORD = "correct horse battery"

OpenCase = Callable[..., Case]


def person(name: str, role: Role, *queues: str, **more: Any) -> User:
    return people.set_user(name, role=role, queues=queues, password=PASSWORD, now=timezone.now(), **more)


@pytest.fixture
def payments(db: None) -> Queue:
    return people.set_queue("payments", now=timezone.now())


@pytest.fixture
def alice(payments: Queue) -> User:
    """Reviews payments."""
    return person("alice", Role.REVIEWER, "payments")


@pytest.fixture
def bob(payments: Queue) -> User:
    """Reviews payments too."""
    return person("bob", Role.REVIEWER, "payments")


@pytest.fixture
def charlie(payments: Queue) -> User:
    """Reviews travel, and has nothing to do with payments."""
    return person("charlie", Role.REVIEWER, "travel")


@pytest.fixture
def carol(db: None) -> User:
    """Audits."""
    return person("carol", Role.AUDITOR)


@pytest.fixture
def olga(db: None) -> User:
    """Operates."""
    return person("olga", Role.OPERATOR)


@pytest.fixture
def adam(db: None) -> User:
    """Administers."""
    return person("adam", Role.ADMIN)


def approval_kit(**changes: Any) -> VerdictKit:
    """Approve (with edits), reject or cancel, as a plain agent understands them."""
    forms = {
        "approved": AnswerForm(answer='{"approved":true}', edits_at="/editedArgs"),
        "rejected": AnswerForm(answer='{"approved":false}', comment_at="/reason"),
        "cancelled": AnswerForm(answer=None),
    }
    return VerdictKit(**{"forms": forms, "impossible": {}, "cancel": "safe", "schema": SCHEMA, **changes})


def question_kit(**changes: Any) -> VerdictKit:
    """A free answer."""
    forms = {"answered": AnswerForm(answer="null", input="whole"), "cancelled": AnswerForm(answer=None)}
    return VerdictKit(**{"forms": forms, "impossible": {}, "cancel": "safe", **changes})


def shown(tool: str = "send_money", args: str = ARGS, **more: Any) -> exhibits.Content:
    call = exhibits.Tool(id="call-1", name=tool, args_text=args, state="complete")
    return exhibits.Content(
        **{"reason": "tool_call", "message": "Please confirm.", "tool": call, "agent_name": "Payer", **more}
    )


def asked(message: str = "Which account?") -> exhibits.Content:
    """A question without a call."""
    return exhibits.Content(reason="input_required", message=message, agent_name="Payer")


def new_task(queue: Queue, number: int = 1, **more: Any) -> intake.NewTask:
    refs = {"agent": "payer", "threadId": "thread-1", "runId": "run-1", "interruptId": f"int-{number}"}
    return intake.NewTask(
        **{
            "refs": {**refs, "toolCallId": f"call-{number}"},
            "queue": queue,
            "exhibit": shown(),
            "kit": approval_kit(),
            **more,
        }
    )


@pytest.fixture
def open_case(payments: Queue) -> OpenCase:
    """`open_case(3)` has three approvals; `open_case(deadline=…)` and `open_case(tasks=[new_task(…)])` work too."""

    def build(
        count: int = 1,
        *,
        tasks: Sequence[intake.NewTask] | None = None,
        queue: Queue = payments,
        now: datetime | None = None,
        case: dict[str, Any] | None = None,
        **task: Any,
    ) -> Case:
        asked = tasks or [new_task(queue, number + 1, **task) for number in range(count)]
        refs = {"agent": "payer", "threadId": "thread-1", "runId": "run-1"}
        new = intake.NewCase(**{"agent": "payer", "thread_key": "k" * 64, "refs": refs, "tasks": asked, **(case or {})})
        return intake.open_case(new, now=now or timezone.now())

    return build


@pytest.fixture
def task(open_case: OpenCase) -> Task:
    """One open approval in payments."""
    return only_task(open_case())


def only_task(case: Case) -> Task:
    return case.tasks.get()


def decide(task: Task, by: User, verdict: str = "approved", **more: Any) -> Decision:
    """What the page does: decide on what is shown now."""
    task.refresh_from_db()
    given = {"shown_digest": task.shown_digest, "now": timezone.now(), **more}
    return reviewing.decide(task, by=by, verdict=verdict, **given)


def verbs(case: Case) -> list[str]:
    return list(case.entries.order_by("seq").values_list("verb", flat=True))


def in_seconds(seconds: float) -> datetime:
    return timezone.now() + timedelta(seconds=seconds)


def pass_deadline(case: Case) -> None:
    """The time of every question with a deadline is over, whatever the clock says."""
    past = in_seconds(-1)
    case.tasks.exclude(deadline=None).update(deadline=past, due_at=past)
    Case.objects.filter(pk=case.pk).exclude(deadline=None).update(deadline=past)
    case.refresh_from_db()
