"""What stands before every view: body limits, headers, other sites, logs without content."""

from __future__ import annotations

import json
import logging

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory

from config import middleware
from config.limits import BodyLimit
from config.logging import logging_config


async def ask(path: str, *parts: bytes, declared: int | None = None) -> tuple[list[dict], int]:
    """Send a body in parts through BodyLimit; what was answered, and how many bytes the application read."""
    waiting = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    waiting.append({"type": "http.request", "body": b"", "more_body": False})
    sent, read = [], 0

    async def receive() -> dict:
        return waiting.pop(0)

    async def send(message: dict) -> None:
        sent.append(message)

    async def application(scope: dict, receive, send) -> None:
        nonlocal read
        while (message := await receive())["type"] == "http.request":
            read += len(message["body"])
            if not message["more_body"]:
                await send({"type": "http.response.start", "status": 200, "headers": []})
                return

    headers = [] if declared is None else [(b"content-length", str(declared).encode())]
    await BodyLimit(application)({"type": "http", "path": path, "headers": headers}, receive, send)
    return sent, read


async def test_a_body_within_the_limit_passes(settings):
    settings.BODY_LIMIT = 10
    sent, read = await ask("/queue/", b"12345", b"67890")
    assert (sent[0]["status"], read) == (200, 10)


async def test_one_byte_more_is_413_and_the_application_stops(settings):
    settings.BODY_LIMIT = 10
    sent, read = await ask("/api/v1/tasks", b"12345", b"678901", b"x" * 100)
    assert (sent[0]["status"], read) == (413, 5)
    assert json.loads(sent[1]["body"])["code"] == "too_large"


async def test_a_declared_length_is_refused_unread(settings):
    settings.BODY_LIMIT = 10
    sent, read = await ask("/queue/", b"x", declared=11)
    assert (sent[0]["status"], read) == (413, 0)


async def test_whole_runs_may_be_as_long_as_a_stream(settings):
    settings.BODY_LIMIT, settings.STREAM_LIMIT = 10, 20
    assert (await ask("/agui/a/push", b"x" * 20))[0][0]["status"] == 200
    assert (await ask("/agui/a/push", b"x" * 21))[0][0]["status"] == 413


@pytest.mark.parametrize(
    ("site", "status"), [("same-origin", 200), ("none", 200), ("same-site", 403), ("cross-site", 403)]
)
def test_an_unsafe_request_from_another_site_is_refused(site, status):
    guard = middleware.refuse_other_sites(lambda request: HttpResponse())
    assert guard(RequestFactory().post("/", headers={"sec-fetch-site": site})).status_code == status


def test_reading_and_tokens_are_not_about_sites():
    guard = middleware.refuse_other_sites(lambda request: HttpResponse())
    assert guard(RequestFactory().get("/", headers={"sec-fetch-site": "cross-site"})).status_code == 200
    own = {"sec-fetch-site": "cross-site", "authorization": "Bearer x"}
    assert guard(RequestFactory().post("/", headers=own)).status_code == 200


@pytest.mark.django_db
def test_every_answer_carries_the_headers():
    headers = Client().get("/healthz").headers
    policy = set(headers["Content-Security-Policy"].split("; "))
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"} <= policy
    assert "unsafe" not in headers["Content-Security-Policy"]
    expected = {
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "X-Frame-Options": "DENY",
        "Cache-Control": "no-store",
    }
    assert {name: headers[name] for name in expected} == expected
    assert "Strict-Transport-Security" not in headers


@pytest.mark.django_db
def test_https_is_promised_where_people_use_it(settings):
    settings.HTTPS = True
    assert "max-age=31536000" in Client().get("/healthz").headers["Strict-Transport-Security"]


def logged(record: logging.LogRecord) -> str:
    config = logging_config(debug=False)["formatters"]["lines"]
    return config.pop("()")(**config).format(record)


def test_an_exception_is_named_but_not_quoted():
    try:
        raise ValueError("what the agent said")
    except ValueError as error:
        info = (type(error), error, error.__traceback__)
    line = logged(logging.LogRecord("agentbridge", logging.ERROR, __file__, 1, "failed", (), info))
    assert json.loads(line)["error"] == "ValueError" and "what the agent said" not in line


def test_a_path_is_not_logged():
    words = ("Not Found", "/secret?q=1")
    record = logging.LogRecord("django.request", logging.WARNING, __file__, 1, "%s: %s", words, None)
    assert "secret" not in logged(record)
