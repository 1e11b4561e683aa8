"""R-28: what many processes make of the same stored stream."""

from __future__ import annotations

from agentbridge.models import Run
from agentbridge.runs import recorder
from approvals import jsontext
from approvals.models import AuditEntry, Case, Queue
from tests import bridge_rows
from tests.bars import races
from tests.bars.crew import Crew
from tests.scripted_agent import call, finished, interrupt, started


def read_at_once(crew: Crew, *, times: int) -> None:
    """R-28: the same pause read ten times at once, as by workers after a crash, is one case; other bytes are told."""
    agent = bridge_rows.add_agent(Queue.objects.get(name="payments"), "many")
    for n in range(times):
        said = started() + call() + finished(interrupt())
        body = said.replace(b"__THREAD__", b"t%d" % n).replace(b"__RUN__", b"r%d" % n)
        asked = jsontext.dumps({"threadId": f"t{n}", "runId": f"r{n}", "messages": []}).encode()
        run = bridge_rows.add_run(
            agent, f"r{n}", f"t{n}", stream=body, status="running", ended_at=None, input=asked, accepted_at=None
        )
        races.at_once(*[lambda run=run: recorder.replay(Run.objects.get(pk=run.pk))] * 10)
        assert Case.objects.filter(thread_key=run.thread.key).count() == 1
        assert AuditEntry.objects.filter(verb="run.interrupted", thread_key=run.thread.key).count() == 1
