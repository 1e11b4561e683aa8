"""`python -m agentbridge.connector --desk URL --agent URL`: see `docs/owners/connector.md`."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from agentbridge.connector import wire
from agentbridge.connector.carrier import Carrier, Refused
from agentbridge.connector.journal import InUse, Journal

log = logging.getLogger("connector")

TOKEN = "COUNTERSIGN_TOKEN"  # noqa: S105 - the name of a variable


def main(words: Sequence[str] | None = None) -> int:
    given = arguments().parse_args(words)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO, stream=sys.stderr)
    token = os.environ.get(TOKEN, "").strip()
    if not token:
        sys.stderr.write(f"Set {TOKEN} to the host token of the agent.\n")
        return 2
    try:
        headers = dict(header(text) for text in given.agent_header)
        for url in (given.desk, given.agent):
            wire.Place.of(url)
        with Journal(given.state) as journal:
            if given.input and journal.add(first_run(given.input), ours=True).has("pushed"):
                log.warning("%s was run before. Another run needs another runId.", given.input)
            desk = given.desk.rstrip("/")
            carrier = Carrier(desk=desk, agent=given.agent, token=token, journal=journal, agent_headers=headers)
            carrier.run(once=given.once)
    except InUse as reason:
        sys.stderr.write(f"Another connector works with {reason}.\n")
        return 1
    except (Refused, ValueError, OSError) as reason:
        sys.stderr.write(f"{reason}\n")
        return 1
    except KeyboardInterrupt:
        return 0
    return 1 if carrier.unmade else 0


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m agentbridge.connector", description=f"The token is in {TOKEN}.")
    parser.add_argument("--desk", required=True, metavar="URL", help="the agent at the desk: https://…/agui/<slug>")
    parser.add_argument("--agent", required=True, metavar="URL", help="the agent itself")
    parser.add_argument("--state", type=Path, default=Path("connector-state"), help="what survives a crash")
    parser.add_argument("--input", type=Path, metavar="FILE", help="first make this run, a RunAgentInput, and push it")
    parser.add_argument("--agent-header", action="append", default=[], metavar="'K: V'", help="sent to the agent")
    parser.add_argument("--once", action="store_true", help="end when nothing is owed at the moment")
    return parser


def first_run(file: Path) -> bytes:
    """Raises OSError, and ValueError for what no desk would take as a run's input."""
    body = file.read_bytes()
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        given = None
    ids = [given.get(name) for name in ("threadId", "runId")] if isinstance(given, dict) else []
    if not ids or not all(isinstance(each, str) and each for each in ids):
        raise ValueError(f"{file} is no RunAgentInput: a JSON object with a threadId and a runId.")
    return body


def header(text: str) -> tuple[str, str]:
    name, _, value = text.partition(":")
    if not name.strip() or not value.strip():
        raise ValueError("--agent-header needs a name, a colon and a value.")
    return name.strip(), value.strip()


if __name__ == "__main__":
    sys.exit(main())
