"""A trail that nobody touched is never accused, whatever was done and refused meanwhile (R-31).

`LIVES=100` for the long run.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest
from django.utils import timezone

from agentbridge.record import verifying
from approvals import intake, reviewing
from approvals.models import AuditEntry, Case, Task, User
from approvals.refusals import Refused
from approvals.trail import anchors, checkpoints, verification
from approvals.verbs import casework, notes
from tests.people import decide, shown

pytestmark = pytest.mark.django_db(transaction=True)
LIVES = int(os.environ.get("LIVES", "10"))
DEEDS_IN_A_LIFE = 40
Deed = Callable[[Task, User, random.Random], object]


def decides(task: Task, by: User, chance: random.Random) -> object:
    verdict = chance.choice(["approved", "rejected", "cancelled"])
    edits = '{"to": "x"}' if verdict == "approved" and chance.random() < 0.5 else None
    return decide(task, by, verdict, edits=edits, comment=chance.choice(["", "Über “alles”."]))


def turns_out_otherwise(task: Task, by: User, chance: random.Random) -> object:
    return intake.refreeze(task, shown(args=f'{{"n": {chance.randint(1, 3)}}}'), now=timezone.now())


def is_withdrawn(task: Task, by: User, chance: random.Random) -> object:
    return casework.withdraw(task.case, because="superseded", now=timezone.now())


DEEDS: list[Deed] = [
    decides, decides, decides, turns_out_otherwise, is_withdrawn,
    lambda task, by, _: reviewing.claim(task, by=by, now=timezone.now()),
    lambda task, by, _: reviewing.release(task, by=by, now=timezone.now()),
    lambda task, by, _: reviewing.recall(task.case, by=by, now=timezone.now()),
    lambda task, by, _: reviewing.take(task.case, now=timezone.now() + timedelta(seconds=1)),
    lambda task, by, _: notes.add(task, by=by, text="@bob look at this", now=timezone.now()),
    lambda task, by, _: anchors.tend(now=timezone.now(), force=True),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(LIVES))
def test_a_trail_that_nobody_touched_is_never_accused(seed, alice, bob, charlie, open_case, settings, tmp_path):
    settings.ANCHORS, settings.UNDO_SECONDS = [str(tmp_path / "anchor.jsonl")], 0
    anchors.forget()
    chance = random.Random(seed)
    for _ in range(4):
        open_case(chance.randint(1, 3))
    for _ in range(DEEDS_IN_A_LIFE):
        task = chance.choice(list(Task.objects.select_related("case", "queue").order_by("pk")))
        with suppress(Refused):  # what was refused is on the trail too
            chance.choice(DEEDS)(task, chance.choice([alice, bob, charlie]), chance)
    assert verification.verify(checks=[verifying.checks]).findings == []
    assert AuditEntry.objects.filter(verb="task.refused").exists() and Case.objects.count() == 4
    assert checkpoints.newest() is None or verification.verify(since=checkpoints.newest().size).findings == []
