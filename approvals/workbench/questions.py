"""Saved questions: a name for an address. Its owner's, or shared with everybody who reads the trail."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from approvals.models import SavedQuestion, User
from approvals.refusals import Invalid
from approvals.schemas import Problem
from approvals.workbench import question

LONGEST = 80


def offered(user: User) -> QuerySet[SavedQuestion]:
    """One's own and the shared ones, by name. Whoever asks a shared one sees what their own rights show."""
    return SavedQuestion.objects.filter(Q(owner=user) | Q(shared=True)).select_related("owner").order_by("name", "pk")


def save(words: str, *, name: str, shared: bool, by: User, now: datetime) -> SavedQuestion:
    """The same name again replaces the question. Raises Invalid."""
    name = " ".join(name.split())
    if not name or len(name) > LONGEST:
        raise Invalid([Problem("/name", _("Give it a name of at most 80 characters."))])
    asked = question.read(words)
    if asked.problems:
        raise Invalid([Problem("/words", asked.problems[0])])
    told = {"words": asked.words, "shared": shared, "created_at": now}
    saved, _made = SavedQuestion.objects.update_or_create(owner=by, name=name, defaults=told)
    return saved


def forget(saved: SavedQuestion, *, by: User) -> None:
    """Only its owner may; for others it is not there."""
    SavedQuestion.objects.filter(pk=saved.pk, owner=by).delete()
