"""The bars of the record at the size of every push (`docs/bars.md`); tampering has a file of its own."""

from __future__ import annotations

import pytest

from tests.bars import records
from tests.bars.conftest import MakeCrew

pytestmark = pytest.mark.timeout(900)


def test_r35_of_what_was_erased_no_word_is_left_anywhere(crew_of: MakeCrew) -> None:
    records.erased(crew_of(), times=4)


def test_r41_every_attempt_carries_the_signature_of_the_seal(crew_of: MakeCrew) -> None:
    records.signed_alike(crew_of(), times=10)
