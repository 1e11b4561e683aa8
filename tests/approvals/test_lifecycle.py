"""What the desk tells of itself: other settings than last time, and a clock that went back."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import jsontext
from approvals.models import AuditEntry
from approvals.trail import configuration, lifecycle

pytestmark = pytest.mark.django_db


def told(verb: str) -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(verb=verb).order_by("seq"))


def started(process: str = "worker") -> None:
    with lifecycle.at_work(process):
        pass


def test_a_start_with_other_settings_says_which(settings):
    settings.UNDO_SECONDS = 5.0
    started()
    settings.UNDO_SECONDS = 77.0
    started("web server")
    assert told("config.changed") == []

    started()
    (entry,) = told("config.changed")
    assert jsontext.loads(entry.data)["changed"] == {"UNDO_SECONDS": ["5.0", "77.0"]}
    assert entry.sentence == "A worker starts with other settings than the last one: UNDO_SECONDS."


def test_no_setting_that_is_told_is_a_secret(settings):
    told = " ".join(configuration.current().values())
    held = [settings.SECRET_KEY, *(key.hex() for key in (*settings.FIELD_KEYS, *settings.SIGNING_KEYS))]
    assert not [key for key in held if key in told]
    assert not {"DATABASE_URL", "REDIS_URL"} & configuration.current().keys()


def test_a_clock_that_went_back_is_told_once(alice):
    ahead = timezone.now() + timedelta(minutes=10)
    people_said = AuditEntry.objects.count()
    lifecycle.watch_clock(now=ahead)
    assert AuditEntry.objects.count() == people_said

    for minutes in (20, 19, 18):
        lifecycle.watch_clock(now=ahead - timedelta(minutes=minutes))
    (entry,) = told("clock.regression")
    assert entry.sentence.endswith("it was set back, or was ahead.")


def test_clocks_may_be_a_little_apart(alice):
    lifecycle.watch_clock(now=AuditEntry.objects.order_by("-seq")[0].at - timedelta(seconds=3))
    assert told("clock.regression") == []
