"""Runs made by hand for tests of dialects: what no recording shows, or shows only when it is too late."""

from __future__ import annotations

from agentbridge import dialects
from agentbridge.dialects import Answered
from agentbridge.wire.record import CallView, CustomView, InterruptView, RunInput, RunView

YES = '{"approved":true}'
SCHEMA = '{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}'
ARGS = '{"to":"ann@example.com","amount":1200}'


def question(id_="int-1", position=0, **members):
    return InterruptView(position=position, id=id_, **{"reason": "tool_call", "response_schema": SCHEMA, **members})


def paused(*interrupts, calls=(), customs=()):
    return RunView(
        run_id="r", thread_id="t", ours=True, status="interrupted", outcome="interrupt", interrupts=list(interrupts),
        calls={call.id: call for call in calls}, customs=list(customs),
    )  # fmt: skip


def finished(*, calls=(), customs=(), results=(), tools="[]", messages=()):
    return RunView(
        run_id="r", thread_id="t", ours=True, status="succeeded", calls={call.id: call for call in calls},
        customs=list(customs), results=list(results), messages=list(messages),
        input=RunInput(thread_id="t", run_id="r", tools=tools),
    )  # fmt: skip


def call(id_="c1", name="refund", args=ARGS):
    return CallView(id=id_, name=name, args=args, state="complete")


def said(id_="int-1", answer=YES, verdict="approved", **more):
    return Answered(interrupt_id=id_, verdict=verdict, answer=answer, **more)


def cancelled(id_="int-1", **more):
    return said(id_, None, "cancelled", **more)


def event(value, raw_event=None, name="on_interrupt"):
    return CustomView(name=name, value=value, raw_event=raw_event)


def only_kit(run, wanted="auto"):
    dialect, pauses, _ = dialects.recognise(run, wanted)
    return dialect.kit(pauses[0])


def answer_of(kit, verdict, **given):
    return kit.answer(verdict, **{"proposal": None, "edits": None, "input": None, "comment": "", **given})
