"""Drawing a sample that anybody can draw again: no chance is involved, only the seed.

For every decision that the question finds, take SHA-256 over "countersign/sample/v1", the seed, the task's code and the
moment of the decision (RFC 3339, UTC, microseconds), with a zero byte between them. Order by it, smallest first; the
first N are the sample (of each reviewer, queue or tool, where it was drawn so). What is decided later can only be added
to the order, so with an end date the same seed and question give the same sample for ever.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from approvals import audit
from approvals.models import Decision, Sample, User
from approvals.refusals import Invalid
from approvals.schemas import Problem
from approvals.trail import chain
from approvals.trail.sightings import is_reader
from approvals.workbench.question import Question

PREFIX = b"countersign/sample/v1"
ALGORITHM = (
    "Smallest SHA-256 first over “countersign/sample/v1”, seed, task and moment of the decision, a zero byte between."
)
MOST = 500
STRATA = {"": "pk", "person": "by__pseudonym", "queue": "task__queue__name", "tool": "task__tool"}

audit.register("sample.drawn")


@dataclass(frozen=True, slots=True, order=True)
class Drawn:
    """One decision of a population, ordered as the seed orders it."""

    key: bytes
    case: str
    task: str
    at: str


def key(seed: str, task: str, at: str) -> bytes:
    words = (seed.encode("utf-8", "surrogatepass"), task.encode(), at.encode())
    return hashlib.sha256(b"\x00".join((PREFIX, *words))).digest()


def smallest(population: Iterable[tuple[object, Drawn]], size: int) -> list[Drawn]:
    """The first `size` of each stratum, all in one order."""
    strata: dict[object, list[Drawn]] = defaultdict(list)
    for stratum, drawn in population:
        strata[stratum].append(drawn)
    return sorted(drawn for found in strata.values() for drawn in heapq.nsmallest(size, found))


def population(found: QuerySet[Decision], seed: str, each: str) -> Iterator[tuple[object, Drawn]]:
    rows = found.order_by("pk").values_list("task__case__code", "task__code", "at", STRATA[each])
    for case, task, at, stratum in rows.iterator(chunk_size=5000):
        moment = chain.moment(at)
        yield stratum if each else "", Drawn(key(seed, task, moment), case, task, moment)


@transaction.atomic
def draw(question: Question, *, seed: str, size: int, each: str = "", by: User, now: datetime) -> Sample:
    """Draw and keep a sample; the entry tells how to draw it again. Raises Invalid."""
    seed = seed.strip()
    _check(seed, size, each)
    whole = list(population(question.decisions(by), seed, each))
    drawn = smallest(whole, size)
    if not drawn:
        raise Invalid([Problem("/size", _("No decision matches: there is nothing to draw from."))])
    listed = [[one.case, one.task, one.at] for one in drawn[:MOST]]
    sample = Sample.objects.create(
        seed=seed, words=question.words, size=size, each=each, population=len(whole), drawn=listed, by=by, at=now
    )
    audit.record(
        "sample.drawn",
        f"{by.display_name} drew {len(listed)} of {len(whole)} decisions with the seed “{seed}”.",
        actor=by,
        refs={},
        data={
            "sample": sample.pk, "seed": seed, "asked": question.told, "size": size, "each": each,
            "population": len(whole), "drawn": listed, "algorithm": ALGORITHM,
        },
        now=now,
    )  # fmt: skip
    return sample


def may_draw(user: User) -> str | None:
    return None if is_reader(user) else _("Only auditors and administrators draw samples.")


def _check(seed: str, size: int, each: str) -> None:
    problems = []
    if not seed or len(seed) > 100:
        problems.append(Problem("/seed", _("Name a seed of at most 100 characters: whoever has it draws the same.")))
    if not 1 <= size <= MOST:
        problems.append(Problem("/size", _("Draw at least one and at most %(most)d.") % {"most": MOST}))
    if each not in STRATA:
        problems.append(Problem("/each", _("This cannot be drawn from.")))
    if problems:
        raise Invalid(problems)
