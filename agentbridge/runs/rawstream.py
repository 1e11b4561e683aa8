"""The recorded bytes of a run, handed out as they came: never as something that a browser would show or run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from agentbridge.models import Run

MEDIA_TYPE = "application/octet-stream"
STREAMED_FROM = 4 * 1024 * 1024


def pieces(run: Run) -> Iterator[bytes]:
    for data in run.chunks.order_by("n").values_list("data", flat=True).iterator(chunk_size=50):
        yield bytes(data)


def head(run: Run, size: int) -> tuple[bytes, int]:
    """The first bytes, and how many there are in all."""
    found, total = bytearray(), 0
    for data in pieces(run):
        total += len(data)
        found += data[: max(0, size - len(found))]
        if len(found) == size and run.bytes_received > total:
            return bytes(found), run.bytes_received
    return bytes(found), total


async def flowing(run: Run) -> AsyncIterator[bytes]:
    async for data in run.chunks.order_by("n").values_list("data", flat=True).aiterator(chunk_size=50):
        yield bytes(data)


def download(run: Run) -> HttpResponseBase:
    """All bytes. Long streams flow; an ASGI server would gather a synchronous iterator before the first byte."""
    long = run.bytes_received > STREAMED_FROM
    answer = StreamingHttpResponse(flowing(run)) if long else HttpResponse(b"".join(pieces(run)))
    return as_file(answer, f"run-{run.pk}.sse")


def input_file(run: Run) -> HttpResponseBase:
    """The input exactly as it was sent."""
    return as_file(HttpResponse(run.input), f"run-{run.pk}-input.json")


def as_file(answer: HttpResponseBase, name: str) -> HttpResponseBase:
    answer["Content-Type"] = MEDIA_TYPE
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    answer["X-Content-Type-Options"] = "nosniff"
    return answer
