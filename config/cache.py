"""The cache over several processes, and of each process alone while Redis is away: it only holds what limits count."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import structlog
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

log = structlog.get_logger(__name__)
AWAY_SECONDS = 5.0  # before Redis is asked again
ANSWER_SECONDS = 0.5  # a Redis that says nothing is away too


class PatientCache(RedisCache):
    """`get` and `set`, whatever becomes of Redis. A limit that counts less for a while is better than no sign-in."""

    away_until: ClassVar[float] = 0.0

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, {**params, "OPTIONS": {"socket_timeout": ANSWER_SECONDS}})
        self._own = LocMemCache("while-redis-is-away", params)

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        if self._is_there():
            try:
                return super().get(key, default, version)
            except RedisError as trouble:
                self._lost(trouble)
        return self._own.get(key, default, version)

    def set(self, key: str, value: Any, *args: Any, **named: Any) -> None:
        if self._is_there():
            try:
                super().set(key, value, *args, **named)
                return
            except RedisError as trouble:
                self._lost(trouble)
        self._own.set(key, value, *args, **named)

    def _is_there(self) -> bool:
        return time.monotonic() >= PatientCache.away_until

    def _lost(self, trouble: RedisError) -> None:
        PatientCache.away_until = time.monotonic() + AWAY_SECONDS
        log.warning("cache.away", problem=type(trouble).__name__)
