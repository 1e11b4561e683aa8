"""What administrators do to the people of the desk: what they may, on and off, their sessions and their tokens.

One change of people at a time, so that of two administrators who take each other's role one is left. `by` None: from
the shell, where whoever asks may do everything. A decision is judged by the rights of its moment: none is undone here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import Group
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from approvals import audit, jsontext, locking, people, permissions, tokens
from approvals.models import ApiToken, Case, Task, User
from approvals.models.cases import State
from approvals.models.people import Role
from approvals.refusals import Changed, Invalid, NotAllowed, WrongState
from approvals.schemas import Problem

MOST_REASON = 1000  # characters
MOST_NAME = 150

audit.register("user.disabled", "user.enabled", "session.ended", "token.revoked")


@dataclass(frozen=True)
class Right:
    """What a person is to be."""

    person: User
    role: Role
    queues: Sequence[str]

    def covers(self, task: Task) -> bool:
        return self.role == Role.REVIEWER and task.queue.name in self.queues


@transaction.atomic
def add(name: str, *, role: Role, queues: Sequence[str], service: bool, by: User, now: datetime) -> User:
    """Somebody new, who cannot sign in before a password was chosen. Raises NotAllowed, Invalid (at /name)."""
    turn()
    by = administrator(by)
    name = User.normalize_username(name)
    try:
        UnicodeUsernameValidator()(name)
    except ValidationError as problem:
        raise Invalid([Problem("/name", str(problem.messages[0]))]) from None
    if len(name) > MOST_NAME:
        raise Invalid([Problem("/name", _("A name has at most %d characters.") % MOST_NAME)])
    if User.objects.filter(username=name).exists():
        raise Invalid([Problem("/name", _("There is somebody of this name already."))])
    return people.set_user(name, role=role, queues=queues, service=service, by=by, now=now)


@transaction.atomic
def appoint(
    name: str, *, role: Role, queues: Sequence[str], service: bool, password: str | None, now: datetime
) -> User:  # fmt: skip
    """From the shell: somebody new, or another role, other queues and, where one is given, another password.

    What they hold and may decide no more is free again. Raises ValidationError (a weak password), WrongState.
    """
    turn(*people.named(name))
    known = list(people.named(name).select_for_update(no_key=True))
    if service or role != Role.ADMIN:
        for person in known:
            _keep_an_administrator(person)
    lost = [task for person in known for task in _held(person) if not Right(person, role, queues).covers(task)]
    _let_go(lost)
    appointed = people.set_user(name, role=role, queues=queues, service=service, password=password, now=now)
    _tell_free(lost, f"{appointed.display_name} may not decide it any more", None, now)
    return appointed


def shown(person: User) -> str:
    """What a form keeps of the rights that it shows, to notice that they changed meanwhile."""
    return jsontext.dumps(people.rights_of(person))


@transaction.atomic
def change_rights(
    person: User, *, role: Role, queues: Sequence[str], seen: str, because: str, by: User, now: datetime
) -> None:
    """Another role or other queues. What they hold and may decide no more is free again.

    `seen`: what `shown` said. Raises NotAllowed, Invalid (at /reason), Changed, WrongState (the last administrator).
    """
    because = reason(because)
    turn(person)
    by = administrator(by)
    person = _locked(person)
    if seen != shown(person):
        said = _("Somebody changed this meanwhile: %(name)s is %(rights)s now. Nothing was saved.")
        raise Changed(said % {"name": person.display_name, "rights": _rights_in_words(person)})
    if role != Role.ADMIN:
        _keep_an_administrator(person)
    give([Right(person, role, queues)], because=because, by=by, now=now)


def _rights_in_words(person: User) -> str:
    role = str(person.role.label) if person.role else "–"
    queues = ", ".join(person.queues.order_by("name").values_list("name", flat=True))
    return f"{role} ({queues})" if queues else role


def give(rights: Sequence[Right], *, because: str, by: User, now: datetime) -> None:
    """To people whose `turn` it is, and who are locked. What they hold and may decide no more is free again."""
    lost = [(right, task) for right in rights for task in _held(right.person) if not right.covers(task)]
    _let_go([task for _right, task in lost])
    for right in rights:
        person = right.person
        people.set_user(
            person.username, role=right.role, queues=right.queues, service=person.is_service, by=by, because=because,
            now=now,
        )  # fmt: skip
    for right, task in lost:
        _tell_free([task], f"{right.person.display_name} may not decide it any more", by, now)


@transaction.atomic
def disable(person: User, *, because: str, by: User | None = None, now: datetime) -> None:
    """Signed out everywhere, at once and for good; tokens are revoked, and what they hold is free again.

    Decisions, drafts and what they set aside stay. Raises NotAllowed, Invalid, WrongState.
    """
    because = reason(because)
    turn(person)
    by = by and administrator(by)
    person = _locked(person)
    if not person.is_active:
        raise WrongState(_("%(name)s is disabled already.") % {"name": person.display_name})
    _keep_an_administrator(person)
    held = _held(person)
    _let_go(held)
    User.objects.filter(pk=person.pk).update(is_active=False, sessions_ended=F("sessions_ended") + 1)
    revoked = tokens.revoke_all(person, now=now)
    said = f"{person.display_name} was disabled: {because}"
    data = {"reason": because, "tokens": revoked, "tasks": [task.code for task in held]}
    audit.record("user.disabled", said, actor=by, data={**_who(person), **data}, now=now)
    _tell_free(held, f"{person.display_name} was disabled", by, now)


@transaction.atomic
def enable(person: User, *, because: str, by: User | None = None, now: datetime) -> None:
    """They may sign in again with the password they had; tokens are made anew.

    Raises NotAllowed, Invalid, WrongState.
    """
    because = reason(because)
    turn()
    by = by and administrator(by)
    person = _locked(person)
    if person.is_active:
        raise WrongState(_("%(name)s is not disabled.") % {"name": person.display_name})
    User.objects.filter(pk=person.pk).update(is_active=True)
    said = f"{person.display_name} was enabled: {because}"
    audit.record("user.enabled", said, actor=by, data={**_who(person), "reason": because}, now=now)


@transaction.atomic
def end_sessions(person: User, *, by: User, now: datetime) -> None:
    """Signed out on every device, and every open page of theirs; they may sign in again. Raises NotAllowed."""
    turn()
    by = administrator(by)
    person = _locked(person)
    User.objects.filter(pk=person.pk).update(sessions_ended=F("sessions_ended") + 1)
    said = f"{person.display_name} was signed out everywhere."
    audit.record("session.ended", said, actor=by, data=_who(person), now=now)


@transaction.atomic
def revoke_tokens(person: User, *, only: int | None = None, by: User, now: datetime) -> None:
    """All of them, or one. Raises NotAllowed, WrongState (there is none to revoke)."""
    turn()
    by = administrator(by)
    person = _locked(person)
    working = ApiToken.objects.filter(user=person, revoked_at__isnull=True)
    number = (working if only is None else working.filter(pk=only)).update(revoked_at=now)
    if not number:
        raise WrongState(_("There is no such token that works."))
    said = f"Tokens of {person.display_name} were revoked: {number}."
    audit.record("token.revoked", said, actor=by, data={**_who(person), "tokens": number}, now=now)


@transaction.atomic
def give_token(person: User, *, by: User, now: datetime) -> str:
    """For a program; a person's own is made at the shell. Shown once. Raises NotAllowed, WrongState."""
    turn()
    by = administrator(by)
    person = _locked(person)
    if not person.is_active or not person.is_service:
        raise WrongState(_("Tokens are made here for programs that are not disabled."))
    return people.give_token(person, by=by, now=now)


