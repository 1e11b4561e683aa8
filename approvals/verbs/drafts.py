"""What somebody has typed and not decided yet: kept on the server per person and task, shown again as it was.

A draft is no deed: it leaves no entry in the trail and decides nothing. It outlives the session, and also a change of
what is asked: then it is shown beside the new form instead of in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from approvals import jsontext
from approvals.models import Draft, Task, User
from approvals.models.cases import State
from approvals.prepared import Prepared, slot

NOT_KEPT = ("csrfmiddlewaretoken", "verdict", "action", "idempotency_key", "shown_digest", "interrupt", "confirmed")
NOT_TYPED = ("typed", "read_all")  # said anew each time: friction that is kept is none

kept_on = Prepared(lambda: Draft.objects.filter(user=slot("user"), task=slot("task")).values_list("pk"))


def keep(task: Task, *, by: User, post: Mapping[str, str], now: datetime) -> Draft:
    """Keep what a form holds now, in place of what was kept before."""
    fields = {name: post.get(name, "") for name in post if name not in (*NOT_KEPT, *NOT_TYPED)}
    kept, _created = Draft.objects.update_or_create(
        user=by, task=task,
        defaults={"fields": jsontext.dumps(fields), "shown_digest": post.get("shown_digest", "")[:64], "saved_at": now},
    )  # fmt: skip
    _forget_ended(by)
    return kept


def forget(task: Task, *, by: User) -> None:
    """After a decision, or because the person wants to start again."""
    if kept_on.rows(user=by.pk, task=task.pk):  # most keep none, and only a deletion has to wait for its turn to write
        Draft.objects.filter(user=by, task=task).delete()


def of(user: User, tasks: Iterable[int]) -> dict[int, Draft]:
    """The person's drafts on these tasks."""
    return {draft.task_id: draft for draft in Draft.objects.filter(user=user, task__in=tasks)}


def fields(draft: Draft) -> dict[str, str]:
    return {name: str(text) for name, text in jsontext.loads(draft.fields).items()}


def _forget_ended(user: User) -> None:
    """Nothing can come of a draft on a case that ended."""
    ended = (State.DELIVERED, State.WITHDRAWN)
    Draft.objects.filter(user=user, task__case__state__in=ended).delete()
