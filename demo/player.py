"""How a run of a demo agent goes: events of the official SDK, one generator a run."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from ag_ui.core import (
    PROTOCOL_VERSION,
    AssistantMessage,
    BaseEvent,
    FunctionCall,
    Interrupt,
    Message,
    MessagesSnapshotEvent,
    ResumeEntry,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCall,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
)

from demo.memory import Memory, Pause
from demo.stories import Ask, tell
from demo.trust import Desk

Json = dict[str, Any]
OPENING = "I have prepared everything. Before I go on, a person has to look at this."
NEXT = "The first part is done. One more thing needs a person."


class Refused(Exception):
    """A resume that breaks the contract of the Interrupts page; `code` goes into RUN_ERROR."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass
class Player:
    """Plays one agent. `ledger` lists what its tools really did: the proof that nothing ran twice."""

    memory: Memory
    desk: Desk | None = None  # whose signature every answer has to bear
    ledger: list[Json] = field(default_factory=list)

    def run(self, given: RunAgentInput) -> Iterator[BaseEvent]:
        yield RunStartedEvent(thread_id=given.thread_id, run_id=given.run_id, protocol_version=PROTOCOL_VERSION)
        messages: list[Message] = list(given.messages)
        try:
            pause = self.memory.load(given)
            if pause is None and given.resume:
                raise Refused("UNKNOWN_INTERRUPT_ID", "nothing is open on this thread")
            if pause is None:
                yield from self.open(given, messages, *story_of(given), 0)
            else:
                yield from self.go_on(given, messages, pause)
        except Refused as problem:
            yield RunErrorEvent(message=str(problem), code=problem.code)

    def open(
        self, given: RunAgentInput, messages: list[Message], name: str, seed: int, number: int
    ) -> Iterator[BaseEvent]:
        """Ask the questions of one round, then pause; or say goodbye after the last."""
        story = tell(name, seed)
        if number >= len(story.rounds):
            yield from say(messages, "Done. Nothing else is open.")
            yield StateSnapshotEvent(snapshot=self.memory.clear(given))
            yield MessagesSnapshotEvent(messages=messages)
            yield finished(given, RunFinishedSuccessOutcome())
            return
        yield from say(messages, OPENING if number == 0 else NEXT)
        asks = []
        for ask in story.rounds[number]:
            call = f"call-{uuid.uuid4().hex[:12]}" if ask.tool else None
            asks.append({"interruptId": f"int-{uuid.uuid4().hex[:12]}", "toolCallId": call, "args": ask.args})
            if call:
                yield from propose(messages, ask, call)
        interrupts = [interrupt(ask, ids) for ask, ids in zip(story.rounds[number], asks, strict=True)]
        for ids, sent in zip(asks, interrupts, strict=True):
            ids["sent"] = sent.model_dump_json(by_alias=True, exclude_none=True)
        state = self.memory.keep(given, Pause(name, seed, number, asks, given.run_id))
        yield StateSnapshotEvent(snapshot=state)
        yield MessagesSnapshotEvent(messages=messages)
        yield finished(given, RunFinishedInterruptOutcome(interrupts=interrupts))

    def go_on(self, given: RunAgentInput, messages: list[Message], pause: Pause) -> Iterator[BaseEvent]:
        entries = covering(given, pause)
        self.believe(given, pause)
        for ask, ids in zip(tell(pause.story, pause.seed).rounds[pause.round], pause.asks, strict=True):
            yield from self.carry_out(messages, ask, ids, entries[ids["interruptId"]])
        self.memory.clear(given)
        yield from self.open(given, messages, pause.story, pause.seed, pause.round + 1)

    def believe(self, given: RunAgentInput, pause: Pause) -> None:
        """Raises Refused for answers that the desk did not sign, or signed for something else."""
        try:
            if self.desk and pause.run:
                self.desk.check(given, pause)
        except (ValueError, OSError) as problem:
            raise Refused("APPROVAL_SIGNATURE_INVALID", f"this answer is not the desk's: {problem}") from problem

    def carry_out(self, messages: list[Message], ask: Ask, ids: Json, entry: ResumeEntry) -> Iterator[BaseEvent]:
        """Do what was decided and report it on the original tool call."""
        answer = entry.payload if entry.status == "resolved" else None
        if not ask.tool:
            noted = json.dumps(answer, ensure_ascii=False)
            yield from say(messages, "Skipped: nobody answered." if answer is None else f"Noted: {noted}")
            return
        if not isinstance(answer, dict) or answer.get("approved") is not True:
            text = {"status": "not run", "because": "nobody decided" if answer is None else "a person said no"}
        else:
            arguments = answer.get("editedArgs", ids["args"])
            self.ledger.append({"tool": ask.tool, "toolCallId": ids["toolCallId"], "arguments": arguments})
            text = {"status": "done", "ran": ask.tool, "with": arguments}
        content, name = json.dumps(text, ensure_ascii=False), f"msg-{uuid.uuid4().hex[:12]}"
        messages.append(ToolMessage(id=name, role="tool", tool_call_id=ids["toolCallId"], content=content))
        yield ToolCallResultEvent(message_id=name, tool_call_id=ids["toolCallId"], content=content)


