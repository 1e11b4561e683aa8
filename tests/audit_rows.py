"""Rows beside the trail, made by hand for tests that need one of each."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from approvals.models import Case, Erasure, Finding, Hold, RetentionRule, Sample, SavedQuestion, User


def one_of_each(case: Case, *, auditor: User, admin: User) -> dict[str, int]:
    """The beginning of the route that leads to each, and its number."""
    now, asked = timezone.now(), {"asked_by": auditor, "asked_at": timezone.now()}
    made: dict[str, Any] = {
        "audit/questions/": SavedQuestion(owner=auditor, name="all", created_at=now),
        "audit/samples/": Sample(seed="s", size=1, population=1, drawn=[], by=auditor, at=now),
        "audit/findings/": Finding(case=case, text="what", by=auditor, at=now),
        "audit/erasures/": Erasure(case=case, reason="why", basis="law", **asked),
        "audit/holds/": Hold(agent="nobody", reason="why", by=admin, at=now),
        "audit/retention/": RetentionRule(days=30, basis="law", asked_by=admin, asked_at=now),
    }
    for row in made.values():
        row.save()
    return {route: row.pk for route, row in made.items()}
