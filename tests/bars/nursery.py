"""Has the app loaded once and forks workers from it, so that a killed worker is replaced in milliseconds.

Reads lines `SPAWN [once] [crash point]` and answers each with the process id of a new worker.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import django


def main() -> None:
    django.setup()
    from agentbridge.delivery import crash
    from agentbridge.management.commands.bridge import work

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        _word, once, point = line.rstrip("\n").split("\t")
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            crash.NAME = point
            asyncio.run(work(once=bool(once)))
            os._exit(0)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