def story_of(given: RunAgentInput) -> tuple[str, int]:
    props = given.forwarded_props if isinstance(given.forwarded_props, dict) else {}
    return str(props.get("story", "minimal")), int(props.get("seed", 1))


def covering(given: RunAgentInput, pause: Pause) -> dict[str, ResumeEntry]:
    """The entry of every open interrupt (rules 2 to 4 of the Interrupts page).

    Raises Refused where an entry is missing, unknown or without its answer.
    """
    entries = {entry.interrupt_id: entry for entry in given.resume or []}
    if not entries:
        raise Refused("PENDING_INTERRUPTS", f"answer first: {', '.join(pause.ids)}")
    if unknown := set(entries) - set(pause.ids):
        raise Refused("UNKNOWN_INTERRUPT_ID", f"not open here: {', '.join(sorted(unknown))}")
    if missing := [name for name in pause.ids if name not in entries]:
        raise Refused("PARTIAL_RESUME", f"no answer for {', '.join(missing)}")
    for name, entry in entries.items():
        if entry.status == "resolved" and entry.payload is None:
            raise Refused("INVALID_PAYLOAD", f"{name} is resolved without an answer")
    return entries


def interrupt(ask: Ask, ids: Json) -> Interrupt:
    until = datetime.now(UTC) + timedelta(seconds=ask.expires_in) if ask.expires_in else None
    optional = {
        "tool_call_id": ids["toolCallId"],
        "response_schema": ask.schema,
        "expires_at": until.strftime("%Y-%m-%dT%H:%M:%SZ") if until else None,
    }
    given = {name: value for name, value in optional.items() if value is not None}
    return Interrupt(id=ids["interruptId"], reason=ask.reason, message=ask.message, **given)


def propose(messages: list[Message], ask: Ask, call: str) -> Iterator[BaseEvent]:
    text, owner = json.dumps(ask.args, ensure_ascii=False), f"msg-{uuid.uuid4().hex[:12]}"
    function = FunctionCall(name=ask.tool, arguments=text)
    messages.append(AssistantMessage(id=owner, role="assistant", tool_calls=[ToolCall(id=call, function=function)]))
    yield ToolCallStartEvent(tool_call_id=call, tool_call_name=ask.tool, parent_message_id=owner)
    for start in range(0, len(text), 16):
        yield ToolCallArgsEvent(tool_call_id=call, delta=text[start : start + 16])
    yield ToolCallEndEvent(tool_call_id=call)


def say(messages: list[Message], text: str) -> Iterator[BaseEvent]:
    name = f"msg-{uuid.uuid4().hex[:12]}"
    messages.append(AssistantMessage(id=name, role="assistant", content=text))
    yield TextMessageStartEvent(message_id=name, role="assistant")
    yield TextMessageContentEvent(message_id=name, delta=text)
    yield TextMessageEndEvent(message_id=name)


def finished(
    given: RunAgentInput, outcome: RunFinishedInterruptOutcome | RunFinishedSuccessOutcome
) -> RunFinishedEvent:
    return RunFinishedEvent(thread_id=given.thread_id, run_id=given.run_id, outcome=outcome)
