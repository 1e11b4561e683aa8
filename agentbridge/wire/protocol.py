"""AG-UI on the wire: reading one event, reading and writing a RunAgentInput.

Pure. Reading is tolerant as C-29b says: what does not fit is left out and noted, never repaired, and the text stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentbridge.wire.events import EVENTS, KINDS, OLDER, Shape
from agentbridge.wire.record import RunInput, Severity
from approvals import jsontext

__all__ = ["EVENTS", "Event", "Note", "Problem", "ProtocolError", "RunInput", "parse_event", "read_input", "run_input"]

PROTOCOL_VERSION = "1.0"
EXCERPT = 200  # characters of an unreadable frame that a warning quotes; the whole is in the raw stream


class ProtocolError(ValueError):
    """Something that must be AG-UI is not; `field` names the member."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


@dataclass(frozen=True, slots=True)
class Note:
    """A deviation inside one event."""

    rule: str
    severity: Severity
    member: str  # JSON Pointer inside the event, or ""
    text: str


@dataclass(slots=True)
class Event:
    """One event: `body` decoded (numbers as text) without what was left out, `text` as received."""

    type: str
    body: dict[str, Any]
    text: str
    notes: list[Note] = field(default_factory=list)
    spelled: Mapping[str, str] | None = None  # member → its name on the wire, where that differs
    older: bool = False  # translated from a 0.x event
    synthetic: bool = False  # expanded from a chunk

    def source(self, name: str) -> str | None:
        """The exact text of a member's value; None if it is absent or was left out."""
        if name not in self.body:
            return None
        return jsontext.member(self.text, (self.spelled or {}).get(name, name))


@dataclass(frozen=True, slots=True)
class Problem:
    """A frame of which no event can be made; the stream goes on without it."""

    type: str  # of the event, "" if it has none
    note: Note


def excerpt(text: str) -> str:
    """The beginning of a text, with a mark where it was cut."""
    return text if len(text) <= EXCERPT else text[:EXCERPT] + "…"


def parse_event(text: str, *, reasoning_id: str = "") -> Event | Problem:
    """One event from the data of a frame. `reasoning_id` stands in for the ids that `THINKING_*` events lack."""
    try:
        body = jsontext.loads(text)
    except jsontext.JSONTextError as error:
        return Problem("", Note("C-29b", "error", "", f"The frame is not JSON ({error}): {excerpt(text)}"))
    if not isinstance(body, dict) or type(kind := body.get("type")) is not str:
        return Problem("", Note("C-29b", "error", "", f"The frame is not an event with a type: {excerpt(text)}"))
    event = Event(kind, body, text)
    if kind in OLDER:
        _translate(event, reasoning_id)
    shape = EVENTS.get(event.type)
    if shape is None:
        return Problem(kind, Note("C-2", "info", "", f"This version does not know the event {kind}: {excerpt(text)}"))
    if shape.is_met(body):
        return event
    if not body.keys() <= shape.members.keys():
        _leave_out_unknown(event, shape.members)
    if None in body.values():
        _leave_out_nulls(event, shape)
    return _checked(event, shape)


def _translate(event: Event, reasoning_id: str) -> None:
    """0.x reasoning events, before anything is judged (C-1)."""
    note = f"{event.type} is an event of AG-UI before 1.0; read as {OLDER[event.type]}."
    if event.body.pop("title", None) is not None:
        note += " Its title is lost."
    event.notes.append(Note("B.4", "info", "", note))
    event.type = event.body["type"] = OLDER[event.type]
    event.older = True
    event.body["messageId"] = reasoning_id
    if event.type == "REASONING_MESSAGE_START":
        event.body["role"] = "reasoning"


def _leave_out_unknown(event: Event, members: Mapping[str, str]) -> None:
    """Unknown members go; a known one in snake_case is understood, since the whole meaning may hang on it."""
    for name in [name for name in event.body if name not in members]:
        value = event.body.pop(name)
        meant = camel(name)
        if meant in members and meant not in event.body:
            event.body[meant] = value
            event.spelled = {**(event.spelled or {}), meant: name}
            event.notes.append(Note("C-3", "warning", f"/{name}", f"The member {name} is read as {meant}."))
        else:
            event.notes.append(Note("C-2", "info", jsontext.pointer(name), f"Unknown member {excerpt(name)} left out."))


