"""How long content is kept: rules that two people agreed to, and what they say is due.

For each task the narrowest rule counts: of its queue and agent, of its queue, of its agent, for all. A conversation is
due when every task of every case of it is; where no rule says anything, it is kept. A hold keeps it in any case.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from approvals import audit, locking, permissions
from approvals.erasing import asking, holding
from approvals.models import Case, Erasure, Hold, Queue, RetentionRule, Task, User
from approvals.refusals import Invalid, NotAllowed, WrongState
from approvals.schemas import Problem

MOST_DAYS = 36_500
BATCH = 500

audit.register("retention.asked", "retention.agreed", "retention.ended")


@dataclass(frozen=True, kw_only=True)
class Due:
    """A conversation whose time is over, by the rule that kept it longest; `hold`: why it stays all the same."""

    case: Case  # the last one of it
    cases: list[Case]
    rule: RetentionRule
    since: datetime
    hold: Hold | None

    @property
    def reason(self) -> str:
        return f"Kept for {self.rule.days} days after it ended."


def in_force() -> QuerySet[RetentionRule]:
    found = RetentionRule.objects.filter(agreed_at__isnull=False, ended_at__isnull=True)
    return found.select_related("queue", "asked_by", "agreed_by").order_by("pk")


def asked_for() -> QuerySet[RetentionRule]:
    found = RetentionRule.objects.filter(agreed_at__isnull=True, ended_at__isnull=True)
    return found.select_related("queue", "asked_by").order_by("pk")


@transaction.atomic
def ask(*, queue: Queue | None, agent: str, days: int, basis: str, by: User, now: datetime) -> RetentionRule:
    """An administrator proposes a rule. Raises NotAllowed, Invalid."""
    by = _admin(by)
    if not 1 <= days <= MOST_DAYS:
        raise Invalid([Problem("/days", _("Say for how many days, from 1 to 36,500."))])
    if not basis.strip():
        raise Invalid([Problem("/basis", _("Say which law or policy says so."))])
    rule = RetentionRule.objects.create(
        queue=queue, agent=agent.strip(), days=days, basis=basis.strip(), asked_by=by, asked_at=now
    )
    said = f"{by.display_name} asked to keep content of {scope(rule)} for {days} days: {rule.basis}"
    _tell("retention.asked", said, rule, by, now)
    return rule


@transaction.atomic
def agree(rule: RetentionRule, *, by: User, now: datetime) -> None:
    """Another administrator agrees: from now on it counts, in place of an older rule for the same.

    Raises NotAllowed, WrongState.
    """
    by = _admin(by)
    if rule.asked_by_id == by.pk:
        raise NotAllowed(_("Whoever asked does not agree to it: four eyes."))
    same = in_force().filter(agent=rule.agent, queue=rule.queue)
    same.update(ended_by=by, ended_at=now)
    if not asked_for().filter(pk=rule.pk).update(agreed_by=by, agreed_at=now):
        raise WrongState(_("This rule counts already, or was ended."))
    said = f"{by.display_name} agreed: content of {scope(rule)} is kept for {rule.days} days."
    _tell("retention.agreed", said, rule, by, now)


@transaction.atomic
def end(rule: RetentionRule, *, by: User, now: datetime) -> None:
    """To keep longer one pair of eyes is enough. Raises NotAllowed, WrongState."""
    by = _admin(by)
    if not RetentionRule.objects.filter(pk=rule.pk, ended_at__isnull=True).update(ended_by=by, ended_at=now):
        raise WrongState(_("This rule was ended."))
    _tell("retention.ended", f"{by.display_name} ended the rule for {scope(rule)}.", rule, by, now)


def scope(rule: RetentionRule) -> str:
    """In the words of the trail."""
    parts = [f"queue “{rule.queue.name}”"] if rule.queue else []
    parts += [f"agent {rule.agent}"] if rule.agent else []
    return " of ".join(parts) or "all queues and agents"


def due(now: datetime) -> Iterator[Due]:
    """Conversations whose time is over, oldest first; held ones too, so that they are seen."""
    rules = list(in_force())
    if not rules:
        return
    edge = now - timedelta(days=min(rule.days for rule in rules))
    seen: set[tuple[str, str]] = set()
    for case in candidates(edge).iterator(chunk_size=BATCH):
        key = (case.agent, case.thread_key or f"case {case.pk}")
        if key not in seen:
            seen.add(key)
            yield from _due(case, rules, now)


def candidates(edge: datetime) -> QuerySet[Case]:
    """Ended before `edge` and not erased since."""
    same = {"case__agent": OuterRef("agent"), "case__thread_key": OuterRef("thread_key")}
    gone = Erasure.objects.exclude(case__thread_key="").filter(**same, done_at__gte=OuterRef("ended_at"))
    alone = Erasure.objects.filter(case=OuterRef("pk"), done_at__isnull=False)
    ended = Case.objects.filter(~Exists(gone), ~Exists(alone), state__in=asking.OVER, ended_at__lt=edge)
    return ended.order_by("ended_at", "pk")


def _due(case: Case, rules: list[RetentionRule], now: datetime) -> Iterator[Due]:
    cases = list(asking.conversation(case).order_by("pk"))
    if any(one.state not in asking.OVER or one.ended_at is None for one in cases):
        return
    last = max(one.ended_at for one in cases if one.ended_at)
    tasks = Task.objects.filter(case__in=cases).values_list("queue_id", "agent").distinct()
    found = [narrowest(rules, queue, agent) for queue, agent in tasks]
    if not found or any(rule is None for rule in found):
        return
    rule = max((rule for rule in found if rule), key=lambda rule: rule.days)
    over = last + timedelta(days=rule.days)
    if over <= now:
        yield Due(case=cases[-1], cases=cases, rule=rule, since=over, hold=holding.on(cases))


def narrowest(rules: list[RetentionRule], queue: int, agent: str) -> RetentionRule | None:
    fits = [rule for rule in rules if rule.queue_id in (None, queue) and rule.agent in ("", agent)]
    return max(fits, key=lambda rule: (rule.queue_id is not None, rule.agent != ""), default=None)


def _tell(verb: str, sentence: str, rule: RetentionRule, by: User, now: datetime) -> None:
    data = {
        "rule": rule.pk, "queue": rule.queue.name if rule.queue else None, "agent": rule.agent or None,
        "days": rule.days, "basis": rule.basis,
    }  # fmt: skip
    audit.record(verb, sentence, actor=by, agent=rule.agent, refs={}, data=data, now=now)


def _admin(by: User) -> User:
    by = locking.locked_person(by)
    if sentence := permissions.may_administer(by):
        raise NotAllowed(sentence)
    return by
