"""R-29, the other half of its lives, for the other process."""

from __future__ import annotations

import pytest

from tests.bars import lives

ENOUGH = 240 + lives.LIVES * lives.STEPS // 10


@pytest.mark.timeout(ENOUGH)
@pytest.mark.django_db
def test_r29_no_order_of_events_breaks_an_invariant_in_other_lives() -> None:
    lives.live(examples=lives.share(), steps=lives.STEPS, start=2900)
