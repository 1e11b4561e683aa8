"""People, for administrators: who is here, what each may, and the way in and out. The verbs check again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.timezone import now as current
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from approvals.desk import staff
from approvals.models import User
from approvals.models.people import Role
from approvals.refusals import Invalid, NotAllowed, Refused
from approvals.requests import PersonRequest
from approvals.verbs import passwords, staffing
from approvals.views.refusing import administrators_only


@require_safe
@login_required
def people(request: PersonRequest) -> HttpResponse:
    administrators_only(request)
    words, after = request.GET.get("q", "").strip(), request.GET.get("after", "")
    found = list(staff.everybody(words).filter(username__gt=after)[: staff.PAGE + 1])
    more = found[staff.PAGE - 1].username if len(found) > staff.PAGE else ""
    context = {"now": current(), "rows": staff.rows(found[: staff.PAGE]), "words": words, "more": more}
    return render(request, "approvals/people.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def person_new(request: PersonRequest) -> HttpResponse:
    """Add somebody. The way in, a link or a token, is on the answering page and nowhere else."""
    administrators_only(request)
    if request.method != "POST":
        return new_page(request)
    role = request.POST.get("role", "")
    if role not in Role.values:
        return new_page(request, {"role": _("Choose a role.")})
    service = "service" in request.POST
    try:
        person = staffing.add(
            request.POST.get("name", "").strip(), role=Role(role), queues=queues_of(request), service=service,
            by=request.user, now=current(),
        )  # fmt: skip
        way_in = offered(request, person)
    except NotAllowed as refused:
        raise PermissionDenied(str(refused)) from None
    except Invalid as invalid:
        return new_page(request, {problem.pointer.lstrip("/"): problem.message for problem in invalid.problems})
    return person_page(request, person, way_in)


@require_safe
@login_required
def person(request: PersonRequest, pseudonym: str) -> HttpResponse:
    return person_page(request, found(request, pseudonym))


@require_POST
@login_required
def person_rights(request: PersonRequest, pseudonym: str) -> HttpResponse:
    whom, role = found(request, pseudonym), request.POST.get("role", "")
    if role not in Role.values:
        return said_no(request, whom, _("Choose a role."), 422)
    change = partial(
        staffing.change_rights, whom, role=Role(role), queues=queues_of(request),
        seen=request.POST.get("seen", ""), because=request.POST.get("reason", ""),
    )  # fmt: skip
    return tried(request, whom, change, _("Saved. It counts from the next thing they do."))


@require_POST
@login_required
def person_switch(request: PersonRequest, pseudonym: str) -> HttpResponse:
    """Disable and enable."""
    whom, on = found(request, pseudonym), request.POST.get("to") == "on"
    deed = staffing.enable if on else staffing.disable
    said = _("Enabled again.") if on else _("Disabled, and signed out everywhere.")
    return tried(request, whom, partial(deed, whom, because=request.POST.get("reason", "")), said)


@require_POST
@login_required
def person_sessions(request: PersonRequest, pseudonym: str) -> HttpResponse:
    whom = found(request, pseudonym)
    return tried(request, whom, partial(staffing.end_sessions, whom), _("Signed out everywhere."))


@require_POST
@login_required
def person_tokens(request: PersonRequest, pseudonym: str) -> HttpResponse:
    """Revoke one or all; `token=new` makes one for a program, shown once."""
    whom, which = found(request, pseudonym), request.POST.get("token", "")
    only = int(which) if which.isascii() and which.isdigit() and len(which) < 19 else None
    try:
        if which == "new":
            token = staffing.give_token(whom, by=request.user, now=current())
            return person_page(request, whom, {"token": token})
        staffing.revoke_tokens(whom, only=only, by=request.user, now=current())
    except Refused as refused:
        return said_no(request, whom, str(refused), refused.status)
    return done(request, whom, _("Revoked."))


@require_POST
@login_required
def person_password(request: PersonRequest, pseudonym: str) -> HttpResponse:
    """A link to choose a new password, shown once."""
    whom = found(request, pseudonym)
    try:
        halves = passwords.offer(whom, by=request.user, now=current())
    except Refused as refused:
        return said_no(request, whom, str(refused), refused.status)
    return person_page(request, whom, {"link": link_to(halves)})


def found(request: PersonRequest, pseudonym: str) -> User:
    """Raises PermissionDenied before it tells whether there is somebody."""
    administrators_only(request)
    return get_object_or_404(User, pseudonym=pseudonym)


def queues_of(request: PersonRequest) -> list[str]:
    """Those that were ticked and are there: nobody makes a queue by a form of people."""
    ticked = set(request.POST.getlist("queue"))
    return [name for name in staff.queue_names() if name in ticked]


def offered(request: PersonRequest, person: User) -> dict[str, str]:
    if person.is_service:
        return {"token": staffing.give_token(person, by=request.user, now=current())}
    return {"link": link_to(passwords.offer(person, by=request.user, now=current()))}


def link_to(halves: tuple[str, str]) -> str:
    return f"{settings.PUBLIC_URL}{reverse('new-password', args=halves)}"


def new_page(request: PersonRequest, said: dict[str, str] | None = None) -> HttpResponse:
    chosen = {"name": request.POST.get("name", ""), "role": request.POST.get("role", Role.REVIEWER),
              "queues": request.POST.getlist("queue"), "service": "service" in request.POST}  # fmt: skip
    context = {"chosen": chosen, "said": said or {}, "roles": staff.roles(), "queues": staff.queue_names()}
    return render(request, "approvals/person_new.html", context, status=422 if said else 200)


def person_page(
    request: PersonRequest, whom: User, way_in: dict[str, str] | None = None, status: int = 200
) -> HttpResponse:
    """As the person is now; `way_in` is a link or a token that is shown this once."""
    whom = User.objects.get(pk=whom.pk)
    context: dict[str, Any] = {
        "now": current(), "person": whom, "standing": staff.standing(whom, whom.role), "way_in": way_in,
        "roles": staff.roles(), "queues": staff.queue_names(), "own": [queue.name for queue in whom.own_queues],
        "seen": staffing.shown(whom), "is_me": whom.pk == request.user.pk,
        "tokens": whom.api_tokens.filter(revoked_at__isnull=True).order_by("-created_at", "-pk"),
    }  # fmt: skip
    return render(request, "approvals/person.html", context, status=status)


def tried(request: PersonRequest, whom: User, deed: Callable[..., None], sentence: str) -> HttpResponse:
    """The page again with why not, or the way back with what was done."""
    try:
        deed(by=request.user, now=current())
    except Refused as refused:
        return said_no(request, whom, str(refused), refused.status)
    return done(request, whom, sentence)


def said_no(request: PersonRequest, whom: User, sentence: str, status: int) -> HttpResponse:
    messages.error(request, sentence)
    return person_page(request, whom, status=status)


def done(request: PersonRequest, whom: User, sentence: str) -> HttpResponse:
    messages.success(request, sentence)
    return HttpResponseRedirect(reverse("person", args=[whom.pseudonym]), status=303)
