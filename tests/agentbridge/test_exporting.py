"""Evidence carried away from the page: exactly what it lists, streamed, and told on the trail."""

from __future__ import annotations

import zipfile
from io import BytesIO

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient
from django.utils import timezone

from approvals.models import AuditEntry
from approvals.trail import anchors
from approvals.trail.bundles.verify import check
from tests.emptying import guards_off
from tests.people import decide, only_task

pytestmark = pytest.mark.django_db(transaction=True)


def exported(person, query: str = "") -> bytes:
    async def ask() -> bytes:
        client = AsyncClient()
        await client.aforce_login(person)
        answer = await client.post(f"/audit/export/{query}")
        assert (answer.status_code, answer["Content-Type"]) == (200, "application/zip")
        return b"".join([piece async for piece in answer.streaming_content])

    return async_to_sync(ask)()


@pytest.fixture
def case(open_case, alice):
    found = open_case()
    decide(only_task(found), alice)
    open_case()
    return found


def test_the_download_is_what_the_page_lists(case, carol):
    report = check(BytesIO(exported(carol, f"?case={case.code}")))
    assert (report["result"], report["entries"]) == ("good", AuditEntry.objects.filter(case=case).count())


def test_the_export_is_on_the_trail_with_its_question(case, carol):
    exported(carol, "?verb=task.decided")
    told = AuditEntry.objects.get(verb="export.made")
    assert (told.actor, told.data) == (carol, '{"filter":{"verb":"task.decided"},"entries":1}')


def test_the_manifest_names_the_question(case, carol):
    bundle = zipfile.ZipFile(BytesIO(exported(carol, "?agent=payer&edited=no")))
    assert b'"filter": {\n    "agent": "payer",\n    "edited": "no"\n  }' in bundle.read("manifest.json")


def test_a_question_that_nobody_understands_is_no_export(client, case, carol):
    client.force_login(carol)
    assert client.post("/audit/export/?since=yesterday").status_code == 400
    assert not AuditEntry.objects.filter(verb="export.made").exists()


def test_nothing_is_exported_from_a_broken_trail(client, case, carol):
    anchors.tend(now=timezone.now(), force=True)
    with guards_off():
        AuditEntry.objects.filter(seq=AuditEntry.objects.count()).delete()
    client.force_login(carol)
    assert client.post("/audit/export/").status_code == 409
