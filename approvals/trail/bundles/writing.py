"""Writes a bundle piece by piece: neither its size nor the trail's is ever in memory."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import zipfile
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from django.db.models import QuerySet

from approvals.models import AuditEntry, Checkpoint, PublicKey
from approvals.trail import chain, checkpoints, merkle, signednote, signing
from approvals.trail.bundles import shipped, spreadsheet, summary

FORMAT = 2
SIGNED = b"countersign/bundle/v2\n"  # before the manifest's bytes: this key signs checkpoints too
FIXED_DATE = (1980, 1, 1, 0, 0, 0)  # the same content makes the same file
SIDES = (*chain.COMMITTED, *(f"{side}_salt" for side in chain.COMMITTED))
FIELDS = ("seq", "body", "leaf_hash", *SIDES, "at", "verb", "actor__username", "case__code", "task__code", "agent",
          "thread_key")  # fmt: skip
PIECE = 256 * 1024


@dataclass
class Found:
    """What the entries are about, for what goes along with them."""

    entries: int = 0
    first: datetime | None = None
    last: datetime | None = None
    verbs: Counter[str] = field(default_factory=Counter)
    people: Counter[str] = field(default_factory=Counter)
    conversations: set[tuple[str, str]] = field(default_factory=set)  # agent and thread key
    cases: set[str] = field(default_factory=set)
    upto: int = 0  # the last entry that the bundle can prove; what was written after it is not in it

    def see(self, row: Mapping[str, Any]) -> None:
        self.entries += 1
        self.first = min(self.first or row["at"], row["at"])
        self.last = max(self.last or row["at"], row["at"])
        self.verbs[row["verb"]] += 1
        self.people[row["actor__username"] or ""] += 1
        self.conversations.update([(row["agent"], row["thread_key"])] if row["thread_key"] else [])
        self.cases.update([row["case__code"]] if row["case__code"] else [])


Extra = Callable[[Found], Iterator[tuple[str, Iterable[bytes]]]]  # name and content of files


@dataclass(frozen=True)
class Bundle:
    """One export: exactly these entries, up to the newest checkpoint."""

    entries: QuerySet[AuditEntry]
    wanted: Mapping[str, str]
    checkpoint: Checkpoint | None
    made_at: datetime
    extras: Sequence[Extra] = ()


def begin(
    entries: QuerySet[AuditEntry], wanted: Mapping[str, str | None], *, extras: Sequence[Extra] = (), now: datetime
) -> Bundle:
    """Sign the trail as it is and bind the export to that: what happens meanwhile is not in it. Raises Broken."""
    checkpoints.make(now=now)
    newest = checkpoints.newest()
    bound = entries.filter(seq__lte=newest.size if newest else 0)
    return Bundle(bound, {name: value for name, value in sorted(wanted.items()) if value}, newest, now, extras)


def write(path: Path, bundle: Bundle) -> int:
    """The number of entries written."""
    found = Found()
    with path.open("wb") as file:
        file.writelines(pieces(bundle, found))
    return found.entries


def pieces(bundle: Bundle, found: Found | None = None) -> Generator[bytes, None, None]:
    """The zip's bytes, as they come to be."""
    found, sink = found or Found(), _Sink()
    found.upto = bundle.checkpoint.size if bundle.checkpoint else 0
    digests: dict[str, str] = {}
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in _files(bundle, found):
            yield from _member(archive, sink, name, content, digests)
        manifest = _manifest(bundle, found, digests)
        for name, text in (("manifest.json", manifest), ("manifest.sig", _signature(manifest, bundle))):
            yield from _member(archive, sink, name, [text], {})
    yield sink.taken()


def _files(bundle: Bundle, found: Found) -> Iterator[tuple[str, Iterable[bytes]]]:
    with TemporaryFile() as table:
        yield "entries.jsonl", _lines(bundle, found, table)
        table.seek(0)
        yield "entries.csv", iter(lambda: table.read(PIECE), b"")
    yield "tree.jsonl", _gaps(bundle)
    for checkpoint in _along(bundle):
        yield f"checkpoints/{checkpoint.size}.note", [checkpoint.note.encode()]
    keys = [signednote.verifier_key(checkpoints.origin(), raw) for raw in dict.fromkeys(checkpoints.public_keys())]
    yield "log-keys.txt", ["".join(f"{key}\n" for key in keys).encode()]
    for extra in bundle.extras:
        yield from extra(found)
    yield "summary.html", summary.pieces(bundle, found)
    yield from shipped.files()


