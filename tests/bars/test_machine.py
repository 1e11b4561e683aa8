"""R-29, one half of its lives; `BAR_LIVES` and `BAR_STEPS` make it longer, `make soak` plays it whole."""

from __future__ import annotations

import pytest

from tests.bars import lives

ENOUGH = 240 + lives.LIVES * lives.STEPS // 10


@pytest.mark.timeout(ENOUGH)
@pytest.mark.django_db
def test_r29_no_order_of_events_breaks_an_invariant() -> None:
    lives.live(examples=lives.share(), steps=lives.STEPS, start=29)
