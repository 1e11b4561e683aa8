"""The exhibit: everything a reviewer was shown, frozen at the pause, with the digest that a decision must name.

The body is JSON text, written once. Foreign JSON stands in it as text, so that not one byte of it is re-written.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from approvals import jsontext

VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Tool:
    """The call that would run. `state`: complete, missing, empty, invalid or incomplete arguments."""

    id: str | None
    name: str
    args_text: str
    state: str


@dataclass(frozen=True, kw_only=True)
class Content:
    """What is shown; texts named "JSON" are exact."""

    reason: str
    message: str | None = None
    tool: Tool | None = None
    tool_definition: str | None = None  # JSON
    response_schema: str | None = None  # JSON
    metadata: str | None = None  # JSON
    messages: Sequence[str] = ()  # JSON each
    state: str | None = None  # JSON
    deadline_text: str | None = None  # as received
    asker: str | None = None  # who inside the agent asks
    agent_name: str
    flags: Sequence[Mapping[str, Any]] = ()  # {"slug","sentence","pointer"}
    erased: bool = False  # there was something, and it was erased: the trail says why

    @property
    def proposal(self) -> str | None:
        """The arguments that an approval stands for; None when there are none that can be read."""
        if self.tool is None or self.tool.state not in ("complete", "empty"):
            return None
        return self.tool.args_text or "{}"

    @property
    def parameters(self) -> str | None:
        """The schema of the tool's arguments, if its definition has one."""
        if self.tool_definition is None:
            return None
        document = jsontext.parse(self.tool_definition)
        node = document.at("/parameters")
        return document.source(node) if node and node.kind == "object" else None


ExhibitView = Content


def freeze(content: Content) -> tuple[str, str]:
    """The body and its digest (SHA-256 hex of the body's UTF-8 bytes)."""
    tool = content.tool and {
        "id": content.tool.id,
        "name": content.tool.name,
        "argsText": content.tool.args_text,
        "state": content.tool.state,
    }
    body = jsontext.dumps(
        {
            "v": VERSION,
            "reason": content.reason,
            "message": content.message,
            "tool": tool,
            "toolDefinition": content.tool_definition,
            "responseSchema": content.response_schema,
            "metadata": content.metadata,
            "messages": list(content.messages),
            "state": content.state,
            "deadlineText": content.deadline_text,
            "asker": content.asker,
            "agentName": content.agent_name,
            "flags": [dict(flag) for flag in content.flags],
        }
    )
    return body, digest(body)


def digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def load(body: str) -> Content:
    """What was shown, read back from a frozen body; an empty one was erased."""
    if not body:
        return Content(reason="", agent_name="", erased=True)
    told = jsontext.loads(body)
    tool = told["tool"] and Tool(
        id=told["tool"]["id"],
        name=told["tool"]["name"],
        args_text=told["tool"]["argsText"],
        state=told["tool"]["state"],
    )
    return Content(
        reason=told["reason"],
        message=told["message"],
        tool=tool,
        tool_definition=told["toolDefinition"],
        response_schema=told["responseSchema"],
        metadata=told["metadata"],
        messages=tuple(told["messages"]),
        state=told["state"],
        deadline_text=told["deadlineText"],
        asker=told["asker"],
        agent_name=told["agentName"],
        flags=tuple(told["flags"]),
    )
