"""One message of a thread: as it was received, byte for byte, plus what the events of a run added to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from approvals import jsontext
from approvals.jsontext import pointer

Texts = dict[str, str]  # member → text of JSON


@dataclass(slots=True)
class SpokenCall:
    """A tool call that a run streamed; `pieces` grows while its arguments arrive."""

    id: str
    name: str
    pieces: list[str]
    members: Texts = field(default_factory=dict)
    metadata: Texts = field(default_factory=dict)

    def text(self) -> str:
        function = {"name": self.name, "arguments": "".join(self.pieces)}
        members = {"id": jsontext.dumps(self.id), "type": '"function"', "function": jsontext.dumps(function)}
        return _object({**members, **self.members, **_metadata(self.metadata)})


@dataclass(slots=True)
class Message:
    """`received` is the exact text where it came whole; everything else was added by events."""

    id: str | None
    role: str
    received: str | None = None
    pieces: list[str] = field(default_factory=list)  # content streamed on top
    streamed: bool = False  # a stream of content opened: an empty one is content too
    calls: list[SpokenCall] = field(default_factory=list)
    members: Texts = field(default_factory=dict)
    metadata: Texts = field(default_factory=dict)
    received_calls: dict[str, Texts] = field(default_factory=dict)  # id → members added to a received call

    @classmethod
    def read(cls, text: str) -> tuple[Message, dict[str, Any]]:
        """A received message and its value; raises ValueError if it is no object."""
        value = jsontext.loads(text)
        if not isinstance(value, dict):
            raise ValueError("it is not an object")
        id_, role = value.get("id"), value.get("role")
        message = cls(id_ if type(id_) is str else None, role if type(role) is str else "", received=text)
        message.received_calls = {call[0]: {} for call in calls_of(value)}
        return message, value

    def text(self) -> str:
        if self.received is None:
            return self._made()
        changes = dict(self._changes(self.received))
        return jsontext.replace(self.received, changes) if changes else self.received

    def _made(self) -> str:
        members = {"id": jsontext.dumps(self.id), "role": jsontext.dumps(self.role)}
        if self.streamed:
            members["content"] = jsontext.dumps("".join(self.pieces))
        if self.calls:
            members["toolCalls"] = _list(call.text() for call in self.calls)
        return _object({**members, **self.members, **_metadata(self.metadata)})

    def _changes(self, received: str) -> Iterator[tuple[str, str]]:
        value = jsontext.loads(received)
        if self.pieces:
            yield from _more_content(value, "".join(self.pieces))
        if self.calls:
            yield from _more_calls(value, [call.text() for call in self.calls])
        for name, text in self.members.items():
            yield pointer(name), text
        for place, call in enumerate(calls_of(value)):
            for name, text in self.received_calls.get(call[0], {}).items():
                yield pointer("toolCalls", place, name), text
        if self.metadata and isinstance(value.get("metadata"), dict):
            yield from ((pointer("metadata", name), text) for name, text in self.metadata.items())
        elif self.metadata:
            yield "/metadata", _object(self.metadata)


def calls_of(message: dict[str, Any]) -> list[tuple[str, str, str]]:
    """(id, name, arguments) of each call in a message's value, as far as they are what they should be."""
    found = []
    calls = message.get("toolCalls")
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            words = (call.get("id"), function.get("name"), function.get("arguments"))
            id_, name, arguments = (word if type(word) is str else "" for word in words)
            found.append((id_, name, arguments))
    return found


def _more_content(value: dict[str, Any], more: str) -> Iterator[tuple[str, str]]:
    content = value.get("content")
    if isinstance(content, list):
        yield pointer("content", len(content)), jsontext.dumps({"type": "text", "text": more})
    else:
        yield "/content", jsontext.dumps((content if type(content) is str else "") + more)


def _more_calls(value: dict[str, Any], texts: list[str]) -> Iterator[tuple[str, str]]:
    calls = value.get("toolCalls")
    if not isinstance(calls, list):
        yield "/toolCalls", _list(iter(texts))
        return
    for place, text in enumerate(texts, len(calls)):
        yield pointer("toolCalls", place), text


def _metadata(metadata: Texts) -> Texts:
    return {"metadata": _object(metadata)} if metadata else {}


def _object(members: Texts) -> str:
    return "{" + ",".join(f"{jsontext.dumps(name)}:{text}" for name, text in members.items()) + "}"


def _list(texts: Iterator[str]) -> str:
    return "[" + ",".join(texts) + "]"
