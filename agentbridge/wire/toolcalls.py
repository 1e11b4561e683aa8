"""Tool calls as a history of messages carries them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agentbridge.wire.patching import equal
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


def same_arguments(a: str, b: str) -> bool:
    """Equal bytes, or equal as JSON with numbers by value: servers write their snapshots with their own spacing."""
    if a == b:
        return True
    try:
        return equal(jsontext.loads(a), jsontext.loads(b))
    except jsontext.JSONTextError:
        return False
