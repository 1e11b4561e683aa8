"""Many answers on one record: stored together, understood apart, and nobody pays for another's trouble."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from agentbridge.delivery.tickets import Head
from agentbridge.models import Run, StreamChunk
from agentbridge.ways import admission, keeping
from agentbridge.ways.keeping import Keeper, Page
from agentbridge.ways.push import stored
from tests.agentbridge.ways.desk import Outside, asked, outside
from tests.scripted_agent import finished, started

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quick")]


@pytest.fixture
def desk(transactional_db: None) -> Outside:
    return outside("http://desk.invalid")


def admitted(desk: Outside, n: int) -> Run:
    body = json.dumps(asked(f"run-{n}", f"thread-{n}")).encode()
    return admission.admit(desk.agent, body, owner="relay-test", now=timezone.now())


def whole(n: int) -> bytes:
    return (started() + finished()).replace(b"__RUN__", b"run-%d" % n).replace(b"__THREAD__", b"thread-%d" % n)


def with_pages(runs: list[Run], deed: Callable[[Keeper, list[Page]], Awaitable[Any]]) -> None:
    async def go() -> None:
        keeper = Keeper()
        pages = [keeper.open(each, Head(status=200), on_record=lambda _bytes: None) for each in runs]
        try:
            await deed(keeper, pages)
        finally:
            await keeper.stop()

    asyncio.run(go())
    connections.close_all()


def test_what_comes_on_many_pages_is_one_commit(desk: Outside, monkeypatch: Any) -> None:
    commits: list[int] = []
    store = keeping.store
    monkeypatch.setattr(keeping, "store", lambda portions: (commits.append(len(portions)), store(portions)))

    async def talk(keeper: Keeper, pages: list[Page]) -> None:
        for n, page in enumerate(pages):
            keeper.add(page, whole(n))
        for page in pages:
            await keeper.close(page, cut=None, trouble="")

    with_pages([admitted(desk, n) for n in range(20)], talk)
    assert commits == [20] and set(Run.objects.values_list("status", flat=True)) == {"succeeded"}


def test_a_stream_in_many_pieces_is_on_record_as_it_came(desk: Outside) -> None:
    async def talk(keeper: Keeper, pages: list[Page]) -> None:
        for place in range(0, len(whole(0)), 7):
            keeper.add(pages[0], whole(0)[place : place + 7], urgent=True)
            await asyncio.sleep(0)
        await keeper.close(pages[0], cut=None, trouble="")

    with_pages([admitted(desk, 0)], talk)
    run = Run.objects.get()
    assert stored(run) == whole(0) and (run.status, run.bytes_received) == ("succeeded", len(whole(0)))


def test_a_page_that_cannot_be_stored_is_the_only_one_that_is_lost(desk: Outside, monkeypatch: Any) -> None:
    monkeypatch.setattr(keeping, "PAUSE_SECONDS", 0.0)
    runs = [admitted(desk, n) for n in range(3)]
    StreamChunk.objects.create(run_id=runs[1].pk, n=0, at=timezone.now(), data=b"in the way")
    lost: list[int] = []

    async def talk(keeper: Keeper, pages: list[Page]) -> None:
        for n, page in enumerate(pages):
            keeper.add(page, whole(n), urgent=True)
        for n, page in enumerate(pages):
            try:
                await keeper.close(page, cut=None, trouble="")
            except Exception:
                lost.append(n)

    with_pages(runs, talk)
    assert lost == [1]
    assert list(Run.objects.order_by("pk").values_list("status", flat=True)) == ["succeeded", "running", "succeeded"]
