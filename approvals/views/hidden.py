"""Pages that hide values, and the one deed that shows them to a person for a while."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse, HttpResponseRedirect
from django.utils.timezone import now as current
from django.views.decorators.http import require_POST

from approvals.desk import casefile
from approvals.desk.casefile import CaseFile
from approvals.foreign import hiding, masking
from approvals.refusals import Invalid, Refused
from approvals.requests import PersonRequest

SHOWN_FOR = timedelta(minutes=10)
SESSION = "values_shown"  # code of a case or task → until when, in seconds of the epoch

View = Callable[..., HttpResponse]


def by_the_rules(view: View) -> View:
    """Draw and read the page of a case, or of a task in it, by the rules of its queues and its agent."""

    @wraps(view)
    def drawn(request: PersonRequest, code: str, *args: Any, **kwargs: Any) -> HttpResponse:
        with masking.applying(hiding.rules_of_case(code), lifted=shown_until(request, code) is not None):
            return view(request, code, *args, **kwargs)

    return drawn


def shown_until(request: PersonRequest, code: str) -> datetime | None:
    """Until when this person is shown what is hidden there; None: they are not."""
    until = request.session.get(SESSION, {}).get(code)
    moment = datetime.fromtimestamp(until, UTC) if until is not None else None
    return moment if moment is not None and moment > current() else None


def around(request: PersonRequest, file: CaseFile) -> AbstractContextManager[None]:
    """Of a long case only the task that is drawn may be shown to this person: each is lifted, and told, by itself."""
    is_shown = masking.is_lifted() or (file.long is not None and _shown(request, file) is not None)
    return masking.applying(masking.scope(), lifted=is_shown)


def _shown(request: PersonRequest, file: CaseFile) -> datetime | None:
    task = file.long and shown_until(request, file.long.task.code)
    return shown_until(request, file.case.code) or task or None


@dataclass(frozen=True)
class Look:
    """What the page of a case says about its hidden values."""

    count: int
    until: datetime | None
    may_show: bool


def look(request: PersonRequest, file: CaseFile) -> Look:
    count = sum(len(hiding.places(panel.exhibit)) for panel in file.panels)
    return Look(count, _shown(request, file), hiding.may_show(request.user) is None)


@require_POST
@login_required
@by_the_rules
def show(request: PersonRequest, code: str) -> HttpResponse:
    """Show this person what is hidden in a case, for a while and on the record."""
    file = casefile.read(request.user, code, on=request.POST.get("task", ""), now=current())
    if file is None:
        raise Http404
    tasks = [(panel.task, hiding.places(panel.exhibit)) for panel in file.panels]
    page = casefile.address(file.case, file.long.task.code if file.long else "")
    back = HttpResponseRedirect(page, status=303)
    try:
        hiding.show(file.case, tasks, by=request.user, reason=request.POST.get("reason", ""), now=current())
    except Invalid as refused:
        messages.error(request, str(refused))
        return back
    except Refused as refused:
        return HttpResponse(str(refused), status=refused.status, content_type="text/plain; charset=utf-8")
    until = (current() + SHOWN_FOR).timestamp()
    codes = [*([] if file.long else [code]), *(task.code for task, _places in tasks)]
    request.session[SESSION] = {**request.session.get(SESSION, {}), **dict.fromkeys(codes, until)}
    return back
