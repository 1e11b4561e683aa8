"""The 31 events of AG-UI 1.0: which members each has, and what kind of value belongs there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from approvals import jsontext

KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    # Numbers arrive as jsontext.Number, a str: only the exact type tells them from strings.
    "string": ("a string", lambda value: type(value) is str),
    "object": ("an object", lambda value: isinstance(value, dict)),
    "array": ("a list", lambda value: isinstance(value, list)),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
    "integer": ("a whole number", lambda value: type(value) is jsontext.Number and value.lstrip("-").isdigit()),
    "content": ("a string or a list of parts", lambda value: type(value) is str or isinstance(value, list)),
    "role": ("a role of a text message", lambda value: value in ("developer", "system", "assistant", "user")),
    "tool": ("“tool”", lambda value: value == "tool"),
    "reasoning": ("“reasoning”", lambda value: value == "reasoning"),
    "subtype": ("“message” or “tool-call”", lambda value: value in ("message", "tool-call")),
    "any": ("anything", lambda value: True),
}
EXACT: dict[str, type] = {"string": str, "object": dict, "array": list, "boolean": bool}  # kinds that are one type
COMMON = "timestamp?:integer rawEvent?:any metadata?:object"
TAGGED = COMMON + " subagentRunId?"


@dataclass(frozen=True, slots=True)
class Shape:
    """The members of an event. `needed` must be there and fit, or the event has no effect."""

    members: Mapping[str, str]  # name → kind
    needed: tuple[tuple[str, Callable[[Any], bool]], ...]
    expected: frozenset[str]  # required too, but the event counts without: its meaning lies elsewhere
    required: frozenset[str]  # both of these
    exact: Mapping[str, type]  # name → type, where the kind is one

    def is_met(self, body: Mapping[str, Any]) -> bool:
        """Is all there that must be, and all that is there as it must be? So it is with nearly every event."""
        exact = self.exact
        for name, value in body.items():
            if type(value) is not exact.get(name) and not self._allows(name, value):
                return False
        return self.required <= body.keys()

    def _allows(self, name: str, value: Any) -> bool:
        kind = self.members.get(name)
        # Null is a value only where any is one and one must be (T-24); else it reads as absent, and is noted.
        return kind is not None and KINDS[kind][1](value) and (value is not None or name in self.required)


def _shape(text: str) -> Shape:
    """`name` needed, `name!` expected, `name?` optional; `:kind`, a string if none is named."""
    members: dict[str, str] = {"type": "string"}
    needed: list[tuple[str, Callable[[Any], bool]]] = []
    expected = set()
    for word in text.split():
        name, _, kind = word.partition(":")
        bare = name.rstrip("?!")
        members[bare] = kind or "string"
        if name == bare:
            needed.append((bare, KINDS[members[bare]][1]))
        if name.endswith("!"):
            expected.add(bare)
    exact = {name: EXACT[kind] for name, kind in members.items() if kind in EXACT}
    required = {name for name, _ in needed} | expected
    return Shape(members, tuple(needed), frozenset(expected), frozenset(required), exact)


EVENTS: dict[str, Shape] = {
    name: _shape(text)
    for name, text in {
        "RUN_STARTED": f"threadId! runId! protocolVersion? parentRunId? input?:object {COMMON}",
        # An outcome of any kind is looked at by the reader: one that cannot be read rejects the stream.
        "RUN_FINISHED": f"threadId! runId! result?:any outcome?:any usage?:array {COMMON}",
        "RUN_ERROR": f"message! code? usage?:array {COMMON}",
        "STEP_STARTED": f"stepName {TAGGED}",
        "STEP_FINISHED": f"stepName {TAGGED}",
        "TEXT_MESSAGE_START": f"messageId role?:role name? {TAGGED}",
        "TEXT_MESSAGE_CONTENT": f"messageId delta {TAGGED}",
        "TEXT_MESSAGE_END": f"messageId {TAGGED}",
        "TEXT_MESSAGE_CHUNK": f"messageId? role?:role delta? name? {TAGGED}",
        "TOOL_CALL_START": f"toolCallId toolCallName parentMessageId? {TAGGED}",
        "TOOL_CALL_ARGS": f"toolCallId delta {TAGGED}",
        "TOOL_CALL_END": f"toolCallId {TAGGED}",
        "TOOL_CALL_CHUNK": f"toolCallId? toolCallName? parentMessageId? delta? {TAGGED}",
        # Evidence of what happened counts even where its message id or its content is odd.
        "TOOL_CALL_RESULT": f"messageId! toolCallId content!:content role?:tool {TAGGED}",
        "STATE_SNAPSHOT": f"snapshot:any {TAGGED}",
        "STATE_DELTA": f"delta:array {TAGGED}",
        "MESSAGES_SNAPSHOT": f"messages:array {COMMON}",
        "ACTIVITY_SNAPSHOT": f"messageId activityType content:object replace?:boolean {TAGGED}",
        "ACTIVITY_DELTA": f"messageId activityType patch:array {TAGGED}",
        "REASONING_START": f"messageId {TAGGED}",
        "REASONING_END": f"messageId {TAGGED}",
        "REASONING_MESSAGE_START": f"messageId role!:reasoning {TAGGED}",
        "REASONING_MESSAGE_CONTENT": f"messageId delta {TAGGED}",
        "REASONING_MESSAGE_END": f"messageId {TAGGED}",
        "REASONING_MESSAGE_CHUNK": f"messageId? delta? {TAGGED}",
        # encryptedValueType is 1.1: kept beside its value from now on (B.5).
        "REASONING_ENCRYPTED_VALUE": f"subtype:subtype entityId encryptedValue encryptedValueType? {TAGGED}",
        "SUBAGENT_STARTED": f"name description? parentSubagentRunId? parentToolCallId? parentMessageId? {COMMON} "
        "subagentRunId",
        "SUBAGENT_FINISHED": f"result?:any outcome?:object {COMMON} subagentRunId",
        "SUBAGENT_ERROR": f"message code? {COMMON} subagentRunId",
        "RAW": f"event:any source? {TAGGED}",
        "CUSTOM": f"name value:any {TAGGED}",
    }.items()
}
OLDER = {
    "THINKING_START": "REASONING_START",
    "THINKING_END": "REASONING_END",
    "THINKING_TEXT_MESSAGE_START": "REASONING_MESSAGE_START",
    "THINKING_TEXT_MESSAGE_CONTENT": "REASONING_MESSAGE_CONTENT",
    "THINKING_TEXT_MESSAGE_END": "REASONING_MESSAGE_END",
}
