"""Checks an evidence bundle of Countersign. One file; needs Python 3.9 or newer and nothing else.

KEY is the log's public key as you got it elsewhere (`log_keys` in /.well-known/countersign of the desk, or an older
bundle). Exit code: 0 good, 1 tampered, 2 usage, 3 incomplete. README.txt in the bundle says what is checked.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from typing import Any

from approvals.trail.bundles.ed25519 import verified
from approvals.trail.bundles.parts import (
    DIGEST,
    TEXTS,
    Keys,
    Note,
    Told,
    entry_of,
    gap_of,
    in_one_form,
    key_of,
    keys_of,
    manifest_of,
    note_of,
    sealed_of,
    sha256,
    signature_of,
)
from approvals.trail.bundles.reading import NAME, Bundle, Unreadable, matching, parsed, whole


class Unusable(Exception):
    """This file is not an evidence bundle that we can read."""


def check(file: Any, keys: list[str] | None = None) -> Told:
    """The report on a bundle, as JSON. Raises Unusable."""
    try:
        given = dict(map(key_of, keys or []))
    except Exception:
        raise Unusable("what was given as a key is none") from None
    try:
        return Check(Bundle(file), given).everything()
    except Unreadable as problem:
        raise Unusable(f"this is not an evidence bundle ({problem})") from None


class Check:
    def __init__(self, bundle: Bundle, given: Keys) -> None:
        self.bundle = bundle
        self.entries, self.head = 0, ""
        self.findings: list[Told] = []
        self.notes: list[str] = []
        self.manifest = bundle.read("manifest.json", manifest_of)
        self.new = self.manifest["format"] == 2  # the first format had neither a tree nor signatures
        self.keys, self.came_along = given, given
        self.sealed: dict[tuple[str, int], tuple[int, str, str]] = {}
        self.gaps = False  # entries that the filter left out

    def everything(self) -> Told:
        roots: dict[int, bytes] = {}
        if self.new:
            self.files()
            roots = self.signatures()
        else:
            self.tampered("This is of the first format: nothing of it is signed.", kind="incomplete")
        try:
            if "entries.jsonl" in self.bundle.names:
                self.walk(roots)
            if "sealed.jsonl" in self.bundle.names:
                self.answers()
        except Unreadable as problem:
            self.tampered(f"The rest was not checked: {problem}.")
        if self.entries != self.manifest["entries"]:
            self.tampered(f"{self.entries} entries are here, of {self.manifest['entries']}.", kind="incomplete")
        self.notes.append("Entries of other filters are not in this bundle: only what is here was checked.")
        kinds = {found["kind"] for found in self.findings}
        bad = [found["seq"] for found in self.findings if found["kind"] == "tampered" and found["seq"] is not None]
        result = "tampered" if "tampered" in kinds else "incomplete" if kinds else "good"
        told = {"entries": self.entries, "head": self.head, "findings": self.findings, "notes": self.notes}
        return {"result": result, "firstBad": min(bad, default=None), **told}

    def tampered(self, sentence: str, seq: int | None = None, kind: str = "tampered") -> None:
        self.findings.append({"kind": kind, "seq": seq, "sentence": sentence})

    def files(self) -> None:
        """Every file is the one that the manifest names, and no other is there; what cannot be read is left aside."""
        names, listed = self.bundle.names, self.manifest["files"]
        for name in sorted(names.keys() - {*listed, "manifest.json", "manifest.sig"}):
            self.tampered(f"{name} is not in the manifest.")
            del names[name]
        for name in sorted({*listed, "entries.jsonl", "log-keys.txt", "tree.jsonl"}):
            if name not in names:
                self.tampered(f"{name} is missing.", kind="incomplete")
                continue
            try:
                if self.digest(name) != listed[name]:
                    self.tampered(f"{name} is not the file that the manifest names.")
            except Unreadable as problem:
                self.tampered(f"{problem}.")
                del names[name]

    def digest(self, name: str) -> str:
        digest = hashlib.sha256()
        for piece in self.bundle.pieces(name):
            digest.update(piece)
        return digest.hexdigest()

    def signatures(self) -> dict[int, bytes]:
        """Signed sizes and their roots. A note of a key that was not given is neither believed nor held against it."""
        self.came_along = self.part("log-keys.txt", keys_of) or {}
        if not self.keys:
            self.keys = self.came_along
            self.notes.append("The keys came with the bundle: compare log-keys.txt with what the desk publishes.")
        roots: dict[int, bytes] = {}
        for name in sorted(name for name in self.bundle.names if name.startswith("checkpoints/")):
            note = self.part(name, note_of)
            if note:
                self.checkpoint(name, note, roots)
        self.manifest_signed(bool(roots))
        if not roots:
            self.notes.append("The bundle holds no checkpoint: nothing proves that its entries are of the log.")
            self.new = False
        return roots

    def checkpoint(self, name: str, note: Note, roots: dict[int, bytes]) -> None:
        believed = by_any_of(self.keys, note.body, note.signatures)
        if not believed and by_any_of(self.came_along, note.body, note.signatures):
            self.notes.append(f"{name} is signed by a key that was not given: it was not compared.")
            return
        if note.log != self.manifest["log"] or not believed:
            self.tampered(f"{name} bears no signature of the log's key.")
        if roots.setdefault(note.size, note.root) != note.root:
            self.tampered(f"Two checkpoints of {note.size} entries tell of different entries.")

    def manifest_signed(self, is_known: bool) -> None:
        said = b"countersign/bundle/v2\n" + b"".join(self.bundle.pieces("manifest.json"))
        signature = self.part("manifest.sig", signature_of) or b""
        if is_known and by_any_of(self.came_along, said, [signature]) and signature[:4] not in self.keys:
            self.tampered("The manifest is signed by a key that was not given.", kind="incomplete")
        elif not by_any_of(self.keys, said, [signature]):
            self.tampered("The manifest bears no signature of the log's key.")

    def part(self, name: str, how: Any) -> Any:
        """What one file says; None, and a finding, where it says nothing."""
        try:
            return self.bundle.read(name, how)
        except Unreadable as problem:
            if name in self.bundle.names:
                self.tampered(f"{problem}.")
            return None

    def walk(self, roots: dict[int, bytes]) -> None:
        """Entry by entry: hash, form, place, texts; and with the subtrees between them, every signed root."""
        self.new = self.new and "tree.jsonl" in self.bundle.names
        tree, gaps = Tree(), self.bundle.lines("tree.jsonl", gap_of) if self.new else iter(())
        gap = next(gaps, None)
        before, leaf = 0, "0" * 64
        for entry in self.bundle.lines("entries.jsonl", entry_of):
            seq = entry["seq"]
            while gap and gap["from"] == tree.size + 1 and gap["to"] < seq:
                self.fill(tree, gap, roots)
                gap = next(gaps, None)
            if self.new and tree.size != seq - 1:
                self.tampered(f"Entry {tree.size + 1} is missing.", min(tree.size + 1, seq))
                self.new = False  # the rest of the tree cannot fit
            elif seq <= before:
                self.tampered(f"Entry {seq} is out of order.", seq)
            self.gaps |= seq != before + 1
            self.entry(entry, leaf if seq == before + 1 else None)
            before, leaf = seq, sha256(b"\0", entry["body"]).hex()
            if self.new:
                tree.add(sha256(b"\0", entry["body"]))
                self.compare(tree, roots)
        while self.new and gap and gap["from"] == tree.size + 1:
            self.fill(tree, gap, roots)
            gap = next(gaps, None)
        if self.new and roots:
            self.tampered(f"Entries after {tree.size}, up to {max(roots)}, are missing.", tree.size + 1)

    def fill(self, tree: Tree, gap: Told, roots: dict[int, bytes]) -> None:
        self.gaps = True
        fits = [tree.add(digest, height) for height, digest in gap["nodes"]]
        if not all(fits) or tree.size != gap["to"]:
            self.tampered(f"The subtrees for entries {gap['from']} to {gap['to']} are others.")
        self.compare(tree, roots)

    def compare(self, tree: Tree, roots: dict[int, bytes]) -> None:
        root = roots.pop(tree.size, None)
        if root is not None and root != tree.root():
            self.tampered(f"The entries do not make the root that checkpoint {tree.size} signed.")

    def entry(self, entry: Told, prev: str | None) -> None:
        seq = entry["seq"]
        self.entries, self.head = self.entries + 1, entry["leafHash"]
        if sha256(b"\0", entry["body"]).hex() != entry["leafHash"]:
            self.tampered(f"The body of entry {seq} does not have its hash.", seq)
        said = in_one_form(entry["body"])
        if said is None:
            self.tampered(f"Entry {seq} is not an entry in its one form.", seq)
            return
        if said["seq"] != seq or said["log"] != self.manifest["log"]:
            self.tampered(f"Entry {seq} is another entry, or of another log.", seq)
        if prev is not None and said["prev"] != prev:
            self.tampered(f"Entry {seq} does not follow the entry before it.", seq)
        for field in TEXTS:
            text, salt = entry[field], entry[f"{field}Salt"]
            if text is None and salt is None:
                continue  # erased: the place stays
            digest = sha256(b"countersign/commit/v1\0", field.encode(), b"\0", salt or b"", text or b"").hex()
            if text is None or salt is None or digest != said["commit"].get(field):
                self.tampered(f"The {field} of entry {seq} is not what was committed to.", seq)
        if said["type"] == "resume.sealed" and entry["data"] is not None:
            self.seal(seq, said["case"], entry["data"])

    def seal(self, seq: int, case: str, data: bytes) -> None:
        try:
            told = parsed(data)
            place = (matching(NAME, case), whole(told["n"]))
            self.sealed[place] = (seq, matching(DIGEST, told["sha256"]), told.get("signature") or "")
        except Exception:
            self.tampered(f"Entry {seq} does not tell what was sealed.", seq)

    def answers(self) -> None:
        """What was sealed for the agents has the digest that its entry tells of, if that entry is here."""
        alone = 0
        for line in self.bundle.lines("sealed.jsonl", sealed_of):
            told = self.sealed.pop((line["case"], line["n"]), None)
            if line["erased"]:
                continue
            if told is None and self.gaps:
                alone += 1
            elif told is None:
                self.tampered(f"Answers of {line['case']} are sealed, and no entry here tells of them.")
            elif (line["content"], line["signature"]) != told[1:]:
                self.tampered(f"The answers of {line['case']} are not those that entry {told[0]} sealed.", told[0])
        if alone:
            self.notes.append(f"Sealed answers whose entry is not here: {alone}. The signed manifest vouches for them.")
        for place, told in self.sealed.items():
            self.tampered(f"The answers of {place[0]} that entry {told[0]} sealed are missing.", told[0])


def by_any_of(keys: Keys, body: bytes, signatures: list[bytes]) -> bool:
    return any(verified(keys[one[:4]], body, one[4:]) for one in signatures if one[:4] in keys)


class Tree:
    """A Merkle tree that grows by leaves and by whole subtrees (RFC 9162)."""

    def __init__(self) -> None:
        self.size = 0
        self.nodes: list[tuple[int, bytes]] = []

    def add(self, digest: bytes, height: int = 0) -> bool:
        """False where no subtree of this height begins."""
        if self.size % (1 << height):
            return False
        self.size += 1 << height
        while self.nodes and self.nodes[-1][0] == height:
            digest, height = sha256(b"\1", self.nodes.pop()[1], digest), height + 1
        self.nodes.append((height, digest))
        return True

    def root(self) -> bytes:
        digest = self.nodes[-1][1]
        for _, left in reversed(self.nodes[:-1]):
            digest = sha256(b"\1", left, digest)
        return digest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    parser.add_argument("--key", action="append")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    try:
        got = check(given.bundle, given.key)
    except Unusable as problem:
        parser.exit(2, f"{given.bundle}: {problem}\n")
    lines = [f"{got['result']}: {got['entries']} entries, first bad {got['firstBad'] or 'none'}, head {got['head']}"]
    lines += [f"- {found['kind']}: {found['sentence']}" for found in got["findings"]]
    lines += [f"note: {note}" for note in got["notes"]]
    sys.stdout.write((json.dumps(got, indent=2) if given.json else "\n".join(lines)) + "\n")
    return {"good": 0, "tampered": 1, "incomplete": 3}[got["result"]]


if __name__ == "__main__":
    sys.exit(main())
