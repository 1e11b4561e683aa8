"""The people of the desk as administrators see them: rows of the list, and what the page of one shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from approvals.models import Queue, User
from approvals.models.people import Role

PAGE = 200
ROLES = {
    Role.REVIEWER: lambda: _("sees, claims and decides in the queues below; starts runs"),
    Role.OPERATOR: lambda: _("sees everything, settles doubts, cancels; never approves, rejects or answers"),
    Role.AUDITOR: lambda: _("reads everything, changes nothing"),
    Role.ADMIN: lambda: _("people, queues and agents; no decisions"),
}


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether somebody can work here: a word, with an icon and a tone that only repeat it."""

    words: str
    icon: str
    tone: str


@dataclass(frozen=True, slots=True)
class Row:
    """One person in the list."""

    person: User
    role: str
    queues: list[str]
    standing: Standing
    tokens: int


def everybody(words: str) -> QuerySet[User]:
    """Whose name holds the words, by name; with what a row shows."""
    found = User.objects.prefetch_related("groups", "queues").order_by("username", "pk")
    named = Q(username__icontains=words) | Q(first_name__icontains=words) | Q(last_name__icontains=words)
    working = Count("api_tokens", filter=Q(api_tokens__revoked_at__isnull=True), distinct=True)
    return (found.filter(named) if words else found).annotate(working_tokens=working)


def rows(persons: Iterable[User]) -> list[Row]:
    return [row(person) for person in persons]


def row(person: User) -> Row:
    """Of a person that `everybody` found."""
    role = _role(person)
    queues = sorted(queue.name for queue in person.queues.all())
    tokens: int = person.working_tokens  # type: ignore[attr-defined]
    return Row(person, str(role.label) if role else "", queues, standing(person, role), tokens)


def standing(person: User, role: Role | None) -> Standing:
    if not person.is_active:
        return Standing(_("disabled"), "off", "tag-no")
    if role is None:
        return Standing(_("without a role"), "slash", "tag-warn")
    if not person.is_service and not person.has_usable_password():
        return Standing(_("no password yet"), "key", "tag-warn")
    return Standing(_("at work"), "check", "tag-yes")


def roles() -> list[tuple[str, str, str]]:
    """Each with its name and what it may."""
    return [(role.value, str(role.label), says()) for role, says in ROLES.items()]


def queue_names() -> list[str]:
    return list(Queue.objects.order_by("name").values_list("name", flat=True))


def _role(person: User) -> Role | None:
    """As `User.role`, from the groups that were brought along."""
    names = {group.name for group in person.groups.all()}
    return next((role for role in Role if role in names), None)
