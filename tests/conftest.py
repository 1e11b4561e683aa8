"""What every test stands on: sockets to this machine only, and the services that a test may ask for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from django.core.cache import cache
from django.db import connection
from django.utils import translation
from hypothesis import HealthCheck, settings
from pytest_socket import socket_allow_hosts

from approvals.validation import worker
from tests import emptying, trails
from tests.waiting import PATIENCE

CHROMIUM = "/usr/bin/chromium"
NODE_CLIENT = Path(__file__).parent / "node"

pytest_plugins = ["tests.people"]

emptying.use_for_transaction_tests()

# Clients in tests are as patient as everything else here; the five seconds of httpx fail by chance on a busy machine.
for step in ("connect", "read", "write", "pool"):
    setattr(httpx._config.DEFAULT_TIMEOUT_CONFIG, step, PATIENCE)

# An example that takes long to make on a busy machine is no fault of the property.
settings.register_profile("desk", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("desk")

# The processor time of a check stays what it is; by the clock, its process may be kept waiting.
worker.START_SECONDS = worker.WAIT_SECONDS = PATIENCE


@pytest.fixture(autouse=True)
def nobody_asked_before() -> None:
    """Who has used up their requests in one story has not in the next."""
    cache.clear()


def pytest_runtest_setup(item: pytest.Item) -> None:
    translation.deactivate()  # a page asked for in Korean leaves its thread speaking Korean
    # A test that reaches the internet fails instead of being slow or lucky.
    socket_allow_hosts(["127.0.0.1", "::1", "localhost"], allow_unix_socket=True)
    for marker, is_there in SERVICES.items():
        if item.get_closest_marker(marker) and not is_there():
            refuse_or_skip(marker)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tell", action="store_true", help="write anew what the stories tell, instead of comparing it")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """A story ends with a good trail and exactly the entries it must have; its database is still there."""
    story = trails.Story(item) if trails.is_story(item) else None
    yield
    if story is not None:
        story.is_written() if item.config.getoption("tell") else story.ends()


def refuse_or_skip(service: str) -> None:
    """Where CI says a service must be there, its absence is a failure; elsewhere it is a skip."""
    if os.environ.get(f"REQUIRE_{service.upper()}") == "1" and is_asked_of_this_run(service):
        pytest.fail(f"{service} is required here, and missing", pytrace=False)
    pytest.skip(f"{service} is not available")


def is_asked_of_this_run(service: str) -> bool:
    """`make test` runs the suite twice; what needs PostgreSQL belongs to the second run, and is no gap in the first."""
    return service != "postgres" or "DATABASE_URL" in os.environ


SERVICES = {
    "browser": lambda: bool(shutil.which(CHROMIUM) or shutil.which("chromium")),
    "postgres": lambda: connection.vendor == "postgresql",
    "node": lambda: bool(shutil.which("node")),
    "node_client": lambda: (NODE_CLIENT / "node_modules" / "@ag-ui" / "client").is_dir(),
    "redis": lambda: bool(os.environ.get("REDIS_URL_TEST")),
}
