"""What of a conversation is content, in this app, and how it goes: row by row, each column once.

Stays: that something was asked, by whom it was decided, when, with which verdict, and every hash. Goes: what was asked
and shown, what was typed, and every text of the trail that may hold a piece of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, cast

from django.db.models import Q, QuerySet

from approvals import audit, jsontext
from approvals.kit import VerdictKit
from approvals.models import (
    AuditEntry,
    Case,
    Decision,
    Draft,
    Erasure,
    Exhibit,
    Note,
    SetAside,
    StoredAnswer,
    Task,
    User,
)
from approvals.models import Finding as Noted
from approvals.trail.verification import Finding
from approvals.trail.verification.rows import ERASED

Cover = list[list[Any]]  # [[number of the entry, column], …]

# Our own words about our own deeds, without a text from outside in them.
SENTENCES_STAY = {
    "case.opened", "case.settled", "case.sent", "case.delivered", "case.recalled", "case.shown",
    "case.viewed", "task.claimed", "task.released", "task.voided", "task.result", "exhibit.changed", "resume.sealed",
    "finding.noted", "finding.closed", "export.made", "hold.placed", "erasure.asked", "text.opened", ERASED,
}  # fmt: skip
# Whose sentences stay unless this member of their data is in them: the agent's names, a person's words.
IN_SENTENCES = {"task.decided": "changedPaths", "case.taken": "reason"}
# Whose data is ids and digests: they prove who saw and found what, and that the rest was erased.
DATA_STAYS = {
    "case.shown", "case.viewed", "finding.noted", "finding.closed", "erasure.asked", "erasure.refused", "hold.placed",
    "hold.lifted", "export.made", "text.opened", ERASED,
}  # fmt: skip

audit.register(ERASED)


def erase(cases: Sequence[Case]) -> Cover:
    """Everything this app holds of these cases. The caller's transaction holds their locks and writes the entries."""
    tasks = list(Task.objects.filter(case__in=cases).select_related("case"))
    Exhibit.objects.filter(task__in=tasks).update(body="")
    Decision.objects.filter(task__in=tasks).update(answer=None, edits=None, input=None, comment="")
    Noted.objects.filter(case__in=cases).update(text="")
    Noted.objects.filter(case__in=cases, reason__isnull=False).update(reason="")
    Note.objects.filter(task__in=tasks).update(text="")
    Draft.objects.filter(task__in=tasks).delete()
    SetAside.objects.filter(task__in=tasks).update(note="")
    StoredAnswer.objects.filter(path_key__in=list(path_keys(tasks))).delete()
    for task in tasks:
        _erase_task(task)
    Case.objects.filter(pk__in=[case.pk for case in cases]).update(flags=[], blocked="")
    return erase_entries(entries_of(cases))


def _erase_task(task: Task) -> None:
    nothing = VerdictKit(forms={}).to_json()
    words = audit.cleaned(f"{task.code} {task.case.code} {task.agent}")
    results = None if task.results is None else "[]"
    ran = task.conclusion.partition(":")[0]  # before the colon our words, after it the agent's
    Task.objects.filter(pk=task.pk).update(
        headline="", search_text=words, kit=nothing, flags=[], results=results, deadline_text="", conclusion=ran
    )


def path_keys(tasks: Iterable[Task]) -> Iterator[str]:
    """Under which answers to programs are kept (`api.answering`): they hold whole tasks."""
    for task in tasks:
        for path in (f"tasks/{task.code}/decision", f"tasks/{task.code}/claim", f"tasks/{task.code}/release",
                     f"cases/{task.case.code}/recall", f"cases/{task.case.code}/resolve-doubt",
                     f"cases/{task.case.code}/close-expired", f"cases/{task.case.code}/abandon"):  # fmt: skip
            yield hashlib.sha256(f"/api/v1/{path}".encode()).hexdigest()


def entries_of(cases: Sequence[Case]) -> QuerySet[AuditEntry]:
    """Of the cases, and of the runs of their conversation."""
    about = Q(case__in=cases)
    for agent, thread_key in {(case.agent, case.thread_key) for case in cases if case.thread_key}:
        about |= Q(case__isnull=True, agent=agent, thread_key=thread_key)
    return AuditEntry.objects.filter(about).order_by("seq")


def erase_entries(entries: QuerySet[AuditEntry]) -> Cover:
    """Texts and salts of these entries, column by column; which of them went."""
    cover: Cover = []
    for entry in list(entries.only("seq", "verb", "sentence", "data", "search_text")):
        gone: dict[str, None] = {}
        for column, goes in (("sentence", _sentence_goes(entry)), ("data", entry.verb not in DATA_STAYS)):
            if goes and getattr(entry, column) is not None:
                gone |= {column: None, f"{column}_salt": None}
                cover.append([entry.seq, column])
        if gone:
            AuditEntry.objects.filter(pk=entry.pk).update(search_text=None, **gone)
    return cover


def _sentence_goes(entry: AuditEntry) -> bool:
    foreign = IN_SENTENCES.get(entry.verb)
    if foreign:
        return bool(entry.data is not None and jsontext.loads(entry.data).get(foreign))
    return entry.verb not in SENTENCES_STAY


def told(case: Case, erasure: Erasure, *, cover: Cover, rows: dict[str, int], now: datetime) -> None:
    """The entry that stands for what is gone; both persons are named in it."""
    asked, done = erasure.asked_by, cast("User", erasure.done_by)
    audit.record(
        ERASED,
        f"The content of {case.code} was erased: {asked.display_name} asked for it, {done.display_name} did it.",
        actor=None if erasure.rule_id else done,
        case=case,
        data={
            "erasure": erasure.pk, "askedBy": asked.pseudonym, "doneBy": done.pseudonym, "reason": erasure.reason,
            "basis": erasure.basis, "rule": erasure.rule_id, "entries": cover, "rows": rows,
        },
        now=now,
    )  # fmt: skip


def checks() -> Iterator[Finding]:
    """For `verify_audit`: an erasure that was done has its entry, and an entry its erasure."""
    done = set(Erasure.objects.filter(done_at__isnull=False).values_list("pk", flat=True))
    told = {}
    for seq, text in AuditEntry.objects.filter(verb=ERASED).order_by("seq").values_list("seq", "data"):
        told[int(jsontext.loads(text or '{"erasure":0}')["erasure"])] = seq
    for number in sorted(done - told.keys()):
        yield Finding("tampered", f"Erasure {number} was done, and no entry tells of it.")
    for number in sorted(told.keys() - done):
        yield Finding("tampered", f"The erasure of entry {told[number]} is gone.", told[number])
