"""The form of a trail entry and how entries hang together. Pure: whoever verifies us needs only what is written here.

    body       RFC 8785 bytes of {"v","log","seq","prev","at","type","actor","case","task","policy","commit"}
    leaf_hash  SHA-256(0x00 || body), in hex; the next entry's "prev"
    commit     SHA-256("countersign/commit/v1" || 0x00 || field || 0x00 || salt || text), in hex

Text, names and arguments are never in a body: only salted commitments to them, so they can be erased (`audit.md` D.7).
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import rfc8785

VERSION = 1
NOTHING_BEFORE = "0" * 64
COMMITTED = ("sentence", "refs", "data")
MEMBERS = frozenset(("v", "log", "seq", "prev", "at", "type", "actor", "case", "task", "policy", "commit"))
SALT_BYTES = 32
_OPENS = {field: b"countersign/commit/v1\x00" + field.encode() + b"\x00" for field in COMMITTED}


class NotCanonical(ValueError):
    """A body that is not the one way to write what it says."""


def _no_float(text: str) -> Any:
    raise ValueError(f"{text} is no number of ours")


# Made once: half of the time that `json.loads` and `json.dumps` take for a body goes into making these.
_read = json.JSONDecoder(parse_float=_no_float, parse_constant=_no_float).decode
_written = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def new_salt() -> bytes:
    return secrets.token_bytes(SALT_BYTES)


def stored_bytes(text: str) -> bytes:
    """A side column's bytes, which its commitment covers."""
    return text.encode("utf-8", "surrogatepass")


def commitment(field: str, salt: bytes, text: bytes) -> str:
    return hashlib.sha256(_OPENS[field] + salt + text).hexdigest()


def leaf_hash(body: bytes) -> str:
    return hashlib.sha256(b"\x00" + body).hexdigest()


def moment(at: datetime) -> str:
    """RFC 3339 in UTC with microseconds and `Z`, as everywhere outside."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def write_body(members: Mapping[str, Any]) -> bytes:
    return rfc8785.dumps({"v": VERSION, **members})


def log_of(body: bytes) -> str:
    """The log that an entry of ours belongs to."""
    return str(_read(body.decode())["log"])


def read_body(body: bytes) -> dict[str, Any]:
    """The members of a body. Raises NotCanonical for anything that `write_body` would not have written."""
    try:
        members = _read(body.decode())
    except (ValueError, RecursionError) as problem:
        raise NotCanonical(f"not JSON: {problem}") from None
    if not isinstance(members, dict) or members.keys() != MEMBERS or members["v"] != VERSION:
        raise NotCanonical("not the members of an entry")
    # Without floats and with ASCII names, sorted and compact is RFC 8785, and seven times as fast as writing it anew.
    if _written(members).encode("utf-8", "surrogatepass") != body:
        raise NotCanonical("not canonical JSON")
    return members
