"""The decision signature in `resume[].metadata` (`audit.md` E): what is signed, and how an agent checks it. Pure.

    metadata = {"countersign": {"v": 1, "jws": "<protected>.<statement>.<signature>", "log": {…}}}

The statement is signed with the answer in it, so an agent can act on what it verified without writing JSON anew. An
answer over 16 KiB is represented by its digest, if every JSON library writes it alike (`canonical`); else it stays in.

Needs `cryptography` and the standard library: a guard beside an agent imports this file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentbridge.wire import jws

VERSION = "countersign/1"
MEMBER = "countersign"  # our key in the metadata; "ag-ui" is reserved, and foreign keys are the agent's
TYP = "countersign+jws"
LEEWAY_SECONDS = 60
LONGEST_INSIDE = 16 * 1024  # bytes of an answer that is signed as it is
SAFE = 2**53

Refused = jws.Refused


def digest(content: bytes) -> str:
    return f"sha-256:{hashlib.sha256(content).hexdigest()}"


def canonical(value: Any) -> bytes | None:
    """The bytes that every JSON library writes for this value, members sorted; None where libraries differ."""
    if not _alike(value):
        return None
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What the desk vouches for: one answer to one interrupt. Times are seconds since 1970."""

    issuer: str
    audience: str  # the agent's slug
    id: str  # the same for the same decision, whatever is sent again
    decided_at: int
    expires_at: int  # when the start of the action must have happened
    thread_id: str
    source_run_id: str  # the run that asked
    interrupt_id: str
    asking: int = 1
    tool_call_id: str | None = None
    status: str = "resolved"
    payload: str | None = None  # the answer's exact JSON text; None: cancelled
    interrupt: bytes  # as received
    proposal: bytes | None = None  # the call's arguments as received and shown; None: no call
    edited: bool = False
    batch: Sequence[str] = field(default_factory=list)  # every interrupt that this resume answers
    approvers: Sequence[Mapping[str, Any]] = field(default_factory=list)  # {"sub","at","amr","kind"}
    policy: str | None = None

    def to_text(self) -> str:
        """JSON, with the answer's text as it is sent."""
        members: dict[str, Any] = {
            "v": VERSION, "iss": self.issuer, "aud": self.audience, "jti": self.id, "iat": self.decided_at,
            "nbf": self.decided_at, "exp": self.expires_at, "threadId": self.thread_id,
            "sourceRunId": self.source_run_id, "interruptId": self.interrupt_id, "gen": self.asking,
            "toolCallId": self.tool_call_id, "status": self.status, "interruptDigest": digest(self.interrupt),
            "proposalDigest": None if self.proposal is None else digest(self.proposal), "edited": self.edited,
            "batch": list(self.batch), "approvers": [dict(one) for one in self.approvers], "policy": self.policy,
        }  # fmt: skip
        text = json.dumps({name: value for name, value in members.items() if value is not None}, separators=(",", ":"))
        return f"{text[:-1]}{self._answer()}}}"

    def _answer(self) -> str:
        if self.payload is None:
            return ""
        if len(self.payload.encode("utf-8", "surrogatepass")) > LONGEST_INSIDE:
            written = _canonical_text(self.payload)
            if written is not None:
                return f',"payloadDigest":"{digest(written)}"'
        return f',"payload":{_sendable(self.payload)}'


