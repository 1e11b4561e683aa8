"""The relay's own lane: shorter than the way of pages, and nothing that protects them is missing from it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from django.core.handlers.asgi import ASGIHandler

from config import lane
from config.lane import Lane
from tests.served import served
from tests.waiting import PATIENCE

PAGES_ONLY = {"content-type", "content-length", "content-language", "vary", "date", "server", "connection"}


@pytest.fixture
def web(transactional_db: None) -> Iterator[str]:
    with served() as url:
        yield url


def test_an_answer_of_the_lane_carries_the_headers_of_a_page(web: str) -> None:
    page, relayed = httpx.get(f"{web}/healthz").headers, httpx.post(f"{web}/agui/payer").headers
    assert set(page) - PAGES_ONLY <= set(relayed)
    for name in set(page) - PAGES_ONLY - {"content-security-policy"}:
        assert relayed[name] == page[name]
    policies = [set(each["content-security-policy"].split("; ")) for each in (page, relayed)]
    assert policies[0] == policies[1]


def test_another_host_finds_nobody_here(web: str) -> None:
    assert httpx.post(f"{web}/agui/payer", headers={"Host": "elsewhere.example"}).status_code == 400


def test_refusals_are_in_the_callers_language(web: str) -> None:
    told = [httpx.post(f"{web}/agui/payer", headers={"Accept-Language": language}).json() for language in ("en", "ko")]
    assert told[0]["code"] == told[1]["code"] == "unauthorized" and told[0]["detail"] != told[1]["detail"]


def test_other_methods_and_places_are_djangos(web: str) -> None:
    assert httpx.get(f"{web}/agui/payer").status_code == 405
    assert httpx.post(f"{web}/agui/payer/resumes").status_code == 405
    assert httpx.post(f"{web}/agui/").status_code == 404


def test_a_request_is_one_line_that_names_its_route(web: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "countersign.http"):
        httpx.post(f"{web}/agui/secret-name")
    lines = [record.getMessage() for record in caplog.records if record.name == "countersign.http"]
    assert len(lines) == 1 and "agui/<slug:slug>" in lines[0] and "secret-name" not in lines[0]


async def test_a_fault_is_a_500_and_no_broken_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(request: Any, slug: str) -> None:
        raise RuntimeError("what the agent said")

    monkeypatch.setattr(lane.ways, "relay", broken)
    sent = await asked([{"type": "http.request", "body": b"{}"}])
    assert sent[0]["status"] == 500 and b"what the agent said" not in sent[1]["body"]


async def test_a_caller_who_goes_away_ends_its_request(monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent(request: Any, slug: str) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(lane.ways, "relay", silent)
    assert await asked([{"type": "http.request", "body": b"{}"}, {"type": "http.disconnect"}]) == []
    assert await asked([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]) == []


async def asked(coming: list[dict[str, Any]]) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return coming.pop(0) if coming else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(dict(message))

    scope = {"type": "http", "method": "POST", "path": "/agui/payer", "headers": [(b"host", b"localhost")],
             "query_string": b"", "server": ("localhost", 80)}  # fmt: skip
    await asyncio.wait_for(Lane(ASGIHandler())(scope, receive, send), PATIENCE)
    return sent
