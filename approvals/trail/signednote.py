"""Signed notes (C2SP signed-note and tlog-checkpoint): a few lines that anybody can keep, and check years later. Pure.

    <log>
    <number of entries>
    <root of the tree, base64>
    prev-head <leaf hash of the last entry>
    time <RFC 3339>

    — <log> <base64 of key id and signature>
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

ED25519 = b"\x01"  # the kind of key in C2SP
MARK = "— "


class Unreadable(ValueError):
    """This is not a signed checkpoint, or not one of ours."""


@dataclass(frozen=True, slots=True)
class Note:
    """What was signed; `text` is the whole note."""

    log: str
    size: int
    root: bytes
    more: Sequence[str]
    text: str


def key_id(name: str, raw: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n" + ED25519 + raw).digest()[:4]


def verifier_key(name: str, raw: bytes) -> str:
    """A public key as witnesses of other logs write it."""
    return f"{name}+{key_id(name, raw).hex()}+{base64.b64encode(ED25519 + raw).decode()}"


def sign(*, log: str, size: int, root: bytes, more: Sequence[str], key: Ed25519PrivateKey) -> str:
    body = "\n".join([log, str(size), base64.b64encode(root).decode(), *more]) + "\n"
    named = key_id(log, key.public_key().public_bytes_raw())
    return f"{body}\n{MARK}{log} {base64.b64encode(named + key.sign(body.encode())).decode()}\n"


def read(text: str) -> Note:
    """What a note says, believed or not. Raises Unreadable."""
    body, found, _signatures = text.partition("\n\n")
    log, size, root, *more = [*body.split("\n"), "", "", ""][: max(3, body.count("\n") + 1)]
    try:
        digest = base64.b64decode(root, validate=True)
    except binascii.Error:
        digest = b""
    if not (found and log and size.isascii() and size.isdigit() and str(int(size)) == size and len(digest) == 32):
        raise Unreadable("this is not a checkpoint")
    return Note(log, int(size), digest, more, text)


def verify(text: str, keys: Iterable[bytes]) -> Note:
    """A note that one of these keys signed. Raises Unreadable."""
    note = read(text)
    body, _, signatures = text.partition("\n\n")
    known = {key_id(note.log, raw): raw for raw in keys}
    for line in signatures.splitlines():
        name, _, written = line.removeprefix(MARK).partition(" ")
        try:
            signature = base64.b64decode(written, validate=True)
            if name == note.log and signature[:4] in known:
                Ed25519PublicKey.from_public_bytes(known[signature[:4]]).verify(signature[4:], f"{body}\n".encode())
                return note
        except (binascii.Error, InvalidSignature):
            continue
    raise Unreadable("no key of ours signed this checkpoint")
