"""A case as an approval trace for AgentAck, a checker that knows nothing of us: a JSON line an event, a file a case.

Arguments are compared there by value. An edited approval is what it is: the proposed call is denied, and another one,
with the reviewer's arguments, is proposed, shown and allowed. Questions without a call are no actions and are left out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from agentbridge.models import Incident, Resume, ToolCall
from agentbridge.models.agents import key_of
from agentbridge.wire import jws
from approvals import exhibits, jsontext
from approvals.models import Case, Decision, State, Task, Verdict
from approvals.trail import chain

Event = dict[str, Any]
LONGEST = 200_000  # characters of arguments; longer ones are represented by their digest
EDITED = "-edited"


def lines(case: Case) -> Iterator[bytes]:
    """The file of one case; nothing for a case without calls."""
    found = sorted(_events(case), key=lambda event: str(event["timestamp"]))
    if found:
        found.append(_event("session_end", case, found[-1]["timestamp"]))
    yield from (json.dumps(event, sort_keys=True).encode() + b"\n" for event in found)


def _events(case: Case) -> Iterator[Event]:
    resume = Resume.objects.filter(case=case, replaced_at=None).first()
    for task in case.tasks.order_by("position"):
        shown = exhibits.load(task.exhibits.order_by("-version")[0].body)
        if shown.tool is not None and shown.tool.name:
            yield from _of_task(case, task, shown.tool, resume)


def _of_task(case: Case, task: Task, tool: exhibits.Tool, resume: Resume | None) -> Iterator[Event]:
    asked_at = task.exhibits.order_by("-version")[0].frozen_at
    decision = task.decisions.live().first()
    yield from _asked(case, task.code, tool, tool.args_text, asked_at)
    if decision is None:
        if ended := _ended(case):
            yield from _denied(case, task.code, *ended)
        return
    if decision.verdict != Verdict.APPROVED:
        yield from _denied(case, task.code, decision.at, decision.verdict)
        ran = Incident.objects.filter(task=task, kind=Incident.Kind.DENIED_BUT_RAN).order_by("pk")
        yield from (_ran(case, task.code, tool, tool.args_text, one.opened_at) for one in ran)
        return
    name, arguments = task.code, tool.args_text
    if decision.edits is not None:
        yield from _denied(case, task.code, decision.at, "edited")
        name, arguments = task.code + EDITED, decision.edits
        yield from _asked(case, name, tool, arguments, decision.at)
    yield _decided(case, name, decision.at, "allow", expires_at=_valid_until(resume, task))
    yield from _afterwards(case, task, name, tool, arguments, resume, decision)


def _afterwards(
    case: Case, task: Task, name: str, tool: exhibits.Tool, arguments: str, resume: Resume | None, decision: Decision
) -> Iterator[Event]:
    """What became of an approval: it ran, as often and with what it ran; or it was asked again, or ended before."""
    results = jsontext.loads(task.results) if task.results else []
    if results:
        ran_with = _arguments_that_ran(resume, tool) or arguments
        twice = Incident.objects.filter(task=task, kind=Incident.Kind.RAN_TWICE).count()
        at = datetime.fromisoformat(results[0]["at"])
        yield from (_ran(case, name, tool, ran_with, at) for _ in range(1 + twice))
    elif resume is not None and resume.state == "interrupted_again":
        yield _blocked(case, name, resume.changed_at, "asked again")
    elif case.state == State.WITHDRAWN:
        yield _blocked(case, name, case.ended_at or decision.at, case.ended_because)


def _ended(case: Case) -> tuple[datetime, str] | None:
    """When and why nobody can decide any more."""
    if case.state == State.WITHDRAWN and case.ended_at:
        return case.ended_at, case.ended_because
    return (case.taken_at, "expired") if case.taken_at else None


def _arguments_that_ran(resume: Resume | None, tool: exhibits.Tool) -> str | None:
    """What the resumed run itself says of this call; most say nothing again."""
    again = ToolCall.objects.filter(run__resume=resume, key=key_of(tool.id or "")).exclude(args="")
    return again.order_by("-pk").values_list("args", flat=True).first() if resume else None


def _valid_until(resume: Resume | None, task: Task) -> str | None:
    """When the signed statement says that the approval ends."""
    held = json.loads(resume.signature)["receipts"] if resume and resume.signature else {}
    receipt = held.get(jsontext.loads(task.refs).get("interruptId"))
    if receipt is None:
        return None
    said = json.loads(jws.decode(receipt["jws"].split(".")[1]))
    return chain.moment(datetime.fromtimestamp(said["exp"], UTC))


def _asked(case: Case, name: str, tool: exhibits.Tool, arguments: str, at: datetime) -> Iterator[Event]:
    action = _action(tool, arguments)
    yield _event("action_proposed", case, at, name, action=action)
    yield _event("approval_requested", case, at, name, approval_id=name, action=action)


def _decided(case: Case, name: str, at: datetime, decision: str, **more: Any) -> Event:
    return _event("approval_decision", case, at, name, approval_id=name, decision=decision, **more)


def _denied(case: Case, name: str, at: datetime, reason: str) -> Iterator[Event]:
    yield _decided(case, name, at, "deny")
    yield _blocked(case, name, at, reason)


def _blocked(case: Case, name: str, at: datetime, reason: str) -> Event:
    return _event("action_blocked", case, at, name, approval_id=name, reason=reason)


def _ran(case: Case, name: str, tool: exhibits.Tool, arguments: str, at: datetime) -> Event:
    return _event("action_executed", case, at, name, approval_id=name, action=_action(tool, arguments))


def _event(kind: str, case: Case, at: datetime | str, name: str | None = None, **members: Any) -> Event:
    when = at if isinstance(at, str) else chain.moment(at)
    told = {"schema_version": 2, "type": kind, "timestamp": when, "session_id": case.code}
    told |= {"action_id": name, "intent_id": name.removesuffix(EDITED)} if name else {}
    return {**told, **{member: value for member, value in members.items() if value is not None}}


def _action(tool: exhibits.Tool, arguments: str) -> dict[str, Any]:
    """A call of a tool, as the checker's default policy wants it approved."""
    return {"tool": "mcp", "operation": tool.name, "parameters": _parameters(arguments)}


def _parameters(arguments: str) -> dict[str, Any]:
    try:
        value = json.loads(arguments or "{}")
        json.dumps(value, allow_nan=False)  # 1e999 is a number of ours and none of Python's
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and len(arguments) <= LONGEST and arguments.count("{") + arguments.count("[") < 20:
        return value
    return {"sha256": hashlib.sha256(arguments.encode("utf-8", "surrogatepass")).hexdigest()}
