"""Keys go on record at the first start, and two processes may start in the same moment."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction
from django.utils import timezone

from approvals import audit
from approvals.models import AuditEntry, PublicKey
from approvals.trail import signing
from tests.waiting import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


def test_whoever_holds_the_trail_and_whoever_publishes_do_not_wait_for_each_other() -> None:
    holds, publishes, published = threading.Event(), threading.Event(), threading.Event()

    def decide_and_sign() -> None:
        with transaction.atomic():
            audit.record("login.ok", "Somebody.", now=timezone.now())
            holds.set()
            assert publishes.wait(PATIENCE)
            published.wait(0.3)  # in vain: the other one comes as far as it can
            signing.publish(now=timezone.now())
        connection.close()

    def start() -> None:
        assert holds.wait(PATIENCE)
        publishes.set()
        signing.publish(now=timezone.now())
        published.set()
        connection.close()

    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(decide_and_sign), threads.submit(start)]:
            done.result()
    assert AuditEntry.objects.filter(verb="key.created").count() == PublicKey.objects.count() > 0