def _lines(bundle: Bundle, found: Found, table: io.BufferedRandom) -> Iterator[bytes]:
    table.write(spreadsheet.line(spreadsheet.HEADINGS))
    for row in bundle.entries.order_by("seq").values(*FIELDS).iterator(chunk_size=2000):
        found.see(row)
        told: dict[str, Any] = {"seq": row["seq"], "body": _base64(row["body"]), "leafHash": row["leaf_hash"]}
        for side in chain.COMMITTED:
            text = None if row[side] is None else chain.stored_bytes(row[side])
            told |= {side: _base64(text), f"{side}Salt": _base64(row[f"{side}_salt"])}
        table.write(spreadsheet.line(spreadsheet.cells(row)))
        yield json.dumps(told, sort_keys=True).encode() + b"\n"


def _gaps(bundle: Bundle) -> Iterator[bytes]:
    """Between two entries of the bundle: the fewest subtrees that stand for those left out."""
    size = bundle.checkpoint.size if bundle.checkpoint else 0
    stops = {checkpoint.size for checkpoint in _along(bundle)}
    held = bundle.entries.order_by("seq").values_list("seq", flat=True).iterator(chunk_size=5000)
    wanted, gap = next(held, None), merkle.Range()
    leaves = AuditEntry.objects.filter(seq__lte=size).order_by("seq").values_list("seq", "leaf_hash")
    for seq, leaf in leaves.iterator(chunk_size=5000):
        if seq == wanted:
            yield from _gap(gap)
            wanted, gap = next(held, None), merkle.Range(seq)
            continue
        gap.append(bytes.fromhex(leaf))
        if seq in stops:
            yield from _gap(gap)
            gap = merkle.Range(seq)
    yield from _gap(gap)


def _gap(gap: merkle.Range) -> Iterator[bytes]:
    if gap.nodes:
        nodes = [[height, digest.hex()] for height, digest in gap.nodes]
        yield json.dumps({"from": gap.start + 1, "to": gap.end, "nodes": nodes}).encode() + b"\n"


def _along(bundle: Bundle) -> list[Checkpoint]:
    """The newest checkpoint, and the last one of each day before: whoever kept one of them finds it here."""
    if bundle.checkpoint is None:
        return []
    kept: dict[Any, Checkpoint] = {}
    for one in Checkpoint.objects.filter(size__lte=bundle.checkpoint.size).order_by("size").iterator(chunk_size=500):
        kept[one.made_at.date()] = one
    return list(kept.values())


def _manifest(bundle: Bundle, found: Found, digests: dict[str, str]) -> bytes:
    head = bundle.checkpoint.size if bundle.checkpoint else 0
    leaf = AuditEntry.objects.filter(seq=head).values_list("leaf_hash", flat=True).first() or chain.NOTHING_BEFORE
    told = {
        "format": FORMAT, "log": checkpoints.origin(), "filter": dict(bundle.wanted), "entries": found.entries,
        "head": {"seq": head, "leafHash": leaf}, "files": digests,
    }  # fmt: skip
    return json.dumps(told, indent=2, sort_keys=True).encode() + b"\n"


def _signature(manifest: bytes, bundle: Bundle) -> bytes:
    """Key id and signature, as in a note."""
    pair = signing.signer(PublicKey.Purpose.CHECKPOINT, now=bundle.made_at)
    named = signednote.key_id(checkpoints.origin(), pair.raw)
    return b"%s %s\n" % (base64.b64encode(named), base64.b64encode(pair.private.sign(SIGNED + manifest)))


def _member(
    archive: zipfile.ZipFile, sink: _Sink, name: str, content: Iterable[bytes], digests: dict[str, str]
) -> Iterator[bytes]:
    member, digest = zipfile.ZipInfo(name, FIXED_DATE), hashlib.sha256()
    member.compress_type = zipfile.ZIP_DEFLATED
    with archive.open(member, "w", force_zip64=True) as file:
        for part in content:
            file.write(part)
            digest.update(part)
            if sink.held >= PIECE:
                yield sink.taken()
    digests[name] = digest.hexdigest()


class _Sink(io.RawIOBase):
    """Where the zip is written to: bytes wait here until somebody takes them."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []
        self.held = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        self.held += len(self._parts[-1])
        return len(self._parts[-1])

    def taken(self) -> bytes:
        found, self._parts, self.held = b"".join(self._parts), [], 0
        return found


def _base64(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode()
