"""What the relay costs: how much later a caller sees each event than over the direct connection."""

from __future__ import annotations

import asyncio
import json
import os
import re
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx

from benchmarks import Measured, row

WARM = -1  # the stream before all others, which has no events
GOAL = 0.005  # seconds, 95th percentile over the direct connection
FLAT = 1.1
STAMP = re.compile(rb'"value":"(\d+\.\d+)"')
Delays = list[float]
Known = Callable[[str], tuple[str, str]]  # an agent's address → where it is relayed, and its caller token


@dataclass(frozen=True, kw_only=True)
class Load:
    """So many streams, each with so many events; seconds between two events, and from the first stream to the last."""

    streams: int = 200
    events: int = 100
    every: float = 0.25
    within: float = 15.0  # a front end's people do not all press the button in one moment
    name: str = "r"


@row("relay", what="200 relayed streams, begun within 15 s: delay of each event", goal="p95 ≤ 5 ms over direct")
def relay() -> Measured:
    return _measured(Load())


@row("relay-burst", what="200 relayed streams, all begun in one moment", goal="p95 ≤ 5 ms over direct")
def relay_burst() -> Measured:
    return _measured(Load(within=0))


@row("relay-one", what="one relayed stream: delay of each event", goal="p95 ≤ 5 ms over direct")
def relay_one() -> Measured:
    return _measured(Load(streams=1))


@row("relay-memory", what="memory of the web process after 1,000 streams, beside 200", goal="≤ 1.1 ×")
def relay_memory() -> Measured:
    rounds = [Load(events=20, every=0.1, within=5, name=f"r{n}") for n in range(5)]
    held: list[int] = []
    with _served() as (process, known):

        async def all_rounds() -> None:
            async with _agent_at(rounds[0]) as url:
                address, token = await asyncio.to_thread(known, url)
                for load in rounds:
                    await _watched(load, address, token)
                    held.append(_memory(process, "VmRSS"))

        asyncio.run(all_rounds())
    ratio = held[-1] / held[0]
    detail = "after each 200: " + ", ".join(f"{each // 1024} MB" for each in held)
    return Measured(figure=f"{ratio:.2f} ×", met=ratio <= FLAT, detail=detail)


def _measured(load: Load) -> Measured:
    with _served() as (process, known):
        direct, relayed = asyncio.run(_both(load, known))
        spent, most = _seconds(process), _memory(process, "VmHWM")
    cost, first = (_p95(relayed[n]) - _p95(direct[n]) for n in (0, 1))
    detail = (
        f"first byte +{first * 1000:.1f} ms, a wait for this disk in it ({_disk() * 1000:.1f} ms by itself); "
        f"medians {_ms(direct[0])} direct, {_ms(relayed[0])} relayed; web process: "
        f"{spent / len(relayed[0]) * 1000:.2f} ms of processor time an event, starting included, "
        f"{most // 1024} MB at most"
    )
    return Measured(figure=f"+{cost * 1000:.1f} ms", met=max(cost, first) <= GOAL, detail=detail)


@contextmanager
def _served() -> Iterator[tuple[int, Known]]:
    """The web process is one of its own; agent and callers share this one and its clock."""
    from agentbridge import registering
    from tests.bars.crew import Crew
    from tests.bars.web import Site

    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        site = Site(stack.enter_context(Crew(Path(folder), seed=1)))
        stack.callback(site.kill)
        site.wait()

        def known(url: str) -> tuple[str, str]:
            from django.utils import timezone

            slug = f"clock-{url.rsplit(':', 1)[1].strip('/')}"
            wanted = registering.Wanted(slug=slug, url=url, queue="payments")
            _agent, tokens = registering.register(wanted, now=timezone.now())
            assert tokens is not None
            return f"http://127.0.0.1:{site.port}/agui/{slug}", tokens.caller

        yield site.process.pid, known


def _seconds(pid: int) -> float:
    """Processor time of a process so far."""
    told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int, name: str) -> int:
    """In kB: `VmRSS` now, `VmHWM` at most."""
    found = re.search(rf"{name}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) if found else 0


def _disk() -> float:
    """What one commit waits for, whatever is committed: the median of fifty."""
    with tempfile.TemporaryFile() as file:
        waits = []
        for _ in range(50):
            file.write(b"x" * 8192)
            file.flush()
            began = time.monotonic()
            os.fsync(file.fileno())
            waits.append(time.monotonic() - began)
    return statistics.median(waits)


def _p95(times: Delays) -> float:
    return statistics.quantiles(times, n=20)[-1] if len(times) > 1 else times[0]


def _ms(times: Delays) -> str:
    return f"{statistics.median(times) * 1000:.1f} ms"


async def _both(load: Load, known: Known) -> tuple[tuple[Delays, Delays], tuple[Delays, Delays]]:
    async with _agent_at(load) as url:
        address, token = await asyncio.to_thread(known, url)
        return await _watched(load, url, ""), await _watched(load, address, token)


@asynccontextmanager
async def _agent_at(load: Load) -> AsyncIterator[str]:
    server = await asyncio.start_server(partial(_agent, load), "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    server.close()


async def _watched(load: Load, url: str, token: str) -> tuple[Delays, Delays]:
    """All streams side by side: the delay of each event, and of each first byte since its request."""
    events: Delays = []
    firsts: Delays = []
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(trust_env=False, timeout=60, limits=limits) as client:

        async def one(n: int, events: Delays, firsts: Delays) -> None:
            await asyncio.sleep(max(n, 0) * load.within / load.streams)
            await _stream(client, f"{load.name}-{n}", url, token, events, firsts)

        await one(WARM, [], [])  # what a process does once is nobody's delay
        await asyncio.gather(*(one(n, events, firsts) for n in range(load.streams)))
    return events, firsts


async def _stream(client: httpx.AsyncClient, run: str, url: str, token: str, events: Delays, firsts: Delays) -> None:
    asked = {"threadId": f"t-{run}", "runId": run, "messages": [], "state": {}, "tools": [], "context": []}
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    began = time.monotonic()
    async with client.stream("POST", url, json={**asked, "forwardedProps": {}}, headers=headers) as answer:
        assert answer.status_code == 200
        firsts.append(time.monotonic() - began)
        async for part in answer.aiter_raw():
            now = time.monotonic()
            events.extend(now - float(stamp) for stamp in STAMP.findall(part))


async def _agent(load: Load, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A run of events that say when they left."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    asked = json.loads(await reader.readexactly(int(length[1]) if length else 0))
    ids = {"threadId": asked["threadId"], "runId": asked["runId"]}
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
    writer.write(_frame(type="RUN_STARTED", **ids))
    for _ in range(0 if ids["runId"].endswith(f"-{WARM}") else load.events):
        await asyncio.sleep(load.every)
        writer.write(_frame(type="CUSTOM", name="at", value=f"{time.monotonic():.6f}"))
        await writer.drain()
    writer.write(_frame(type="RUN_FINISHED", **ids))
    writer.close()


def _frame(**event: object) -> bytes:
    return b"data: " + json.dumps(event, separators=(",", ":")).encode() + b"\n\n"
