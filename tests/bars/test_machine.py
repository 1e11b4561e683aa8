"""R-29 at the size of every push; `make soak` runs two thousand lives of sixty steps."""

from __future__ import annotations

import pytest

from tests.bars import lives


@pytest.mark.timeout(240)
@pytest.mark.django_db
def test_r29_no_order_of_events_breaks_an_invariant() -> None:
    lives.live(examples=30, steps=30)
