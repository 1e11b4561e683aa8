"""Whole runs pushed to a desk by an agent's host: any call, any question, any hostile text, without an agent."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.desk import Desk

Json = dict[str, Any]


@dataclass
class Host:
    """The host of the agent `probe`, registered with its first push."""

    desk: Desk
    numbers: count[int] = field(default_factory=lambda: count(1))
    mark: str = field(default_factory=lambda: secrets.token_hex(6))  # two hosts of one desk never name the same run
    token: str = ""

    def pauses(self, interrupt: Json, *, args: str | None = None, **more: Any) -> Json:
        """The open task of a run that pauses so. `tool`, `tools`, `state`, `messages`: what else the run holds."""
        number = f"{self.mark}-{next(self.numbers)}"
        thread, run = f"pushed-{number}", f"run-{number}"
        ids = {"threadId": thread, "runId": run}
        asked = {"id": f"int-{number}", **interrupt}
        events: list[Json] = [{"type": "RUN_STARTED", **ids}]
        if args is not None:
            call = {"toolCallId": f"call-{number}"}
            asked |= call
            events += [
                {"type": "TOOL_CALL_START", **call, "toolCallName": more.get("tool", "place_order")},
                {"type": "TOOL_CALL_ARGS", **call, "delta": args},
                {"type": "TOOL_CALL_END", **call},
            ]
        events.append({"type": "RUN_FINISHED", **ids, "outcome": {"type": "interrupt", "interrupts": [asked]}})
        given = {"messages": more.get("messages", []), "tools": more.get("tools", []), "state": more.get("state", {})}
        self.push({**ids, **given, "context": [], "forwardedProps": {}}, events)
        return self.desk.open_tasks(thread)[0]

    def push(self, given: Json, events: list[Json]) -> None:
        if not self.token:
            words = ("probe", "http://127.0.0.1:9/", "--name", "Probe", "--queue", "payments", "--new-token")
            self.token = json.loads(self.desk.manage("add_agent", *words))["hostToken"]
        headers = {"authorization": f"Bearer {self.token}"}
        body = {"input": given, "events": events}
        answer = self.desk.http.post(f"{self.desk.url}/agui/probe/push", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
