"""Two web processes and two workers on PostgreSQL and Redis are one desk."""

from __future__ import annotations

import os

import pytest

from approvals.models import Case
from tests.bars.conftest import MakeCrew
from tests.bars.listening import Page
from tests.bars.web import Site, session_of
from tests.people import decide, only_task


@pytest.mark.postgres
@pytest.mark.redis
@pytest.mark.timeout(900)
def test_every_open_page_hears_of_what_any_process_did(crew_of: MakeCrew, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", os.environ.get("REDIS_URL_TEST", ""))
    crew = crew_of()
    sites = [Site(crew), Site(crew)]
    try:
        for site in sites:
            site.wait()
        key = session_of(crew.alice)
        with Page(sites[0].port, key, topics=["queue"]) as here, Page(sites[1].port, key, topics=["queue"]) as there:
            cases = crew.cases(crew.agent("ok"), [f"thread-{n}" for n in range(6)])
            workers = [crew.spawn(), crew.spawn()]
            assert here.hear()["topic"] == there.hear()["topic"] == "queue"
            for page in (here, there):
                page.drain()
            crew.kill(workers[0])
            for case in cases:
                decide(only_task(case), crew.alice)
            assert here.hear()["topic"] == there.hear()["topic"] == "queue"
        crew.settled()
    finally:
        for site in sites:
            site.kill()
    assert Case.objects.filter(state="delivered").count() == 6
    assert len(crew.witness.resumes()) == 6
