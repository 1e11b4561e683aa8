"""What the API says about tasks, decisions and entries, as plain values for `jsontext.dumps`.

Texts that came from outside go out as their own JSON: numbers as written, nothing rounded.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import F, Prefetch, QuerySet

from approvals import exhibits, jsontext, permissions
from approvals.api.bodies import value_of
from approvals.api.stamps import stamp, stamp_or_none
from approvals.models import AuditEntry, Decision, Exhibit, Task, User


def with_parts(tasks: QuerySet[Task]) -> QuerySet[Task]:
    """Tasks with all that `task` reads, in a fixed number of queries."""
    newest = Exhibit.objects.filter(digest=F("task__shown_digest")).order_by("-version")
    live = Decision.objects.filter(recalled_at__isnull=True, voided_at__isnull=True).select_related("by")
    return tasks.select_related("case", "queue", "claimed_by").prefetch_related(
        Prefetch("exhibits", queryset=newest, to_attr="shown"), Prefetch("decisions", queryset=live, to_attr="live")
    )


def task(found: Task, *, asking: User, now: datetime) -> dict[str, Any]:
    """A task loaded by `with_parts`, as this person may answer it now."""
    live = found.live[0] if found.live else None  # type: ignore[attr-defined]
    return whole(found, found.shown[0].body, live, asking=asking, now=now)  # type: ignore[attr-defined]


def decided(recorded: Decision, *, asking: User, now: datetime) -> dict[str, Any]:
    """The task of a live decision that was recorded just now, as that left it."""
    body = recorded.task.body_of(recorded.shown_digest)
    return whole(recorded.task, body, recorded, asking=asking, now=now)


def whole(found: Task, body: str, live: Decision | None, *, asking: User, now: datetime) -> dict[str, Any]:
    """`body`: of what is shown; `live`: the decision that counts."""
    shown = exhibits.load(body)
    refs = jsontext.loads(found.refs)
    verdicts, why_not, can_edit = permissions.offered(asking, found)
    return {
        "code": found.code, "case": found.case.code, "queue": found.queue.name, "agent": found.agent,
        "threadId": refs.get("threadId"), "runId": refs.get("runId"), "interruptId": refs.get("interruptId"),
        "reason": shown.reason, "message": shown.message, "subagentRunId": refs.get("subagentRunId"),
        "toolCall": tool_call(shown.tool), **response_schema(shown.response_schema),
        "deadline": stamp_or_none(found.deadline), "deadlineText": found.deadline_text or None,
        "state": found.state_at(now), "blocked": found.case.blocked or None,
        "endedBecause": found.case.ended_because or None,
        "claimedBy": found.claimed_by.username if found.claimed_by else None,
        "verdicts": verdicts, "whyNot": why_not, "canEdit": can_edit,
        "shownDigest": found.shown_digest, "flags": slugs(found.flags),
        "decision": decision(live, shown.proposal) if live else None,
        "evidence": None if found.results is None else {"results": jsontext.loads(found.results)},
        "conclusion": found.conclusion or None,
    }  # fmt: skip


def closed_task(found: Task, *, now: datetime) -> dict[str, Any]:
    """A task of another queue: that it is there, and no more."""
    return {"code": found.code, "queue": found.queue.name, "state": found.state_at(now)}


def slugs(flags: Iterable[dict[str, Any]]) -> list[str]:
    return [flag["slug"] for flag in flags]


def tool_call(tool: exhibits.Tool | None) -> dict[str, Any] | None:
    """Id, name, exact argument text and its state; None for a question without a call."""
    if tool is None:
        return None
    return {"id": tool.id, "name": tool.name, "argsText": tool.args_text, "state": tool.state}


def response_schema(text: str | None) -> dict[str, Any]:
    return {} if text is None else {"responseSchema": value_of(text)}


def decision(found: Decision, proposal: str | None) -> dict[str, Any]:
    """The live decision. `input` is there only where something was filled in."""
    said: dict[str, Any] = {
        "by": found.by.username if found.by else None, "byKind": found.by_kind, "verdict": found.verdict,
        "edits": value_of(found.edits),
    }  # fmt: skip
    if found.input is not None:
        said["input"] = value_of(found.input)
    said |= {"comment": found.comment, "reasonCode": found.reason_code or None}
    return {**said, "at": stamp(found.at), "changedPaths": changed_paths(found, proposal)}


def changed_paths(found: Decision, proposal: str | None) -> list[str]:
    """Where the edits differ from the proposal; the whole of it where no proposal could be read."""
    if found.edits is None:
        return []
    return [""] if proposal is None else jsontext.changed_paths(proposal, found.edits)


def entry(found: AuditEntry) -> dict[str, Any]:
    """One line of the trail, from the side columns that can be erased; erased ones are null."""
    return {
        "seq": found.seq, "at": stamp(found.at), "verb": found.verb, "actor": actor(found), "sentence": found.sentence,
        "case": found.case.code if found.case else None, "task": found.task.code if found.task else None,
        "refs": value_of(found.refs), "data": value_of(found.data), "hash": found.leaf_hash,
    }  # fmt: skip


def actor(found: AuditEntry) -> dict[str, Any] | None:
    if not found.actor_kind or (found.actor_kind == "system" and found.actor_id is None):
        return None
    return {"kind": found.actor_kind, "name": found.actor.username if found.actor else None}