def camel(name: str) -> str:
    """`thread_id` → `threadId`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _leave_out_nulls(event: Event, shape: Shape) -> None:
    """Null in an optional place reads as absent; where any value is data, null is one (T-24)."""
    for name in [name for name, value in event.body.items() if value is None and name not in shape.required]:
        del event.body[name]
        event.notes.append(Note("C-29b", "info", f"/{name}", f"{name} is null; read as absent."))


def _checked(event: Event, shape: Shape) -> Event | Problem:
    body = event.body
    for name, fits in shape.needed:
        if name not in body or not fits(body[name]):
            wanted = KINDS[shape.members[name]][0]
            note = Note("C-3", "error", f"/{name}", f"{event.type} has no {name} that is {wanted}.")
            return Problem(event.type, note)
    for name in shape.expected - body.keys():
        event.notes.append(Note("C-3", "warning", f"/{name}", f"{event.type} has no {name}."))
    for name in [name for name, value in body.items() if not KINDS[shape.members[name]][1](value)]:
        if name != "content":  # of a result: kept as the text it is
            del body[name]
        wanted = KINDS[shape.members[name]][0]
        event.notes.append(Note("C-3", "error", f"/{name}", f"{name} is not {wanted}."))
    return event


INPUT = {
    "messages": "array",
    "tools": "array",
    "context": "array",
    "resume": "array",
    "protocolVersion": "string",
    "parentRunId": "string",
}


def read_input(text: str, *, partial: bool = False, once: bool = False) -> RunInput:
    """A RunAgentInput with the exact text of each member; `ProtocolError` names the member that does not fit.

    Null members count as absent (their nulls inside are data). `partial`: ids and messages may be missing.
    `once`: where it goes must not be said twice.
    """
    try:
        values, named = jsontext.loads(text), jsontext.named(text)
    except jsontext.JSONTextError as error:
        raise ProtocolError("", f"The input is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise ProtocolError("", "The input is not a JSON object.")
    values = {name: value for name, value in values.items() if value is not None}
    for name in () if partial else ("threadId", "runId", "messages"):
        if name not in values:
            raise ProtocolError(name, f"The input has no {name}.")
    for name, kind in {"threadId": "string", "runId": "string", **INPUT}.items():
        if name in values and not KINDS[kind][1](values[name]):
            raise ProtocolError(name, f"{name} is not {KINDS[kind][0]}.")
    if not all(isinstance(message, dict) for message in values.get("messages", [])):
        raise ProtocolError("messages", "A message is not an object.")
    if once:
        _check_once([name for name, _source in named])
    sources = dict(named)
    return _input(values, {name: sources[name] for name in values})


def _check_once(names: Sequence[str]) -> None:
    """Of an input that says twice where it goes we would judge one, and the agent read the other."""
    for name in ("resume", "runId", "threadId"):
        if names.count(name) > 1:
            raise ProtocolError(name, f"The input has {name} twice.")


def _input(values: Mapping[str, Any], sources: Mapping[str, str]) -> RunInput:
    return RunInput(
        thread_id=values.get("threadId", ""),
        run_id=values.get("runId", ""),
        messages=tuple(jsontext.items(sources["messages"])) if "messages" in sources else (),
        state=sources.get("state"),
        tools=sources.get("tools", "[]"),
        context=sources.get("context", "[]"),
        forwarded_props=sources.get("forwardedProps", "{}"),
        resume=sources.get("resume"),
        protocol_version=values.get("protocolVersion"),
        parent_run_id=values.get("parentRunId"),
    )


def run_input(
    *,
    thread_id: str,
    run_id: str,
    messages: Sequence[str],
    state: str | None,
    tools: str,
    context: str,
    forwarded_props: str,
    resume: str | None,
    protocol_version: str | None,
) -> bytes:
    """The bytes of a RunAgentInput; every member goes in as the JSON text it is given as, None leaves it out (B.1)."""
    members = {
        "threadId": jsontext.dumps(thread_id),
        "runId": jsontext.dumps(run_id),
        "state": state,
        "messages": "[" + ",".join(messages) + "]",
        "tools": tools,
        "context": context,
        "forwardedProps": forwarded_props,
        "resume": resume,
        "protocolVersion": None if protocol_version is None else jsontext.dumps(protocol_version),
    }
    body = ",".join(f'"{name}":{text}' for name, text in members.items() if text is not None)
    return ("{" + body + "}").encode()
