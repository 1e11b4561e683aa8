"""Tool calls and their results as a history of messages carries them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentbridge.wire.patching import equal
from agentbridge.wire.record import ResultView, RunView
from approvals import jsontext


def calls_in(messages: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """(id, name, argument text) of every tool call that assistant messages carry."""
    for text in messages:
        message = jsontext.loads(text)
        calls = message.get("toolCalls") if isinstance(message, dict) else None
        for call in calls if isinstance(calls, list) else []:
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict) and isinstance(function.get("arguments"), str):
                yield str(call.get("id")), str(function.get("name", "")), function["arguments"]


def answered_calls(messages: Sequence[str]) -> set[str]:
    """Ids of calls that a tool message already answers."""
    found = (jsontext.loads(text) for text in messages)
    return {str(m.get("toolCallId")) for m in found if isinstance(m, dict) and m.get("role") == "tool"}


def result_text(content: object, source: str) -> tuple[str, str | None]:
    """The text a person reads, and the exact list where the content came as parts."""
    if type(content) is str:
        return content, None
    if not isinstance(content, list):
        return source, None
    texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(text for text in texts if type(text) is str), source


def results_retold(view: RunView) -> list[ResultView]:
    """Results that only the run's own snapshot of the messages tells: of calls that its input had left open."""
    if not view.snapshot_seen or view.input is None:
        return []
    asked = {id_ for id_, _name, _args in calls_in(view.input.messages)}
    open_ = asked - answered_calls(view.input.messages) - {result.tool_call_id for result in view.results}
    found = []
    for source in view.messages if open_ else ():
        message = jsontext.loads(source)
        call = message.get("toolCallId") if isinstance(message, dict) and message.get("role") == "tool" else None
        if type(call) is str and call in open_:
            text, parts = result_text(message.get("content"), jsontext.member(source, "content") or '""')
            id_ = str(message.get("id", ""))
            found.append(ResultView(tool_call_id=call, message_id=id_, text=text, parts=parts, retold=True))
    return found


def same_arguments(a: str, b: str) -> bool:
    """Equal bytes, or equal as JSON with numbers by value: servers write their snapshots with their own spacing."""
    if a == b:
        return True
    try:
        return equal(jsontext.loads(a), jsontext.loads(b))
    except jsontext.JSONTextError:
        return False
