"""How a demo agent makes sure that an answer is the desk's: with the sample that is offered to every owner."""

from __future__ import annotations

import importlib.util
import json
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ag_ui.core import RunAgentInput

from demo.memory import Pause

SAMPLE = Path(__file__).parent.parent / "docs" / "owners" / "verify_decision.py"
Json = dict[str, Any]


def published(desk: str) -> Json:
    """The keys that a desk publishes."""
    with urllib.request.urlopen(f"{desk}/.well-known/jwks.json", timeout=5) as answer:  # noqa: S310 - a pinned address
        return json.load(answer)


class Desk:
    """The one desk that this agent believes: its address and the keys found there, read again for an unknown one."""

    def __init__(self, url: str, audience: str, *, keys: Callable[[str], Json] = published) -> None:
        self.url, self.audience, self.read_keys = url, audience, keys
        self.jwks: Json = {"keys": []}
        spec = importlib.util.spec_from_file_location("verify_decision", SAMPLE)
        self.sample: Any = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
        spec.loader.exec_module(self.sample)  # type: ignore[union-attr]
        self.seen: dict[str, str] = {}

    def check(self, given: RunAgentInput, pause: Pause) -> None:
        """Raises ValueError for anything that this desk did not decide about what is open now."""
        resume = [entry.model_dump(by_alias=True, exclude_unset=True) for entry in given.resume or []]
        asked = [asked_by(given, pause, ask) for ask in pause.asks]
        try:
            said = self._verified(resume, asked)
        except ValueError:
            self.jwks = self.read_keys(self.url)
            said = self._verified(resume, asked)
        for one in said:
            if self.seen.setdefault(one["jti"], json.dumps(one)) != json.dumps(one):
                raise ValueError("this decision was made otherwise before")

    def _verified(self, resume: list[Json], asked: list[Json]) -> list[Json]:
        return self.sample.verify(
            resume, asked=asked, jwks=self.jwks, issuer=self.url, audience=self.audience, now=time.time()
        )


def asked_by(given: RunAgentInput, pause: Pause, ask: Json) -> Json:
    """An open question as it was sent."""
    return {
        "threadId": given.thread_id,
        "runId": pause.run,
        "interruptId": ask["interruptId"],
        "interrupt": ask["sent"].encode(),
        "proposal": None if ask["args"] is None else json.dumps(ask["args"], ensure_ascii=False).encode(),
    }
