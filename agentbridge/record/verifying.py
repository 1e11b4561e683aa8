"""The bridge's own part of `verify_audit`: sealed answers and sealed inputs are what their entries say."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from datetime import datetime

from django.db import connection

from agentbridge import guards, trail
from agentbridge.delivery import receipts
from agentbridge.models import Resume, Run
from agentbridge.wire import jws
from approvals import jsontext
from approvals.erasing import contents
from approvals.guards import missing
from approvals.models import AuditEntry
from approvals.trail.verification import Finding
from approvals.trail.verification.rows import ERASED
from approvals.workbench import findings

Sealed = tuple[str, int, str]  # case, number, SHA-256


def checks(since: datetime | None = None) -> Iterator[Finding]:
    """Everything about deliveries and runs that this app vouches for."""
    yield from _sealed(since)
    yield from _inputs(since)
    yield from findings.checks()
    yield from contents.checks()
    for name in missing(guards.GUARDS, connection):
        yield Finding("tampered", f"The database no longer protects its rows: trigger {name} is missing.")


def _sealed(since: datetime | None) -> Iterator[Finding]:
    """Each sealed set has its entry and each entry its set, both with the digest of the bytes as they are."""
    until = AuditEntry.objects.order_by("-seq").values_list("seq", flat=True).first() or 0
    gone = {code for code, _agent, _thread in _erased()}
    keys = receipts.every_key()
    sealed = Resume.objects.filter(sealed_at__gte=since) if since else Resume.objects.all()
    signed: dict[Sealed, str] = {}
    for resume in sealed.select_related("case", "thread").order_by("pk").iterator(chunk_size=500):
        if resume.sealed or resume.case.code not in gone:
            yield from _kept(resume, keys)
        signed[resume.case.code, resume.n, resume.sha256] = resume.signature and trail.sha256(resume.signature.encode())
    told: set[Sealed] = set()
    erased: set[str] = set()
    entries = AuditEntry.objects.filter(verb="resume.sealed", **({"at__gte": since} if since else {}))
    listed = entries.order_by("seq").values_list("seq", "case__code", "data")
    for seq, code, text in listed.iterator(chunk_size=2000):
        if text is None:
            erased.add(code)
            continue
        data = jsontext.loads(text)
        place = (code, int(data["n"]), data["sha256"])
        told.add(place)
        if place not in signed and seq <= until:
            yield Finding("tampered", f"The answers that entry {seq} sealed are gone or others.", seq)
        elif code not in gone and place in signed and signed[place] != data.get("signature", ""):
            yield Finding("tampered", f"The signature that entry {seq} tells of is gone or another.", seq)
    for code, _n, _digest in sorted(signed.keys() - told):
        if code not in erased:
            yield Finding("tampered", f"Answers of {code} are sealed, and no entry tells of it.")


def _kept(resume: Resume, keys: Mapping[str, jws.PublicKey]) -> Iterator[Finding]:
    """The bytes of a set whose content nobody erased."""
    code = resume.case.code
    if not resume.sealed:
        yield Finding("incomplete", f"The sealed answers of {code} are gone, and no entry says why.")
    elif hashlib.sha256(resume.sealed).hexdigest() != resume.sha256:
        yield Finding("tampered", f"The sealed answers of {code} were changed.")
    elif resume.signature:
        for problem in receipts.problems(resume, keys):
            yield Finding("tampered", f"The signature of the answers of {code} is not ours. {problem}")


def _inputs(since: datetime | None) -> Iterator[Finding]:
    """What was sent to an agent is still what was sealed for sending."""
    gone = {(agent, thread) for _code, agent, thread in _erased()}
    asked = Run.objects.filter(created_at__gte=since) if since else Run.objects.all()
    sent = asked.exclude(input_digest="").select_related("thread__agent").order_by("pk")
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
