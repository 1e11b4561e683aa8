"""The connector's work: fetch, call, push. Every step is in the journal before its effect can be seen outside."""

from __future__ import annotations

import http.client
import json
import logging
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from io import BufferedWriter

from agentbridge.connector import exactly, wire
from agentbridge.connector.journal import Job, Journal
from agentbridge.wire.sse import Parser

log = logging.getLogger("connector")

SIDE_BY_SIDE = 32  # runs at once; nothing is fetched that would have to wait while its minute runs
HANDED_OUT = 8  # as many answers as the desk hands out at once
WAIT_SECONDS = 25  # for the next answer
SILENCE_SECONDS = 300.0  # of the agent
STREAM_LIMIT = 64 * 2**20  # bytes of one answer: a desk takes no longer one, and a disk has an end
DESK_SECONDS = 60.0
LONGEST_PAUSE = 30.0
LATE_SECONDS = 5.0  # an answer that lay here for longer than a desk's margin may be past its time


class Refused(Exception):
    """The desk will not take this, now or later; the sentence is the desk's."""


class NotLetIn(http.client.HTTPException):
    """The desk does not know the token. It is waited out: a desk that was put back may know it again."""


@dataclass
class Carrier:
    """Between one desk and one agent."""

    desk: str  # https://desk.example/agui/<slug>
    agent: str
    token: str
    journal: Journal
    agent_headers: dict[str, str] = field(default_factory=dict)
    clock: Callable[[], float] = time.time
    misses: int = 0
    unmade: list[str] = field(default_factory=list)  # runs asked for here of which the desk has nothing
    leaving: threading.Event = field(default_factory=threading.Event)

    def run(self, *, once: bool = False) -> None:
        """For ever; with `once` until the desk owes nothing at the moment and everything is handed in."""
        with ThreadPoolExecutor(SIDE_BY_SIDE) as threads:
            try:
                self._go_on(threads, once)
            except BaseException:
                self.leaving.set()  # what cannot be handed in now is handed in by the next start
                raise

    def _go_on(self, threads: ThreadPoolExecutor, once: bool) -> None:
        under_way = {threads.submit(self.finish, job) for job in self.journal.open() if self.in_time(job)}
        while True:
            while len(under_way) > SIDE_BY_SIDE - HANDED_OUT:
                _over, under_way = futures.wait(under_way, return_when=futures.FIRST_COMPLETED)
            try:
                self.journal.check()
            except OSError as trouble:  # handed out and lost here, an answer would wait for a person
                self.wait_out("Nothing is fetched that cannot be kept", trouble)
                continue
            try:
                found = self.fetch(0 if once else WAIT_SECONDS)
                self.misses = 0
            except NotLetIn as trouble:
                if once:
                    raise Refused(str(trouble)) from None
                self.wait_out("Nothing can be fetched", trouble)
                continue
            except wire.Errors as trouble:
                self.wait_out("The desk cannot be reached", trouble)
                continue
            under_way = {each for each in under_way if not each.done()}
            under_way |= {threads.submit(self.finish, job) for job in found}
            if once and not found:
                return

    def in_time(self, job: Job) -> bool:
        """May a job of the connector before this one go on? What it never gave to the agent is not given late."""
        if job.has("called") or job.has("ours") or 0 <= self.clock() - job.kept_at < LATE_SECONDS:
            return True
        log.error("The answer %s lay here too long: it is not given to the agent, the desk asks a person.", job.name)
        job.mark("pushed")
        return False

    def wait_out(self, what: str, trouble: Exception) -> None:
        self.misses += 1
        log.warning("%s: %s", what, trouble)
        self.leaving.wait(self.pause())

    def pause(self) -> float:
        """Longer with every miss, and never the same for two connectors."""
        return min(LONGEST_PAUSE, 0.25 * 2 ** min(self.misses, 10)) * random.uniform(0.5, 1.0)  # noqa: S311

    def finish(self, job: Job) -> None:
        """Take one job to its end, however long the desk is away; a slow run keeps nobody else waiting."""
        try:
            if not job.has("called"):
                if not self.call(job):
                    return
            elif not job.has("whole"):
                job.mark("whole")  # we were killed while the agent answered: what came is all there will be
            self.insist(job)
        except Exception:
            log.exception("The job %s is left for the next start.", job.name)

    def insist(self, job: Job) -> None:
        """Push until the desk has it."""
        while not job.has("pushed") and not self.leaving.is_set():
            try:
                self.push(job)
            except wire.Errors as trouble:
                self.wait_out(f"The run of {job.name} cannot be handed in", trouble)

    def fetch(self, wait: float) -> list[Job]:
        """Inputs that the desk owes, on the disk before anything else happens. Raises one of `wire.Errors`."""
        url = f"{self.desk}/resumes?wait={wait:g}"
        with wire.exchange("GET", url, headers=self._allowed(), seconds=wait + DESK_SECONDS) as answer:
            body, trouble = wire.read(answer)
            check(answer, body)
        try:
            found = exactly.objects(body, "resumes")
        except ValueError as reason:  # broken off, or something between us and the desk answered in its place
            found = reason.found if isinstance(reason, exactly.Cut) else []
            if not found:
                raise trouble or http.client.HTTPException(str(reason)) from None
            log.warning("The desk's answer broke off behind %s inputs: %s", len(found), trouble or reason)
        return list(self.kept(found))

    def kept(self, found: list[bytes]) -> Iterator[Job]:
        """What is here whole was handed out to us, and is to nobody else: one that cannot be kept costs no other."""
        for text in found:
            try:
                yield self.journal.add(text)
            except OSError as trouble:
                log.error("An answer cannot be kept and is not given to the agent; the desk asks a person: %s", trouble)

    def call(self, job: Job) -> bool:
        """One request to the agent, never repeated. How it ends is told by what came, not by us.

        False: a first run of ours that never left waits for the next start, for no desk asks for it again.
        """
        headers = {"Accept": "text/event-stream", "Content-Type": "application/json", **self.agent_headers}
        job.mark("called")
        try:
            with wire.exchange(
                "POST", self.agent, body=job.input, headers=headers, seconds=SILENCE_SECONDS
            ) as answer, job.answer() as stream:
                if answer.status == 200:
                    keep(answer, stream)
                else:
                    log.warning("The agent answered HTTP %s to %s.", answer.status, job.name)
        except wire.Unreached as trouble:
            if job.has("ours"):
                log.error("The agent cannot be reached: %s. The next start makes the run %s.", trouble, job.name)
                self.unmade.append(job.name)
                job.take_back("called")
                return False
            log.warning("The agent cannot be reached: %s", trouble)
        except wire.Errors as trouble:
            log.warning("The agent's answer broke off: %s", trouble)
        job.mark("whole")
        return True

    def push(self, job: Job) -> None:
        """Hand the run in. What the desk refuses for good is kept and said, and does not hold up the others."""
        if not job.stream and job.has("ours"):
            log.error("The agent said nothing to %s: there is no run to hand in.", job.name)
            self.unmade.append(job.name)
        elif not job.stream:
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
                    self.unmade += [job.name] if job.has("ours") else []
        job.mark("pushed")

    def _allowed(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


def keep(answer: http.client.HTTPResponse, stream: BufferedWriter) -> None:
    """Part by part, as far as a desk would take it. Raises one of `wire.Errors`."""
    try:
        for part in wire.parts(answer):
            stream.write(part[: STREAM_LIMIT - stream.tell()])
            stream.flush()
            if stream.tell() >= STREAM_LIMIT:
                log.warning("The agent's answer is longer than %s bytes; its rest is not read.", STREAM_LIMIT)
                break
    finally:
        os.fsync(stream.fileno())  # also what came before a break


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
    said = f"HTTP {answer.status}: {told(body)}"
    if answer.status == 401:
        raise NotLetIn(f"{said} Is the token the host token of this agent, and its name in --desk right?")
    if answer.status in (403, 429) or answer.status >= 500 or b'"thread_busy"' in body:
        raise http.client.HTTPException(said)
    raise Refused(said)


def told(body: bytes) -> str:
    """The sentence of a desk's refusal; of what is no desk's, its beginning in one line."""
    try:
        detail = json.loads(body)["detail"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return " ".join(body[:300].decode("utf-8", "replace").split())
    return str(detail)
