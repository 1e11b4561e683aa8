"""What stands out among things that are alike, and what does not."""

from __future__ import annotations

import pytest

from approvals.desk import unusual


@pytest.mark.parametrize(
    ("values", "places"),
    [
        (["a", "a", "b"], {2}),
        (["a", "a", None], {2}),
        (["a", "b", "c"], set()),
        (["a", "a", "a"], set()),
        (["a", "b"], set()),
        (["a"], set()),
        ([], set()),
        (["18.90", "24.50", "249.00", "22"], {2}),
        (["18.90", "24.50", "0.01", "22"], {2}),
        (["18.90", "24.50", "30.00", "22"], set()),
        (["1", "2", "99"], set()),  # too few to know a size
        (["1", "2", "99", "x"], set()),
        (["1", "2", "NaN", "Infinity"], set()),
    ],
)
def test_the_odd_one_out(values, places):
    assert unusual.places(values) == places
