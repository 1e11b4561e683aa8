"""One desk for all documents, and the real frameworks where they are installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import desk
from tests.conftest import refuse_or_skip
from tests.real.conftest import ENVIRONMENTS
from tests.trails import desk_is_good


@pytest.fixture(scope="module")
def running_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[desk.Desk]:
    with desk.running(tmp_path_factory.mktemp("desk")) as running:
        yield running
        desk_is_good(running)


@pytest.fixture
def python_of() -> object:
    """`python_of("langgraph")`: the interpreter that has this framework."""

    def find(framework: str) -> Path:
        if not (ENVIRONMENTS / framework / ".pinned").exists():
            refuse_or_skip("agents")
        return ENVIRONMENTS / framework / "bin" / "python"

    return find
