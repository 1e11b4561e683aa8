"""Google ADK (`ag-ui-adk`): a made-up call asks about the real one, and everything but a plain no approves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from django.utils.translation import gettext_noop as _

from agentbridge.dialects import evidence, kits, sending
from agentbridge.dialects.contract import Answered, Pause, Sending
from agentbridge.dialects.plain import Plain
from agentbridge.wire.record import CallView, InterruptView, RunView
from approvals import jsontext
from approvals.kit import AnswerForm, VerdictKit

ASKING_TOOL = "adk_request_confirmation"
APPROVED = '{"confirmed":true}'
REJECTED = '{"confirmed":false}'  # exactly this: any other answer would run the tool
NO_EDITS = _("This agent runs the call as it is, whatever arguments are sent.")
NO_CANCEL_LEGACY = _("This agent takes the answer as a tool's result: a cancel cannot be said. Reject instead.")


class ADK(Plain):
    """Tool confirmations. Results come on the real call's id (T-64)."""

    name = "adk"
    mark = "adk"

    def subject(self, run: RunView, interrupt: InterruptView) -> CallView | None:
        return real_call(run, interrupt) or super().subject(run, interrupt)

    def legacy(self, run: RunView) -> list[Pause]:
        """L-4: an unanswered call of the asking tool, whose arguments are what the metadata would hold."""
        done = {result.tool_call_id for result in run.results}
        asking = [call for call in run.calls.values() if call.name == ASKING_TOOL and call.id not in done]
        found = [interrupt_of(call, position) for position, call in enumerate(asking)]
        return [replace(self.pause(run, interrupt), legacy=True) for interrupt in found]

    def kit(self, pause: Pause) -> VerdictKit:
        wanted = evidence.text_at(pause.interrupt.metadata, "adk", "toolConfirmation", "payload")
        wanted = None if wanted == "null" else wanted
        kit = kits.decided(APPROVED, REJECTED, schema=_schema(wanted), no_edits=NO_EDITS)
        if wanted is not None:
            kit = replace(kit, forms=kit.forms | {"approved": AnswerForm(answer=APPROVED, input="members")})
        return kits.impossible(kit, "cancelled", NO_CANCEL_LEGACY) if pause.legacy else kit

    def send(self, answers: Sequence[Answered], run_input_props: str) -> Sending:
        if not answers or not all(answer.legacy for answer in answers):
            return super().send(answers, run_input_props)
        props = sending.without_one_shots(run_input_props)
        return Sending(messages=[sending.tool_message(a) for a in sending.distinct(answers)], forwarded_props=props)

    def arrange(self, messages: Sequence[str]) -> list[str]:
        """All calls of a turn in one assistant message: apart, only the last approved one would run."""
        arranged: list[str] = []
        for message in messages:
            if arranged and _is_calls_only(message) and _has_calls(arranged[-1]):
                arranged[-1] = _joined(arranged[-1], message)
            else:
                arranged.append(message)
        return arranged


def real_call(run: RunView, interrupt: InterruptView) -> CallView | None:
    """The call behind the made-up one: as streamed, else as the metadata has it."""
    claimed = evidence.claim(interrupt)
    if claimed is None or claimed.call_id is None:
        return None
    known = evidence.known_call(run, claimed.call_id)
    return known or CallView(id=claimed.call_id, name=claimed.name, args=claimed.args, state="missing")


def interrupt_of(call: CallView, position: int) -> InterruptView:
    """The interrupt that the adapter would have made of this call."""
    readable = call.state == "complete"
    metadata = f'{{"adk":{call.args}}}' if readable else None
    return InterruptView(
        position=position,
        id=call.id,
        reason="confirmation",
        message=evidence.string_at(metadata, "adk", "toolConfirmation", "hint"),
        tool_call_id=call.id,
        metadata=metadata,
        raw=jsontext.dumps({"toolCallId": call.id, "toolCallName": call.name, "arguments": call.args}),
    )


def _schema(wanted: str | None) -> str:
    """What the adapter takes (one more member fails there and uses the question up); `wanted`: the tool's template."""
    schema = '{"type":"object","properties":{"confirmed":{"type":"boolean"}},"required":["confirmed"]}'
    schema = jsontext.replace(schema, {"/additionalProperties": "false"})
    if wanted is None:
        return schema
    confirmed = '{"properties":{"confirmed":{"const":true}}}'
    payload = f'{{"default":{wanted}}}'
    needed = '{"required":["payload"]}'
    return jsontext.replace(schema, {"/properties/payload": payload, "/if": confirmed, "/then": needed})


def _has_calls(message: str) -> bool:
    return bool(_calls(message))


def _is_calls_only(message: str) -> bool:
    return _has_calls(message) and evidence.text_at(message, "content") in (None, "null", '""')


def _calls(message: str) -> Iterable[str]:
    calls = evidence.text_at(message, "toolCalls")
    asked = evidence.string_at(message, "role") == "assistant" and calls is not None and calls.startswith("[")
    return jsontext.items(calls or "[]") if asked else []


def _joined(first: str, second: str) -> str:
    return jsontext.replace(first, {"/toolCalls": f"[{','.join([*_calls(first), *_calls(second)])}]"})
