"""Has the app loaded once and forks workers from it, so that a killed worker is replaced in milliseconds.

Reads lines `SPAWN [once] [crash point] [patient]` and answers each with the process id of a new worker.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import django

from tests.waiting import PATIENCE

WAITS = ("LEASE_SECONDS", "CONNECT_SECONDS", "FIRST_EVENT_SECONDS", "IDLE_SECONDS", "RUN_SECONDS")


def main() -> None:
    django.setup()
    from django.conf import settings

    from agentbridge.delivery import crash
    from agentbridge.management.commands.bridge import work

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        _word, once, point, patient = line.rstrip("\n").split("\t")
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            crash.NAME = point
            for name in WAITS if patient else ():
                setattr(settings, name, PATIENCE)
            asyncio.run(work(once=bool(once)))
            os._exit(0)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
