"""The bridge's own part of `verify_audit`: sealed answers and sealed inputs are what their entries say."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from django.db import connection

from agentbridge import guards, trail
from agentbridge.delivery import receipts
from agentbridge.models import Resume, Run
from approvals import jsontext
from approvals.guards import missing
from approvals.models import AuditEntry
from approvals.verification import Finding
from approvals.verification.rows import ERASED

Sealed = tuple[str, int, str]  # case, number, SHA-256


def checks() -> Iterator[Finding]:
    """Everything about deliveries and runs that this app vouches for."""
    yield from _sealed()
    yield from _inputs()
    for name in missing(guards.GUARDS, connection):
        yield Finding("tampered", f"The database no longer protects its rows: trigger {name} is missing.")


def _sealed() -> Iterator[Finding]:
    """Each sealed set has its entry and each entry its set, both with the digest of the bytes as they are."""
    until = AuditEntry.objects.order_by("-seq").values_list("seq", flat=True).first() or 0
    keys = receipts.every_key()
    signed: dict[Sealed, str] = {}
    gone = {code for code, _agent, _thread in _erased()}
    for resume in Resume.objects.select_related("case").order_by("pk").iterator(chunk_size=500):
        digest = hashlib.sha256(resume.sealed).hexdigest()
        if not resume.sealed and resume.case.code not in gone:
            yield Finding("incomplete", f"The sealed answers of {resume.case.code} are gone, and no entry says why.")
        elif resume.sealed and digest != resume.sha256:
            yield Finding("tampered", f"The sealed answers of {resume.case.code} were changed.")
        for problem in receipts.problems(resume, keys) if resume.signature else ():
            yield Finding("tampered", f"The signature of the answers of {resume.case.code} is not ours. {problem}")
        signed[resume.case.code, resume.n, resume.sha256] = trail.sha256(resume.signature.encode())
    told: set[Sealed] = set()
    erased: set[str] = set()
    entries = AuditEntry.objects.filter(verb="resume.sealed").order_by("seq").values_list("seq", "case__code", "data")
    for seq, code, text in entries.iterator(chunk_size=2000):
        if text is None:
            erased.add(code)
            continue
        data = jsontext.loads(text)
        place = (code, int(data["n"]), data["sha256"])
        told.add(place)
        if place not in signed and seq <= until:
            yield Finding("tampered", f"The answers that entry {seq} sealed are gone or others.", seq)
        elif "signature" in data and signed.get(place, data["signature"]) != data["signature"]:
            yield Finding("tampered", f"The signature that entry {seq} tells of is gone or another.", seq)
    for code, _n, _digest in sorted(signed.keys() - told):
        if code not in erased:
            yield Finding("tampered", f"Answers of {code} are sealed, and no entry tells of it.")


def _inputs() -> Iterator[Finding]:
    """What was sent to an agent is still what was sealed for sending."""
    gone = {(agent, thread) for _code, agent, thread in _erased()}
    sent = Run.objects.exclude(input_digest="").select_related("thread__agent").order_by("pk")
    for run in sent.only("input", "input_digest", "run_id", "thread__key", "thread__agent__slug").iterator(200):
        if not run.input:
            if (run.thread.agent.slug, run.thread.key) not in gone:
                yield Finding("incomplete", f"The input of run {run.run_id!r} is gone, and no entry says why.")
        elif hashlib.sha256(run.input).hexdigest() != run.input_digest:
            yield Finding("tampered", f"The input of run {run.run_id!r} was changed after it was sealed.")


def _erased() -> Iterator[tuple[str, str, str]]:
    """Case, agent and thread of everything of which an entry says that it was erased."""
    told = AuditEntry.objects.filter(verb=ERASED).order_by("seq")
    yield from told.values_list("case__code", "agent", "thread_key").iterator()
