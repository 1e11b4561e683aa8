"""The shapes of the bridge's part of the API for its OpenAPI document; written by `shapes`, held together by a test."""

from __future__ import annotations

from typing import Any, Literal

from ninja import Field, Schema
from pydantic import JsonValue

from approvals.api.schema import READ, WRITE, Task, takes

__all__ = ["READ", "WRITE", "takes"]

AnswerClass = Literal["A", "B", "C", "D", "E", "F", "G", "H", "I", "J"]


class Incident(Schema):
    id: int
    kind: str
    case: str
    task: str | None
    runId: str | None
    toolCallId: str | None
    text: str
    at: str
    closedAt: str | None
    closedBy: str | None
    reason: str | None


class Incidents(Schema):
    incidents: list[Incident]
    next: str | None


class Attempt(Schema):
    n: int
    runId: str
    state: str
    answer_class: AnswerClass | None = Field(alias="class")  # a word of Python, so the alias is the member's name
    at: str | None
    httpStatus: int | None
    error: str | None
    bytesSent: int
    bytesReceived: int
    traceUrl: str | None


class Delivery(Schema):
    state: str
    answer_class: AnswerClass | None = Field(alias="class")
    entries: list[JsonValue]
    attempts: list[Attempt]


class ClosedTask(Schema):
    """A task of a queue that is not yours."""

    code: str
    queue: str
    state: str


class Case(Schema):
    code: str
    state: Literal["open", "settled", "delivered", "expired", "withdrawn", "quarantined"]
    blocked: str | None
    endedBecause: str | None
    deadline: str | None
    tasks: list[Task | ClosedTask]
    incidents: list[Incident]
    delivery: Delivery | None
    previous: str | None
    next: str | None


class Warning(Schema):
    rule: str
    severity: Literal["info", "warning", "error"]
    where: str
    text: str


class Run(Schema):
    runId: str
    threadId: str
    kind: Literal["first", "resumed", "observed"]
    status: str
    outcome: str | None
    error: str | None
    url: str
    startedAt: str | None
    endedAt: str | None
    answer_class: AnswerClass | None = Field(alias="class")
    warnings: list[Warning]
    events: int
    bytes: int
    traceUrl: str | None


class Runs(Schema):
    runs: list[Run]
    next: str | None


class Started(Schema):
    threadId: str
    runId: str
    run: str


class RunIn(Schema):
    """A RunAgentInput; missing ids are made, missing `messages` are `[]`."""

    threadId: str | None = None
    runId: str | None = None
    messages: list[Any] | None = None
    state: JsonValue = None
    tools: list[Any] | None = None
    context: list[Any] | None = None
    forwardedProps: JsonValue = None


class RecallIn(Schema):
    task: str | None = None


class ReasonIn(Schema):
    reason: str


class DoubtIn(Schema):
    action: Literal["resend", "mark_done", "abandon", "answer_again"]
    reason: str


class ExpiredIn(Schema):
    action: Literal["send_cancelled", "abandon"]
    reason: str
