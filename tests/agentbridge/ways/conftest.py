"""The desk on a socket, once per story."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.bridge_work import quick, script
from tests.served import served

__all__ = ["quick", "script", "web"]


@pytest.fixture
def web(quick: None, transactional_db: None) -> Iterator[str]:
    with served() as url:
        yield url
