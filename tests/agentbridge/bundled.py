"""A bundle for tests to check, to change and to forge: made by the desk, taken apart and put together again."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile

import pytest
from django.utils import timezone

from agentbridge.record import evidence
from approvals.models import AuditEntry
from approvals.trail import bundles
from tests.bridge_work import paused_case, register, work
from tests.people import decide, only_task
from tests.scripted_agent import finishing, pausing

Members = dict[str, bytes]
_made: list[bytes] = []


@pytest.fixture
def kept(transactional_db, request, tmp_path):
    """A whole bundle, made once: what follows changes copies of it."""
    if not _made:
        _made.append(request.getfixturevalue("whole").read_bytes())
    path = tmp_path / "kept.zip"
    path.write_bytes(_made[0])
    return path


@pytest.fixture
def whole(transactional_db, script, alice, tmp_path):
    """The bundle of everything that two delivered cases left behind."""
    scripted = script(pausing(), finishing(), pausing(), finishing())
    agent = register(scripted, receipts="Ed25519")
    for thread in ("one", "two"):
        case = paused_case(agent, alice, thread_id=thread)
        decide(only_task(case), alice, edits='{"amount": 1.0}', comment="=1+1")
        work()
    return exported(tmp_path / "whole.zip")


def exported(path, entries=None, **wanted):
    rows = AuditEntry.objects.all() if entries is None else entries
    bundle = bundles.begin(rows, wanted, extras=[evidence.extras], now=timezone.now())
    bundles.write(path, bundle)
    return path


def members(path) -> Members:
    with zipfile.ZipFile(path) as bundle:
        return {name: bundle.read(name) for name in bundle.namelist()}


def zipped(path, told: Members):
    with zipfile.ZipFile(path, "w") as bundle:
        for name, content in told.items():
            bundle.writestr(name, content)
    return path


def judged(program: str, path, folder, *words: str) -> dict:
    """What a program of the bundle says about it, run where there is nothing else."""
    name = {"python": "verify.py", "node": "verify.mjs"}[program]
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(members(path)[name])
    shutil.copy(path, folder / "bundle.zip")
    command = {"python": [sys.executable, "-I", "-S"], "node": ["node"]}[program]
    run = subprocess.run([*command, name, "bundle.zip", "--json", *words], cwd=folder, capture_output=True, text=True)
    assert run.returncode in (0, 1, 3), run.stderr
    report = json.loads(run.stdout)
    assert run.returncode == {"good": 0, "tampered": 1, "incomplete": 3}[report["result"]]
    return report


def lines(told: Members, name: str) -> list[dict]:
    return [json.loads(line) for line in told[name].splitlines()]


def put(told: Members, name: str, rows: list[dict]) -> None:
    told[name] = b"".join(json.dumps(row, sort_keys=True).encode() + b"\n" for row in rows)


def fitted(told: Members) -> Members:
    """The digests in the manifest are made to fit; its signature cannot be."""
    manifest = json.loads(told["manifest.json"])
    manifest["files"] = {n: hashlib.sha256(c).hexdigest() for n, c in told.items() if not n.startswith("manifest.")}
    return {**told, "manifest.json": json.dumps(manifest, indent=2, sort_keys=True).encode() + b"\n"}
