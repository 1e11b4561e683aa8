"""R-29 at the size of every push; `BAR_LIVES` and `BAR_STEPS` make it longer, `make soak` plays it whole."""

from __future__ import annotations

import os

import pytest

from tests.bars import lives

LIVES, STEPS = (int(os.environ.get(name, "30")) for name in ("BAR_LIVES", "BAR_STEPS"))


@pytest.mark.timeout(240 + LIVES * STEPS // 10)
@pytest.mark.django_db
def test_r29_no_order_of_events_breaks_an_invariant() -> None:
    lives.live(examples=LIVES, steps=STEPS)
