"""What the events inside one run mean: messages, calls, results, state, steps and subagents, with their deviations."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentbridge.wire.calls import Calls
from agentbridge.wire.history import History
from agentbridge.wire.lanes import FAMILIES, Lanes
from agentbridge.wire.messages import Message, Texts
from agentbridge.wire.noting import Notes
from agentbridge.wire.patching import PatchError
from agentbridge.wire.protocol import Event, excerpt
from agentbridge.wire.record import CallChanged, CallView, CustomView, Fact, Result, ResultView, RunView, SubagentView
from agentbridge.wire.toolcalls import result_text
from approvals import jsontext

QUIET = {"RAW", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"}  # say nothing about whether anything was done (class C or D)


class OpenRun:
    """Fills one RunView from its events until it ends."""

    def __init__(self, view: RunView, history: History, known_calls: Mapping[str, CallView]) -> None:
        self.view = view
        self.history = history
        self.notes = Notes(view)
        self.calls = Calls(view, history, known_calls, self.notes)
        self.lanes = Lanes()
        self._texts: dict[str, tuple[Message, str | None]] = {}  # open messages, and whose they are
        self._spans: set[str] = set()
        self._steps: list[str] = []

    def handle(self, event: Event) -> list[Fact]:
        """One event inside the run, chunks expanded first."""
        if event.type not in QUIET:
            self.view.acted = True
        if not self.lanes.open and event.type not in FAMILIES:
            handler = HANDLERS.get(event.type)
            fact = handler(self, event) if handler is not None else None
            return [] if fact is None else [fact]
        facts: list[Fact] = []
        noted = len(event.notes)
        for each in self.lanes.expand(event):
            handler = HANDLERS.get(each.type)
            if handler is not None:
                fact = handler(self, each)
                if fact is not None:
                    facts.append(fact)
        for note in event.notes[noted:]:
            self.notes.take(note)
        return facts

    def finish(self, *, quiet: bool = False) -> list[Fact]:
        """The run is over: what is still open is said (unless an error closed it) and stays unfinished."""
        facts = [fact for each in self.lanes.close(every=True) if (fact := HANDLERS[each.type](self, each)) is not None]
        unfinished = self.calls.finish()
        facts += [CallChanged(self.view, self.view.calls[id_]) for id_ in unfinished]
        running = [agent.name or agent.id for agent in self.view.subagents.values() if agent.status == "running"]
        for what, names in (
            ("call", unfinished), ("message", [*self._texts]), ("reasoning", [*self._spans]), ("step", self._steps),
            ("subagent", running),
        ):  # fmt: skip
            for name in [] if quiet else names:
                self.notes.add("C-10", "warning", f"The {what} {excerpt(name)} is still open at the end of the run.")
        self._texts, self._spans, self._steps = {}, set(), []
        self.view.messages, self.view.state = self.history.told()
        self.notes.close()
        return facts

    def _same_owner(self, event: Event, owner: str | None) -> None:
        tag = event.body.get("subagentRunId")
        if tag is not None and tag != owner:
            self.notes.add("C-26", "warning", "subagentRunId contradicts the event that opened this.", "/subagentRunId")

    def _members(self, event: Event, *names: str) -> Texts:
        found = {name: jsontext.dumps(event.body[name]) for name in names if name in event.body}
        if "subagentRunId" in event.body:
            found["subagentRunId"] = jsontext.dumps(event.body["subagentRunId"])
        return found

    def _metadata(self, event: Event) -> Texts:
        return jsontext.members(event.source("metadata") or "{}") if "metadata" in event.body else {}

    def text_start(self, event: Event) -> None:
        id_, reasoning = event.body["messageId"], event.type.startswith("REASONING")
        if id_ in self._texts:
            self.notes.add("C-10", "warning", f"The message {excerpt(id_)} is started while it is open.")
            return
        role = "reasoning" if reasoning else event.body.get("role", "assistant")
        message = self.history.opened(id_, role, self._members(event, "name"))
        message.metadata.update(self._metadata(event))
        self._texts[id_] = (message, event.body.get("subagentRunId"))

    def text_content(self, event: Event) -> None:
        body = event.body
        found = self._texts.get(body["messageId"])
        if found is None:
            text = f"Content for the message {excerpt(body['messageId'])}, which is not open."
            self.notes.add("C-10", "warning", text)
            return
        found[0].pieces.append(body["delta"])
        if "metadata" in body or "subagentRunId" in body:
            self._continued(event, *found)

    def text_end(self, event: Event) -> None:
        found = self._texts.pop(event.body["messageId"], None)
        if found is None:
            self.notes.add(
                "C-10", "warning", f"The message {excerpt(event.body['messageId'])} is ended, but is not open."
            )
            return
        self._continued(event, *found)

    def _continued(self, event: Event, message: Message, owner: str | None) -> None:
        if "metadata" in event.body:
            message.metadata.update(self._metadata(event))
        if "subagentRunId" in event.body:
            self._same_owner(event, owner)

    def _changed(self, call: CallView | None) -> Fact | None:
        return None if call is None else CallChanged(self.view, call)

    def call_start(self, event: Event) -> Fact | None:
        body = event.body
        call = self.calls.start(
            body["toolCallId"],
            body["toolCallName"],
            parent=body.get("parentMessageId"),
            owner=body.get("subagentRunId"),
            chunked=event.synthetic,
            members=self._members(event),
        )
        self._call_metadata(event)
        return self._changed(call)

    def call_args(self, event: Event) -> Fact | None:
        call = self.calls.args(event.body["toolCallId"], event.body["delta"])
        if "metadata" in event.body or "subagentRunId" in event.body:
            self._call_metadata(event)
            self._same_owner(event, self.view.calls[event.body["toolCallId"]].subagent_run_id)
        return self._changed(call)

    def call_end(self, event: Event) -> Fact | None:
        call = self.calls.end(event.body["toolCallId"])
        self._call_metadata(event)
        if call is not None:
            self._same_owner(event, call.subagent_run_id)
        return self._changed(call)

    def _call_metadata(self, event: Event) -> None:
        call = self.view.calls.get(event.body["toolCallId"])
        if call is None or "metadata" not in event.body:
            return
        merged = {**jsontext.members(call.metadata or "{}"), **self._metadata(event)}
        call.metadata = "{" + ",".join(f"{jsontext.dumps(name)}:{text}" for name, text in merged.items()) + "}"
        self.history.metadata(None, call.id, self._metadata(event))

    def call_result(self, event: Event) -> Fact:
        """Evidence: kept however odd it is; only a whole one becomes a message."""
        body, content = event.body, event.source("content") or '""'
        known = self.calls.knows(body["toolCallId"])
        if not known:
            self.notes.add("T-77", "warning", f"An orphan result: no call {excerpt(body['toolCallId'])} is known here.")
        text, parts = result_text(body.get("content"), content)
        result = ResultView(
            tool_call_id=body["toolCallId"], message_id=body.get("messageId", ""), text=text, parts=parts,
            subagent_run_id=body.get("subagentRunId"), known=known,
        )  # fmt: skip
        self.view.results.append(result)
        if "messageId" in body and content[0] in '"[':
            self.history.result(result.message_id, result.tool_call_id, content, self._members(event))
            self.history.metadata(result.message_id, None, self._metadata(event))
        return Result(self.view, result)

    def state_snapshot(self, event: Event) -> None:
        self.history.state_snapshot(event.source("snapshot") or "null")

    def state_delta(self, event: Event) -> None:
        try:
            unknown = self.history.state_delta(event.body["delta"])
        except PatchError as error:
            self.notes.add(
                "C-19", "error", f"A change of the state does not apply and has no effect: {error}.", "/delta"
            )
            return
        for name in unknown:
            self.notes.add("C-19", "warning", f"Unknown operation {excerpt(name)} left out.", "/delta")

    def messages_snapshot(self, event: Event) -> None:
        self.view.snapshot_seen = True
        for problem in self.history.snapshot(event.source("messages") or "[]"):
            self.notes.add("C-20", "error", problem, "/messages")

    def encrypted(self, event: Event) -> None:
        names = ("encryptedValue", "encryptedValueType")
        members: Texts = {name: jsontext.dumps(event.body[name]) for name in names if name in event.body}
        if not self.history.encrypted(event.body["subtype"], event.body["entityId"], members):
            self.notes.add("C-24", "warning", "An encrypted value for nothing that is known.", "/entityId")

    def span_start(self, event: Event) -> None:
        if not event.older:
            self._spans.add(event.body["messageId"])

    def span_end(self, event: Event) -> None:
        if not event.older and event.body["messageId"] not in self._spans:
            self.notes.add("C-10", "warning", "Reasoning is ended that was not started.", "/messageId")
        self._spans.discard(event.body["messageId"])

    def step_started(self, event: Event) -> None:
        name = event.body["stepName"]
        self.view.steps.append(name)
        self._steps.append(name)

    def step_finished(self, event: Event) -> None:
        if event.body["stepName"] not in self._steps:
            self.notes.add(
                "C-10", "warning", f"The step {excerpt(event.body['stepName'])} is finished, but is not open."
            )
            return
        self._steps.remove(event.body["stepName"])

    def subagent_started(self, event: Event) -> None:
        body = event.body
        if body["subagentRunId"] in self.view.subagents:
            self.notes.add("C-10", "warning", f"The subagent {excerpt(body['name'])} is started twice.")
        self.view.subagents[body["subagentRunId"]] = SubagentView(
            id=body["subagentRunId"], name=body["name"], parent_id=body.get("parentSubagentRunId"),
            tool_call_id=body.get("parentToolCallId"),
        )  # fmt: skip

    def subagent_ended(self, event: Event) -> Fact | None:
        agent = self.view.subagents.get(event.body["subagentRunId"])
        if agent is None:
            self.notes.add("C-10", "warning", "A subagent ends that was not started.", "/subagentRunId")
        elif event.type == "SUBAGENT_ERROR":
            agent.status, agent.error = "failed", event.body["message"]
        else:
            _end_subagent(agent, event)
        return None

    def custom(self, event: Event) -> None:
        self.view.customs.append(
            CustomView(
                name=event.body["name"], value=event.source("value") or "null", raw_event=event.source("rawEvent")
            )
        )


def _end_subagent(agent: SubagentView, event: Event) -> None:
    outcome = event.body.get("outcome", {"type": "success"})
    ids = outcome.get("interruptIds")
    agent.interrupt_ids = tuple(id_ for id_ in ids if type(id_) is str) if isinstance(ids, list) else ()
    kind = outcome.get("type")
    agent.status = "succeeded" if kind == "success" else "suspended" if kind == "suspended" else "unknown"


HANDLERS: dict[str, Callable[[OpenRun, Event], Fact | None]] = {
    "TEXT_MESSAGE_START": OpenRun.text_start,
    "TEXT_MESSAGE_CONTENT": OpenRun.text_content,
    "TEXT_MESSAGE_END": OpenRun.text_end,
    "REASONING_MESSAGE_START": OpenRun.text_start,
    "REASONING_MESSAGE_CONTENT": OpenRun.text_content,
    "REASONING_MESSAGE_END": OpenRun.text_end,
    "REASONING_START": OpenRun.span_start,
    "REASONING_END": OpenRun.span_end,
    "REASONING_ENCRYPTED_VALUE": OpenRun.encrypted,
    "TOOL_CALL_START": OpenRun.call_start,
    "TOOL_CALL_ARGS": OpenRun.call_args,
    "TOOL_CALL_END": OpenRun.call_end,
    "TOOL_CALL_RESULT": OpenRun.call_result,
    "STATE_SNAPSHOT": OpenRun.state_snapshot,
    "STATE_DELTA": OpenRun.state_delta,
    "MESSAGES_SNAPSHOT": OpenRun.messages_snapshot,
    "STEP_STARTED": OpenRun.step_started,
    "STEP_FINISHED": OpenRun.step_finished,
    "SUBAGENT_STARTED": OpenRun.subagent_started,
    "SUBAGENT_FINISHED": OpenRun.subagent_ended,
    "SUBAGENT_ERROR": OpenRun.subagent_ended,
    "CUSTOM": OpenRun.custom,
}
