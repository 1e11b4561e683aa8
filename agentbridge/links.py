"""Addresses of pages whose last part is an id that may hold anything: it goes into the query, percent-encoded once."""

from __future__ import annotations

from urllib.parse import urlencode

from django.conf import settings
from django.urls import reverse

from agentbridge.models import Run


def run_page(run: Run) -> str:
    return run_address("run-page", run.thread.agent.slug, run.run_id)


def run_stream(run: Run) -> str:
    return run_address("run-stream", run.thread.agent.slug, run.run_id)


def run_input(run: Run) -> str:
    return run_address("run-input", run.thread.agent.slug, run.run_id)


def case_page(code: str) -> str:
    return reverse("case", args=[code])


def run_address(name: str, slug: str, run_id: str) -> str:
    """Surrogates, which no URL can hold, are escaped as their three bytes; `run_of` reads them back."""
    return f"{reverse(name, args=[slug])}?{urlencode({'run': run_id}, errors='surrogatepass')}"


def absolute(path: str) -> str:
    """As programs and people outside a browser need it."""
    return settings.PUBLIC_URL.rstrip("/") + path
