"""Signed decisions: made once, with the seal, and the same in every attempt (`audit.md` E).

What is signed is on record for every sealed set (`Resume.signature`), sent or not. Where the agent takes receipts, each
entry of `resume[]` carries its own in `metadata`, and the newest checkpoint of our trail beside it: every agent is a
witness then. Answers that leave otherwise than each in its own entry of `resume[]` have no place for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from agentbridge import translation
from agentbridge.dialects.contract import Answered, Sending
from agentbridge.models import Interrupt, Resume, Run
from agentbridge.models.agents import Receipts
from agentbridge.wire import jws, signature
from approvals import exhibits, jsontext
from approvals.models import AuditEntry, Case, Decision, Task, User
from approvals.trail import checkpoints, signing

VALID = timedelta(hours=72)  # from sealing; the deadline may end it earlier
OLDER_NAME = "-eddsa"  # the same key in the JWKS once more, under the name that some libraries know alone


def sign(
    case: Case, run: Run, answers: Sequence[Answered], sending: Sending, *, n: int, now: datetime, by: User | None
) -> str:
    """JSON `{"sent": whether they go along, "receipts": {interrupt id: what `metadata` holds}}` for one sealed set."""
    agent = run.thread.agent
    pair = signing.signer(signing.Purpose.DECISION, now=now)
    alg = agent.receipts or Receipts.ED25519
    kid = pair.kid + (OLDER_NAME if alg == Receipts.EDDSA else "")
    newest = checkpoints.newest()
    made: dict[str, Any] = {}
    for said, seq in _statements(case, run, answers, n=n, now=now, by=by):
        log: dict[str, Any] = {} if seq is None else {"seq": seq}
        if newest is not None:
            log["checkpoint"] = newest.note
        token = signature.sign(said, key=pair.private, kid=kid, alg=alg)
        made[said.interrupt_id] = {"v": 1, "jws": token, "log": log}
    sent = bool(agent.receipts) and _each_by_itself(sending.entries, made)
    return json.dumps({"sent": sent, "receipts": made}, separators=(",", ":"))


def _each_by_itself(entries: str, receipts: Mapping[str, Any]) -> bool:
    """Not so where a framework takes several answers in one entry (LangGraph): none of their statements is about it."""
    return bool(entries) and len(jsontext.items(entries)) == len(receipts)


def along(sending: Sending, signed: str) -> tuple[bytes, bytes, bytes]:
    """What is sealed: the answers, and the receipts in them where they go along."""
    entries, props, messages = sending.sealed
    held: dict[str, Any] = json.loads(signed) if signed else {"sent": False}
    return (_with(sending.entries, held["receipts"]) if held["sent"] else entries), props, messages


def _with(entries: str, receipts: Mapping[str, Any]) -> bytes:
    """The entries as they are, each with one member more at its end."""
    written = []
    for text in jsontext.items(entries):
        ours = jsontext.dumps({signature.MEMBER: receipts[jsontext.loads(text)["interruptId"]]})
        written.append(f'{text[:-1]},"metadata":{ours}}}')
    return f"[{','.join(written)}]".encode("utf-8", "surrogatepass")


def _statements(
    case: Case, run: Run, answers: Sequence[Answered], *, n: int, now: datetime, by: User | None
) -> list[tuple[signature.Statement, int | None]]:
    """One statement for each answer, and the number of the entry that tells of the decision."""
    asked = Task.objects.filter(case=case).order_by("-position")
    tasks = {translation.refs_of(task).get("interruptId"): task for task in asked}  # of equal ids the first counts
    raws = {i.task_id: i.raw for i in Interrupt.objects.filter(task__case=case)}
    live = {d.task_id: d for d in Decision.objects.live().filter(task__case=case).select_related("by")}
    told = {e.task_id: e for e in AuditEntry.objects.filter(case=case, verb="task.decided").order_by("seq")}
    found = []
    for answer in answers:
        task = tasks[answer.interrupt_id]
        decision = live.get(task.pk) if _kept(answer, live.get(task.pk)) else None
        entry = told.get(task.pk) if decision else None
        about = _about(task, decision, raws.get(task.pk, ""))
        who = _approver(entry, decision, by, now)
        statement = signature.Statement(
            issuer=settings.PUBLIC_URL, audience=run.thread.agent.slug, id=f"{task.code}.{n}",
            decided_at=_seconds(decision.at if decision else now), expires_at=_end(case, task, n=n, now=now),
            thread_id=run.thread.thread_id, source_run_id=run.run_id, interrupt_id=answer.interrupt_id,
            asking=task.asking, status="cancelled" if answer.verdict == "cancelled" else "resolved",
            payload=None if answer.verdict == "cancelled" else answer.answer,
            batch=[one.interrupt_id for one in answers], approvers=who, **about,
        )  # fmt: skip
        found.append((statement, entry.seq if entry else None))
    return found


def _kept(answer: Answered, decision: Decision | None) -> bool:
    """Was it this decision, or the closing of an expired case, that made the answer?"""
    return decision is not None and (decision.verdict, decision.answer) == (answer.verdict, answer.answer)


def _about(task: Task, decision: Decision | None, raw: str) -> dict[str, Any]:
    """What was asked, as it was shown when this was decided."""
    digest = decision.shown_digest if decision else task.shown_digest
    tool = exhibits.load(task.body_of(digest)).tool
    known = tool is not None and tool.state != "missing"
    return {
        "tool_call_id": tool.id if tool else None,
        "interrupt": raw.encode("utf-8", "surrogatepass"),
        "proposal": tool.args_text.encode("utf-8", "surrogatepass") if tool and known else None,
        "edited": bool(decision and decision.edits is not None),
    }


def _approver(
    entry: AuditEntry | None, decision: Decision | None, by: User | None, now: datetime
) -> list[dict[str, Any]]:
    """Who decided and how they had signed in, by pseudonym; the operator where an expired case was closed."""
    if decision is None:
        return [{"sub": by.pseudonym, "kind": "person", "at": _seconds(now)}] if by else []
    actor = (json.loads(bytes(entry.body))["actor"] if entry else None) or {}
    who = {"sub": decision.by.pseudonym if decision.by else None, "kind": decision.by_kind, "at": _seconds(decision.at)}
    return [{**who, "amr": actor.get("auth") or []}]


def _end(case: Case, task: Task, *, n: int, now: datetime) -> int:
    """Until when the action must have begun. A closed case is past its deadline: only what is still ahead counts."""
    deadline = case.deadline if n == 1 else task.deadline
    return _seconds(min(deadline, now + VALID) if deadline and deadline > now else now + VALID)


def _seconds(at: datetime) -> int:
    return int(at.timestamp())


def public_keys(kids: Mapping[str, bytes]) -> dict[str, jws.PublicKey]:
    """Each key under both names of its algorithm."""
    found = [jws.PublicKey(kid, "Ed25519", raw) for kid, raw in kids.items()]
    found += [jws.PublicKey(kid + OLDER_NAME, "EdDSA", raw) for kid, raw in kids.items()]
    return {key.kid: key for key in found}


@dataclass(frozen=True, kw_only=True)
class Said:
    """What was signed about one answer: the statement's exact text, and by which key."""

    interrupt_id: str
    text: str
    kid: str


