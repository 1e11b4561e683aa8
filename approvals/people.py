"""Who works here: people with their role and queues, and the queues themselves. Every change is an entry."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth.models import Group
from django.contrib.auth.password_validation import validate_password
from django.db import transaction
from django.db.models import QuerySet

from approvals import audit, tokens
from approvals.models import Queue, User
from approvals.models.people import Role


@transaction.atomic
def set_queue(
    name: str, *, risk: str | None = None, reason_required: bool | None = None, reason_length: int | None = None,
    reason_codes: Sequence[Sequence[str]] | None = None, whole_text_first: bool | None = None,
    by: User | None = None, because: str = "", now: datetime,
) -> Queue:  # fmt: skip
    """Create a queue or change how it decides; None leaves a thing as it is. `because` goes on the trail."""
    queue, created = Queue.objects.select_for_update(no_key=True).get_or_create(name=name)
    wanted = {
        "risk": risk, "reason_required": reason_required, "reason_length": reason_length,
        "reason_codes": None if reason_codes is None else [list(pair) for pair in reason_codes],
        "whole_text_first": whole_text_first,
    }  # fmt: skip
    changed = {key: to for key, to in wanted.items() if to is not None and to != getattr(queue, key)}
    before = {} if created else _rules(queue)
    for key, to in changed.items():
        setattr(queue, key, to)
    if created or changed:
        queue.save(update_fields=list(changed))
        _record_queue(queue, before, by, because, now)
    return queue


def _rules(queue: Queue) -> dict[str, Any]:
    """How a queue decides, as an entry keeps it."""
    return {
        "risk": queue.risk, "reasonRequired": queue.reason_required, "reasonLength": queue.reason_length,
        "reasonCodes": queue.reason_codes, "wholeTextFirst": queue.whole_text_first,
    }  # fmt: skip


def _record_queue(queue: Queue, before: dict[str, Any], by: User | None, because: str, now: datetime) -> None:
    said = f"Queue “{queue.name}” " + ("was changed" if before else "was made") + f": {queue.risk} risk."
    after = _rules(queue)
    was = {name: value for name, value in before.items() if value != after[name]}
    data = {"queue": queue.name, **after, "was": was, "reason": because or None}
    audit.record("queue.changed", said, actor=by, data=data, now=now)


@transaction.atomic
def set_user(
    name: str,
    *,
    role: Role,
    queues: Sequence[str] = (),
    service: bool = False,
    password: str | None = None,
    by: User | None = None,
    because: str = "",
    now: datetime,
) -> User:
    """Create a person or replace their role and queues, and the password when one is given.

    A service person never has a password: it decides by token only. Raises ValidationError for a weak password.
    """
    person = _person(name)
    before = None if person._state.adding else rights_of(person)
    person.is_service = service
    if service or (password is None and person._state.adding):
        person.set_unusable_password()
    elif password is not None:
        validate_password(password, person)
        person.set_password(password)
    created = person._state.adding
    person.save()
    person.groups.set([Group.objects.get_or_create(name=role.value)[0]])
    person.queues.set(_queues(queues, by, now))
    _record_changed(person, role, queues, created, password is not None, by, now)
    after = {"role": role.value, "queues": sorted(set(queues)), "service": service}
    if before is not None and before != after:
        _record_rights(person, before, after, by, because, now)
    return person


@transaction.atomic
def give_token(person: User, *, by: User | None = None, now: datetime) -> str:
    """A new personal token; the answer is the only time that it is seen."""
    token = tokens.issue(person, now=now)
    data = {"for": person.username, "pseudonym": person.pseudonym}
    audit.record("token.made", f"A token was made for {person.display_name}.", actor=by, data=data, now=now)
    return token


def named(name: str) -> QuerySet[User]:
    """Whoever has this name, or nobody."""
    # As people sign in with it: a name may be typed in pieces (NFD), and the form for signing in puts them together.
    exactly = User.objects.filter(username=name)
    return exactly if exactly.exists() else User.objects.filter(username=User.normalize_username(name))


def _person(name: str) -> User:
    """Locked, so that a decision being made with the old rights ends first."""
    return named(name).select_for_update(no_key=True).first() or User(username=User.normalize_username(name))


def _queues(names: Sequence[str], by: User | None, now: datetime) -> list[Queue]:
    """Those there are, and new ones for the others."""
    known = {queue.name: queue for queue in Queue.objects.filter(name__in=names)}
    return [known.get(name) or set_queue(name, by=by, now=now) for name in dict.fromkeys(names)]


def rights_of(person: User) -> dict[str, Any]:
    """What this person may do now, as an entry keeps it."""
    queues = sorted(person.queues.values_list("name", flat=True))
    return {"role": person.role.value if person.role else None, "queues": queues, "service": person.is_service}


def _record_rights(
    person: User, before: dict[str, Any], after: dict[str, Any], by: User | None, because: str, now: datetime
) -> None:  # fmt: skip
    said = f"{person.display_name} was {told(before)}, and is {told(after)} now."
    data = {"user": person.username, "pseudonym": person.pseudonym, "from": before, "to": after}
    data |= {"reason": because} if because else {}
    audit.record("role.changed", said, actor=by, data=data, now=now)


def told(rights: dict[str, Any]) -> str:
    words = ("service " if rights["service"] else "") + (rights["role"] or "without a role")
    return f"{words} in {', '.join(rights['queues'])}" if rights["queues"] else words


def _record_changed(
    person: User, role: Role, queues: Sequence[str], created: bool, password: bool, by: User | None, now: datetime
) -> None:
    said = f"{person.display_name} was {'added' if created else 'changed'}: {role.value}"
    said += f" in {', '.join(queues)}." if queues else "."
    audit.record(
        "user.changed",
        said,
        actor=by,
        data={
            "user": person.username,
            "pseudonym": person.pseudonym,
            "role": role.value,
            "queues": list(queues),
            "service": person.is_service,
            "passwordSet": password,
        },
        now=now,
    )
