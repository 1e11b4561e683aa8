"""The connector's work: fetch, call, push. Every step is in the journal before its effect can be seen outside."""

from __future__ import annotations

import http.client
import logging
import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from agentbridge.connector import exactly, wire
from agentbridge.connector.journal import Job, Journal
from agentbridge.wire.sse import Parser

log = logging.getLogger("connector")

SIDE_BY_SIDE = 8  # as many answers as the desk hands out at once
WAIT_SECONDS = 25  # for the next answer
SILENCE_SECONDS = 300.0  # of the agent
DESK_SECONDS = 60.0
LONGEST_PAUSE = 30.0


class Refused(Exception):
    """The desk will not take this, now or later; the sentence is the desk's."""


@dataclass
class Carrier:
    """Between one desk and one agent."""

    desk: str  # https://desk.example/agui/<slug>
    agent: str
    token: str
    journal: Journal
    agent_headers: dict[str, str] = field(default_factory=dict)
    misses: int = 0

    def run(self, *, once: bool = False) -> None:
        """For ever; with `once` until the desk owes nothing at the moment."""
        while True:
            try:
                self.finish()
                found = self.fetch(0 if once else WAIT_SECONDS)
                self.misses = 0
            except wire.Errors as trouble:
                self.misses += 1
                log.warning("The desk cannot be reached: %s", trouble)
                time.sleep(self.pause())
                continue
            if once and not found:
                return

    def pause(self) -> float:
        """Longer with every miss, and never the same for two connectors."""
        return min(LONGEST_PAUSE, 0.25 * 2 ** min(self.misses, 10)) * random.uniform(0.5, 1.0)  # noqa: S311

    def finish(self) -> None:
        """Take every open job to its end, side by side: a slow run must not use up the minute of the others."""
        with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
            list(threads.map(self.finish_one, list(self.journal.open())))

    def finish_one(self, job: Job) -> None:
        """Call what was never called, push what the desk does not have. Raises one of `wire.Errors`."""
        if not job.has("called"):
            self.call(job)
        elif not job.has("whole"):
            job.mark("whole")  # we were killed while the agent answered: what came is all there will be
        self.push(job)

    def fetch(self, wait: float) -> list[Job]:
        """Inputs that the desk owes, on the disk before anything else happens. Raises one of `wire.Errors`."""
        url = f"{self.desk}/resumes?wait={wait:g}"
        with wire.exchange("GET", url, headers=self._allowed(), seconds=wait + DESK_SECONDS) as answer:
            body = answer.read()
            check(answer, body)
        return [self.journal.add(text) for text in exactly.objects(body, "resumes")]

    def call(self, job: Job) -> None:
        """One request to the agent, never repeated. How it ends is told by what came, not by us."""
        headers = {"Accept": "text/event-stream", "Content-Type": "application/json", **self.agent_headers}
        job.mark("called")
        try:
            with wire.exchange(
                "POST", self.agent, body=job.input, headers=headers, seconds=SILENCE_SECONDS
            ) as answer, job.answer() as stream:
                for part in wire.parts(answer) if answer.status == 200 else ():
                    stream.write(part)
                    stream.flush()
                os.fsync(stream.fileno())
        except wire.Errors as trouble:
            log.warning("The agent's answer broke off: %s", trouble)
        job.mark("whole")

    def push(self, job: Job) -> None:
        """Hand the run in. What the desk refuses for good is kept and said, and does not hold up the others."""
        if not job.stream:
            log.warning("The agent said nothing to %s; the desk will ask a person.", job.name)
        else:
            kind, body = packed(job)
            headers = {**self._allowed(), "Content-Type": kind}
            with wire.exchange(
                "POST", f"{self.desk}/push", body=body, headers=headers, seconds=DESK_SECONDS
            ) as answer:
                said = answer.read()
                try:
                    check(answer, said)
                except Refused as reason:
                    log.error("The desk refuses the run of %s: %s", job.name, reason)
        job.mark("pushed")

    def _allowed(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


def packed(job: Job) -> tuple[str, bytes]:
    """The desk knows the inputs that it handed out; a first run brings its own."""
    if not job.has("ours"):
        return "text/event-stream", job.stream
    parser = Parser()
    frames = [*parser.feed(job.stream), *parser.close()]
    return "application/json", exactly.document(job.input, [frame.data for frame in frames])


def check(answer: http.client.HTTPResponse, body: bytes) -> None:
    """Raises Refused for what will stay so, and an error to be waited out for the rest."""
    if answer.status == 200:
        return
    said = f"HTTP {answer.status}: {body[:300].decode('utf-8', 'replace')}"
    if answer.status in (401, 403, 429) or answer.status >= 500 or b'"thread_busy"' in body:
        raise http.client.HTTPException(said)
    raise Refused(said)
