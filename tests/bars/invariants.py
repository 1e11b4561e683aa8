"""I1 to I9 of the bars, from the witness and the database; never from what the app says about itself."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from django.utils import timezone

from agentbridge.models import DeliveryState, Resume, Run
from agentbridge.record import verifying
from approvals import jsontext
from approvals.fields import text_of
from approvals.models import AuditEntry, Decision
from approvals.trail import verification
from tests.bars.crew import MOVING, Crew
from tests.bars.witness import Receipt

NOT_TAKEN = ("http_429",)  # the agent promises that nothing was taken: asking again is right
NEVER_ENDS = re.compile(r"reset|hang|http_|redirect|page|empty|garbage|half|cut_|error_")


def broken(crew: Crew) -> list[str]:
    """Every invariant that does not hold, with where."""
    resumes = list(Resume.objects.select_related("case", "agent", "thread"))
    arrived: dict[int, list[Receipt]] = defaultdict(list)
    attempts = {run.run_id: run for run in Run.objects.exclude(resume=None).select_related("resume__thread")}
    strangers = []
    for receipt in crew.witness.resumes():
        run = attempts.get(receipt.run_id)
        if run is None or run.resume_id is None:
            strangers.append(f"I5: an answer arrived as run {receipt.run_id}, which is on no record")
        else:
            arrived[run.resume_id].append(receipt)
    return [
        *strangers, *_decisions(crew),
        *(said for resume in resumes for said in _delivery(resume, arrived[resume.pk])),
        *_trail(),
    ]  # fmt: skip


def _decisions(crew: Crew) -> Iterator[str]:
    told = Counter(int(jsontext.loads(data)["decision"]) for data in
                   AuditEntry.objects.filter(verb="task.decided").values_list("data", flat=True))  # fmt: skip
    there = set(Decision.objects.values_list("pk", flat=True))
    for pk in crew.acknowledged:
        if pk not in there or told[pk] != 1:
            yield f"I1: decision {pk} was acknowledged; in the database: {pk in there}, entries: {told[pk]}"
    live = Counter(Decision.objects.live().values_list("task", flat=True))
    yield from (f"I2: task {task} has {count} live decisions" for task, count in live.items() if count > 1)


def _delivery(resume: Resume, arrived: list[Receipt]) -> Iterator[str]:
    code = resume.case.code
    if len({receipt.resume for receipt in arrived}) > 1 or any(r.resume != text_of(resume.entries) for r in arrived):
        yield f"I3: {code} arrived with other answers than were sealed"
    by_people = resume.case.entries.filter(verb="delivery.ready", actor__isnull=False).count()
    counted = [receipt for receipt in arrived if receipt.fault not in NOT_TAKEN]
    if resume.agent.replay_class == "unknown" and len(counted) > 1 + by_people:
        yield f"I4: {code} arrived {len(counted)} times, and people allowed {by_people} more"
    for receipt in arrived:
        if receipt.thread_id != resume.thread.thread_id or not resume.agent.url.endswith(receipt.path):
            yield f"I5: {code} arrived at {receipt.path} for thread {receipt.thread_id}"
    if resume.state == DeliveryState.FINISHED and all(NEVER_ENDS.search(receipt.fault) for receipt in arrived):
        yield f"I6: {code} is finished, and the agent never said so"
    yield from _in_time(resume, arrived)
    waits = resume.next_try_at is not None and resume.next_try_at > timezone.now()
    if resume.state in MOVING and resume.replaced_at is None and not (waits or resume.case.blocked):
        yield f"I8: {code} is {resume.state}, and nothing moves it"


def _in_time(resume: Resume, arrived: list[Receipt]) -> Iterator[str]:
    deadline = resume.case.deadline
    if deadline is None or resume.n > 1:
        return
    late = [receipt for receipt in arrived if receipt.at > deadline]
    yield from (f"I7: {resume.case.code} arrived at {receipt.at}, after its deadline" for receipt in late)


def _trail() -> Iterator[str]:
    report = verification.verify(checks=[verifying.checks])
    yield from (f"I9: {finding.sentence}" for finding in report.findings)


def deliveries() -> dict[str, Counter[str]]:
    """How the deliveries of each agent ended."""
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for slug, state in Resume.objects.filter(replaced_at=None).values_list("agent__slug", "state"):
        table[slug][state] += 1
    return dict(table)
