"""What the fake agent wrote down: a line for every request whose body arrived whole, fsynced before it answered."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from approvals import jsontext


@dataclass(frozen=True)
class Receipt:
    """One request as it arrived."""

    path: str
    thread_id: str
    run_id: str
    body: str
    at: datetime

    @property
    def fault(self) -> str:
        return self.path.strip("/").split("/")[1]

    @property
    def resume(self) -> str | None:
        """The answers, byte for byte; None for a first run."""
        return jsontext.member(self.body, "resume")


@dataclass(frozen=True)
class Witness:
    file: Path

    def lines(self) -> list[dict[str, Any]]:
        text = self.file.read_text() if self.file.exists() else ""
        return [json.loads(line) for line in text.splitlines() if line.endswith("}")]

    def receipts(self) -> list[Receipt]:
        """All requests in the order of arrival."""
        return [
            Receipt(
                path=line["path"], thread_id=line["threadId"], run_id=line["runId"],
                body=base64.b64decode(line["body"]).decode(), at=datetime.fromisoformat(line["at"]),
            )
            for line in self.lines() if line["kind"] == "post"
        ]  # fmt: skip

    def resumes(self) -> list[Receipt]:
        return [receipt for receipt in self.receipts() if receipt.resume is not None]

    def effects(self) -> list[str]:
        """The thread of every execution."""
        return [line["threadId"] for line in self.lines() if line["kind"] == "effect"]