def sign(statement: Statement, *, key: Any, kid: str, alg: str = "Ed25519") -> str:
    """The compact JWS over a statement; `key` is an Ed25519PrivateKey."""
    return jws.sign(statement.to_text().encode(), key=key, kid=kid, alg=alg, typ=TYP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """An open interrupt as the agent itself knows it. Without the bytes that it sent, their digests go unchecked."""

    thread_id: str
    run_id: str  # that raised it
    interrupt_id: str
    raw: bytes | None = None
    proposal: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What an agent has pinned: whom it believes, with which keys, and who it is itself."""

    issuer: str
    audience: str
    keys: Mapping[str, jws.PublicKey]
    algs: Sequence[str] = jws.ALGORITHMS


def verify(resume: Any, *, asked: Sequence[Asked], trust: Trust, now: int) -> list[dict[str, Any]]:
    """The statements of a whole `resume[]` that answers every open interrupt; act on their `payload`. Raises Refused.

    `asked`: all interrupts that are open now. The caller still has to remember each `jti`: the same one with the same
    content is the answer that it has already, with other content it is a forgery (`audit.md` E.4, step 10).
    """
    if not isinstance(resume, list) or not all(isinstance(entry, dict) for entry in resume):
        raise Refused("malformed", "The resume is not a list of entries.")
    try:
        statements = [verify_entry(entry, asked=asked, trust=trust, now=now) for entry in resume]
    except RecursionError:
        raise Refused("malformed", "The resume is nested too deeply.") from None
    opened, answered = {one.interrupt_id for one in asked}, [one["interruptId"] for one in statements]
    if len(answered) != len(opened) or set(answered) != opened:
        raise Refused("other_batch", "The resume does not answer every open interrupt once.")
    return statements


def verify_entry(entry: Mapping[str, Any], *, asked: Sequence[Asked], trust: Trust, now: int) -> dict[str, Any]:
    """The statement of one entry of a resume. Raises Refused; `verify` is what an agent wants."""
    ours = (entry.get("metadata") or {}).get(MEMBER) if isinstance(entry.get("metadata") or {}, Mapping) else None
    if not isinstance(ours, Mapping) or not ours.get("jws"):
        raise Refused("missing", "The entry is not signed.")
    said = jws.read_json(jws.verify(ours["jws"], keys=trust.keys, typ=TYP, algs=trust.algs))
    if not isinstance(said, dict) or said.get("v") != VERSION:
        raise Refused("malformed", "The statement is of another kind.")
    _is_for_us(said, trust, now)
    _is_about_what_is_open(said, asked)
    _is_what_was_sent(said, entry)
    return said


def _is_for_us(said: Mapping[str, Any], trust: Trust, now: int) -> None:
    if said.get("iss") != trust.issuer:
        raise Refused("other_issuer", "Another desk signed this.")
    if said.get("aud") != trust.audience:
        raise Refused("other_audience", "This was signed for another agent.")
    if not all(type(said.get(name)) is int for name in ("iat", "nbf", "exp")) or not isinstance(said.get("jti"), str):
        raise Refused("malformed", "The statement lacks a time or its id.")
    if now < said["nbf"] - LEEWAY_SECONDS:
        raise Refused("not_yet", "The statement is not valid yet.")
    if now >= said["exp"] + LEEWAY_SECONDS:
        raise Refused("expired", "The statement has expired.")


def _is_about_what_is_open(said: Mapping[str, Any], asked: Sequence[Asked]) -> None:
    found = [one for one in asked if one.interrupt_id == said.get("interruptId")]
    if not found:
        raise Refused("not_open", "No such interrupt is open.")
    one = found[0]
    if (said.get("threadId"), said.get("sourceRunId")) != (one.thread_id, one.run_id):
        raise Refused("other_run", "The interrupt of another run was answered.")
    if one.raw is not None and said.get("interruptDigest") != digest(one.raw):
        raise Refused("other_interrupt", "Another interrupt was shown than the one that is open.")
    if one.proposal is not None and said.get("proposalDigest") != digest(one.proposal):
        raise Refused("other_proposal", "Other arguments were shown than the ones that would run.")
    batch = said.get("batch")
    if not isinstance(batch, list) or {str(id_) for id_ in batch} != {one.interrupt_id for one in asked}:
        raise Refused("other_batch", "The statement is about another set of interrupts.")


def _is_what_was_sent(said: Mapping[str, Any], entry: Mapping[str, Any]) -> None:
    sent = (entry.get("interruptId"), entry.get("status"))
    if (said.get("interruptId"), said.get("status")) != sent or sent[1] not in ("resolved", "cancelled"):
        raise Refused("other_answer", "The entry is not what was signed.")
    if said["status"] == "cancelled":
        fits = not {"payload", "payloadDigest"} & said.keys() and "payload" not in entry
    elif "payload" in said:
        fits = "payloadDigest" not in said and "payload" in entry and same(said["payload"], entry["payload"])
    else:
        written = canonical(entry.get("payload")) if "payload" in entry else None
        fits = written is not None and said.get("payloadDigest") == digest(written)
    if not fits:
        raise Refused("other_answer", "The answer is not what was signed.")


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: true is not 1, and 1.0 is 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _alike(value: Any) -> bool:
    if isinstance(value, dict):
        # Above U+D800 libraries disagree on which of two names comes first.
        return all(max(name, default="") < "\ud800" and _alike(held) for name, held in value.items())
    if isinstance(value, list):
        return all(map(_alike, value))
    return value is None or isinstance(value, (bool, str)) or (isinstance(value, int) and abs(value) < SAFE)


def _canonical_text(payload: str) -> bytes | None:
    try:
        return canonical(jws.read_json(payload.encode()))
    except (Refused, UnicodeEncodeError, RecursionError):
        return None


def _sendable(payload: str) -> str:
    """The text as UTF-8 can carry it: half a surrogate pair as the escape that JSON has for it."""
    return "".join(char if not "\ud800" <= char <= "\udfff" else f"\\u{ord(char):04x}" for char in payload)
