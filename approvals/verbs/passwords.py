"""A new password, chosen by its owner through a link that works once: no administrator ever knows it.

A decision is its author's alone, so a password that somebody else has seen is none. The link holds a MAC over the
password and the last sign-in of its moment; it ends with either, with a sign-out everywhere, and after a day.
"""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.db import transaction
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _

from approvals import acting, audit
from approvals.models import User
from approvals.refusals import WrongState
from approvals.verbs import staffing

audit.register("password.reset", "password.set")


class Links(PasswordResetTokenGenerator):
    """As Django's; ending a person's sessions ends their links too."""

    key_salt = "approvals.verbs.passwords.Links"

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        return f"{super()._make_hash_value(user, timestamp)}{user.sessions_ended}"


links = Links()


@transaction.atomic
def offer(person: User, *, by: User, now: datetime) -> tuple[str, str]:
    """The two halves of a link, seen this once. Another's old password stops at once; one's own works until then.

    Raises NotAllowed, WrongState.
    """
    staffing.turn()
    by = staffing.administrator(by)
    person = User.objects.select_for_update(no_key=True).get(pk=person.pk)
    if person.is_service:
        raise WrongState(_("A program has no password: it decides by token only."))
    if not person.is_active:
        raise WrongState(_("%(name)s is disabled: a password would open nothing.") % {"name": person.display_name})
    if person.pk != by.pk:
        person.set_unusable_password()
        person.save(update_fields=["password"])
    said = f"{person.display_name} was given a link to choose a new password."
    data = {"user": person.username, "pseudonym": person.pseudonym}
    audit.record("password.reset", said, actor=by, data=data, now=now)
    return urlsafe_base64_encode(force_bytes(person.pk)), links.make_token(person)


@transaction.atomic
def choose(person: User, password: str, *, link: str, now: datetime) -> None:
    """Whoever has the link is the person. Raises WrongState: it was used meanwhile, or the person disabled."""
    person = User.objects.select_for_update(no_key=True).get(pk=person.pk)
    if not may_choose(person) or not links.check_token(person, link):
        raise WrongState(_("This link does not work any more."))
    person.set_password(password)
    person.save(update_fields=["password"])
    data = {"user": person.username, "pseudonym": person.pseudonym}
    with acting.by("link"):
        audit.record("password.set", f"{person.display_name} chose a new password.", actor=person, data=data, now=now)


def may_choose(person: User) -> bool:
    return person.is_active and not person.is_service
