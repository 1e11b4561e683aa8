"""The messages and the state of a thread, as a run's events leave them: what a resume must send back (R-14, R-16).

What came whole keeps its bytes; snapshots are reconciled by C-20, patches applied by C-19, `encryptedValue` kept on its
target (C-24). Activity messages are never made from events and never sent (C-25).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentbridge.wire.messages import Message, SpokenCall, Texts, calls_of
from agentbridge.wire.patching import Copies, Patched
from agentbridge.wire.record import CallView, RunInput, RunView, Warning
from approvals import jsontext

KEPT_ROLES = ("activity", "reasoning")  # a snapshot that carries no message of these roles drops none (C-20)


class History:
    """Grows with the events of one HTTP answer; flows across the runs in it (H-2)."""

    def __init__(self, messages: Sequence[str] = (), state: str | None = None) -> None:
        self._messages: list[Message] = []
        self._by_id: dict[str, Message] = {}
        self._calls: dict[str, SpokenCall | Message] = {}  # id → the call, or the received message that holds it
        self._results: dict[str, list[Message]] = {}  # call id → its tool messages
        self._state = state
        self._patched: Patched | None = None
        self._copies = Copies()
        self.carried = 0  # characters that runs which are over hold of it
        self.received_calls: dict[str, CallView] = {}
        for text in messages:
            self._append(*Message.read(text))

    def texts(self) -> list[str]:
        """Every message as JSON."""
        return [message.text() for message in self._messages]

    def told(self) -> tuple[list[str], str | None]:
        """Messages and state as a run that ends holds them."""
        messages, state = self.texts(), self.state
        self.carried += len(state or "") + sum(map(len, messages))
        return messages, state

    def _append(self, message: Message, value: dict[str, Any] | None = None) -> None:
        self._messages.append(message)
        if message.id is not None:
            self._by_id[message.id] = message
        answered = (value or {}).get("toolCallId")
        if message.role == "tool" and type(answered) is str:
            self._results.setdefault(answered, []).append(message)
        for id_, name, args in calls_of(value or {}):
            self._calls[id_] = message
            self.received_calls[id_] = CallView(id=id_, name=name, args=args, state="complete")

    def opened(self, id_: str, role: str, members: Texts) -> Message:
        """A message that content streams into: a new one, or an earlier one that goes on (C-22)."""
        message = self._by_id.get(id_)
        if message is None or message.role != role:
            message = Message(id_, role, members=members)
            self._append(message)
        message.streamed = True
        return message

    def call(self, call: SpokenCall, parent: str | None, members: Texts) -> None:
        """A call that begins to stream. One that the history already holds is told again, and changes nothing here."""
        if call.id in self._calls:
            return
        message = self._by_id.get(parent) if parent is not None else None
        if message is None or message.role != "assistant":
            # A parent of another role cannot hold the call; its id is taken, so the call's own id stands in.
            message = Message(
                parent if parent is not None and message is None else call.id, "assistant", members=members
            )
            self._append(message)
        message.calls.append(call)
        self._calls[call.id] = call

    def result(self, id_: str, call_id: str, content: str, members: Texts) -> None:
        """A tool message. The same result told again under another id is one result (C.5)."""
        texts = {"toolCallId": jsontext.dumps(call_id), "content": content}
        if any(_says(message, texts) for message in self._results.get(call_id, [])):
            return
        message = Message(id_, "tool", members={**texts, **members})
        self._results.setdefault(call_id, []).append(message)
        earlier = self._by_id.get(id_)
        if earlier is not None and earlier.role == "tool":
            self._messages[self._messages.index(earlier)] = message
            self._by_id[id_] = message
        else:
            self._append(message)

    def encrypted(self, subtype: str, entity: str, members: Texts) -> bool:
        """Keep an opaque value on its target; False if there is none. A new value without a type drops the old type."""
        target: Texts | None
        if subtype == "message":
            message = self._by_id.get(entity)
            target = message.members if message is not None else None
        else:
            call = self._calls.get(entity)
            target = call.received_calls[entity] if isinstance(call, Message) else call.members if call else None
        if target is None:
            return False
        target.pop("encryptedValueType", None)
        target.update(members)
        return True

    def metadata(self, message_id: str | None, call_id: str | None, metadata: Texts) -> None:
        """Merge per key, the last one wins; a call's metadata lands on the call (C-21)."""
        target = self._calls.get(call_id) if call_id is not None else self._by_id.get(message_id or "")
        if target is not None and not (call_id is not None and isinstance(target, Message)):
            target.metadata.update(metadata)

    def snapshot(self, text: str) -> list[str]:
        """MESSAGES_SNAPSHOT, reconciled in place by id (C-20); returns what could not be read of it."""
        problems: list[str] = []
        fresh: list[tuple[Message, dict[str, Any]]] = []
        for place, item in enumerate(jsontext.items(text)):
            try:
                fresh.append(Message.read(item))
            except ValueError as error:
                problems.append(f"Message {place} of the snapshot is left out: {error}.")
        roles = {message.role for message, _ in fresh}
        by_id = {pair[0].id: pair for pair in fresh if pair[0].id is not None}
        before, self._messages = self._messages, []
        self._by_id, self._calls, self._results = {}, {}, {}
        for message in before:
            if message.id in by_id:
                self._append(*by_id.pop(message.id))
            elif message.role in KEPT_ROLES and message.role not in roles:
                self._append(message)
        for message, value in fresh:
            if message.id is None or by_id.pop(message.id, None) is not None:
                self._append(message, value)
        return problems

    @property
    def state(self) -> str | None:
        """The last agreed state as JSON; None if none was ever given."""
        if self._patched is not None:
            self._state = jsontext.dumps(self._patched.value)
        return self._state

    def state_snapshot(self, text: str) -> None:
        self._state, self._patched = text, None

    def state_delta(self, operations: list[Any]) -> list[str]:
        """Apply a patch, all or nothing; returns the operations nobody knows. Raises `patching.PatchError`."""
        if self._patched is None:
            self._patched = Patched(jsontext.loads(self._state if self._state is not None else "{}"), self._copies)
        return self._patched.apply(operations)


def _says(message: Message, texts: Texts) -> bool:
    if message.received is None:
        return all(message.members.get(name) == text for name, text in texts.items())
    said = jsontext.members(message.received)
    return all(name in said and jsontext.same(said[name], text) for name, text in texts.items())


def outgoing(run: RunView, run_input: RunInput | None) -> tuple[list[str], str | None, list[Warning]]:
    """What a resume of this run sends: messages without activity, and the state (None: leave it out)."""
    messages = [text for text in run.messages if not _is_activity(text)]
    state = run.state if run.state is not None else run_input.state if run_input is not None else None
    if state is None:
        return messages, "{}", []
    if state.strip() == "null":
        text = "The state is null, which cannot be sent back: a resume goes without one."
        return messages, None, [Warning("R-16", "warning", "", text)]
    return messages, state, []


def _is_activity(text: str) -> bool:
    role = jsontext.member(text, "role")
    return role is not None and jsontext.loads(role) == "activity"
