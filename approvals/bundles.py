"""Evidence bundles: the entries of a filter with everything that opens their commitments, in one zip.

    manifest.json   which log, which filter, how many entries, the head when it was made
    entries.jsonl   one entry a line: body, leaf hash, side texts and salts (base64; null: erased)
    README.txt      how to check it without us

Each entry can be checked alone; where two follow each other in the trail, so can the link between them.
"""

from __future__ import annotations

import base64
import binascii
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from django.db.models import QuerySet

from approvals import chain
from approvals.models import AuditEntry, AuditLog
from approvals.verification import Report, Walk, Written, written

FORMAT = 1
FIXED_DATE = (1980, 1, 1, 0, 0, 0)  # the same content makes the same file
FIELDS = ("seq", "body", "leaf_hash", *chain.COMMITTED, *(f"{field}_salt" for field in chain.COMMITTED))

README = """Evidence bundle of a Countersign trail.

entries.jsonl holds one entry a line. "body" is base64 of the exact bytes; its SHA-256 with a zero byte before it is
"leafHash", and "prev" in the body of the next entry of the trail. The body commits to its texts: for each of sentence,
refs and data, "commit" holds SHA-256("countersign/commit/v1" 00 NAME 00 SALT TEXT). Texts and salts are base64; both
null means erased: the entry still holds its place, its text is gone for good.

The body is canonical JSON (RFC 8785). Entries may be missing: a bundle holds what its filter asked for, and
manifest.json says which that was. Compare "head" in manifest.json with a head that you got from elsewhere.
"""


class NotABundle(Exception):
    """This file is not an evidence bundle that we can read."""


def write(path: Path, entries: QuerySet[AuditEntry], wanted: dict[str, str | None]) -> int:
    """Write the bundle of exactly these entries; the number of them. `wanted` is the filter, for the manifest."""
    head = AuditEntry.objects.order_by("-seq").values_list("seq", "leaf_hash").first() or (0, chain.NOTHING_BEFORE)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        with bundle.open(_member("entries.jsonl"), "w", force_zip64=True) as lines:
            count = _write_lines(lines, entries)
        manifest = {
            "format": FORMAT,
            "log": AuditLog.objects.order_by("pk").values_list("origin", flat=True).first(),
            "filter": {name: value for name, value in sorted(wanted.items()) if value},
            "entries": count,
            "head": {"seq": head[0], "leafHash": head[1]},
        }
        bundle.writestr(_member("manifest.json"), json.dumps(manifest, indent=2, sort_keys=True) + "\n")
        bundle.writestr(_member("README.txt"), README)
    return count


def verify(path: Path) -> Report:
    """Check a bundle with nothing but the bundle. Raises NotABundle."""
    report = Report(notes=["Entries of other filters are not in this bundle: only what is here was checked."])
    walk = Walk(report, gaps=True)
    try:
        with zipfile.ZipFile(path) as bundle:
            manifest = json.loads(bundle.read("manifest.json"))
            with bundle.open("entries.jsonl") as lines:
                for line in lines:
                    walk.step(_read_line(line))
            expected, log = manifest["entries"], manifest["log"]
    except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as problem:
        raise NotABundle(f"this is not an evidence bundle ({problem})") from None
    if report.entries != expected:
        report.incomplete(f"The bundle says that it holds {expected} entries, and holds {report.entries}.")
    if walk.log and walk.log != log:
        report.tampered("The entries are not of the log that the bundle names.")
    if walk.erased:
        report.notes.append(f"Erased texts, whose entries still hold their place: {len(walk.erased)}.")
    return report


def _write_lines(lines: IO[bytes], entries: QuerySet[AuditEntry]) -> int:
    count = 0
    for entry in _streamed(entries):
        line = {"seq": entry.seq, "body": _base64(entry.body), "leafHash": entry.leaf_hash}
        for field in chain.COMMITTED:
            line |= {field: _base64(entry.texts[field]), f"{field}Salt": _base64(entry.salts[field])}
        lines.write(json.dumps(line, sort_keys=True).encode() + b"\n")
        count += 1
    return count


def _streamed(entries: QuerySet[AuditEntry]) -> Iterator[Written]:
    return (written(stored) for stored in entries.order_by("seq").values(*FIELDS).iterator(chunk_size=2000))


def _read_line(line: bytes) -> Written:
    told: dict[str, Any] = json.loads(line)
    return Written(
        seq=told["seq"],
        body=_bytes(told["body"]) or b"",
        leaf_hash=told["leafHash"],
        texts={field: _bytes(told[field]) for field in chain.COMMITTED},
        salts={field: _bytes(told[f"{field}Salt"]) for field in chain.COMMITTED},
    )


def _member(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, FIXED_DATE)
    member.compress_type = zipfile.ZIP_DEFLATED
    return member


def _base64(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode()


def _bytes(text: str | None) -> bytes | None:
    try:
        return None if text is None else base64.b64decode(text, validate=True)
    except binascii.Error as problem:
        raise ValueError(f"not base64: {problem}") from None
