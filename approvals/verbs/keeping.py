"""Views of the queue that people keep: their own, shared ones, and what somebody opens the queue with.

A view is an address's query under a name; it holds no rows and gives no rights.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import BooleanField, Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from approvals import audit, permissions
from approvals.models import FirstView, SavedView, User
from approvals.models.people import Role
from approvals.refusals import Invalid, NotAllowed
from approvals.schemas import Problem

MOST = 20  # views that one person keeps
SHARED = 20  # shared views that are shown


def visible(user: User, *, only: int | None = None) -> QuerySet[SavedView]:
    """Own and shared views by name (or the one of a key), each with `opens`: whether this person begins with it."""
    views = SavedView.objects.filter(Q(owner=user) | Q(shared=True))
    views = views if only is None else views.filter(pk=only)
    own_first = FirstView.objects.filter(user=user, view=OuterRef("pk"))
    return (
        views.annotate(opens=Exists(own_first, output_field=BooleanField()))
        .select_related("owner")
        .order_by("name", "pk")[: MOST + SHARED]
    )


def first_of(user: User, views: list[SavedView]) -> SavedView | None:
    """What this person opens the queue with: the view they chose, else that of their role."""
    role = permissions.role_of(user)
    chosen = next((view for view in views if view.opens), None)  # type: ignore[attr-defined]
    return chosen or next((view for view in views if role and view.first_for == role), None)


@transaction.atomic
def save(user: User, *, name: str, query: str, shared: bool, now: datetime) -> SavedView:
    """Keep these filters under a name; a name of one's own that exists is changed. Raises Invalid."""
    name = name.strip()
    if not name or len(name) > 60:
        raise Invalid([Problem("/name", _("A view has a name of at most 60 characters."))])
    if len(query) > 2000:
        raise Invalid([Problem("/query", _("These are too many filters for one view."))])
    before = SavedView.objects.filter(owner=user, name=name).first()
    if before is None and user.views.count() >= MOST:
        raise Invalid([Problem("/name", _("You keep %d views; remove one first.") % MOST)])
    view, _made = SavedView.objects.update_or_create(
        owner=user,
        name=name,
        defaults={"query": query, "shared": shared, "first_for": before.first_for if before and shared else ""},
        create_defaults={"query": query, "shared": shared, "made_at": now},
    )
    if shared or (before and before.shared):
        _record(user, view, "shared" if shared else "stopped sharing", now)
    return view


@transaction.atomic
def remove(user: User, view: SavedView, *, now: datetime) -> None:
    """By its owner, or a shared one by an administrator. Raises NotAllowed."""
    if view.owner_id != user.pk and permissions.may_administer(user):
        raise NotAllowed(_("Only its owner or an administrator removes a view."))
    if view.shared:
        _record(user, view, "removed", now)
    view.delete()


@transaction.atomic
def begin_with(user: User, view: SavedView | None) -> None:
    """Open the queue with this view, on every device; None: with all that is open."""
    FirstView.objects.filter(user=user).delete()
    if view is not None:
        FirstView.objects.create(user=user, view=view)


@transaction.atomic
def first_for(user: User, view: SavedView, *, role: Role | None, now: datetime) -> None:
    """Let a whole role open the queue with a shared view, unless they chose their own. Raises NotAllowed, Invalid."""
    if sentence := permissions.may_administer(user):
        raise NotAllowed(sentence)
    if not view.shared:
        raise Invalid([Problem("/view", _("Only a shared view can be the first of a role."))])
    if role:
        SavedView.objects.filter(first_for=role).update(first_for="")
    SavedView.objects.filter(pk=view.pk).update(first_for=role or "")
    _record(user, view, f"made first for every {role.value}" if role else "made first for nobody", now)


def _record(user: User, view: SavedView, what: str, now: datetime) -> None:
    said = f"{user.display_name} {what} the view “{view.name}”."
    audit.record("view.changed", said, actor=user, data={"view": view.name, "query": view.query}, now=now)
