"""What is unusual among things that are alike: the value that most agree in, and amounts of another size. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from statistics import median

AGREE = 0.6  # of them must have one value before another one stands out
TIMES = 3  # as much, or as little, as the middle one
FEWEST = 4  # amounts, before one of them can be of another size


def places(values: Sequence[str | None]) -> set[int]:
    """Which of these values stand out among the others; none when all are different things anyway."""
    if len(values) < 2:
        return set()
    usual, times = Counter(values).most_common(1)[0]
    if times >= max(2, AGREE * len(values)):
        return {place for place, value in enumerate(values) if value != usual}
    return _of_another_size(values)


def _of_another_size(values: Sequence[str | None]) -> set[int]:
    amounts = [_amount(value) for value in values]
    known = [amount for amount in amounts if amount is not None]
    if len(known) < max(FEWEST, len(values)):
        return set()
    middle = median(known)
    return {place for place, amount in enumerate(known) if amount > TIMES * middle or TIMES * amount < middle}


def _amount(value: str | None) -> Decimal | None:
    """A positive number as it is written, in quotes or not; of other numbers no size is told."""
    try:
        amount = Decimal((value or "").replace(" ", ""))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and amount > 0 else None
