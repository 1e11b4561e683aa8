"""Checks an evidence bundle of Countersign. One file; needs Python 3.9 or newer and nothing else.

KEY is the log's public key as you got it elsewhere (`log_keys` in /.well-known/countersign of the desk, or an older
bundle). Exit code: 0 good, 1 tampered, 2 usage, 3 incomplete. README.txt in the bundle says what is checked.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import sys
import zipfile
from collections.abc import Iterator
from typing import Any

MEMBERS = {"v", "log", "seq", "prev", "at", "type", "actor", "case", "task", "policy", "commit"}


class Unusable(Exception):
    """This file is not an evidence bundle that we can read."""


def check(file: Any, keys: list[str] | None = None) -> dict[str, Any]:
    """The report on a bundle, as JSON. Raises Unusable."""
    try:
        return Check(zipfile.ZipFile(file), keys or []).everything()
    except Exception as problem:  # whatever a forged file makes its readers raise
        raise Unusable(f"this is not an evidence bundle ({problem})") from problem


class Check:
    def __init__(self, bundle: zipfile.ZipFile, keys: list[str]) -> None:
        self.bundle = bundle
        self.entries, self.head = 0, ""
        self.findings: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.names = bundle.namelist()
        if len({*self.names}) < len(self.names):
            raise ValueError("a file is there twice")  # whoever unpacks it would read the other one
        self.manifest = json.loads(bundle.read("manifest.json"))
        self.new = {1: False, 2: True}[self.manifest["format"]]  # the first format had neither a tree nor signatures
        self.keys = dict(map(key_of, keys or (bundle.read("log-keys.txt").decode().split() if self.new else [])))
        if self.new and not keys:
            self.notes.append("The keys came with the bundle: compare log-keys.txt with what the desk publishes.")
        self.sealed: dict[tuple[str, int], tuple[int, str, str]] = {}

    def everything(self) -> dict[str, Any]:
        if self.new:
            self.files()
            self.signature()
        else:
            self.tampered("This is of the first format: nothing of it is signed.", kind="incomplete")
        try:
            self.walk()
            if "sealed.jsonl" in self.names:
                self.answers()
        except Exception as problem:
            if not self.findings:
                raise
            self.tampered(f"The rest cannot be read: {problem}.")
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
        """Every file is the one that the manifest names, and no other is there."""
        listed = self.manifest["files"]
        for name in sorted({*self.names} - {*listed} - {"manifest.json", "manifest.sig"}):
            self.tampered(f"{name} is not in the manifest.")
        for name, digest in sorted(listed.items()):
            if name not in self.names:
                self.tampered(f"{name} is missing.", kind="incomplete")
            elif self.digest(name) != digest:
                self.tampered(f"{name} is not the file that the manifest names.")

    def digest(self, name: str) -> str:
        digest, content = hashlib.sha256(), self.bundle.open(name)
        for piece in iter(lambda: content.read(1 << 20), b""):
            digest.update(piece)
        return digest.hexdigest()

    def signature(self) -> None:
        signed, manifest = self.bundle.read("manifest.sig").decode().split(), self.bundle.read("manifest.json")
        key = self.keys.get(base64.b64decode(signed[0])) if len(signed) == 2 else None
        if key is None or not verified(key, b"countersign/bundle/v2\n" + manifest, base64.b64decode(signed[1])):
            self.tampered("The manifest bears no signature of the log's key.")

    def walk(self) -> None:
        """Entry by entry: hash, form, place, texts; and with the subtrees between them, every signed root."""
        roots = self.roots()
        tree, gaps = Tree(), self.lines("tree.jsonl") if self.new else iter(())
        gap = next(gaps, None)
        before, leaf = 0, "0" * 64
        for entry in self.lines("entries.jsonl"):
            seq, body = entry["seq"], base64.b64decode(entry["body"], validate=True)
            while gap and gap["from"] == tree.size + 1 and gap["to"] < seq:
                self.fill(tree, gap, roots)
                gap = next(gaps, None)
            if self.new and tree.size != seq - 1:
                self.tampered(f"Entry {tree.size + 1} is missing.", min(tree.size + 1, seq))
                self.new = False  # the rest of the tree cannot fit
            elif seq <= before:
                self.tampered(f"Entry {seq} is out of order.", seq)
            self.entry(entry, body, leaf if seq == before + 1 else None)
            before, leaf = seq, sha256(b"\0", body).hex()
            if self.new:
                tree.add(sha256(b"\0", body))
                self.compare(tree, roots)
        while self.new and gap and gap["from"] == tree.size + 1:
            self.fill(tree, gap, roots)
            gap = next(gaps, None)
        if self.new and roots:
            self.tampered(f"Entries after {tree.size}, up to {max(roots)}, are missing.", tree.size + 1)

    def entry(self, entry: dict[str, Any], body: bytes, prev: str | None) -> None:
        seq = entry["seq"]
        self.entries, self.head = self.entries + 1, entry["leafHash"]
        if sha256(b"\0", body).hex() != entry["leafHash"]:
            self.tampered(f"The body of entry {seq} does not have its hash.", seq)
        try:
            said = json.loads(body)
        except ValueError:
            said = None
        canonical = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() == body
        if not canonical or not isinstance(said, dict) or said.keys() != MEMBERS or said["v"] != 1:
            self.tampered(f"Entry {seq} is not an entry in its one form.", seq)
            return
        if said["seq"] != seq or said["log"] != self.manifest["log"]:
            self.tampered(f"Entry {seq} is another entry, or of another log.", seq)
        if prev is not None and said["prev"] != prev:
            self.tampered(f"Entry {seq} does not follow the entry before it.", seq)
        self.texts(seq, entry, said["commit"])
        if said["type"] == "resume.sealed" and entry["data"] is not None:
            data = json.loads(base64.b64decode(entry["data"]))
            self.sealed[said["case"], data["n"]] = (seq, data["sha256"], data.get("signature", ""))

    def texts(self, seq: int, entry: dict[str, Any], commit: Any) -> None:
        for field in ("sentence", "refs", "data"):
            text, salt = entry[field], entry[f"{field}Salt"]
            if text is None and salt is None:
                continue  # erased: the place stays
            opened = map(base64.b64decode, (salt or "", text or ""))
            digest = sha256(b"countersign/commit/v1\0", field.encode(), b"\0", *opened).hex()
            if text is None or salt is None or not isinstance(commit, dict) or digest != commit.get(field):
                self.tampered(f"The {field} of entry {seq} is not what was committed to.", seq)

    def fill(self, tree: Tree, gap: dict[str, Any], roots: dict[int, bytes]) -> None:
        for height, digest in gap["nodes"]:
            tree.add(bytes.fromhex(digest), height)
        if tree.size != gap["to"]:
            self.tampered(f"The subtrees for entries {gap['from']} to {gap['to']} are others.")
        self.compare(tree, roots)

    def compare(self, tree: Tree, roots: dict[int, bytes]) -> None:
        root = roots.pop(tree.size, None)
        if root is not None and root != tree.root():
            self.tampered(f"The entries do not make the root that checkpoint {tree.size} signed.")

    def roots(self) -> dict[int, bytes]:
        """Signed sizes and their roots."""
        found = {}
        for name in sorted(name for name in self.names if name.startswith("checkpoints/")):
            body, _, lines = self.bundle.read(name).decode().partition("\n\n")
            log, size, root = body.split("\n")[:3]
            signatures = [base64.b64decode(line.split()[-1]) for line in lines.splitlines() if line]
            signed = (verified(self.keys[s[:4]], f"{body}\n".encode(), s[4:]) for s in signatures if s[:4] in self.keys)
            if not any(signed) or log != self.manifest["log"]:
                self.tampered(f"{name} bears no signature of the log's key.")
            found[int(size)] = base64.b64decode(root)
        if self.new and not found:
            self.notes.append("The bundle holds no checkpoint: nothing proves that its entries are of the log.")
            self.new = False
        return found

    def answers(self) -> None:
        """What was sealed for the agents has the digest that its entry tells of."""
        for line in self.lines("sealed.jsonl"):
            place = (line["case"], line["n"])
            told = self.sealed.pop(place, None)
            content = sha256(*map(base64.b64decode, (line["entries"], line["props"], line["messages"]))).hex()
            signature = line["signature"] and sha256(line["signature"].encode()).hex()
            if told is None and not line["erased"]:
                self.tampered(f"Answers of {place[0]} are sealed, and no entry here tells of them.")
            elif told and (content, signature) != told[1:] and not line["erased"]:
                self.tampered(f"The answers of {place[0]} are not those that entry {told[0]} sealed.", told[0])
        for place, told in self.sealed.items():
            self.tampered(f"The answers of {place[0]} that entry {told[0]} sealed are missing.", told[0])

    def lines(self, name: str) -> Iterator[dict[str, Any]]:
        return map(json.loads, self.bundle.open(name))


class Tree:
    """A Merkle tree that grows by leaves and by whole subtrees (RFC 9162)."""

    def __init__(self) -> None:
        self.size = 0
        self.nodes: list[tuple[int, bytes]] = []

    def add(self, digest: bytes, height: int = 0) -> None:
        if self.size % (1 << height):
            raise ValueError(f"no subtree of height {height} begins at {self.size}")
        self.size += 1 << height
        while self.nodes and self.nodes[-1][0] == height:
            digest, height = sha256(b"\1", self.nodes.pop()[1], digest), height + 1
        self.nodes.append((height, digest))

    def root(self) -> bytes:
        digest = self.nodes[-1][1]
        for _, left in reversed(self.nodes[:-1]):
            digest = sha256(b"\1", left, digest)
        return digest


def sha256(*content: bytes) -> bytes:
    return hashlib.sha256(b"".join(content)).digest()


def key_of(text: str) -> tuple[bytes, bytes]:
    """`name+id+base64(type || key)` as witnesses write it; the id is computed anew."""
    name, _, encoded = text.split("+", 2)
    raw = base64.b64decode(encoded, validate=True)
    return sha256(name.encode(), b"\n", raw)[:4], raw[1:]


# Ed25519 (RFC 8032), verifying only: slow, short, and independent of any library.
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
Point = tuple[int, int, int, int]


def verified(key: bytes, message: bytes, signature: bytes) -> bool:
    try:
        a, r, s = point(key), point(signature[:32]), int.from_bytes(signature[32:], "little")
    except ValueError:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    left, right = times(s, BASE), add(r, times(h, a))
    same = all((left[axis] * right[2] - right[axis] * left[2]) % P == 0 for axis in (0, 1))
    return same and len(signature) == 64 and s < L


def add(one: Point, two: Point) -> Point:
    a, b = (one[1] - one[0]) * (two[1] - two[0]) % P, (one[1] + one[0]) * (two[1] + two[0]) % P
    c, d = 2 * one[3] * two[3] * D % P, 2 * one[2] * two[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def times(number: int, one: Point) -> Point:
    total = (0, 1, 1, 0)
    while number:
        total, one, number = add(total, one) if number & 1 else total, add(one, one), number >> 1
    return total


def point(encoded: bytes) -> Point:
    """Raises ValueError for bytes that are no point of the curve."""
    sign, y = divmod(int.from_bytes(encoded, "little"), 1 << 255)
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if (x * x - square) % P == 0 else x * pow(2, (P - 1) // 4, P) % P
    if len(encoded) != 32 or y >= P or (x * x - square) % P or (x == 0 and sign):
        raise ValueError("not a point")
    x = P - x if x & 1 != sign else x
    return (x, y, 1, x * y % P)


BASE = point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


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
