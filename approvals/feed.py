"""The trail as it grows: one reader per process tells many sockets that something they may see has changed.

`seq` is taken under the chain lock and held to commit, so `seq > cursor` misses nothing and needs no broker. Nothing
of an entry leaves here but its number: every page reads again with its own rights.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog
from channels.db import database_sync_to_async
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import DatabaseError
from django.db.models import QuerySet
from django.utils.crypto import constant_time_compare
from django.utils.timezone import now

from approvals.bell import Bell
from approvals.models import AuditEntry, Task, User
from approvals.models.people import Role
from approvals.permissions import SEES_ALL
from approvals.waiting import newest_seq

POLL_SECONDS = 0.1  # an indexed look at one number; the bell rings earlier
RIGHTS_SECONDS = 3.0
BATCH = 500

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class News:
    """An entry, reduced to what decides who hears of it."""

    seq: int
    verb: str
    case: str  # code
    queues: frozenset[int]


@dataclass(frozen=True, slots=True)
class Rights:
    sees_all: bool
    queues: frozenset[int]

    def cover(self, news: News) -> bool:
        return self.sees_all or not self.queues.isdisjoint(news.queues)


class Listener(Protocol):
    """A socket: who it belongs to, by which session, and how it is told."""

    user_id: int
    session_key: str

    async def tell(self, news: Sequence[News], rights: Rights) -> None: ...

    async def dismiss(self) -> None: ...


class Feed:
    """Reads while anybody listens. One per process (`live.feed`)."""

    def __init__(self) -> None:
        self.listeners: set[Listener] = set()
        self.cursor = 0
        self._reading: asyncio.Task[None] | None = None

    async def join(self, listener: Listener, *, since: int) -> None:
        """From `since` on: what was written between drawing a page and opening its socket is told at once."""
        self.listeners.add(listener)  # before anything is awaited: what comes meanwhile is told by the reader
        if self._reading is None or self._reading.done():
            self.cursor = since
            self._reading = asyncio.create_task(self._read_on())
        missed = await read(newest_news, since, self.cursor)
        rights = await read(rights_of, [listener.user_id])
        if missed and listener.user_id in rights:
            await listener.tell(missed, rights[listener.user_id])

    def leave(self, listener: Listener) -> None:
        self.listeners.discard(listener)
        if not self.listeners and self._reading is not None:
            self._reading.cancel()
            self._reading = None

    async def _read_on(self) -> None:
        """While the database is away the sockets stay and nothing is skipped; it goes on where it was."""
        self.cursor = max(self.cursor, await read(newest_seq) - BATCH)
        looked = 0.0
        clock = asyncio.get_running_loop().time
        async with Bell() as bell:
            while True:
                try:
                    await self._tell_news()
                    if clock() - looked >= RIGHTS_SECONDS:
                        looked = clock()
                        await self._dismiss_gone()
                except DatabaseError as problem:
                    log.warning("feed.unreadable", problem=type(problem).__name__)
                    await asyncio.sleep(RIGHTS_SECONDS)
                await bell.wait(POLL_SECONDS)

    async def _tell_news(self) -> None:
        news = await read(news_after, self.cursor)
        if not news:
            return
        self.cursor = news[-1].seq
        rights = await read(rights_of, {listener.user_id for listener in self.listeners})
        for listener in list(self.listeners):
            if listener.user_id not in rights:
                await listener.dismiss()
                continue
            theirs = rights[listener.user_id]
            if mine := [item for item in news if theirs.cover(item)]:
                await listener.tell(mine, theirs)

    async def _dismiss_gone(self) -> None:
        listeners = list(self.listeners)
        alive = await read(alive_sessions, {listener.session_key for listener in listeners})
        for listener in listeners:
            if alive.get(listener.session_key) != listener.user_id:
                await listener.dismiss()


# One thread-bound database call for everything that is read here.
read = database_sync_to_async(lambda question, *args: question(*args))


def news_after(cursor: int) -> list[News]:
    """The next entries, oldest first."""
    return _news(AuditEntry.objects.filter(seq__gt=cursor).order_by("seq")[:BATCH])


def newest_news(since: int, until: int) -> list[News]:
    """The last entries between two places, oldest first: whoever was away longer reads the page again anyway."""
    return _news(AuditEntry.objects.filter(seq__gt=since, seq__lte=until).order_by("-seq")[:BATCH])[::-1]


def _news(entries: QuerySet[AuditEntry]) -> list[News]:
    """With the queues of the cases they are about."""
    rows = list(entries.values_list("seq", "verb", "case__code", "case_id"))
    queues = _queues_of({case_id for *_rest, case_id in rows if case_id})
    return [News(seq, verb, code or "", frozenset(queues[case_id])) for seq, verb, code, case_id in rows]


def _queues_of(cases: set[int]) -> dict[int | None, set[int]]:
    queues: dict[int | None, set[int]] = defaultdict(set)
    if cases:
        for case_id, queue_id in Task.objects.filter(case__in=cases).values_list("case_id", "queue_id"):
            queues[case_id].add(queue_id)
    return queues


def rights_of(user_ids: Iterable[int]) -> dict[int, Rights]:
    """What each of these people may hear of, read now; disabled people and those without a role are left out."""
    people = User.objects.filter(pk__in=user_ids, is_active=True).prefetch_related("groups", "queues")
    rights: dict[int, Rights] = {}
    for person in people:
        names = {group.name for group in person.groups.all()}
        role = next((role for role in Role if role in names), None)
        if role is not None:
            rights[person.pk] = Rights(role in SEES_ALL, frozenset(queue.pk for queue in person.queues.all()))
    return rights


def alive_sessions(keys: set[str]) -> dict[str, int]:
    """Whose sessions these are, as far as they are still good: signed out, expired or a new password end them."""
    sessions = Session.objects.filter(session_key__in=keys, expire_date__gt=now())
    told = {session.session_key: session.get_decoded() for session in sessions}
    ids = {data[SESSION_KEY] for data in told.values() if SESSION_KEY in data and BACKEND_SESSION_KEY in data}
    people = {str(person.pk): person for person in User.objects.filter(pk__in=ids, is_active=True)}
    return {
        key: people[data[SESSION_KEY]].pk
        for key, data in told.items()
        if data.get(SESSION_KEY) in people and _same_password(people[data[SESSION_KEY]], data)
    }


def _same_password(person: User, data: dict[str, str]) -> bool:
    return constant_time_compare(data.get(HASH_SESSION_KEY, ""), person.get_session_auth_hash())
