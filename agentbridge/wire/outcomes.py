"""How a RUN_FINISHED ended its run: success, interrupts, cancelled, or a way that this version does not know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentbridge.wire.events import KINDS
from agentbridge.wire.protocol import Event, camel, excerpt
from agentbridge.wire.record import InterruptView, Severity
from approvals import jsontext

Warn = Callable[[str, Severity, str, str], None]  # rule, severity, sentence, member
LOUD = ("interrupts", "interrupt")  # members that look like a pause where none can be
KNOWN = {
    "success": {"type", "pendingToolCallIds"},
    "interrupt": {"type", "interrupts"},
    "cancelled": {"type"},
}
INTERRUPT = {
    "id": "string",
    "reason": "string",
    "message": "string",
    "toolCallId": "string",
    "responseSchema": "object",
    "expiresAt": "string",
    "metadata": "object",
    "subagentRunId": "string",
}


class Unreadable(ValueError):
    """The outcome cannot be read: the stream is rejected (C-29b)."""


@dataclass(slots=True)
class Outcome:
    """`kind` is "" where none was stated, which means success (C-14)."""

    kind: str = ""
    interrupts: list[InterruptView] = field(default_factory=list)
    pending: tuple[str, ...] = ()


def read_outcome(event: Event, warn: Warn) -> Outcome:
    """The outcome of a RUN_FINISHED; raises Unreadable."""
    warn_of_stray_interrupts(event, warn)
    outcome = event.body.get("outcome")
    if outcome is None:
        return Outcome()
    if not isinstance(outcome, dict) or type(kind := outcome.get("type")) is not str:
        raise Unreadable(f"The outcome is not an object with a type: {excerpt(event.source('outcome') or '')}")
    if kind not in KNOWN:
        warn("C-2", "warning", f"The outcome “{excerpt(kind)}” is unknown to this version.", "/outcome/type")
        return Outcome("unknown")
    members = _members(event.source("outcome") or "{}")
    for name in [name for name in members if name not in KNOWN[kind]]:
        _warn_of_stranger(kind, name, warn)
    if kind == "interrupt":
        return Outcome(kind, read_interrupts(members.get("interrupts"), warn))
    return Outcome(kind, pending=_pending(outcome, warn))


def warn_of_stray_interrupts(event: Event, warn: Warn) -> None:
    """Interrupts outside the outcome of a RUN_FINISHED are a draft nobody released; silence would read as an end."""
    names = LOUD if event.type == "RUN_FINISHED" else (*LOUD, "outcome")
    members = jsontext.members(event.text)
    for name in [name for name in names if name in members]:
        text = f"{event.type} has “{name}” outside an interrupt outcome: it is not read as a pause."
        warn("C-2", "error", text, f"/{name}")


def _warn_of_stranger(kind: str, name: str, warn: Warn) -> None:
    where = jsontext.pointer("outcome", name)
    if name in LOUD:
        warn("G-3", "error", f"The outcome says “{kind}” and yet carries interrupts: they are not answerable.", where)
    else:
        warn("C-2", "info", f"Unknown member {excerpt(name)} of the outcome left out.", where)


def _pending(outcome: Mapping[str, Any], warn: Warn) -> tuple[str, ...]:
    pending = outcome.get("pendingToolCallIds", outcome.get("pending_tool_call_ids", []))
    if not isinstance(pending, list) or any(type(id_) is not str for id_ in pending):
        warn("C-3", "error", "pendingToolCallIds is not a list of strings.", "/outcome/pendingToolCallIds")
        return ()
    return tuple(pending)


def read_interrupts(text: str | None, warn: Warn) -> list[InterruptView]:
    """Every member of an interrupt outcome, malformed ones too; raises Unreadable if there is none at all."""
    items = jsontext.items(text) if text is not None else []
    if not items:
        raise Unreadable(f"An interrupt outcome without a list of interrupts: {excerpt(text or 'absent')}")
    found = [_interrupt(position, raw, warn) for position, raw in enumerate(items)]
    ids = Counter(interrupt.id for interrupt in found if interrupt.id is not None)
    for id_ in [id_ for id_, count in ids.items() if count > 1]:
        warn("C-34", "warning", f"Several interrupts share the id “{excerpt(id_)}”: one answer goes out.", "/outcome")
    return found


def _members(text: str) -> dict[str, str]:
    """Exact texts by name; snake_case names are understood, null reads as absent."""
    found = {name: value for name, value in jsontext.members(text).items() if value != "null"}
    return {**{camel(name): value for name, value in found.items()}, **found} if "_" in text else found


def _interrupt(position: int, raw: str, warn: Warn) -> InterruptView:
    view = InterruptView(position=position, id=None, raw=raw)
    place = ("outcome", "interrupts", position)

    def problem(name: str, sentence: str) -> None:
        view.problems.append(sentence)
        warn(
            "C-29b", "warning", f"Interrupt {position + 1}: {sentence}", jsontext.pointer(*place, *filter(None, [name]))
        )

    if not raw.startswith("{"):
        problem("", "It is not an object.")
        return view
    texts = _members(raw)
    for name in [name for name in texts if name not in INTERRUPT and camel(name) not in INTERRUPT]:
        warn("C-2", "info", f"Unknown member {excerpt(name)} left out.", jsontext.pointer(*place, name))
    for name in [name for name in jsontext.members(raw) if name in INTERRUPT and name not in texts]:
        warn("C-29b", "info", f"{name} is null; read as absent.", jsontext.pointer(*place, name))
    _fill(view, texts, problem)
    for name, text in _against_the_reason(view):
        warn("C-36", "warning", f"Interrupt {position + 1}: {text}", jsontext.pointer(*place, name))
    return view


def _against_the_reason(view: InterruptView) -> Iterator[tuple[str, str]]:
    """Where it departs from what its reason promises (C-36), as (member, sentence). It is drawn all the same."""
    if view.reason.startswith("core:"):
        yield "reason", f"The reason {excerpt(view.reason)} has a prefix that is reserved."
    if view.reason == "tool_call" and view.tool_call_id is None:
        yield "toolCallId", "Its reason is tool_call, but it names no call."
    if view.reason == "input_required" and view.response_schema is None:
        yield "responseSchema", "Its reason is input_required, but it has no response schema."


def _fill(view: InterruptView, texts: Mapping[str, str], problem: Callable[[str, str], None]) -> None:
    strings: dict[str, str] = {}
    for name, kind in INTERRUPT.items():
        value = jsontext.loads(texts[name]) if name in texts else None
        if name in texts and not KINDS[kind][1](value):
            problem(name, f"Its {name} is not {KINDS[kind][0]}: {excerpt(texts[name])}")
        elif type(value) is str:
            strings[name] = value
    view.id = strings.get("id") or None
    if view.id is None and ("id" not in texts or "id" in strings):
        problem("id", "It has no id, so no answer can name it.")
    view.reason = strings.get("reason", "")
    if "reason" not in texts:
        problem("reason", "It has no reason.")
    view.message, view.tool_call_id = strings.get("message"), strings.get("toolCallId")
    view.subagent_run_id = strings.get("subagentRunId")
    view.response_schema, view.metadata = texts.get("responseSchema"), texts.get("metadata")
    view.expires_at = strings.get("expiresAt", texts.get("expiresAt"))
