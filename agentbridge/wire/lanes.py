"""Chunk events, expanded into start, content and end before anything else looks at them (C-7, T-39, T-40).

A lane is the parent agent or one subagent; each has at most one item open in chunk form.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agentbridge.wire.protocol import Event, Note, excerpt

CONTENT = {"TEXT_MESSAGE": "CONTENT", "TOOL_CALL": "ARGS", "REASONING_MESSAGE": "CONTENT"}
FAMILIES = {family + "_CHUNK": family for family in CONTENT}
ASIDE = {"RAW", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_ENCRYPTED_VALUE", "SUBAGENT_STARTED"}
RUN_LEVEL = {"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"}
OPENERS = {
    "TEXT_MESSAGE": ("role", "name"),
    "TOOL_CALL": ("toolCallName", "parentMessageId"),
    "REASONING_MESSAGE": (),
}


@dataclass(slots=True)
class Item:
    """What a chunk opened."""

    family: str
    id: str
    lane: str | None
    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def id_name(self) -> str:
        return "toolCallId" if self.family == "TOOL_CALL" else "messageId"

    def event(self, step: str, body: dict[str, Any], text: str = "{}") -> Event:
        tag = {} if self.lane is None else {"subagentRunId": self.lane}
        kind = f"{self.family}_{step}"
        return Event(kind, {"type": kind, self.id_name: self.id, **body, **tag}, text, synthetic=True)


class Lanes:
    """The chunk streams of one run."""

    def __init__(self) -> None:
        self.open: dict[str | None, Item] = {}
        self._known: dict[tuple[str, str], Item] = {}  # every item a chunk has opened

    def expand(self, event: Event) -> list[Event]:
        """The events that this one stands for, ends of other chunk streams first; deviations go into its notes."""
        family = FAMILIES.get(event.type)
        if family is None:
            return [*self._closed_by(event), event]
        item = self._referent(family, event)
        if item is None:
            return []
        opening = self.open.get(item.lane) is not item
        events = self._switch(item, event) if opening else []
        if not opening:
            self._check_repeats(item, event)
        metadata = {"metadata": event.body["metadata"]} if "metadata" in event.body else {}
        delta = event.body.get("delta")
        if delta is not None:
            events.append(item.event(CONTENT[family], {"delta": delta, **metadata}, event.text))
        elif metadata and not opening:
            events.append(item.event(CONTENT[family], {"delta": "", **metadata}, event.text))
        return events

    def close(self, lane: str | None = None, *, every: bool = False) -> list[Event]:
        """End what is open in a lane, or everywhere."""
        items = list(self.open.values()) if every else [self.open[lane]] if lane in self.open else []
        for item in items:
            del self.open[item.lane]
        return [item.event("END", {}) for item in items]

    def _closed_by(self, event: Event) -> list[Event]:
        if not self.open or event.type in ASIDE:
            return []
        return self.close(event.body.get("subagentRunId"), every=event.type in RUN_LEVEL)

    def _switch(self, item: Item, event: Event) -> list[Event]:
        events = self.close(item.lane)
        self.open[item.lane] = item
        return [*events, item.event("START", dict(item.fields), event.text)]

    def _referent(self, family: str, event: Event) -> Item | None:
        """The item a chunk is about; None, with a note, if it names none that could be meant."""
        id_ = event.body.get("toolCallId" if family == "TOOL_CALL" else "messageId")
        lane = event.body.get("subagentRunId")
        if id_ is None:
            return self._continued(family, lane, event)
        known = self._known.get((family, id_))
        if known is not None:
            return known
        fields = {name: event.body[name] for name in OPENERS[family] if name in event.body}
        if family == "TOOL_CALL" and "toolCallName" not in fields:
            event.notes.append(Note("C-7", "error", "", f"The first chunk of the call {excerpt(id_)} names no tool."))
            return None
        item = self._known[family, id_] = Item(family, id_, lane, fields)
        return item

    def _continued(self, family: str, lane: str | None, event: Event) -> Item | None:
        """Without an id: the lane's own item, else the parent's, else the only one of its kind."""
        open_ = {item.lane: item for item in self.open.values() if item.family == family}
        if lane in open_:
            return open_[lane]
        if lane is None and len(open_) == 1:
            return next(iter(open_.values()))
        text = (
            "A chunk without an id continues nothing that is open."
            if not open_ or lane is not None
            else ("A chunk without an id could continue several items.")
        )
        event.notes.append(Note("C-7", "error", "", text))
        return None

    def _check_repeats(self, item: Item, event: Event) -> None:
        """A repeat must agree with the opener, also with what it left out (no role means assistant)."""
        for name in OPENERS[item.family]:
            said = item.fields.get(name, "assistant" if name == "role" else None)
            if name in event.body and event.body[name] != said:
                event.notes.append(Note("C-7", "error", f"/{name}", f"{name} contradicts the chunk that opened this."))
