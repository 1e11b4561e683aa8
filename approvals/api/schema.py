"""The shapes of the API for its OpenAPI document. Answers are written by `shapes`; a test holds the two together."""

from __future__ import annotations

from typing import Any, Literal

from ninja import Schema
from pydantic import JsonValue

Verdict = Literal["approved", "rejected", "answered", "cancelled"]
TaskState = Literal["open", "settled", "expired", "withdrawn", "quarantined"]


class ProblemError(Schema):
    pointer: str
    message: str


class Problem(Schema):
    """RFC 9457, `application/problem+json`."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: list[ProblemError] | None = None


class ToolCall(Schema):
    id: str | None
    name: str
    argsText: str
    state: Literal["complete", "missing", "empty", "invalid", "incomplete"]


class Decision(Schema):
    by: str | None
    byKind: Literal["person", "caller", "policy"]
    verdict: Verdict
    edits: JsonValue
    input: JsonValue = None
    comment: str
    reasonCode: str | None
    at: str
    changedPaths: list[str]


class Result(Schema):
    runId: str
    toolCallId: str
    text: str
    at: str


class Evidence(Schema):
    results: list[Result]


class Task(Schema):
    code: str
    case: str
    queue: str
    agent: str
    threadId: str | None
    runId: str | None
    interruptId: str | None
    reason: str
    message: str | None
    subagentRunId: str | None
    toolCall: ToolCall | None
    responseSchema: JsonValue = None
    deadline: str | None
    deadlineText: str | None
    state: TaskState
    blocked: str | None
    endedBecause: str | None
    claimedBy: str | None
    verdicts: list[Verdict]
    whyNot: dict[str, str]
    canEdit: bool
    shownDigest: str
    flags: list[str]
    decision: Decision | None
    evidence: Evidence | None
    conclusion: str | None


class Tasks(Schema):
    tasks: list[Task]
    next: str | None


class Actor(Schema):
    kind: str
    name: str | None


class Entry(Schema):
    seq: int
    at: str
    verb: str
    actor: Actor | None
    sentence: str | None
    case: str | None
    task: str | None
    refs: dict[str, Any] | None
    data: dict[str, Any] | None
    hash: str


class Entries(Schema):
    entries: list[Entry]
    next: str | None


class DecisionIn(Schema):
    """`edits` and `input` keep the text of their numbers."""

    verdict: Verdict
    edits: dict[str, Any] | None = None
    input: JsonValue = None
    comment: str | None = None
    reasonCode: str | None = None
    shownDigest: str


def takes(shape: type[Schema]) -> dict[str, Any]:
    """OpenAPI's words for a JSON body that we read ourselves, byte for byte."""
    content = {"application/json": {"schema": shape.model_json_schema()}}
    key = {
        "name": "Idempotency-Key", "in": "header", "required": False, "schema": {"type": "string", "maxLength": 200},
    }  # fmt: skip
    return {"requestBody": {"required": True, "content": content}, "parameters": [key]}


READ = dict.fromkeys((400, 401, 403, 404, 429), Problem)
WRITE = dict.fromkeys((400, 401, 403, 404, 409, 413, 422, 429), Problem)
