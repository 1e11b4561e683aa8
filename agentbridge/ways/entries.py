"""The members of a `resume[]` that came from outside, as texts: nothing of a payload is read here."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext as _

from agentbridge.wire.protocol import ProtocolError
from approvals import jsontext
from approvals.models import Verdict

RESOLVED, CANCELLED = "resolved", "cancelled"
MEMBERS = ("interruptId", "status", "payload")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One answer. `payload` None: cancelled; a resolved one without a payload says null (R-21)."""

    at: int
    interrupt_id: str
    status: str
    payload: str | None
    others: tuple[str, ...] = ()  # pointers to members that are no part of an answer

    @property
    def verdict(self) -> str:
        return Verdict.CANCELLED if self.status == CANCELLED else Verdict.ANSWERED

    @property
    def pointer(self) -> str:
        return f"/resume/{self.at}"

    def place(self, pointer: str) -> str:
        """From a place in the answer, as the desk names it, to the place in the request."""
        if pointer.startswith("/input"):
            return f"{self.pointer}/payload{pointer.removeprefix('/input')}"
        return self.pointer if pointer.startswith("/verdict") else f"{self.pointer}/payload"


def read(text: str) -> list[Entry]:
    """Raises ProtocolError, naming the member; also for an answer that could be read as two."""
    return [_entry(at, item) for at, item in enumerate(jsontext.items(text))]


def _entry(at: int, text: str) -> Entry:
    members = jsontext.members(text) if text.startswith("{") else {}
    values = {name: jsontext.loads(members.get(name, "null")) for name in ("interruptId", "status")}
    if not isinstance(values["interruptId"], str) or values["status"] not in (RESOLVED, CANCELLED):
        sentence = _("Entry %(at)s is no answer: it needs an interruptId and a status.") % {"at": at}
        raise ProtocolError("resume", sentence)
    twice = next((place for place in jsontext.parse(text).duplicates if not place.startswith("/metadata")), None)
    if twice is not None:
        raise ProtocolError("resume", _("Entry %(at)s has %(place)s twice.") % {"at": at, "place": twice})
    return Entry(
        at=at, interrupt_id=values["interruptId"], status=values["status"],
        payload=None if values["status"] == CANCELLED else members.get("payload", "null"),
        others=tuple(f"/resume/{at}{jsontext.pointer(name)}" for name in members if name not in MEMBERS),
    )  # fmt: skip
