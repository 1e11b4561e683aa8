"""A request of a client, read as far as the guard needs it: which thread, which run, which answers. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from agentbridge.guard.entries import Entries, read_entries
from agentbridge.guard.refusals import BadInput
from agentbridge.wire.protocol import ProtocolError, camel, read_input
from approvals import jsontext

# Members that decide where a run goes. A second spelling, or a second value, would be read differently by others.
DECISIVE = {"threadId", "runId", "resume", "forwardedProps", "messages"}
INSIDE = re.compile(r"/resume/\d+/(interruptId|status|payload|metadata)|/forwardedProps/command(/resume)?")


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One RunAgentInput. `resume` is its text, None where it answers nothing (R-11)."""

    thread_id: str
    run_id: str
    resume: str | None
    rest: str  # digest of everything but the run id: what a retry of the same sender has in common
    hidden: bool = False  # an answer beside `resume[]`
    body: bytes = b""

    @property
    def key(self) -> str:
        return digest(self.thread_id)

    @property
    def entries(self) -> Entries:
        """Raises Refusal."""
        return read_entries(self.resume or "[]")


def read(body: bytes) -> Ask:
    """Raises BadInput for what two readers could understand in two ways, and for what is no input at all."""
    try:
        text = body.decode("utf-8")
        found = read_input(text)
        members = jsontext.members(text)
        _check_spelling(text, members, jsontext.items(found.resume or "[]"))
    except (UnicodeDecodeError, ProtocolError, jsontext.JSONTextError) as problem:
        raise BadInput(str(problem)) from problem
    resume = found.resume if found.resume and jsontext.items(found.resume) else None
    return Ask(
        thread_id=found.thread_id, run_id=found.run_id, resume=resume, rest=_rest(members),
        hidden=_hidden(found.forwarded_props), body=body,
    )  # fmt: skip


def _check_spelling(text: str, members: dict[str, str], entries: Sequence[str]) -> None:
    inside = {name for entry in entries if entry.startswith("{") for name in jsontext.members(entry)}
    for names, known in ((members, DECISIVE), (inside, {"interruptId"})):
        for name in names:
            if name not in known and camel(name) in known:
                raise BadInput(f"The input spells {camel(name)} as {name}.")
    twice = [place for place in jsontext.parse(text).duplicates if place[1:] in DECISIVE or INSIDE.fullmatch(place)]
    if twice:
        raise BadInput(f"The input has {min(twice)[1:]} twice.")


def _rest(members: dict[str, str]) -> str:
    return digest(jsontext.dumps([[name, members[name]] for name in sorted(members) if name != "runId"]))


def _hidden(props: str) -> bool:
    """LangGraph's older clients answer by `forwardedProps.command.resume` (L-1); its adapter lowers capitals."""
    return any("resume" in _members(text) for name, text in _members(props).items() if name.lower() == "command")


def _members(text: str) -> dict[str, str]:
    return jsontext.members(text) if text.startswith("{") else {}
