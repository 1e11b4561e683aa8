"""R-31, R-35 and R-41: what the record promises, many times over."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

from django.db import connection
from django.utils import timezone

from agentbridge.models import Resume
from agentbridge.record import erasing, verifying
from approvals import jsontext
from approvals.erasing import asking
from approvals.models import AuditEntry, Case
from approvals.models.people import Role
from approvals.trail import verification
from tests.bars import invariants
from tests.bars.crew import ROOT, Crew, database_url
from tests.emptying import everything, unpacked
from tests.people import decide, only_task, person
from tests.scripted_agent import Answer, ScriptedAgent, finishing, pausing

WORD = re.compile(rb"zeisig[0-9]{5}x")  # stands in what one person typed in one conversation, and nowhere else
ASKED = {"reason": "Consent was taken back.", "basis": "GDPR Art. 17(1)(b)"}


def tampered(crew: Crew, *, times: int) -> None:
    """R-31: random tampers of every kind, each found and named."""
    told = {**os.environ, "TAMPERS": str(times), "DJANGO_SETTINGS_MODULE": "tests.settings"}
    words = ["-m", "pytest", "-q", "tests/approvals/test_tampering.py"]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, env=told, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]


def erased(crew: Crew, *, times: int) -> None:
    """R-35: every other conversation goes, and no table, no file of the database and no export holds a word of it."""
    word = {case: f"zeisig{n:05}x".encode() for n, case in enumerate(_delivered(crew, 2 * times))}
    carol, adam = person("carol", Role.AUDITOR), person("adam", Role.ADMIN)
    gone = crew.random.sample(list(word), times)
    for case in gone:
        erasing.carry_out(asking.ask(case, **ASKED, by=carol, now=timezone.now()), by=adam, now=timezone.now())
    erasing.scrub(thorough=True)
    kept = {word[case] for case in word if case not in gone}
    assert set(WORD.findall(everything())) == kept
    assert connection.vendor != "sqlite" or _in_files() == kept
    assert _exported(crew) == kept
    told = map(jsontext.loads, AuditEntry.objects.filter(verb="entry.erased").values_list("data", flat=True))
    assert [(one["askedBy"], one["doneBy"]) for one in told] == [(carol.pseudonym, adam.pseudonym)] * times
    assert verification.verify(checks=[verifying.checks]).findings == []


def _delivered(crew: Crew, count: int) -> list[Case]:
    """Conversations that are over; in each somebody typed its own word."""
    agent = crew.agent("ok")
    cases = crew.cases(agent, [f"erase-{n}" for n in range(count)])
    crew.spawn()
    for n, case in enumerate(cases):
        decide(only_task(case), crew.alice, comment=f"To zeisig{n:05}x.")
    crew.settled()
    return cases


def _in_files() -> set[bytes]:
    """Read by another process: closing the file in this one would let go of SQLite's locks."""
    database = Path(connection.settings_dict["NAME"])
    files = map(str, database.parent.glob(f"{database.name}*"))
    done = subprocess.run(["grep", "-aohE", WORD.pattern.decode(), *files], check=False, capture_output=True)
    return set(done.stdout.split())


def _exported(crew: Crew) -> set[bytes]:
    out = crew.log.with_name("bundle.zip")
    told = {**os.environ, "DATABASE_URL": database_url(), "DJANGO_SETTINGS_MODULE": "config.settings"}
    command = [sys.executable, "manage.py", "export_audit", "--out", str(out)]
    subprocess.run(command, cwd=ROOT, env=told, check=True, capture_output=True)
    return set(WORD.findall(unpacked(out)))


def signed_alike(crew: Crew, *, times: int) -> None:
    """R-41: however often an answer is sent, it carries the signature that was made when it was sealed."""
    with ScriptedAgent([*[pausing()] * times, *[Answer(status=429)] * times, finishing()]) as agent:
        payer = crew.register("signed", agent.url, receipts="Ed25519")
        cases = crew.cases(payer, [f"signed-{n}" for n in range(times)])
        crew.spawn()
        for case in cases:
            crew.decide(case)
        crew.settled()
    sent: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for post in agent.posts:
        for entry in post.resume or ():
            sent[post.json["threadId"]].append((post.body.decode(), entry["metadata"]["countersign"]["jws"]))
    assert invariants.deliveries() == {"signed": Counter(finished=times)}
    assert sum(map(len, sent.values())) == 2 * times
    for resume in Resume.objects.select_related("thread"):
        [receipt] = json.loads(resume.signature)["receipts"].values()
        attempts = sent[resume.thread.thread_id]
        assert {jws for _body, jws in attempts} == {receipt["jws"]}
        assert len({jsontext.member(body, "resume") for body, _jws in attempts}) == 1
