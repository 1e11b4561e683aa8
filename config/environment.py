"""Reads settings from the environment; each wrong one raises ImproperlyConfigured with a sentence that names it.

Every value may also come from a file: `NAME_FILE=/run/secrets/name` wins over `NAME`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import environ
import regex
from django.core.exceptions import ImproperlyConfigured
from environ.fileaware_mapping import FileAwareMapping

KEY_BYTES = 32
# NORMAL, because `config.sqlite` itself waits for the disk after each commit; triggers guard rows against REPLACE too.
SQLITE_START = "PRAGMA synchronous = NORMAL; PRAGMA recursive_triggers = ON;"
YES = ("1", "true", "yes", "on")
NO = ("", "0", "false", "no", "off")


class _Environment(environ.FileAwareEnv):  # type: ignore[misc]
    ENVIRON = FileAwareMapping(cache=False)  # a secret is not kept beside its setting


def text(name: str, default: str = "") -> str:
    """The value without surrounding white space: files end in a newline."""
    try:
        return str(_Environment().str(name, default=default)).strip()
    except OSError as problem:
        raise ImproperlyConfigured(f"{name}_FILE cannot be read: {problem.strerror}.") from None


def flag(name: str) -> bool:
    value = text(name).lower()
    if value not in YES + NO:
        raise ImproperlyConfigured(f"{name} must be 1 or 0, not “{value}”.")
    return value in YES


def whole(name: str, default: int, *, least: int = 1, most: int = 2**40) -> int:
    return int(_number(name, default, int, least, most))


def seconds(name: str, default: float, *, least: float = 0.001, most: float = 86_400) -> float:
    return float(_number(name, default, float, least, most))


def _number(name: str, default: float, kind: type[int] | type[float], least: float, most: float) -> float:
    written = text(name, str(default))
    try:
        value = kind(written)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a number, not “{written}”.") from None
    if not least <= value <= most:
        raise ImproperlyConfigured(f"{name} must be between {least} and {most}, not {written}.")
    return value


def keys(name: str, *, debug: bool) -> list[bytes]:
    """32-byte keys in base64url, newest first, separated by commas."""
    written = [part.strip() for part in text(name).split(",") if part.strip()]
    if not written and debug:
        return [hashlib.sha256(f"countersign debug {name}".encode()).digest()]
    if not written:
        raise ImproperlyConfigured(f"{name} is missing: set it, or {name}_FILE, to 32 random bytes in base64url.")
    return [_key(name, part) for part in written]


def _key(name: str, written: str) -> bytes:
    # The value itself is a secret, so no message quotes it.
    bare = written.rstrip("=")
    try:
        key = base64.b64decode(bare + "=" * (-len(bare) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise ImproperlyConfigured(f"{name} is not base64url.") from None
    if len(key) != KEY_BYTES:
        raise ImproperlyConfigured(f"{name} must hold keys of {KEY_BYTES} bytes; one has {len(key)}.")
    return key


def public_url(name: str, default: str) -> SplitResult:
    url = urlsplit(text(name, default))
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ImproperlyConfigured(f"{name} must be an address such as https://desk.example.com.")
    if url.path.strip("/") or url.query or url.fragment or url.username:
        raise ImproperlyConfigured(f"{name} must be scheme, host and port only.")
    return url


def anchors(name: str) -> list[str]:
    """Files that keep checkpoints of the trail, as absolute paths: `file:/path`, separated by commas."""
    written = [part.strip() for part in text(name).split(",") if part.strip()]
    if bad := [part for part in written if not part.startswith("file:/")]:
        raise ImproperlyConfigured(f"{name} must hold addresses such as file:/var/anchors/desk.jsonl, not “{bad[0]}”.")
    return [part.removeprefix("file:") for part in written]


def names(name: str, built_in: tuple[str, ...]) -> tuple[str, ...]:
    """What is hidden by its name: ours and those listed, less those listed with a minus."""
    written = [part.strip() for part in text(name).split(",") if part.strip()]
    less = {part[1:] for part in written if part.startswith("-")}
    return (*(one for one in built_in if one not in less), *(part for part in written if not part.startswith("-")))


def patterns(name: str, built_in: tuple[str, ...]) -> tuple[str, ...]:
    """What is hidden by its looks: ours, and one regular expression a line."""
    written = tuple(line.strip() for line in text(name).splitlines() if line.strip())
    for line in written:
        try:
            regex.compile(line)
        except regex.error as problem:
            raise ImproperlyConfigured(f"{name} must hold regular expressions, not “{line}”: {problem}.") from None
    return (*built_in, *written)


def redis_url(name: str) -> str:
    value = text(name)
    if value and urlsplit(value).scheme not in ("redis", "rediss", "unix"):
        raise ImproperlyConfigured(f"{name} must begin with redis://, rediss:// or unix://.")
    return value


def database(name: str, default: str, *, base: Path) -> dict[str, Any]:
    """SQLite or PostgreSQL. Never quotes the address: it holds a password."""
    url = text(name, default)
    scheme = url.partition(":")[0]
    if scheme == "sqlite":
        return _sqlite(base / url.removeprefix("sqlite://").removeprefix("/"))
    if scheme in ("postgres", "postgresql"):
        return _postgres(name, url)
    raise ImproperlyConfigured(f"{name} must begin with sqlite:/// or postgres://.")


def _sqlite(path: Path) -> dict[str, Any]:
    path.parent.mkdir(parents=True, exist_ok=True)
    options = {"timeout": 20, "transaction_mode": "IMMEDIATE", "init_command": SQLITE_START}
    return {"ENGINE": "config.sqlite", "NAME": str(path), "OPTIONS": options}


def _postgres(name: str, url: str) -> dict[str, Any]:
    try:
        found = environ.Env.db_url_config(url)
    except ValueError:
        raise ImproperlyConfigured(f"{name} is not a PostgreSQL address.") from None
    options = found.setdefault("OPTIONS", {})
    # Nothing here takes long on purpose: whatever waits longer is stuck, and must not hold its locks.
    limits = "-c statement_timeout=30s -c lock_timeout=10s -c idle_in_transaction_session_timeout=60s"
    # A question with rights in it is compiled for seconds and then answered in a hundredth of that.
    options["options"] = f"{options.get('options', '')} {limits} -c jit=off".strip()
    options["pool"] = {"min_size": 1, "max_size": 20, "timeout": 20}
    return {**found, "ENGINE": "config.postgres", "CONN_MAX_AGE": 0}