def turn(*persons: User) -> None:
    """Wait for one's turn: the administrators' group, then the cases of what `persons` hold, before any person."""
    Group.objects.select_for_update(no_key=True).filter(name=Role.ADMIN).first()
    if persons:
        held = Task.objects.filter(claimed_by__in=persons, state=State.OPEN).values("case")
        list(Case.objects.select_for_update(no_key=True).filter(pk__in=held).order_by("pk"))


def administrator(by: User) -> User:
    """Who asks, with the rights of this moment. Raises NotAllowed."""
    fresh = locking.locked_person(by)
    if refusal := permissions.may_administer(fresh):
        raise NotAllowed(refusal)
    return fresh


def reason(because: str) -> str:
    """Trimmed. Raises Invalid (at /reason)."""
    because = because.strip()
    if not because:
        raise Invalid([Problem("/reason", _("Say why: it stays on the trail."))])
    if len(because) > MOST_REASON:
        raise Invalid([Problem("/reason", _("A reason has at most %d characters.") % MOST_REASON)])
    return because


def _locked(person: User) -> User:
    return User.objects.select_for_update(no_key=True).get(pk=person.pk)


def _keep_an_administrator(person: User) -> None:
    """Raises WrongState when they look after people, and nobody else could sign in and do it."""
    able = User.objects.filter(is_active=True, is_service=False, groups__name=Role.ADMIN)
    left = [one.pk for one in able if one.role == Role.ADMIN and one.has_usable_password()]
    if left == [person.pk]:
        said = _("%(name)s is the only administrator who can sign in. Make somebody else one first.")
        raise WrongState(said % {"name": person.display_name})


def _held(person: User) -> list[Task]:
    held = Task.objects.filter(claimed_by=person, state=State.OPEN)
    return list(held.select_related("case", "queue").order_by("case_id", "pk"))


def _let_go(tasks: Iterable[Task]) -> None:
    Task.objects.filter(pk__in=[task.pk for task in tasks]).update(claimed_by=None, claimed_at=None)


def _tell_free(tasks: Iterable[Task], why: str, by: User | None, now: datetime) -> None:
    for task in tasks:
        audit.record("task.released", f"{task.code} is free again: {why}.", actor=by, task=task, now=now)


def _who(person: User) -> dict[str, str]:
    return {"user": person.username, "pseudonym": person.pseudonym}
