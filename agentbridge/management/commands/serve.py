"""`manage.py serve`: the web server."""

from __future__ import annotations

import fcntl
import gc
import hashlib
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.utils.module_loading import import_string

from approvals.trail import anchors, lifecycle

# By itself a thread in the middle of Python code hands over after 5 ms: so long a frame would wait on its way.
SWITCH_SECONDS = 0.0005


def collect_static_files() -> None:
    """Collect what has changed since the last start; one server at a time.

    Unchanged sources leave the folder alone: another server may be reading it at this moment.
    """
    folder = Path(settings.STATIC_ROOT)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stamp, now = folder / ".collected", state_of_sources()
        if not stamp.exists() or stamp.read_text() != now:
            call_command("collectstatic", interactive=False, verbosity=0)
            stamp.write_text(now)


def state_of_sources() -> str:
    """A digest of name, size and time of every source file."""
    found = sorted(
        (name, status.st_size, status.st_mtime_ns)
        for finder in get_finders()
        for name, storage in finder.list(None)
        for status in [Path(storage.path(name)).stat()]
    )
    return hashlib.sha256(repr(found).encode()).hexdigest()


class Command(BaseCommand):
    help = "Serves the pages, the API and the live updates (Daphne)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--host", default="127.0.0.1", help="0.0.0.0 to be reached from other machines")

    def handle(self, *args: Any, port: int, host: str, **options: Any) -> None:
        # Imported here: it installs Twisted's reactor, which no other command wants.
        from daphne.endpoints import build_endpoint_description_strings

        from agentbridge.net.serving import SteadyServer

        if not settings.DEBUG:
            try:
                collect_static_files()
            except OSError as problem:
                raise CommandError(f"STATIC_ROOT: the files of the pages cannot be collected: {problem}") from problem
        if missing := anchors.missing():
            self.stderr.write(missing)
        server = SteadyServer(
            import_string(settings.ASGI_APPLICATION),
            endpoints=build_endpoint_description_strings(host=host, port=port),
            body_limit=settings.STREAM_LIMIT,
            ready_callable=lambda: self.stdout.write(f"Countersign answers at {settings.PUBLIC_URL} (port {port})"),
        )
        sys.setswitchinterval(SWITCH_SECONDS)
        gc.collect()
        gc.freeze()  # what is here stays: looking for garbage in it would stop every stream for 70 ms
        with lifecycle.at_work("web server"):
            server.run()  # until SIGTERM or Ctrl-C
        if not server.listening_addresses:
            self.stderr.write(f"Port {port} on {host} cannot be used.")
            raise SystemExit(1)
