"""Bundles made to deceive, by somebody with the log's own key: both programs name it, in the same words."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from approvals.models import AuditEntry
from approvals.trail import checkpoints, signednote, signing
from approvals.trail.bundles import shipped
from approvals.trail.bundles.verify import Unusable, check
from tests.agentbridge.bundled import Members, exported, lines, members, put, zipped

Forgery = Callable[[Members], Any]
Damage = Callable[[Path], Any]
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))


def pair() -> signing.Pair:
    return signing.pairs("checkpoint")[0]


def signed(told: Members, key: Ed25519PrivateKey | None = None) -> Members:
    """The manifest made to fit, and signed by the log's own key, or another."""
    key = key or pair().private
    manifest = json.loads(told["manifest.json"])
    manifest["files"] = {n: hashlib.sha256(c).hexdigest() for n, c in told.items() if not n.startswith("manifest.")}
    content = json.dumps(manifest).encode()
    named = signednote.key_id(manifest["log"], key.public_key().public_bytes_raw())
    parts = (named, key.sign(b"countersign/bundle/v2\n" + content))
    return {**told, "manifest.json": content, "manifest.sig": b" ".join(map(base64.b64encode, parts)) + b"\n"}


def without(name: str) -> Forgery:
    return lambda told: told.pop(name)


def in_first_line(name: str, old: bytes, new: bytes) -> Forgery:
    def forge(told: Members) -> None:
        assert old in told[name]
        told[name] = told[name].replace(old, new, 1)

    return forge


def in_place_of(name: str, content: bytes) -> Forgery:
    return lambda told: told.update({name: content})


def body(change: Callable[[str], str]) -> Forgery:
    """Another first entry, with its hash."""

    def forge(told: Members) -> None:
        rows = lines(told, "entries.jsonl")
        content = change(base64.b64decode(rows[0]["body"]).decode()).encode()
        leaf = hashlib.sha256(b"\0" + content).hexdigest()
        rows[0] |= {"body": base64.b64encode(content).decode(), "leafHash": leaf}
        put(told, "entries.jsonl", rows)

    return forge


def moved(told: Members) -> None:
    """The last entry stands first, and every number is made to fit."""
    rows = lines(told, "entries.jsonl")
    rows = [{**row, "seq": seq} for seq, row in enumerate([rows[-1], *rows[:-1]], 1)]
    put(told, "entries.jsonl", rows)


def another_root(told: Members) -> None:
    """The log signs two stories of the same length."""
    name = next(name for name in told if name.startswith("checkpoints/"))
    note = signednote.read(told[name].decode())
    again = signednote.sign(log=note.log, size=note.size, root=bytes(32), more=(), key=pair().private)
    told["checkpoints/again.note"] = again.encode()


def answer_of_nobody(told: Members) -> None:
    told["sealed.jsonl"] += told["sealed.jsonl"].splitlines()[0].replace(b'"n": 1', b'"n": 2') + b"\n"


SUBTREE = b'{"from": 1, "to": 1, "nodes": [[1000000000, "%s"]]}\n' % (b"0" * 64)
SEQ, LINE = b'"seq": 1}', "line 1 of entries.jsonl cannot be read"
FORGED: dict[str, tuple[Forgery, str]] = {
    "no entries": (without("entries.jsonl"), "entries.jsonl is missing."),
    "no tree": (without("tree.jsonl"), "tree.jsonl is missing."),
    "no keys": (without("log-keys.txt"), "log-keys.txt is missing."),
    "a member twice": (in_first_line("entries.jsonl", b'{"', b'{"seq": 9, "'), LINE),
    "a huge number": (in_first_line("entries.jsonl", SEQ, b'"seq": 1e400}'), LINE),
    "an inexact number": (in_first_line("entries.jsonl", SEQ, b'"seq": 9007199254740993}'), LINE),
    "a word for a number": (in_first_line("entries.jsonl", SEQ, b'"seq": true}'), LINE),
    "a line that is none": (in_place_of("entries.jsonl", b"null\n"), LINE),
    "a digest that is none": (in_first_line("entries.jsonl", b'"leafHash": "', b'"leafHash": "\\u001b'), LINE),
    "a subtree without end": (in_place_of("tree.jsonl", SUBTREE), "line 1 of tree.jsonl cannot be read"),
    "a sealed line that is none": (in_place_of("sealed.jsonl", b"{}\n"), "line 1 of sealed.jsonl cannot be read"),
    "a key of another kind": (in_first_line("log-keys.txt", b"+A", b"+B"), "log-keys.txt cannot be read."),
    "a note that is none": (in_place_of("checkpoints/1.note", b"x\n1\n"), "checkpoints/1.note cannot be read."),
    "two roots": (another_root, "entries tell of different entries."),
    "an entry moved": (moved, "Entry 1 is another entry, or of another log."),
    "a fraction": (body(lambda said: said.replace('"v":1', '"v":1.0')), "Entry 1 is not an entry in its one form."),
    "a member twice within": (body(lambda said: '{"v":1,' + said[1:]), "Entry 1 is not an entry in its one form."),
    "too deep": (body(lambda said: "[" * 9_999 + "]" * 9_999), "Entry 1 is not an entry in its one form."),
    "half a character": (body(lambda said: said.replace('"v":1', r'"v":"\ud800"')), "Entry 1 is not an entry"),
    "other words": (body(lambda said: said.replace('"policy":null', '"policy":"x"')), "Entry 2 does not follow"),
    "an answer of nobody": (answer_of_nobody, "and no entry here tells of them."),
}  # fmt: skip


