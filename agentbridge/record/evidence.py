"""What the bridge adds to evidence bundles: the sealed answers, both runs byte for byte, and the signatures' keys."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import Q, QuerySet

from agentbridge.delivery import receipts
from agentbridge.models import Resume, Run
from agentbridge.record import acktrace
from agentbridge.runs import rawstream
from approvals.models import AuditEntry, Case
from approvals.trail.bundles import Found

AT_ONCE = 200  # conversations asked for in one query


def extras(found: Found) -> Iterator[tuple[str, Iterable[bytes]]]:
    """The files, in order; contents are read as they are asked for."""
    yield "sealed.jsonl", _sealed(found)
    keys = [key.to_jwk() for key in receipts.every_key().values()]
    yield "decision-keys.json", [json.dumps({"keys": keys}, indent=1).encode()]
    for codes in _batches(sorted(found.cases)):
        for case in Case.objects.filter(code__in=codes).order_by("pk"):
            if trace := list(acktrace.lines(case)):
                yield f"agentack/{case.code}.jsonl", trace
    yield "runs.jsonl", (_told(run) for run in _runs(found))
    for run in _runs(found):
        if run.input:
            yield f"runs/{run.pk}.input.json", [bytes(run.input)]
        yield f"runs/{run.pk}.sse", rawstream.pieces(run)


def _sealed(found: Found) -> Iterator[bytes]:
    """Of every case in the bundle: the bytes that its `resume.sealed` tells of, whether that entry is in it or not."""
    for codes in _batches(sorted(found.cases)):
        told_of = AuditEntry.objects.filter(verb="resume.sealed", case__code__in=codes, seq__lte=found.upto)
        places = {(code, json.loads(data)["n"]) for code, data in told_of.values_list("case__code", "data") if data}
        rows = Resume.objects.filter(case__code__in=codes).select_related("case").order_by("pk")
        for resume in rows.iterator(chunk_size=100):
            if resume.sealed and (resume.case.code, resume.n) not in places:
                continue  # sealed while this was being written
            told = {
                "case": resume.case.code, "n": resume.n, "entries": _base64(resume.entries),
                "props": _base64(resume.forwarded_props), "messages": _base64(resume.messages),
                "signature": resume.signature, "erased": not resume.sealed,
            }  # fmt: skip
            yield json.dumps(told, sort_keys=True).encode() + b"\n"


def _runs(found: Found) -> Iterator[Run]:
    for places in _batches(sorted(found.conversations)):
        yield from _of(places).select_related("thread__agent").order_by("pk").iterator(chunk_size=20)


def _of(places: list[tuple[str, str]]) -> QuerySet[Run]:
    wanted = Q(pk__in=[])
    for agent, key in places:
        wanted |= Q(thread__agent__slug=agent, thread__key=key)
    return Run.objects.filter(wanted)


def _told(run: Run) -> bytes:
    told = {
        "run": run.pk, "agent": run.thread.agent.slug, "threadId": run.thread.thread_id, "runId": run.run_id,
        "kind": run.kind, "status": run.status, "stream": f"runs/{run.pk}.sse",
        "input": f"runs/{run.pk}.input.json" if run.input else None,
    }  # fmt: skip
    return json.dumps(told, sort_keys=True).encode() + b"\n"


def _batches(items: list[Any]) -> Iterator[list[Any]]:
    return (items[start : start + AT_ONCE] for start in range(0, len(items), AT_ONCE))


def _base64(content: bytes | memoryview) -> str:
    return base64.b64encode(bytes(content)).decode()
