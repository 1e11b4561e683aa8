"""Whose decisions the guard believes: keys pinned by the agent's owner, read anew now and then (`audit.md` E.3)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from agentbridge.guard import agent, refusals
from agentbridge.guard.entries import Entries, Entry
from agentbridge.guard.refusals import Refusal
from agentbridge.guard.rules import Book
from agentbridge.wire import jws, signature

FRESH = timedelta(hours=1)
PATIENCE = timedelta(minutes=1)  # between two tries, also when somebody names a key that nobody knows


class NoKeys(Exception):
    """The keys cannot be read; the sentence says why."""


@dataclass
class Trust:
    """Without a source every signature passes unread, unless one is required. Blocking: for a thread of its own."""

    source: str = ""  # a file, or an address
    issuer: str = ""  # "" = whichever desk holds the keys
    audience: str = ""  # "" = any agent of that desk
    required: bool = False
    clock: Callable[[], datetime] = field(kw_only=True)
    _keys: Mapping[str, jws.PublicKey] = field(default_factory=dict)
    _read_at: datetime | None = None

    def read(self) -> None:
        """Raises NoKeys."""
        self._read_at = self.clock()
        try:
            self._keys = jws.read_jwks(json.loads(self._document()))
        except (OSError, ValueError, agent.Unreached) as problem:
            raise NoKeys(f"The keys cannot be read from {self.source}: {problem}") from problem
        if not self._keys:
            raise NoKeys(f"There is no Ed25519 key in {self.source}.")

    def _document(self) -> bytes:
        if not self.source.startswith(("http://", "https://")):
            return Path(self.source).read_bytes()
        return agent.fetch(self.source)

    def keys(self, named: str) -> Mapping[str, jws.PublicKey]:
        """The keys as of the last hour; the ones of a minute ago where an unknown one is named."""
        age = FRESH if named in self._keys else PATIENCE
        since = None if self._read_at is None else self.clock() - self._read_at
        if since is None or not timedelta(0) <= since < age:  # also when the clock was set back: it may be months
            try:
                self.read()
            except NoKeys:
                if not self._keys:
                    raise
        return self._keys

    def proof(self, book: Book, entries: Entries) -> bool:
        """Is every answer signed for exactly these questions? Raises Refusal for one that is signed and wrong."""
        signed = [entry for entry in entries if _token(entry) is not None]
        if self.required and len(signed) < len(entries):
            raise Refusal(refusals.SIGNATURE, "The answers are not signed, and this guard wants them to be.")
        if not self.source:
            return False
        asked = questions(book) if signed else []
        for entry in signed:
            self._verify(asked, entry)
        return len(signed) == len(entries)

    def _verify(self, asked: Sequence[signature.Asked], entry: Entry) -> None:
        try:
            token = _token(entry) or ""
            header, said = (_peek(part) for part in token.split(".")[:2])
            trust = signature.Trust(
                issuer=self.issuer or str(said.get("iss")), audience=self.audience or str(said.get("aud")),
                keys=self.keys(str(header.get("kid"))),
            )  # fmt: skip
            signature.verify_entry(_as_json(entry), asked=asked, trust=trust, now=int(self.clock().timestamp()))
        except (signature.Refused, NoKeys, ValueError, RecursionError) as reason:
            text = f"The signature of an answer does not hold: {reason}"
            raise Refusal(refusals.SIGNATURE, text, [entry.id]) from reason


def questions(book: Book) -> list[signature.Asked]:
    """What is open, as a signature names it."""
    return [
        signature.Asked(
            thread_id=book.thread_id, run_id=book.asking, interrupt_id=question.id,
            raw=question.raw.encode("utf-8", "surrogatepass"),
            proposal=None if question.proposal is None else question.proposal.encode("utf-8", "surrogatepass"),
        )
        for question in book.questions
    ]  # fmt: skip


def _token(entry: Entry) -> str | None:
    if entry.metadata is None:
        return None
    try:
        found = json.loads(entry.metadata).get(signature.MEMBER)
    except (ValueError, AttributeError, RecursionError):
        return None
    token = found.get("jws") if isinstance(found, dict) else None
    return token if isinstance(token, str) and token else None


def _peek(part: str) -> dict[str, object]:
    """Unverified, to choose what to verify with."""
    found = jws.read_json(jws.decode(part))
    return found if isinstance(found, dict) else {}


def _as_json(entry: Entry) -> dict[str, object]:
    told: dict[str, object] = {"interruptId": entry.id, "status": entry.status}
    for name, text in (("payload", entry.payload), ("metadata", entry.metadata)):
        if text is not None:
            told[name] = jws.read_json(text.encode("utf-8", "surrogatepass"))
    return told