def both(path: Path, *keys: str) -> dict[str, Any]:
    """What the program in Python says; the one for Node says the same, byte for byte."""
    words = [word for key in keys for word in ("--key", key)]
    (path.parent / "verify.mjs").write_bytes((shipped.HERE / "verify.mjs").read_bytes())
    command = ["node", "verify.mjs", path.name, "--json", *words]
    run = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False)
    try:
        report = check(path, list(keys))
    except Unusable as problem:
        assert (run.returncode, run.stdout, run.stderr) == (2, "", f"{path.name}: {problem}\n")
        return {"result": "unusable", "findings": [{"sentence": str(problem)}], "notes": []}
    assert (run.stdout, run.stderr) == (json.dumps(report, indent=2) + "\n", "")
    return report


def said(report: dict[str, Any]) -> str:
    return "\n".join(found["sentence"] for found in report["findings"])


@pytest.mark.node
@pytest.mark.parametrize("kind", FORGED)
def test_what_is_forged_within_is_named(kept: Path, tmp_path: Path, kind: str) -> None:
    forge, words = FORGED[kind]
    forge(told := members(kept))
    report = both(zipped(tmp_path / "forged.zip", signed(told)))
    assert report["result"] in ("tampered", "incomplete") and words in said(report), said(report)


def deflated(path: Path, told: Members) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, content in told.items():
            bundle.writestr(name, content)
    return path


def one_more(name: str, mode: int = 0o600) -> Damage:
    def forge(path: Path) -> None:
        with zipfile.ZipFile(path, "a") as bundle:
            member = zipfile.ZipInfo(name)
            member.external_attr = mode << 16
            bundle.writestr(member, "/etc/passwd")

    return forge


def rewritten(change: Callable[[bytes], bytes]) -> Damage:
    return lambda path: path.write_bytes(change(path.read_bytes()))


def in_the_directory(name: bytes, place: int, value: bytes) -> Damage:
    """Other bytes in what the zip says of one file, so many bytes before its name."""

    def change(content: bytes) -> bytes:
        at = content.rindex(name, 0, content.rindex(b"PK\x05\x06")) - 46 + place
        return content[:at] + value + content[at + len(value) :]

    return rewritten(change)


def in_the_last_record(place: int, value: bytes) -> Damage:
    """Other bytes in the 22 with which the zip ends."""

    def change(content: bytes) -> bytes:
        at = len(content) - 22 + place
        return content[:at] + value + content[at + len(value) :]

    return rewritten(change)


DAMAGED: dict[str, tuple[Damage, str]] = {
    "a way out": (one_more("../evil"), "something in it is no plain file"),
    "a way to the root": (one_more("/etc/cron.d/evil"), "something in it is no plain file"),
    "a name that paints": (one_more("runs/\x1b[2Jgood"), "something in it is no plain file"),
    "a link": (one_more("runs/9.sse", 0o120777), "something in it is no plain file"),
    "something before it": (rewritten(lambda content: b"#!/bin/sh\n" + content), "there is more in it than its files"),
    "cut": (rewritten(lambda content: content[:-30]), "it cannot be opened as a zip file"),
    "empty": (rewritten(lambda content: b""), "it cannot be opened as a zip file"),
    "another number of files": (in_the_last_record(10, b"\1\0"), "it cannot be opened as a zip file"),
    "another length": (in_the_last_record(12, b"\0\0\0\0"), "it cannot be opened as a zip file"),
    "words that are not there": (in_the_last_record(20, b"\5\0"), "it cannot be opened as a zip file"),
    "a longer name at the end": (in_the_directory(b"manifest.sig", 28, b"\x0d"), "it cannot be opened as a zip file"),
    "a zip of tomorrow": (in_the_directory(b"entries.csv", 6, b"\x7f"), "it cannot be opened as a zip file"),
    "locked": (in_the_directory(b"entries.csv", 8, b"\x40"), "entries.csv cannot be read."),
    "another checksum": (in_the_directory(b"entries.csv", 16, b"\0\0\0\0"), "entries.csv cannot be read."),
    "another packing": (in_the_directory(b"entries.csv", 10, struct.pack("<H", 12)), "entries.csv cannot be read."),
}  # fmt: skip


