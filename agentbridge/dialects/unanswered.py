"""Calls that nothing answered: a finished run is not proof that all of it is done (L-3a, L-6, C-30, C-31)."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from agentbridge.dialects.evidence import string_at
from agentbridge.wire.record import CallView, RunView
from agentbridge.wire.toolcalls import answered_calls
from approvals import jsontext


def unanswered(run: RunView, input_tools: AbstractSet[str]) -> list[CallView]:
    """The calls of a finished run without a result, but for those that the caller's own tools answer."""
    if run.status != "succeeded":
        return []
    # A refusal of LangChain's middleware is a tool message and no event.
    done = {result.tool_call_id for result in run.results} | answered_calls(run.messages)
    return [call for call in run.calls.values() if call.id not in done and call.name not in input_tools]


def offered_tools(run: RunView) -> set[str]:
    """Names of the tools that the run's own input brought along: frontend tools (C-30)."""
    tools = run.input.tools if run.input is not None else "[]"
    names = (string_at(tool, "name") for tool in (jsontext.items(tools) if tools.lstrip().startswith("[") else []))
    return {name for name in names if name is not None}
