"""The socket of an open page at `/live/`: says which topics have news, and nothing else.

A page subscribes with `{"topics": ["queue", "case:C-…", "trail"], "cursor": 12}` and hears `{"topic", "seq"}`. On
`{"ping": true}` it hears `{"pong": true}`, and so notices a connection that is gone without a word.
Polling every few seconds shows the same pages, so losing the socket loses only speed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.http.request import split_domain_port, validate_host
from django.urls import path

from approvals.feed import Feed, News, Rights, read
from approvals.models import User
from approvals.permissions import role_of

TOPICS = 20
BAD_ORIGIN, SIGNED_OUT, BAD_MESSAGE = 4403, 4401, 4400
ON_THE_QUEUE = ("case.", "task.", "exhibit.", "queue.")

feed = Feed()


class LiveConsumer(AsyncWebsocketConsumer):
    """One page. It is told by the feed of its process, and only of what its person may see at that moment."""

    user_id: int
    session_key: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.topics: frozenset[str] = frozenset()

    async def connect(self) -> None:
        user = self.scope.get("user")
        await self.accept()  # only an accepted socket can say why it is closed
        if not same_origin(self.scope):
            await self.close(BAD_ORIGIN)
        elif not isinstance(user, User) or await read(role_of, user) is None:
            await self.close(SIGNED_OUT)
        else:
            self.user_id, self.session_key = user.pk, self.scope["session"].session_key or ""

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """A second subscription replaces the first; a page may also ask whether anybody is there."""
        if hasattr(self, "user_id") and is_ping(text_data or ""):
            await self.send(json.dumps({"pong": True}))
            return
        subscription = read_subscription(text_data or "")
        if subscription is None or not hasattr(self, "user_id"):
            await self.close(BAD_MESSAGE)
            return
        feed.leave(self)
        self.topics, since = subscription
        await feed.join(self, since=since)

    async def disconnect(self, code: int) -> None:
        feed.leave(self)

    async def dismiss(self) -> None:
        feed.leave(self)
        await self.close(SIGNED_OUT)

    async def tell(self, news: Sequence[News], rights: Rights) -> None:
        """One message per topic, however much happened: the page reads again anyway."""
        newest: dict[str, int] = {}
        for item in news:
            if rights.cover(item):
                newest |= dict.fromkeys(topics_of(item) & self.topics, item.seq)
        for topic, seq in newest.items():
            await self.send(json.dumps({"topic": topic, "seq": seq}))


def topics_of(news: News) -> set[str]:
    topics = {"trail"}
    if news.case:
        topics.add(f"case:{news.case}")
    if news.verb.startswith(ON_THE_QUEUE):
        topics.add("queue")
    return topics


def is_ping(text: str) -> bool:
    return len(text) < 20 and text.replace(" ", "") == '{"ping":true}'


def read_subscription(text: str) -> tuple[frozenset[str], int] | None:
    """Topics and cursor, or None for anything else."""
    try:
        said = json.loads(text)
    except ValueError:
        return None
    if not isinstance(said, dict):
        return None
    topics, cursor = said.get("topics"), said.get("cursor")
    if not isinstance(topics, list) or len(topics) > TOPICS or not all(isinstance(topic, str) for topic in topics):
        return None
    return (frozenset(topics), cursor) if type(cursor) is int and 0 <= cursor < 2**63 else None


def same_origin(scope: dict[str, Any]) -> bool:
    """Exactly our own address: the one we are published under, or the allowed one that this request came to."""
    headers = dict(scope["headers"])
    origin, host = (headers.get(name, b"").decode("latin-1") for name in (b"origin", b"host"))
    here = validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS)
    return origin == settings.PUBLIC_URL or (here and origin in (f"http://{host}", f"https://{host}"))


websocket_urlpatterns = [path("live/", LiveConsumer.as_asgi())]
