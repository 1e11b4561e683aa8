"""Tool calls of one run, put together per id: streamed once, streamed again, out of order, or never finished."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agentbridge.wire.history import History
from agentbridge.wire.messages import SpokenCall, Texts
from agentbridge.wire.noting import Notes
from agentbridge.wire.protocol import excerpt
from agentbridge.wire.record import CallState, CallView, RunView
from approvals import jsontext


@dataclass(slots=True)
class Stream:
    """Arguments arriving for one call."""

    view: CallView
    pieces: list[str] = field(default_factory=list)
    told: bool = False  # at least one ARGS came
    chunked: bool = False  # opened by a chunk: its end is ours, a later chunk may go on
    early: bool = False  # arguments before START: nobody can say that they are whole
    again: bool = False  # a second streaming: compared, never appended
    late: bool = False  # deltas after END


class Calls:
    """Fills `run.calls`. Methods return the call where the recorder should hear of it."""

    def __init__(self, run: RunView, history: History, known: Mapping[str, CallView], notes: Notes) -> None:
        self.run = run
        self.history = history
        self.known = known
        self.notes = notes
        self.open: dict[str, Stream] = {}
        self._streams: dict[str, Stream] = {}  # the first streaming of each call

    def start(
        self, id_: str, name: str, *, parent: str | None, owner: str | None, chunked: bool, members: Texts
    ) -> CallView | None:
        """TOOL_CALL_START."""
        stream = self._streams.get(id_)
        if stream is None:
            return self._begin(id_, name, parent=parent, owner=owner, chunked=chunked, members=members).view
        if stream.early and not stream.view.name:
            stream.view.name, stream.view.parent_message_id = name, parent
            self._speak(stream, parent, members)
            return stream.view
        if chunked and stream.chunked:
            self.open[id_] = stream
            return None
        return self._restart(stream, name)

    def _begin(
        self, id_: str, name: str, *, parent: str | None, owner: str | None, chunked: bool, members: Texts
    ) -> Stream:
        view = CallView(
            id=id_, name=name, position=len(self.run.calls), parent_message_id=parent, subagent_run_id=owner
        )
        stream = self._streams[id_] = self.open[id_] = Stream(view, chunked=chunked)
        self.run.calls[id_] = view
        if name:
            self._speak(stream, parent, members)
        return stream

    def _speak(self, stream: Stream, parent: str | None, members: Texts) -> None:
        # The history shares the list: what arrives for the call arrives in the message too.
        self.history.call(SpokenCall(stream.view.id, stream.view.name, stream.pieces), parent, members)

    def _restart(self, stream: Stream, name: str) -> CallView | None:
        """The same call once more in the same run: kept apart and compared (C-29b)."""
        id_ = stream.view.id
        open_ = self.open.get(id_)
        self.notes.add("C-29b", "info", f"The call {excerpt(id_)} is started again in the same run.", "/toolCallId")
        if open_ is not None and not open_.told:
            return None
        if open_ is not None:
            self._settle(open_)
        self.open[id_] = Stream(stream.view, again=True)
        if name != stream.view.name:
            self.notes.add("C-29b", "error", f"The call is now named {excerpt(name)}.", "/toolCallName")
            stream.view.conflict = stream.view.conflict or name
            return stream.view
        return None

    def args(self, id_: str, delta: str) -> CallView | None:
        """TOOL_CALL_ARGS."""
        stream = self.open.get(id_)
        if stream is None:
            stream = self._stray(id_)
        stream.pieces.append(delta)
        stream.told = True
        return stream.view if stream.early and len(stream.pieces) == 1 else None

    def _stray(self, id_: str) -> Stream:
        """Arguments of a call that is not open: before its start, or after its end."""
        first = self._streams.get(id_)
        if first is None:
            self.notes.add("C-10", "error", f"Arguments for the call {excerpt(id_)}, which was not started.")
            stream = self._begin(id_, "", parent=None, owner=None, chunked=False, members={})
            stream.early = True
            return stream
        self.notes.add("C-29b", "error", f"More arguments for the call {excerpt(id_)} after its end.")
        stream = self.open[id_] = Stream(first.view, [*first.pieces], told=True, again=True, late=True)
        return stream

    def end(self, id_: str) -> CallView | None:
        """TOOL_CALL_END."""
        stream = self.open.pop(id_, None)
        if stream is not None:
            return self._settle(stream, ended=True)
        if id_ in self._streams:
            self.notes.add("C-10", "info", f"The call {excerpt(id_)} is ended twice.")
        else:
            self.notes.add("T-36", "warning", f"The call {excerpt(id_)} is ended, but was not started in this run.")
        return None

    def _settle(self, stream: Stream, *, ended: bool = False) -> CallView:
        """Write down what arrived: as the call's arguments, or as a second version beside them."""
        text, view = "".join(stream.pieces), stream.view
        if not stream.again:
            view.args = text
            view.state = argument_state(text, stream.told) if ended and not stream.early else "incomplete"
        elif text != view.args and (ended or stream.late or not view.args.startswith(text)):
            view.conflict = text
            self.notes.add(
                "C-29b", "error", f"The call {excerpt(view.id)} has conflicting arguments: two versions came."
            )
        elif ended and view.state == "incomplete" and not self._streams[view.id].early:
            view.state = argument_state(text, stream.told)
        return view

    def finish(self) -> list[str]:
        """The run ends: what is still open stays incomplete; returns the ids of such calls."""
        unfinished = [id_ for id_, stream in self.open.items() if not stream.late]
        for stream in self.open.values():
            self._settle(stream, ended=False)
        self.open.clear()
        return unfinished

    def knows(self, id_: str) -> bool:
        """Has this thread, as far as we saw it, a call of that id?"""
        return id_ in self.run.calls or id_ in self.known or id_ in self.history.received_calls


def argument_state(text: str, told: bool) -> CallState:
    """What an ended call's argument text is."""
    if not told:
        return "missing"
    if text == "":
        return "empty"
    try:
        jsontext.loads(text)
    except jsontext.JSONTextError:
        return "invalid"
    return "complete"
