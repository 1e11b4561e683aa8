"""The HTTP side of a demo agent: `python -m demo.server keeping|replaying --port N`.

POST / takes a RunAgentInput and answers with an event stream; GET /_ledger lists what the tools really did.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from ag_ui.core import RunAgentInput
from ag_ui.encoder import EventEncoder
from pydantic import ValidationError

from demo.memory import Checkpoints, Memory, Replay
from demo.player import Player
from demo.trust import Desk

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]
PACE = 0.01  # seconds between two events, so that a stream is a stream


class Application:
    """A plain ASGI application around one player."""

    def __init__(self, player: Player) -> None:
        self.player = player

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"only HTTP is spoken here, not {scope['type']}")
        if scope["method"] == "GET":
            await answer(send, 200, "application/json", json.dumps(self.player.ledger).encode())
            return
        try:
            given = RunAgentInput.model_validate_json(await body_of(receive))
        except ValidationError as problem:
            await answer(send, 422, "application/json", problem.json(include_url=False).encode())
            return
        await self.stream(given, send)

    async def stream(self, given: RunAgentInput, send: Send) -> None:
        encoder = EventEncoder()
        headers = [(b"content-type", encoder.get_content_type().encode()), (b"cache-control", b"no-cache")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for event in self.player.run(given):
            await send({"type": "http.response.body", "body": encoder.encode(event).encode(), "more_body": True})
            await asyncio.sleep(PACE)
        await send({"type": "http.response.body", "body": b""})


async def body_of(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    return body


async def answer(send: Send, status: int, content_type: str, body: bytes) -> None:
    headers = [(b"content-type", content_type.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def main() -> None:
    parser = argparse.ArgumentParser(description="A demo agent on 127.0.0.1.")
    parser.add_argument("memory", choices=["keeping", "replaying"])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--state", type=Path, help="where the keeping agent keeps its pauses over a restart")
    parser.add_argument("--desk", help="address of the desk whose signature every answer has to bear")
    parser.add_argument("--name", default="", help="who this agent is to the desk")
    given = parser.parse_args()
    # Importing Daphne installs Twisted's asyncio reactor, which only a server should do.
    from daphne.server import Server

    memory: Memory = Replay() if given.memory == "replaying" else Checkpoints(given.state)
    desk = Desk(given.desk, given.name) if given.desk else None
    endpoint = f"tcp:port={given.port}:interface=127.0.0.1"
    Server(application=Application(Player(memory, desk=desk)), endpoints=[endpoint], server_name="").run()


if __name__ == "__main__":
    main()
