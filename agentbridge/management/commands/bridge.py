"""`manage.py bridge [--once]`: the worker that starts runs and delivers answers."""

from __future__ import annotations

import asyncio
import signal
from argparse import ArgumentParser
from contextlib import nullcontext
from typing import Any

from django.core.management.base import BaseCommand

from agentbridge.work.worker import Worker
from approvals.trail import anchors, lifecycle


class Command(BaseCommand):
    help = "Starts runs, delivers answers and records what agents say. Stop it with SIGTERM or Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="do all that is due, wait for its end, and exit")

    def handle(self, *args: Any, **options: Any) -> None:
        if missing := anchors.missing():
            self.stderr.write(missing)
        with nullcontext() if options["once"] else lifecycle.at_work("worker"):
            asyncio.run(work(once=options["once"]))


async def work(*, once: bool) -> None:
    worker = Worker()
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sign, worker.stop)
    await worker.run(once=once)
