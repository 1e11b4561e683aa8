"""The input of a resumed run, built from the record and from nothing else (R-14, R-16, R-17, R-18)."""

from __future__ import annotations

from dataclasses import dataclass

from agentbridge import dialects
from agentbridge.models import Resume, Run
from agentbridge.wire import protocol
from agentbridge.wire.record import RunInput
from approvals import jsontext
from approvals.fields import text_of


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What an interrupted run left behind: texts of JSON, written once at its end."""

    messages: tuple[str, ...]
    state: str | None

    def to_text(self) -> str:
        return jsontext.dumps({"messages": list(self.messages), "state": self.state})

    @classmethod
    def of(cls, run: Run) -> Snapshot:
        found = jsontext.loads(run.snapshot or '{"messages":[],"state":null}')
        return cls(tuple(found["messages"]), found["state"])


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One input ready to be proven: its bytes, and the messages in them."""

    body: bytes
    messages: tuple[str, ...]
    asked: RunInput  # the interrupted run's input, whose tools and context go along


def asked_input(run: Run) -> RunInput:
    """The input that a run was asked with; raises `protocol.ProtocolError` when it is not on record."""
    return protocol.read_input(text_of(run.input))


def build(resume: Resume, *, run_id: str) -> Outgoing:
    """The whole RunAgentInput of one attempt: only `runId` differs between two attempts of a resume."""
    interrupted = resume.interrupted_run
    asked, left = asked_input(interrupted), Snapshot.of(interrupted)
    dialect = dialects.get(interrupted.dialect)
    spoken = jsontext.items(text_of(resume.messages)) if resume.messages else []
    messages = tuple(dialect.arrange([*left.messages, *spoken]))
    entries = text_of(resume.entries)
    body = protocol.run_input(
        thread_id=resume.thread.thread_id,
        run_id=run_id,
        messages=messages,
        state=left.state,
        tools=asked.tools,
        context=asked.context,
        forwarded_props=text_of(resume.forwarded_props) or asked.forwarded_props,
        resume=None if entries in ("", "[]") else entries,
        protocol_version=None if resume.agent.pre_1_0 else protocol.PROTOCOL_VERSION,
    )
    return Outgoing(body=body, messages=messages, asked=asked)