def statements(resume: Resume) -> tuple[bool, list[Said]]:
    """Whether they went along with the answers, and each of them; none where nothing was signed, or it was erased.

    What somebody changed until it cannot be read any more is shown as it stands.
    """
    if not resume.signature:
        return False, []
    try:
        held = json.loads(resume.signature)
        return held["sent"], [_said(id_, receipt["jws"]) for id_, receipt in held["receipts"].items()]
    except (ValueError, LookupError, TypeError, AttributeError, jws.Refused):
        return False, [Said(interrupt_id="", text=resume.signature, kid="")]


def _said(interrupt_id: str, token: str) -> Said:
    header, said, _signature = map(jws.decode, token.split("."))
    return Said(interrupt_id=interrupt_id, text=said.decode(), kid=json.loads(header)["kid"])


def problems(resume: Resume, keys: Mapping[str, jws.PublicKey]) -> Iterator[str]:
    """What is wrong with the signatures of a sealed set, as sentences."""
    receipts = json.loads(resume.signature)["receipts"]
    sent = _payloads(json.loads(bytes(resume.entries)), receipts)
    for id_, receipt in receipts.items():
        try:
            said = jws.read_json(jws.verify(receipt["jws"], keys=keys, typ=signature.TYP))
        except jws.Refused as problem:
            yield str(problem)
            continue
        if (said["interruptId"], said["threadId"]) != (id_, resume.thread.thread_id):
            yield "It is about another question."
        if "payload" in said and id_ in sent and not signature.same(said["payload"], sent[id_]):
            yield "It is about another answer."


def _payloads(entries: Sequence[Mapping[str, Any]], receipts: Mapping[str, Any]) -> Mapping[str, Any]:
    """Interrupt id → the answer that was sealed for it, also where one entry carries the answers to all."""
    found = {entry["interruptId"]: entry["payload"] for entry in entries if "payload" in entry}
    together = next(iter(found.values()), None)
    if len(entries) == 1 < len(receipts) and isinstance(together, dict):
        return together
    return found


def every_key() -> dict[str, jws.PublicKey]:
    """The decision keys there ever were: what was sealed years ago is still read with its own."""
    return public_keys({kid: bytes(row.raw) for kid, row in signing.ever(signing.Purpose.DECISION).items()})
