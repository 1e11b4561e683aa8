"""Places outside the database that keep our checkpoints: only they show that entries were cut off at the end.

An anchor has a name, takes notes, and hands back the newest. A file comes first (another user's, append-only:
`chattr +a`); agents with receipts on are witnesses of their own. While an anchor has seen more than the trail holds, or
something else, nothing is decided and nothing leaves: a restored backup must not grow over what is missing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

import structlog
from django.conf import settings
from django.utils.translation import gettext as _

from approvals import audit
from approvals.models import AuditEntry, Checkpoint
from approvals.trail import chain, checkpoints, signednote

log = structlog.get_logger(__name__)
audit.register("anchor.failed", "anchor.reached", "checkpoint.refused")

TAIL_BYTES = 16_384  # more than any line holds
FRESH_SECONDS = 15.0  # so long an answer counts; a restored database is noticed after it


class Anchor(Protocol):
    """All three raise OSError while the place is out of reach; `notes` has None for a line that cannot be read."""

    name: str

    def keep(self, note: str, *, now: datetime) -> None: ...
    def newest(self) -> str | None: ...
    def notes(self) -> Iterator[str | None]: ...


class FileAnchor:
    """One JSON line a checkpoint, at the end of a file that is only appended to."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, f"file:{path}"

    def keep(self, note: str, *, now: datetime) -> None:
        line = json.dumps({"at": chain.moment(now), "note": note}) + "\n"
        place = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o640)
        try:
            whole = os.fstat(place).st_size == 0 or os.pread(place, 1, os.fstat(place).st_size - 1) == b"\n"
            os.write(place, (line if whole else f"\n{line}").encode())
            os.fsync(place)
        finally:
            os.close(place)

    def newest(self) -> str | None:
        """The last whole line; a crash may have left half of one behind it."""
        if not self.path.exists():
            return None
        with self.path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
            lines = file.read().split(b"\n")[:-1]
        return next((note for note in map(_note, reversed(lines)) if note is not None), None)

    def notes(self) -> Iterator[str | None]:
        if self.path.exists():
            with self.path.open("rb") as file:
                yield from map(_note, file)


_behind: set[str] = set()  # anchors that this process could not reach the last time


def configured() -> list[Anchor]:
    return [FileAnchor(Path(path)) for path in settings.ANCHORS]


def keep(checkpoint: Checkpoint, *, now: datetime) -> None:
    """Hand a checkpoint to every anchor. One out of reach holds nobody up, and is told once."""
    for anchor in configured():
        try:
            anchor.keep(checkpoint.note, now=now)
        except OSError as problem:
            if anchor.name not in _behind:
                log.error("anchor.failed", anchor=anchor.name, problem=str(problem))
                _tell("anchor.failed", f"Anchor {anchor.name} cannot be reached.", anchor, now=now)
            _behind.add(anchor.name)
        else:
            _behind.discard(anchor.name)
            if _last_told(anchor) == "anchor.failed":
                _tell("anchor.reached", f"Anchor {anchor.name} is reached again.", anchor, now=now)


def tend(*, now: datetime, force: bool = False) -> None:
    """Sign and anchor the trail when it is time, or now. A broken trail is told and not signed."""
    if not (force or _behind or checkpoints.is_due(now=now)):
        return
    try:
        made = checkpoints.make(now=now)
    except checkpoints.Broken as broken:
        log.error("checkpoint.refused", seq=broken.seq, problem=str(broken))
        told = AuditEntry.objects.filter(verb="checkpoint.refused").order_by("-seq").values_list("data", flat=True)
        if not told or json.loads(told[0] or "{}").get("seq") != broken.seq:
            audit.record("checkpoint.refused", str(broken), data={"seq": broken.seq}, now=now)
        return
    last = made or (checkpoints.newest() if _behind else None)
    if last is not None:
        keep(last, now=now)


_known: dict[str, Any] = {"until": -1.0, "sentence": ""}


def refusal() -> str:
    """Why nothing may be decided or sent now; "" when nothing is missing. Asked for every deed, looked up at times."""
    if monotonic() >= _known["until"]:
        _known.update(until=monotonic() + FRESH_SECONDS, sentence=missing())
    return str(_known["sentence"])


def forget() -> None:
    """Look again at the next question."""
    _known["until"] = -1.0


def missing() -> str:
    """What the newest anchored checkpoint has seen and the trail does not hold, as a sentence."""
    for anchor in configured():
        try:
            text = anchor.newest()
            note = signednote.verify(text, checkpoints.public_keys()) if text else None
        except OSError:
            continue  # said where it is written to; a place out of reach proves nothing
        except signednote.Unreadable:
            return _("The newest checkpoint in anchor %(name)s bears no signature of ours.") % {"name": anchor.name}
        head = checkpoints.head_seq()
        if note and note.size > head:
            told = {"head": head, "first": head + 1, "last": note.size, "name": anchor.name}
            return _(
                "The trail ends at entry %(head)d, and anchor %(name)s has seen more: entries %(first)d to %(last)d are"
                " missing. Nothing is decided or sent until they are back."
            ) % told
        if note and not _agrees(note):
            told = {"size": note.size, "name": anchor.name}
            return _("The first %(size)d entries are not those that anchor %(name)s has seen.") % told
    return ""


def warnings() -> list[str]:
    """What whoever looks after the desk should know of its anchors; nothing where all is well."""
    if not configured():
        return [none_configured()]
    unreached = [anchor.name for anchor in configured() if _last_told(anchor) == "anchor.failed"]
    return [_("Anchor %(name)s cannot be reached: nothing newer is kept there.") % {"name": name} for name in unreached]


def none_configured() -> str:
    return _(
        "Nothing outside the database keeps checkpoints of this trail: entries cut off at its end, as a restored backup"
        " cuts them, would not be noticed. Set ANCHORS."
    )


def _agrees(note: signednote.Note) -> bool:
    try:
        return checkpoints.root_at(note.size) == note.root
    except checkpoints.Broken:
        return False


def _note(line: bytes) -> str | None:
    try:
        found = json.loads(line)
        return str(found["note"])
    except (ValueError, KeyError, TypeError):
        return None


def _last_told(anchor: Anchor) -> str:
    told = AuditEntry.objects.filter(verb__in=["anchor.failed", "anchor.reached"]).order_by("-seq")
    return next((e.verb for e in told[:20] if json.loads(e.data or "{}").get("anchor") == anchor.name), "")


def _tell(verb: str, sentence: str, anchor: Anchor, *, now: datetime) -> None:
    if _last_told(anchor) != verb:
        audit.record(verb, sentence, data={"anchor": anchor.name}, now=now)
