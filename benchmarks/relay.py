"""What the relay costs: how much later a caller sees each event than over the direct connection."""

from __future__ import annotations

import asyncio
import json
import os
import re
import statistics
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import httpx

from benchmarks import Measured, row

STREAMS = 200
EVENTS, EVERY = 100, 0.25  # per stream
BEGIN_WITHIN = 15.0  # seconds; a front end's people do not all press the button in one moment
WARM = -1  # the stream before all others, which has no events
GOAL = 0.005  # seconds, 95th percentile over the direct connection
STAMP = re.compile(rb'"value":"(\d+\.\d+)"')
Delays = list[float]


@row("relay", what=f"{STREAMS} relayed streams at once: delay of each event", goal="p95 ≤ 5 ms over direct")
def relay() -> Measured:
    return _measured(STREAMS)


@row("relay-one", what="one relayed stream: delay of each event", goal="p95 ≤ 5 ms over direct")
def relay_one() -> Measured:
    return _measured(1)


def _measured(streams: int) -> Measured:
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

            wanted = registering.Wanted(slug=f"clock-{streams}", url=url, queue="payments")
            _agent, tokens = registering.register(wanted, now=timezone.now())
            assert tokens is not None
            return f"http://127.0.0.1:{site.port}/agui/clock-{streams}", tokens.caller

        direct, relayed = asyncio.run(_both(streams, known))
        spent, most = _seconds(site.process.pid), _most_memory(site.process.pid)
    cost, first = (_p95(relayed[n]) - _p95(direct[n]) for n in (0, 1))
    detail = (
        f"first byte +{first * 1000:.1f} ms; medians {_ms(direct[0])} direct, {_ms(relayed[0])} relayed; web process: "
        f"{spent / len(relayed[0]) * 1000:.2f} ms of processor time an event, starting included, {most} MB at most"
    )
    return Measured(figure=f"+{cost * 1000:.1f} ms", met=max(cost, first) <= GOAL, detail=detail)


def _seconds(pid: int) -> float:
    """Processor time of a process so far."""
    told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def _most_memory(pid: int) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) // 1024 if found else 0


def _p95(times: Delays) -> float:
    return statistics.quantiles(times, n=20)[-1] if len(times) > 1 else times[0]


def _ms(times: Delays) -> str:
    return f"{statistics.median(times) * 1000:.1f} ms"


async def _both(streams: int, known: object) -> tuple[tuple[Delays, Delays], tuple[Delays, Delays]]:
    server = await asyncio.start_server(_agent, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    address, token = await asyncio.to_thread(known, url)  # type: ignore[arg-type]
    direct = await _watched(streams, url, "")
    relayed = await _watched(streams, address, token)
    server.close()
    return direct, relayed


async def _watched(streams: int, url: str, token: str) -> tuple[Delays, Delays]:
    """All streams side by side: the delay of each event, and of each first byte since its request."""
    events: Delays = []
    firsts: Delays = []
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(trust_env=False, timeout=60, limits=limits) as client:
        await _stream(client, WARM, url, token, [], [])  # what a process does once is nobody's delay
        await asyncio.gather(*(_stream(client, n, url, token, events, firsts) for n in range(streams)))
    return events, firsts


async def _stream(client: httpx.AsyncClient, n: int, url: str, token: str, events: Delays, firsts: Delays) -> None:
    await asyncio.sleep(max(n, 0) * BEGIN_WITHIN / STREAMS)
    asked = {"threadId": f"t-{n}", "runId": f"r-{n}", "messages": [], "state": {}, "tools": [], "context": []}
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    began = time.monotonic()
    async with client.stream("POST", url, json={**asked, "forwardedProps": {}}, headers=headers) as answer:
        assert answer.status_code == 200
        firsts.append(time.monotonic() - began)
        async for part in answer.aiter_raw():
            now = time.monotonic()
            events.extend(now - float(stamp) for stamp in STAMP.findall(part))


async def _agent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A run of events that say when they left."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    asked = json.loads(await reader.readexactly(int(length[1]) if length else 0))
    ids = {"threadId": asked["threadId"], "runId": asked["runId"]}
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
    writer.write(_frame(type="RUN_STARTED", **ids))
    for _ in range(0 if ids["runId"] == f"r-{WARM}" else EVENTS):
        await asyncio.sleep(EVERY)
        writer.write(_frame(type="CUSTOM", name="at", value=f"{time.monotonic():.6f}"))
        await writer.drain()
    writer.write(_frame(type="RUN_FINISHED", **ids))
    writer.close()


def _frame(**event: object) -> bytes:
    return b"data: " + json.dumps(event, separators=(",", ":")).encode() + b"\n\n"
