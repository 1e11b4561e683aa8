"""`manage.py serve`: the web server."""

from __future__ import annotations

import fcntl
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.utils.module_loading import import_string


def collect_static_files() -> None:
    """One server at a time: two that start together would write the same files."""
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)
    with (Path(settings.STATIC_ROOT) / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        call_command("collectstatic", interactive=False, verbosity=0)


class Command(BaseCommand):
    help = "Serves the pages, the API and the live updates (Daphne)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--host", default="127.0.0.1", help="0.0.0.0 to be reached from other machines")

    def handle(self, *args: Any, port: int, host: str, **options: Any) -> None:
        # Imported here: it installs Twisted's reactor, which no other command wants.
        from daphne.endpoints import build_endpoint_description_strings
        from daphne.server import Server

        if not settings.DEBUG:
            collect_static_files()
        server = Server(
            application=import_string(settings.ASGI_APPLICATION),
            endpoints=build_endpoint_description_strings(host=host, port=port),
            server_name="",
            ready_callable=lambda: self.stdout.write(f"Countersign answers at {settings.PUBLIC_URL} (port {port})"),
        )
        server.run()  # until SIGTERM or Ctrl-C
        if not server.listening_addresses:
            self.stderr.write(f"Port {port} on {host} cannot be used.")
            raise SystemExit(1)
