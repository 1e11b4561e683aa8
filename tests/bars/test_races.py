"""R-21 to R-25 at the sizes of every push."""

from __future__ import annotations

from typing import Any

import pytest

from approvals.models import Queue, User
from tests.bars import races

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(900)]


@pytest.fixture(autouse=True)
def no_undo(settings: Any) -> None:
    settings.UNDO_SECONDS = 0


def test_r21_of_two_reviewers_one_wins(payments: Queue, alice: User, bob: User) -> None:
    races.two_reviewers(payments, alice, bob, times=200)


def test_r22_one_token_is_one_decision(payments: Queue, alice: User) -> None:
    races.one_token(payments, alice, times=20)


def test_r23_in_time_or_expired_and_never_both(payments: Queue, alice: User, settings: Any) -> None:
    settings.EXPIRY_MARGIN_SECONDS = 0.05
    races.at_the_deadline(payments, alice, times=50, margin=0.05)


def test_r24_decided_or_withdrawn(payments: Queue, alice: User) -> None:
    races.decided_or_withdrawn(payments, alice, times=30)


def test_r24_recalled_or_taken(payments: Queue, alice: User) -> None:
    races.recalled_or_taken(payments, alice, times=30)


def test_r25_no_decision_after_the_right_is_gone(payments: Queue) -> None:
    races.right_removed(payments, times=30)
