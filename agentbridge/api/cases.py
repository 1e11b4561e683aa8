"""`/api/v1/cases`: a case whole, and what operators do with it when the way to the agent is not plain."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from ninja import Router

from agentbridge import visibility
from agentbridge.api import schema, shapes
from agentbridge.delivery import settling
from approvals import permissions, reviewing
from approvals.api import bodies, paging
from approvals.api.answering import answer, once
from approvals.api.auth import person
from approvals.api.problems import invalid, not_found
from approvals.models import Case, Task, User
from approvals.schemas import Problem
from approvals.trail import sightings

router = Router(tags=["cases"])
ANSWERS = {200: schema.Case, **schema.WRITE}


def find(user: User, code: str) -> Case:
    case = permissions.visible_cases(user).select_related("previous").filter(code=code).first()
    if case is None:
        raise not_found()
    return case


def shown(user: User, code: str) -> HttpResponse:
    """The case as it is now, read afresh."""
    found = find(user, code)
    incidents = visibility.incidents(user).filter(case=found).select_related("case", "task", "run", "closed_by")
    return answer(shapes.case(found, asking=user, incidents=incidents.order_by("pk"), now=timezone.now()))


@router.get("cases/{code}", response={200: schema.Case, **schema.READ}, by_alias=True, summary="One case")
def case_detail(request: HttpRequest, code: str) -> HttpResponse:
    paging.only(request, ())
    by = person(request)
    sightings.read_by_program(find(by, code), by=by, now=timezone.now())
    return shown(by, code)


def act(request: HttpRequest, code: str, deed: Callable[[Case], object]) -> HttpResponse:
    """Find for this person, do, and answer with the case as it is then; once per Idempotency-Key.

    A deed that returns False is only asked for (202): somebody else has to agree.
    """
    asking = person(request)
    find(asking, code)

    def perform() -> HttpResponse:
        done = deed(find(asking, code))
        told = shown(asking, code)
        told.status_code = 202 if done is False else 200
        return told

    return once(request, perform, now=timezone.now())


def act_because(request: HttpRequest, code: str, deed: Callable[..., None]) -> HttpResponse:
    """The same for a deed of an operator that wants a reason and nothing else."""
    reason, by = bodies.read(request, ("reason",)).string("reason"), person(request)
    return act(request, code, lambda case: deed(case, reason=reason, by=by, now=timezone.now()))


def one_of(body: bodies.Body, *actions: str) -> str:
    action = body.string("action")
    if action not in actions:
        raise invalid(Problem("/action", _("One of: %(actions)s.") % {"actions": ", ".join(actions)}))
    return action


@router.post(
    "cases/{code}/recall", response=ANSWERS, by_alias=True, summary="Take your decisions back before they leave",
    openapi_extra=schema.takes(schema.RecallIn),
)  # fmt: skip
def recall(request: HttpRequest, code: str) -> HttpResponse:
    """One task's decision, or without `task` all of yours in the case."""
    by, wanted = person(request), bodies.read(request, ("task",)).string("task", "")

    def deed(case: Case) -> None:
        reviewing.recall(case, by=by, task=own_task(case, by, wanted) if wanted else None, now=timezone.now())

    return act(request, code, deed)


def own_task(case: Case, user: User, code: str) -> Task:
    found = next((task for task in permissions.visible_tasks(user).filter(case=case) if task.code == code), None)
    if found is None:
        raise invalid(Problem("/task", _("The case has no such task of yours.")))
    return found


@router.post(
    "cases/{code}/resolve-doubt", response={**ANSWERS, 202: schema.Case}, by_alias=True,
    summary="Settle a delivery that waits for a person",
    openapi_extra=schema.takes(schema.DoubtIn),
)  # fmt: skip
def resolve_doubt(request: HttpRequest, code: str) -> HttpResponse:
    """202: asked for; in a queue of high risk another operator sends the same request to have answers sent again."""
    body, by = bodies.read(request, ("action", "reason")), person(request)
    action, reason = one_of(body, "resend", "mark_done", "abandon", "answer_again"), body.string("reason")
    return act(
        request,
        code,
        lambda case: settling.resolve_doubt(case, action=action, reason=reason, by=by, now=timezone.now()),
    )


@router.post(
    "cases/{code}/close-expired", response=ANSWERS, by_alias=True, summary="End a case whose time has run out",
    openapi_extra=schema.takes(schema.ExpiredIn),
)  # fmt: skip
def close_expired(request: HttpRequest, code: str) -> HttpResponse:
    body, by = bodies.read(request, ("action", "reason")), person(request)
    action, reason = one_of(body, "send_cancelled", "abandon"), body.string("reason")
    return act(
        request,
        code,
        lambda case: settling.close_expired(case, action=action, reason=reason, by=by, now=timezone.now()),
    )


@router.post(
    "cases/{code}/accept-deviation", response=ANSWERS, by_alias=True, summary="Open a quarantined case",
    openapi_extra=schema.takes(schema.ReasonIn),
)  # fmt: skip
def accept_deviation(request: HttpRequest, code: str) -> HttpResponse:
    return act_because(request, code, reviewing.accept)


@router.post(
    "cases/{code}/rebind", response=ANSWERS, by_alias=True, summary="Send to the agent's new address after all",
    openapi_extra=schema.takes(schema.ReasonIn),
)  # fmt: skip
def rebind(request: HttpRequest, code: str) -> HttpResponse:
    return act_because(request, code, settling.rebind)


@router.post(
    "cases/{code}/unblock", response=ANSWERS, by_alias=True, summary="What was in the way is mended: try again",
    openapi_extra=schema.takes(schema.ReasonIn),
)  # fmt: skip
def unblock(request: HttpRequest, code: str) -> HttpResponse:
    """The answers stay as they are, and every check is made again: what still stands blocks the case again."""
    return act_because(request, code, settling.unblock)


@router.post(
    "cases/{code}/abandon", response=ANSWERS, by_alias=True, summary="Give a case up",
    openapi_extra=schema.takes(schema.ReasonIn),
)  # fmt: skip
def abandon(request: HttpRequest, code: str) -> HttpResponse:
    return act_because(request, code, settling.abandon)
