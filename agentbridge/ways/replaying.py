"""The recorded run that carried a case's answers, for the caller who gave them: byte for byte, as it comes.

The bridge makes the run and records it; here it is read from the record, so the same request again gets the same bytes.
It keeps the ids and the version of the run that was recorded (X-10, X-13), and ends where the recording ends (X-6).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from time import monotonic

from django.conf import settings
from django.utils.translation import gettext as _

from agentbridge.models import Resume, Run
from agentbridge.models.delivery import FINAL, WAITING
from agentbridge.work.delivering import Database
from approvals.models import Case

POLL_SECONDS = 0.1
LATE_LOOKS = 3  # after the run's end, for what the agent said behind it
CHUNKS = 20  # read at once


class Undelivered(Exception):
    """There is no run to show: the sentence says why. `late`: there may still be one."""

    def __init__(self, sentence: str, *, late: bool = False) -> None:
        super().__init__(sentence)
        self.late = late


class Replay:
    """Reads on in one recorded run. Not shared between threads at the same time."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.run: Run | None = None
        self._next, self._late = 0, 0

    def look(self) -> bytes | None:
        """What has come since the last look, None at its end. Raises Undelivered where none began and none will."""
        run = self.run = self.run or self._found()
        if run is None:
            return b""
        data = list(run.chunks.filter(n__gte=self._next).order_by("n").values_list("data", flat=True)[:CHUNKS])
        self._next += len(data)
        if not data:
            run.refresh_from_db(fields=["status", "ended_at"])
            over = run.status not in (Run.Status.QUEUED, Run.Status.RUNNING)
            self._late += over
            if self._late >= LATE_LOOKS:
                return None
        return b"".join(bytes(each) for each in data)

    def _found(self) -> Run | None:
        """The newest attempt that the agent answers with a stream."""
        resume = Resume.objects.filter(case=self.case, replaced_at=None).first()
        if resume is None:
            self.case.refresh_from_db()
            if self.case.state not in ("open", "settled"):
                raise Undelivered(_("Nobody asks this any more."))
            return None
        run = resume.attempts.filter(http_status=200, chunks__isnull=False).order_by("-attempt").first()
        if run is None and resume.state in (*FINAL, *WAITING):
            raise Undelivered(resume.note)
        return run


async def begun(replay: Replay, db: Database) -> bytes:
    """The first bytes. Raises Undelivered when there are none, or none in time."""
    end = monotonic() + settings.CONNECT_SECONDS + settings.FIRST_EVENT_SECONDS
    while not (first := await db(replay.look)):
        if first is None or monotonic() >= end:
            raise Undelivered(_("The answers are on record and will be delivered; the run has not begun."), late=True)
        await asyncio.sleep(POLL_SECONDS)
    return bytes(first)


async def following(first: bytes, replay: Replay, db: Database) -> AsyncIterator[bytes]:
    told: bytes | None = first
    while told is not None:
        if told:
            yield told
        else:
            await asyncio.sleep(POLL_SECONDS)
        told = await db(replay.look)
