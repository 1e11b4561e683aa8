"""The socket: tells an open page what changed, tells nobody else, and ends with the session."""

from __future__ import annotations

import asyncio

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.db import connections
from django.test import Client
from django.utils import timezone

from approvals import live, people
from approvals.feed import read
from approvals.models import AuditEntry, Task
from approvals.models.people import Role
from approvals.verbs import claiming
from config.asgi import application
from tests.waiting import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)

ORIGIN = b"http://localhost:8000"


@pytest.fixture(autouse=True)
async def own_feed(monkeypatch):
    """A feed for each test, and rights looked at often enough to wait for. No reader outlives its test."""
    feed = live.Feed()
    monkeypatch.setattr(live, "feed", feed)
    monkeypatch.setattr("approvals.feed.RIGHTS_SECONDS", 0.2)
    yield
    for listener in list(feed.listeners):
        feed.leave(listener)
    await read(connections.close_all)


def signed_in(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def socket(client: Client | None, origin: bytes = ORIGIN) -> WebsocketCommunicator:
    cookie = f"session={client.cookies['session'].value}".encode() if client else b""
    headers = [(b"origin", origin), (b"host", b"localhost:8000"), (b"cookie", cookie)]
    return WebsocketCommunicator(application, "/live/", headers=headers)


async def listening(user, *topics: str, cursor: int | None = None) -> tuple[WebsocketCommunicator, Client]:
    client = await sync_to_async(signed_in)(user)
    page = socket(client)
    await page.connect(PATIENCE)
    newest = await sync_to_async(lambda: AuditEntry.objects.count())()
    await page.send_json_to({"topics": list(topics), "cursor": newest if cursor is None else cursor})
    await asyncio.sleep(0.3)
    return page, client


async def hears(page: WebsocketCommunicator) -> dict:
    return await page.receive_json_from(timeout=PATIENCE)


async def closes(page: WebsocketCommunicator) -> int:
    """The code it is closed with."""
    while (message := await page.receive_output(timeout=PATIENCE))["type"] != "websocket.close":
        pass
    return message["code"]


async def test_a_new_task_is_told(alice, open_case):
    page, _client = await listening(alice, "queue")
    await sync_to_async(open_case)()
    newest = await sync_to_async(lambda: AuditEntry.objects.order_by("-seq").first().seq)()
    told = await hears(page)
    assert told["topic"] == "queue" and set(told) == {"topic", "seq"} and told["seq"] <= newest
    await page.disconnect(timeout=PATIENCE)


async def test_what_happened_before_the_socket_opened_is_told(alice, open_case):
    cursor = await sync_to_async(lambda: AuditEntry.objects.count())()
    case = await sync_to_async(open_case)()
    page, _client = await listening(alice, f"case:{case.code}", cursor=cursor)
    assert (await hears(page))["topic"] == f"case:{case.code}"
    await page.disconnect(timeout=PATIENCE)


async def test_other_queues_are_not_even_hinted_at(charlie, open_case):
    case = await sync_to_async(open_case)()
    page, _client = await listening(charlie, "queue", "trail", f"case:{case.code}", cursor=0)
    assert await page.receive_nothing(timeout=0.5)
    await page.disconnect(timeout=PATIENCE)


async def test_rights_are_those_of_the_moment(alice, payments, open_case):
    page, _client = await listening(alice, "queue")
    await sync_to_async(payments.members.remove)(alice)
    await sync_to_async(open_case)()
    assert await page.receive_nothing(timeout=0.5)
    await page.disconnect(timeout=PATIENCE)


async def test_an_auditor_hears_all(carol, alice, open_case):
    case = await sync_to_async(open_case)()
    page, _client = await listening(carol, "trail")
    task = await sync_to_async(Task.objects.get)(case=case)
    await sync_to_async(claiming.claim)(task, by=alice, now=timezone.now())
    assert (await hears(page))["topic"] == "trail"
    await page.disconnect(timeout=PATIENCE)


async def test_signing_out_ends_it(alice):
    page, client = await listening(alice, "queue")
    await sync_to_async(client.logout)()
    assert await closes(page) == live.SIGNED_OUT


async def test_a_disabled_person_is_cut_off(alice):
    page, _client = await listening(alice, "queue")
    alice.is_active = False
    await sync_to_async(alice.save)()
    assert await closes(page) == live.SIGNED_OUT


async def test_a_new_password_ends_older_sessions(alice, payments):
    page, _client = await listening(alice, "queue")
    await sync_to_async(people.set_user)(
        "alice", role=Role.REVIEWER, queues=["payments"], password="another long one", now=timezone.now()
    )
    assert await closes(page) == live.SIGNED_OUT


@pytest.mark.parametrize(
    "origin", [b"http://evil.example", b"null", b"", b"http://[", b"http://localhost:8000.evil.example"]
)
async def test_other_origins_are_refused(alice, origin):
    page = socket(await sync_to_async(signed_in)(alice), origin)
    await page.connect(PATIENCE)
    assert await closes(page) == live.BAD_ORIGIN


async def test_visitors_are_refused(db):
    page = socket(None)
    await page.connect(PATIENCE)
    assert await closes(page) == live.SIGNED_OUT


@pytest.mark.parametrize(
    "said",
    ["nonsense", "[]", "{}", '{"topics": "queue", "cursor": 0}', '{"topics": [], "cursor": true}', '{"topics": [1]}'],
)
async def test_anything_but_a_subscription_ends_it(alice, said):
    page = socket(await sync_to_async(signed_in)(alice))
    await page.connect(PATIENCE)
    await page.send_to(text_data=said)
    assert await closes(page) == live.BAD_MESSAGE


async def test_a_page_can_ask_whether_anybody_is_there(alice):
    page, _client = await listening(alice, "queue")
    await page.send_json_to({"ping": True})
    assert await hears(page) == {"pong": True}
    await page.disconnect(timeout=PATIENCE)


async def test_a_subscription_names_topics_and_a_place():
    assert live.read_subscription('{"topics": ["queue"], "cursor": 7}') == (frozenset({"queue"}), 7)
    assert live.read_subscription('{"topics": ["queue"], "cursor": -1}') is None