@pytest.mark.node
@pytest.mark.parametrize("kind", DAMAGED)
def test_what_the_zip_is_made_to_hide_is_named(kept: Path, tmp_path: Path, kind: str) -> None:
    damage, words = DAMAGED[kind]
    damage(path := deflated(tmp_path / "forged.zip", members(kept)))
    report = both(path)
    assert report["result"] in ("tampered", "unusable") and words in said(report), said(report)


@pytest.mark.node
@pytest.mark.parametrize("change", [(b'{\n  "entries"', b'{"log":"x","entries"'), (b'"format": 2', b'"format": 2e400')])
def test_a_manifest_of_two_meanings_is_no_manifest(kept: Path, tmp_path: Path, change: tuple[bytes, bytes]) -> None:
    told = members(kept)
    assert change[0] in told["manifest.json"]
    told["manifest.json"] = told["manifest.json"].replace(*change)
    assert "manifest.json cannot be read" in said(both(zipped(tmp_path / "forged.zip", told)))


@pytest.mark.node
def test_proofs_that_changed_places_prove_nothing(whole: Path, tmp_path: Path) -> None:
    told = members(exported(tmp_path / "part.zip", AuditEntry.objects.filter(verb="task.decided")))
    rows = lines(told, "tree.jsonl")
    (one, first), (other, second), *rest = rows[0]["nodes"]
    rows[0]["nodes"] = [(one, second), (other, first), *rest]
    put(told, "tree.jsonl", rows)
    report = both(zipped(tmp_path / "forged.zip", signed(told)))
    assert report["result"] == "tampered" and "do not make the root" in said(report)


def rotated(told: Members) -> Iterator[str]:
    """The older checkpoint is by a key that left; both keys."""
    name = next(name for name in told if name.startswith("checkpoints/"))
    log = signednote.read(told[name].decode()).log
    root = hashlib.sha256(b"\0" + base64.b64decode(lines(told, "entries.jsonl")[0]["body"])).digest()
    told["checkpoints/1.note"] = signednote.sign(log=log, size=1, root=root, more=(), key=OTHER).encode()
    for raw in (OTHER.public_key().public_bytes_raw(), pair().raw):
        yield signednote.verifier_key(log, raw)


@pytest.mark.node
def test_a_log_whose_key_was_rotated_is_not_accused(kept: Path, tmp_path: Path) -> None:
    older, newer = rotated(told := members(kept))
    told["log-keys.txt"] = f"{newer}\n{older}\n".encode()
    path = zipped(tmp_path / "rotated.zip", signed(told))
    assert [both(path, *keys)["result"] for keys in ((), (newer,), (newer, older))] == ["good"] * 3
    assert any("signed by a key that was not given" in note for note in both(path, newer)["notes"])
    known = both(path, older)  # the reader has the key of last year alone
    assert (known["result"], said(known)) == ("incomplete", "The manifest is signed by a key that was not given.")


@pytest.mark.node
def test_whoever_brings_their_own_key_is_not_believed(kept: Path, tmp_path: Path) -> None:
    older, newer = rotated(told := members(kept))
    told["log-keys.txt"] = f"{newer}\n{older}\n".encode()
    path = zipped(tmp_path / "own.zip", signed(told, OTHER))
    assert both(path, newer)["result"] == "incomplete"  # the log's own key signed its root; nobody the manifest
    for name in [name for name in told if name.startswith("checkpoints/")]:
        del told[name]
    assert both(zipped(tmp_path / "bare.zip", signed(told, OTHER)), newer)["result"] == "tampered"


@pytest.mark.node
def test_what_is_no_key_is_said_to_be_none(kept: Path, tmp_path: Path) -> None:
    name, named, key = checkpoints.verifier_keys()[0].split("+", 2)
    for given in ("", "x", f"{name}+{named}", f"{name}+00000000+{key}", f"{name}+{named}+{key[:-4]}"):
        assert said(both(kept, given)) == "what was given as a key is none"
