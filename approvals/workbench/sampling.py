"""Drawing a sample that anybody can draw again: no chance is involved, only the seed.

For every decision that the question finds, take SHA-256 over "countersign/sample/v1", the seed, the task's code and the
moment of the decision (RFC 3339, UTC, microseconds), with a zero byte between them. Order by it, smallest first; the
first N are the sample (of each reviewer, queue or tool, where it was drawn so). What is decided later can only be added
to the order, so with an end date the same seed and question give the same sample for ever.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from approvals import audit
from approvals.models import Decision, Sample, Task, User
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
STRATA = {"": "pk", "person": "by_id", "queue": "task__queue_id", "tool": "task__tool"}

audit.register("sample.drawn")


Drawn = tuple[bytes, str, str]  # the key by which a seed orders decisions, the task, the moment


def keys(seed: str) -> Callable[[str, str], bytes]:
    """For one seed: from task and moment of a decision to its key."""
    before = b"\x00".join((PREFIX, seed.encode("utf-8", "surrogatepass"), b""))
    return lambda task, at: hashlib.sha256(before + task.encode() + b"\x00" + at.encode()).digest()


def smallest(population: Iterable[tuple[object, Drawn]], size: int) -> tuple[list[Drawn], int]:
    """The first `size` of each stratum, all in one order; and how large the population is. Keeps little of it."""
    number = 0
    strata: dict[object, list[Drawn]] = defaultdict(list)
    for stratum, drawn in population:
        number += 1
        kept = strata[stratum]
        kept.append(drawn)
        if len(kept) >= size + MOST:
            kept.sort()
            del kept[size:]
    return sorted(drawn for kept in strata.values() for drawn in sorted(kept)[:size]), number


def population(found: QuerySet[Decision], seed: str, each: str) -> Iterator[tuple[object, Drawn]]:
    key = keys(seed)
    for task, at, stratum in found.order_by().values_list("task__code", "at", STRATA[each]).iterator(chunk_size=5000):
        moment = chain.moment(at)
        yield stratum if each else "", (key(task, moment), task, moment)


def draw(question: Question, *, seed: str, size: int, each: str = "", by: User, now: datetime) -> Sample:
    """Draw and keep a sample; the entry tells how to draw it again. Raises Invalid."""
    seed = seed.strip()
    _check(seed, size, each)
    drawn, number = smallest(population(question.decisions(by), seed, each), size)
    if not drawn:
        raise Invalid([Problem("/size", _("No decision matches: there is nothing to draw from."))])
    listed = with_cases(drawn[:MOST])
    return _keep(question, listed, number, seed=seed, size=size, each=each, by=by, now=now)


@transaction.atomic
def _keep(
    question: Question, listed: list[list[str]], number: int, *, seed: str, size: int, each: str, by: User,
    now: datetime,
) -> Sample:  # fmt: skip
    """Apart from the drawing, which only reads: nobody waits for that to write."""
    sample = Sample.objects.create(
        seed=seed, words=question.words, size=size, each=each, population=number, drawn=listed, by=by, at=now
    )
    audit.record(
        "sample.drawn",
        f"{by.display_name} drew {len(listed)} of {number} decisions with the seed “{seed}”.",
        actor=by,
        refs={},
        data={
            "sample": sample.pk, "seed": seed, "asked": question.told, "size": size, "each": each,
            "population": number, "drawn": listed, "algorithm": ALGORITHM,
        },
        now=now,
    )  # fmt: skip
    return sample


def with_cases(drawn: Sequence[Drawn]) -> list[list[str]]:
    """Case, task and moment of each."""
    tasks = [task for _key, task, _at in drawn]
    cases = dict(Task.objects.filter(code__in=tasks).values_list("code", "case__code"))
    return [[cases[task], task, at] for _key, task, at in drawn]


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
