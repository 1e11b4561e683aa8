"""Agents without an address: their hosts hand whole runs in, so that a story has its tasks at once, the real way."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.desk import Desk
from tests.scripted_agent import call, finished, interrupt, started

Json = dict[str, Any]


@dataclass
class Host:
    """Asks in the name of one agent."""

    desk: Desk
    slug: str
    token: str

    def asks(
        self, tool: str, args: Json | None = None, *, minutes: float | None = None, thread: str = "",
        person: str = "alice",
    ) -> Json:  # fmt: skip
        """One proposed call; gives back its open task, as `person` sees it. `minutes`: to its deadline."""
        thread = thread or f"thread-{secrets.token_hex(6)}"
        limit = {} if minutes is None else {"expiresAt": (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat()}
        question = interrupt(message="May I?", **limit)
        self.push(thread, call(tool, json.dumps(args or {})), question)
        task: Json = self.desk.open_tasks(thread, person)[0]
        return task

    def question(self, message: str, *, person: str = "alice") -> Json:
        thread = f"thread-{secrets.token_hex(6)}"
        told = {"reason": "input_required", "responseSchema": {"type": "string"}, "message": message}
        self.push(thread, b"", interrupt(call_id=None, **told))
        task: Json = self.desk.open_tasks(thread, person)[0]
        return task

    def push(self, thread: str, calls: bytes, *questions: Json) -> None:
        run = f"run-{secrets.token_hex(6)}"
        given = {
            "threadId": thread, "runId": run, "state": {}, "tools": [], "context": [], "forwardedProps": {},
            "messages": [{"id": "u-1", "role": "user", "content": "please"}],
        }  # fmt: skip
        stream = (started() + calls + finished(*questions)).replace(b"__THREAD__", thread.encode())
        frames = stream.replace(b"__RUN__", run.encode()).splitlines()
        events = [json.loads(line[6:]) for line in frames if line.startswith(b"data: ")]
        headers = {"authorization": f"Bearer {self.token}"}
        body = {"input": given, "events": events}
        answer = self.desk.http.post(f"{self.desk.url}/agui/{self.slug}/push", json=body, headers=headers)
        assert answer.status_code == 200, answer.text


def host(desk: Desk, slug: str, name: str, queue: str = "payments") -> Host:
    words = ("add_agent", slug, "https://agent.invalid/", "--name", name, "--queue", queue)
    return Host(desk, slug, json.loads(desk.manage(*words, "--new-token"))["hostToken"])
