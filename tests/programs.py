"""A program that talks to the API with the token of a person."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from django.test import Client
from django.utils import timezone

from approvals import tokens
from approvals.models import Task, User


@dataclass
class Program:
    """Sends what it is told, byte for byte where it is told a text."""

    person: User
    token: str = ""
    http: Client = field(default_factory=Client)

    def __post_init__(self) -> None:
        self.token = self.token or tokens.issue(self.person, now=timezone.now())

    def get(self, path: str, **query: Any) -> Any:
        return self.http.get(f"/api/v1/{path}", query, headers={"Authorization": f"Bearer {self.token}"})

    def post(self, path: str, body: Any = None, key: str = "") -> Any:
        text = body if isinstance(body, str | bytes) else json.dumps(body or {})
        headers = {"Authorization": f"Bearer {self.token}", **({"Idempotency-Key": key} if key else {})}
        return self.http.post(f"/api/v1/{path}", text, content_type="application/json", headers=headers)

    def decides(self, task: Task, verdict: str = "approved", key: str = "", **more: Any) -> Any:
        task.refresh_from_db()
        body = {"verdict": verdict, "shownDigest": task.shown_digest, **more}
        return self.post(f"tasks/{task.code}/decision", body, key)


def codes(answer: Any, name: str = "tasks") -> list[str]:
    return [row["code"] for row in answer.json()[name]]
