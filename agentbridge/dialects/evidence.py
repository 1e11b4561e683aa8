"""What an interrupt's metadata says about the call behind it, beside what the stream says (C-37, C-38, T-65)."""

from __future__ import annotations

from dataclasses import dataclass

from agentbridge.dialects.contract import Flag, flag
from agentbridge.wire.calls import argument_state
from agentbridge.wire.record import CallView, InterruptView, RunView
from agentbridge.wire.toolcalls import answered_calls, calls_in, same_arguments
from approvals import jsontext

# (path to an object in the metadata, member with the name, with the arguments, with the call's id)
CLAIMS = [
    (("adk", "originalFunctionCall"), "name", "args", "id"),
    (("agent_framework", "function_call"), "name", "arguments", "call_id"),
    (("mastra",), "toolName", "args", "toolCallId"),
    (("langgraph", "raw"), "name", "args", "tool_call_id"),
    ((), "tool_name", "tool_input", "toolCallId"),
    ((), "name", "args", "toolCallId"),
    ((), "toolName", "arguments", "toolCallId"),
]
NO_ARGUMENTS = frozenset({"id", "name", "type", "reason", "source", "version", "message", "title"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The call that the metadata names: what the agent may really run."""

    name: str
    args: str  # text of JSON
    call_id: str | None


def text_at(text: str | None, *path: str) -> str | None:
    """The exact text of the value along member names; None where there is none."""
    for name in path:
        if text is None or not text.startswith("{"):
            return None
        text = jsontext.member(text, name)
    return text


def string_at(text: str | None, *path: str) -> str | None:
    """The decoded string along member names; None where there is no string."""
    found = text_at(text, *path)
    return jsontext.loads(found) if found is not None and found.startswith('"') else None


def object_at(text: str | None, *path: str) -> str | None:
    """The exact text of the object along member names; None where there is none."""
    found = text_at(text, *path)
    return found if found is not None and found.startswith("{") else None


def has(interrupt: InterruptView, mark: str) -> bool:
    """Does the metadata carry this member? Frameworks sign theirs (ids are never parsed: C-16)."""
    return text_at(interrupt.metadata, mark) is not None


def claim(interrupt: InterruptView) -> Claim | None:
    """The call named in the metadata, if any does."""
    for path, name, args, call_id in CLAIMS:
        holder = text_at(interrupt.metadata, *path)
        found, called = text_at(holder, args), string_at(holder, name)
        if called is not None and found is not None and found.startswith("{"):
            return Claim(name=called, args=found, call_id=string_at(holder, call_id))
    return None


def known_call(run: RunView, id_: str) -> CallView | None:
    """The call as streamed in this run, else as an earlier run or the history has it (G-6)."""
    if id_ in run.calls or id_ in run.remembered:
        return run.calls.get(id_) or run.remembered[id_]
    told = ((name, args) for call_id, name, args in calls_in(run.messages) if call_id == id_)
    found = next(told, None)
    return CallView(id=id_, name=found[0], args=found[1], state=argument_state(found[1], told=True)) if found else None


def siblings(run: RunView, call: CallView) -> set[str]:
    """Ids of the calls without a result that the same message asked for."""
    done = {result.tool_call_id for result in run.results} | answered_calls(run.messages)
    for message in reversed(run.messages):
        ids = {id_ for id_, _name, _args in calls_in([message])}
        if call.id in ids:
            return ids - done - {call.id}
    return set()


def subject(interrupt: InterruptView, run: RunView, claimed: Claim | None) -> CallView | None:
    """What would run: the call the interrupt names; where only the metadata knows it, as the metadata has it.

    A question without a toolCallId stays unbound: the calls around it are listed, none is claimed as its subject.
    """
    id_ = interrupt.tool_call_id
    if id_ is None:
        return None
    if (known := known_call(run, id_)) is not None:
        return known
    if claimed is None or claimed.call_id not in (None, id_):
        return None
    return CallView(id=id_, name=claimed.name, args=claimed.args, state="missing")


def flags(interrupt: InterruptView, call: CallView | None, claimed: Claim | None) -> list[Flag]:
    """Where stream and metadata speak of two calls, or where only the metadata speaks."""
    if call is None:
        return []
    if call.state == "missing":
        sentence = "The arguments are not in the stream: what is shown is from the metadata of the question."
        return [flag("arguments-missing", sentence)]
    if claimed is None:
        return _loose_values(interrupt, call)
    if claimed.name == call.name:
        return []
    sentence = f"The metadata of the question names another tool ({claimed.name}) than the call ({call.name})."
    return [flag("conflicting-tool", sentence)]


def _loose_values(interrupt: InterruptView, call: CallView) -> list[Flag]:
    """T-65: `"amount": 12` beside a call of `"amount": 1200`, a scalar of the metadata under an argument's name."""
    args = _scalars(call.args)
    for name, text in _scalars(interrupt.metadata or "").items():
        if name in args and name not in NO_ARGUMENTS and not same_arguments(text, args[name]):
            sentence = f"Conflicting arguments: the metadata of the question has {text} here."
            return [flag("conflicting-arguments", sentence, jsontext.pointer(name))]
    return []


def _scalars(text: str) -> dict[str, str]:
    try:
        return {name: value for name, value in jsontext.members(text).items() if value[0] not in "[{"}
    except jsontext.JSONTextError:
        return {}


def matching(run: RunView, name: str, args: str) -> CallView | None:
    """The one call of the run with this name and these arguments; None when none or several are."""
    found = [call for call in run.calls.values() if call.name == name and same_arguments(call.args, args)]
    return found[0] if len(found) == 1 else None


def fingerprint(interrupt: InterruptView) -> str | None:
    """`metadata.governance.actionFingerprint`, as its exact text (R-25)."""
    return text_at(interrupt.metadata, "governance", "actionFingerprint")
