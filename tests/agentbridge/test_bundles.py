"""Evidence bundles, checked by the programs that are in them: in an empty folder, without us (R-32, R-38)."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable

import pytest
from django.core.management import call_command

from approvals.models import AuditEntry, Case
from approvals.trail import bundles, checkpoints, merkle, signednote
from approvals.trail.bundles import spreadsheet
from approvals.trail.bundles.verify import Tree, Unusable, check, verified
from tests.agentbridge.bundled import Members, exported, fitted, judged, lines, members, put, zipped

NODE = pytest.param("node", marks=pytest.mark.node)


@pytest.mark.parametrize("program", ["python", NODE])
def test_a_bundle_is_good_in_an_empty_folder(whole, tmp_path, program):
    report = judged(program, whole, tmp_path / "empty", "--key", checkpoints.verifier_keys()[0])
    assert (report["result"], report["entries"]) == ("good", checkpoints.newest().size)
    assert not any("came with the bundle" in note for note in report["notes"])


@pytest.mark.parametrize("program", ["python", NODE])
def test_entries_left_out_are_proven_around(whole, tmp_path, program):
    one = AuditEntry.objects.filter(case=Case.objects.order_by("pk")[0])
    path = exported(tmp_path / "part.zip", one, case="the first")
    report = judged(program, path, tmp_path / "empty")
    assert (report["result"], report["entries"]) == ("good", one.count())
    assert any("Entries of other filters" in note for note in report["notes"])
    assert len(members(path)["tree.jsonl"]) > 0


@pytest.mark.parametrize("program", ["python", NODE])
def test_decisions_alone_bring_what_was_sealed_of_their_cases(whole, tmp_path, program):
    path = exported(tmp_path / "part.zip", AuditEntry.objects.filter(verb="task.decided"))
    sealed = {row["case"] for row in lines(members(path), "sealed.jsonl")}
    assert sealed == {*Case.objects.values_list("code", flat=True)}
    report = judged(program, path, tmp_path / "empty")
    assert report["result"] == "good" and "Sealed answers whose entry is not here: 2." in " ".join(report["notes"])


@pytest.mark.parametrize("program", ["python", NODE])
def test_keys_of_another_log_are_not_believed(whole, tmp_path, program):
    other = signednote.verifier_key("another log", checkpoints.public_keys()[0])
    assert judged(program, whole, tmp_path / "empty", "--key", other)["result"] == "tampered"


def test_what_went_over_the_wire_is_in_it(whole):
    told = members(whole)
    runs = [json.loads(line) for line in told["runs.jsonl"].splitlines()]
    assert [run["kind"] for run in runs] == ["first", "resumed"] * 2
    assert b'"type":"RUN_FINISHED"' in told[runs[0]["stream"]]
    assert b'"editedArgs":{"amount": 1.0}' in told[runs[1]["input"]]
    sealed = json.loads(told["sealed.jsonl"].splitlines()[0])
    assert b'"countersign"' in base64.b64decode(sealed["entries"])


def test_no_cell_of_the_table_is_a_formula():
    """R-59: a thousand cells that a spreadsheet would run, or might."""
    chance = random.Random(59)
    signs = "=+-@\t\r\n\0 \xa0\u200b\ufeff\u3000＝＠﹦a1"
    for _ in range(1000):
        text = "".join(chance.choices(signs, k=chance.randint(1, 6))) + "cmd|'/c calc'!A0"
        cell = spreadsheet.harmless(text)
        assert cell.lstrip(" \xa0\u200b\ufeff\u3000")[:1] not in "=+-@\t\r\n\0＝＋－＠﹦"
        assert cell.removeprefix("'").replace("␀", "\0") == text
    row = list(csv.reader(io.StringIO(spreadsheet.line(["'=1", 'a "b"', "c\nd"]).decode())))
    assert row == [["'=1", 'a "b"', "c\nd"]]


def test_the_same_entries_make_the_same_file(whole, tmp_path):
    one = AuditEntry.objects.filter(verb="task.decided")
    assert exported(tmp_path / "a.zip", one).read_bytes() == exported(tmp_path / "b.zip", one).read_bytes()


def flip(text: str, chance: random.Random) -> str:
    content = bytearray(base64.b64decode(text))
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    return base64.b64encode(content).decode()


def in_an_entry(field: str) -> Callable[[Members, random.Random], int]:
    def tamper(told: Members, chance: random.Random) -> int:
        rows = lines(told, "entries.jsonl")
        row = chance.choice(rows)
        row[field] = flip(row[field], chance)
        put(told, "entries.jsonl", rows)
        return row["seq"]

    return tamper


def entry_gone(told: Members, chance: random.Random) -> int:
    rows = lines(told, "entries.jsonl")
    gone = rows.pop(chance.randrange(len(rows) - 1))
    put(told, "entries.jsonl", rows)
    manifest = json.loads(told["manifest.json"])
    told["manifest.json"] = json.dumps({**manifest, "entries": len(rows)}).encode()
    return gone["seq"]


def entries_cut(told: Members, chance: random.Random) -> int:
    rows = lines(told, "entries.jsonl")[: chance.randint(1, 5)]
    put(told, "entries.jsonl", rows)
    return rows[-1]["seq"] + 1


def swapped(told: Members, chance: random.Random) -> int:
    rows = lines(told, "entries.jsonl")
    at = chance.randrange(len(rows) - 1)
    rows[at], rows[at + 1] = rows[at + 1], rows[at]
    put(told, "entries.jsonl", rows)
    return rows[at + 1]["seq"]


def rewritten(told: Members, chance: random.Random) -> None:
    """Another body with its own hash, and every later one made to fit."""
    rows, leaf = lines(told, "entries.jsonl"), None
    for row in rows[chance.randrange(len(rows)) :]:
        said = json.loads(base64.b64decode(row["body"]))
        said |= {"policy": "forged"} if leaf is None else {"prev": leaf}
        body = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        leaf = hashlib.sha256(b"\0" + body).hexdigest()
        row |= {"body": base64.b64encode(body).decode(), "leafHash": leaf}
    put(told, "entries.jsonl", rows)


def other_answer(told: Members, chance: random.Random) -> int:
    rows = lines(told, "sealed.jsonl")
    row = chance.choice(rows)
    row["entries"] = flip(row["entries"], chance)
    put(told, "sealed.jsonl", rows)
    said = {r["seq"]: json.loads(base64.b64decode(r["body"])) for r in lines(told, "entries.jsonl")}
    return next(seq for seq, one in said.items() if (one["type"], one["case"]) == ("resume.sealed", row["case"]))


def other_filter(told: Members, chance: random.Random) -> None:
    told["manifest.json"] = told["manifest.json"].replace(b'"filter": {', b'"filter": {"agent": "x"', 1)


def other_note(told: Members, chance: random.Random) -> None:
    name = next(name for name in told if name.startswith("checkpoints/"))
    told[name] = told[name].replace(b"prev-head", b"prev-tail")


def other_file(told: Members, chance: random.Random) -> None:
    told["runs/extra.sse"] = b"data: {}\n\n"


def other_sheet(told: Members, chance: random.Random) -> None:
    told["manifest.xlsx"] = b"read me first"


def other_stream(told: Members, chance: random.Random) -> None:
    name = chance.choice([name for name in told if name.endswith(".sse")])
    told[name] = told[name][:-1]


KINDS: dict[str, Callable[[Members, random.Random], int | None]] = {
    **{field: in_an_entry(field) for field in ("body", "sentence", "refsSalt", "data")},
    "gone": entry_gone, "cut": entries_cut, "swap": swapped, "rewritten": rewritten, "answer": other_answer,
    "filter": other_filter, "note": other_note, "file": other_file, "sheet": other_sheet, "stream": other_stream,
}  # fmt: skip


@pytest.mark.parametrize("program", ["python", NODE])
@pytest.mark.parametrize("kind", KINDS)
def test_both_programs_find_and_name_what_was_changed(kept, tmp_path, kind, program):
    told = members(kept)
    expected = KINDS[kind](told, random.Random(kind))
    report = judged(program, zipped(tmp_path / "changed.zip", told), tmp_path / "empty")
    assert (report["result"], report["firstBad"]) == ("tampered", expected)
    report = judged(program, zipped(tmp_path / "hidden.zip", fitted(told)), tmp_path / "empty")
    assert (report["result"], report["firstBad"]) == ("tampered", expected)


@pytest.mark.parametrize("program", ["python", NODE])
def test_the_format_that_was_not_signed_is_never_good(kept, tmp_path, program):
    told = members(kept)
    told["manifest.json"] = json.dumps({**json.loads(told["manifest.json"]), "format": 1}).encode()
    told = {name: told[name] for name in ("manifest.json", "entries.jsonl", "verify.py", "verify.mjs")}
    report = judged(program, zipped(tmp_path / "old.zip", told), tmp_path / "empty")
    assert report["result"] == "incomplete"


def twice(content: bytes, chance: random.Random) -> bytes:
    out = io.BytesIO(content)
    with zipfile.ZipFile(out, "a") as bundle, pytest.warns(UserWarning):
        bundle.writestr("entries.csv", "another")
    return out.getvalue()


def deep(content: bytes, chance: random.Random) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as bundle:
        bundle.writestr("manifest.json", "[" * 100_000)
    return out.getvalue()


def flipped(content: bytes, chance: random.Random) -> bytes:
    place = chance.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :]


@pytest.mark.parametrize("program", ["python", NODE])
@pytest.mark.parametrize("damage", [twice, deep, lambda content, chance: content[: len(content) // 2]])
def test_a_file_that_is_no_bundle_any_more_is_never_judged(kept, tmp_path, damage, program):
    name = {"python": "verify.py", "node": "verify.mjs"}[program]
    (tmp_path / name).write_bytes(members(kept)[name])
    (tmp_path / "bad.zip").write_bytes(damage(kept.read_bytes(), random.Random(1)))
    command = {"python": [sys.executable, "-I", "-S"], "node": ["node"]}[program]
    run = subprocess.run([*command, name, "bad.zip", "--json"], cwd=tmp_path, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (2, "") and "not an evidence bundle" in run.stderr


def test_a_bit_changed_anywhere_in_the_file_is_never_taken_for_another_story(kept, tmp_path):
    """Either it is found, or it was in a byte that nobody reads: then everything that is read is as it was."""
    chance, whole = random.Random(37), members(kept)
    for _ in range(40):
        path = tmp_path / "bit.zip"
        path.write_bytes(flipped(kept.read_bytes(), chance))
        try:
            report = check(path)
        except Unusable:
            continue
        assert report["result"] != "good" or members(path) == whole


def test_a_missing_file_is_incomplete(kept, tmp_path):
    told = members(kept)
    del told["summary.html"]
    assert check(zipped(tmp_path / "less.zip", told))["result"] == "incomplete"


def test_signatures_are_checked_by_hand_as_by_the_library():
    key = checkpoints.signing.pairs("checkpoint")[0]
    good = key.private.sign(b"hello")
    assert verified(key.raw, b"hello", good)
    bad = [good[:-1], b"", good[:32] + b"\xff" * 32, bytes(64), good[:31] + b"\xff" + good[32:]]
    assert not any(verified(key.raw, b"hello", signature) for signature in bad)
    assert not verified(key.raw, b"hallo", good)


def test_both_trees_are_one():
    leaves = [hashlib.sha256(bytes([n])).hexdigest() for n in range(77)]
    one, other = merkle.Range(), Tree()
    for leaf in leaves:
        one.append(bytes.fromhex(leaf))
        other.add(bytes.fromhex(leaf))
    assert one.root() == other.root()


def test_the_command_says_what_it_wrote(whole, tmp_path, capsys):
    call_command("export_audit", "--out", str(tmp_path / "all.zip"))
    assert f"{AuditEntry.objects.count() - 1} entries" in capsys.readouterr().out
    assert bundles.verify(tmp_path / "all.zip").findings == []
