"""Drives a desk from outside: the real server, real HTTP, and databases filled in bulk."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep

import httpx

from tests.desk import ROOT, Desk, running

logging.getLogger("httpx").setLevel(logging.WARNING)


@dataclass(frozen=True)
class Asked:
    """An open task as both sides must name it."""

    task: int
    case: int
    code: str
    case_code: str
    digest: str


def timed(deed: Callable[[], httpx.Response], *expected: int) -> float:
    began = perf_counter()
    answer = deed()
    taken = perf_counter() - began
    if answer.status_code not in expected:
        raise SystemExit(f"{answer.request.url.path} answered {answer.status_code}: {answer.text[:500]}")
    return taken


def signed_in(desk: Desk, name: str = "alice") -> httpx.Client:
    client = httpx.Client(trust_env=False, timeout=60)
    client.get(f"{desk.url}/accounts/login/")
    posted = {"username": name, "password": desk.passwords[name], "csrfmiddlewaretoken": client.cookies["csrf"]}
    answer = client.post(f"{desk.url}/accounts/login/", data=posted)
    if answer.status_code != 302:
        raise SystemExit(f"signing in answered {answer.status_code}")
    return client


def open_tasks(desk: Desk) -> list[Asked]:
    """Those without a deadline too; in the order of their numbers."""
    told = (
        "import json; from approvals.models import Task; "
        "print(json.dumps(list(Task.objects.filter(state='open').order_by('pk')"
        ".values_list('pk', 'case_id', 'code', 'case__code', 'shown_digest'))))"
    )
    return [Asked(*values) for values in json.loads(desk.manage("shell", "--no-imports", "-c", told))]


def desk_in(folder: str) -> AbstractContextManager[Desk]:
    """A desk of its own with its people and its web server."""
    return running(Path(folder), "serve")


def run(desk: Desk, module: str, *words: str) -> str:
    """A program of ours on the desk's database; what it printed last."""
    command = [sys.executable, "-m", module, *words]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **desk.settings}, check=True, capture_output=True)
    return done.stdout.decode().strip().rpartition("\n")[2]


def wait_for(server: subprocess.Popen[bytes], address: str) -> None:
    while server.poll() is None:
        try:
            httpx.get(address, trust_env=False)
        except httpx.TransportError:
            sleep(0.1)
        else:
            return
    raise SystemExit(f"the server of {address} ended")
