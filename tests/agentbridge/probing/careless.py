"""An agent like ag-ui-langgraph: whatever is answered, it takes it as the answer to the question that it asks now."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from tests.scripted_agent import Answer, Json, Post, ScriptedAgent, finished, interrupt, play, read_post, started

# What a message makes it ask: the ids of one pause after the other.
PLANS: dict[str, Sequence[Sequence[str]]] = {
    "one": [["only"]], "chain": [["first"], ["second"]], "several": [["left", "right"]], "soon": [["soon"]],
}  # fmt: skip


class Careless(ScriptedAgent):
    """`ran`: each execution of its tool, which `GET` hands out as the ledger."""

    def __init__(self) -> None:
        super().__init__([])
        self.ran: list[str] = []
        self.thinks = 0.1  # seconds before it acts
        self.threads: dict[str, list[Sequence[str]]] = {}

    def answer(self, post: Post) -> Answer:
        thread = post.json["threadId"]
        if post.resume is None:
            self.threads[thread] = list(PLANS[post.json["messages"][-1]["content"]])
            return Answer([started(), self.asks(thread)])
        waiting = self.threads[thread][:1]
        # It looks, works, and only then moves on: two at once see the same question.
        works = partial(self.works, thread, waiting, post.resume or [])
        return Answer([started(), self.thinks, works, self.asks(thread, 1)])

    def works(self, thread: str, waiting: list[Sequence[str]], resume: list[Json]) -> None:
        yes = [entry for entry in resume if entry.get("payload")]
        self.ran += [name for questions in waiting for name, _entry in zip(questions, yes, strict=False)]
        if self.threads[thread][:1] == waiting:
            self.threads[thread] = self.threads[thread][1:]

    def asks(self, thread: str, skip: int = 0) -> bytes:
        questions = [name for pause in self.threads[thread][skip : skip + 1] for name in pause]
        soon = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
        return finished(*(interrupt(id_, None, **({"expiresAt": soon} if id_ == "soon" else {})) for id_ in questions))

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            post = await read_post(reader)
            if post is not None:
                await play(self.answer(post) if post.body else self.ledger(), post, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the other side hung up: the test looks at what it counted
        finally:
            writer.close()

    def ledger(self) -> Answer:
        return Answer([json.dumps(self.ran).encode()], headers={"Content-Type": "application/json"})
