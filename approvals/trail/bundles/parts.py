"""What each part of a bundle says. A part of `verify.py`.

Each of these reads one file or line, and raises whatever it likes where that is not as it must be.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from approvals.trail.bundles.reading import NAME, matching, parsed, raw_of, refuse, whole

MEMBERS = {"v", "log", "seq", "prev", "at", "type", "actor", "case", "task", "policy", "commit"}
TEXTS = ("sentence", "refs", "data")
DIGEST = re.compile(r"[0-9a-f]{64}")
NOTE = re.compile(
    r"(?P<body>(?P<log>[^\n]+)\n(?P<size>[1-9][0-9]{0,14})\n(?P<root>[A-Za-z0-9+/]{43}=)\n(?:[^\n]+\n)*)\n"
    r"(?P<lines>(?:— [^ \n]+ [A-Za-z0-9+/=]+\n)+)"
)
HIGHEST = 52  # of subtrees
Keys = dict[bytes, bytes]
Told = dict[str, Any]


def sha256(*content: bytes) -> bytes:
    return hashlib.sha256(b"".join(content)).digest()


def key_of(text: str) -> tuple[bytes, bytes]:
    """`name+id+base64(type || key)` as witnesses write it; the only type is Ed25519."""
    name, told, encoded = text.split("+", 2)
    raw = raw_of(encoded)
    named = sha256(name.encode(), b"\n", raw)[:4]
    if len(raw) != 33 or raw[0] != 1 or named.hex() != told:
        raise ValueError("not a key")
    return named, raw[1:]


def keys_of(content: bytes) -> Keys:
    return dict(key_of(line) for line in content.decode().split("\n") if line)


def manifest_of(content: bytes) -> Told:
    said = parsed(content)
    files = {matching(NAME, name): matching(DIGEST, digest) for name, digest in said.get("files", {}).items()}
    if said["format"] not in (1, 2) or not isinstance(said["log"], str):
        raise ValueError("not of a format that is known here")
    return {"format": whole(said["format"]), "log": said["log"], "entries": whole(said["entries"]), "files": files}


def signature_of(content: bytes) -> bytes:
    named, signature = content.decode().removesuffix("\n").split(" ")
    return raw_of(named) + raw_of(signature)


@dataclass(frozen=True)
class Note:
    """A checkpoint: what was signed, by which signatures; the log, the number of entries and their root in it."""

    body: bytes
    signatures: list[bytes]
    log: str
    size: int
    root: bytes


def note_of(content: bytes) -> Note:
    body, log, size, root, lines = NOTE.fullmatch(content.decode()).groups()  # type: ignore[union-attr]
    signatures = [raw_of(line.split(" ")[-1]) for line in lines.splitlines()]
    return Note(body.encode(), signatures, log, int(size), raw_of(root))


def gap_of(line: Told) -> Told:
    nodes = [(whole(height), bytes.fromhex(matching(DIGEST, digest))) for height, digest in line["nodes"]]
    if any(height > HIGHEST for height, _ in nodes):
        raise ValueError("higher than any tree")
    return {"from": whole(line["from"]), "to": whole(line["to"]), "nodes": nodes}


def entry_of(line: Told) -> Told:
    names = [name for field in TEXTS for name in (field, f"{field}Salt")]
    texts = {name: None if line[name] is None else raw_of(line[name]) for name in names}
    leaf = matching(DIGEST, line["leafHash"])
    return {"seq": whole(line["seq"]), "body": raw_of(line["body"]), "leafHash": leaf, **texts}


def in_one_form(body: bytes) -> Told | None:
    """What a body says, if it is in the only form that an entry has (RFC 8785, whole numbers alone)."""
    try:
        said = parsed(body, parse_float=refuse, parse_int=lambda written: whole(int(written)))
        written = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        numbers = (said["v"], said["seq"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    is_one = written == body and said.keys() == MEMBERS and isinstance(said["commit"], dict) and numbers[0] == 1
    return said if is_one and all(type(number) is int for number in numbers) else None


def sealed_of(line: Told) -> Told:
    content = sha256(*map(raw_of, (line["entries"], line["props"], line["messages"]))).hex()
    written: str = line["signature"]
    signature = sha256(written.encode()).hex() if written else written + ""
    place = {"case": matching(NAME, line["case"]), "n": whole(line["n"])}
    return {**place, "erased": line["erased"] is True, "content": content, "signature": signature}
