"""The environment of the tests, for this process and for the ones that tests start."""

from __future__ import annotations

import atexit
import base64
import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any


def key_for_tests(name: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(f"tests only: {name}".encode()).digest()).decode()


KEYS = {name: key_for_tests(name) for name in ("SECRET_KEY", "FIELD_KEY", "SIGNING_KEY")}
# What a developer may have set for a desk of their own must not change what is tested.
OWN = ("DEBUG", "PUBLIC_URL", "ALLOWED_HOSTS", "EGRESS_ALLOW", "REDIS_URL", "UNDO_SECONDS", "EXPIRY_MARGIN_SECONDS")

for name in OWN:
    os.environ.pop(name, None)
os.environ.update(KEYS)
os.environ["EGRESS_ALLOW"] = "127.0.0.1,[::1]"


def database_for_tests(settings: dict[str, Any]) -> dict[str, Any]:
    """A file rather than memory on SQLite: threads and the processes that tests start must see the same rows."""
    if settings["ENGINE"] != "config.sqlite":
        return {}
    folder = tempfile.mkdtemp(prefix="countersign-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    options = {**settings["OPTIONS"], "init_command": "PRAGMA synchronous = OFF; PRAGMA recursive_triggers = ON;"}
    return {"OPTIONS": options, "TEST": {"NAME": str(Path(folder) / "test.sqlite3")}}
