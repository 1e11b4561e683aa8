"""`python -m agentbridge.guard --agent URL --state FILE --port N`: see `docs/owners/guard.md`."""

from __future__ import annotations

import argparse
import logging
import sqlite3
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from agentbridge.guard.agent import Agent
from agentbridge.guard.app import Application
from agentbridge.guard.asking import digest
from agentbridge.guard.guarding import Bounds, Guard, recover
from agentbridge.guard.journal import Journal, Unusable
from agentbridge.guard.trust import NoKeys, Trust

log = logging.getLogger("guard")
clock = partial(datetime.now, UTC)


def main(words: Sequence[str] | None = None) -> int:
    parser = arguments()
    given = parser.parse_args(words)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO, stream=sys.stderr)
    for name in ("httpx2", "daphne"):
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        if given.settle is not None:
            return settle(given)
        check(parser, given)
        return serve(given)
    except (Unusable, NoKeys) as reason:
        sys.stderr.write(f"{reason}\n")
        return 1
    except sqlite3.Error as reason:
        sys.stderr.write(f"The state file {given.state} cannot be read or written: {reason}.\n")
        return 1


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m agentbridge.guard", description="Makes one agent safe to send the same answers to again."
    )
    parser.add_argument("--agent", metavar="URL", help="the agent's endpoint")
    parser.add_argument("--state", required=True, type=Path, metavar="FILE", help="what survives a crash")
    parser.add_argument("--port", type=int, metavar="N")
    parser.add_argument("--host", default="127.0.0.1", help="0.0.0.0 to be reached from other machines")
    parser.add_argument("--keys", default="", metavar="FILE|URL", help="a desk's JWKS: signatures are verified")
    parser.add_argument("--issuer", default="", metavar="URL", help="the only desk whose signatures count")
    parser.add_argument("--audience", default="", metavar="SLUG", help="this agent's name at the desk")
    parser.add_argument("--require-signature", action="store_true", help="refuse answers that are not signed")
    parser.add_argument("--wait", type=float, default=10.0, metavar="SECONDS", help="for the run before on a thread")
    parser.add_argument("--silence", type=float, default=300.0, metavar="SECONDS", help="before the agent is given up")
    parser.add_argument("--keep-days", type=float, default=30.0, metavar="N", help="how long answers can be repeated")
    parser.add_argument("--settle", metavar="THREAD", help="settle a doubt, beside the running guard")
    parser.add_argument("--as", dest="outcome", choices=("taken", "open"), help="what the owner found out")
    return parser


def check(parser: argparse.ArgumentParser, given: argparse.Namespace) -> None:
    """Ends the program with a sentence that names what is wrong."""
    parts = urlsplit(given.agent or "")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        parser.error("--agent needs the http or https address of the agent's endpoint")
    if parts.username or parts.password:
        parser.error("--agent must not hold a user name or password: callers send their own headers")
    if given.port is None or not 0 < given.port < 65536:
        parser.error("--port needs a number from 1 to 65535")
    if given.require_signature and not given.keys:
        parser.error("--require-signature needs --keys: there is nothing to verify with")


def serve(given: argparse.Namespace) -> int:
    """Until SIGTERM or Ctrl-C."""
    # Imported here: it installs Twisted's reactor, which settling does not want.
    from agentbridge.guard.server import server_at

    trust = Trust(given.keys, given.issuer, given.audience, given.require_signature, clock=clock)
    if given.keys:
        trust.read()
    bounds = Bounds(patience=given.wait, keep=timedelta(days=given.keep_days))
    journal = Journal(given.state, agent=given.agent)
    cut = recover(journal, limit=bounds.stream)
    if cut:
        log.warning("%s runs were cut off when this guard was stopped.", cut)
    for thread in journal.doubts():
        log.warning("In doubt, and waiting for its owner: thread %r", thread)
    guard = Guard(Agent(given.agent, silence=given.silence), journal, trust, clock=clock, bounds=bounds)
    server = server_at(
        Application(guard), host=given.host, port=given.port,
        ready_callable=lambda: log.info("Guarding %s at http://%s:%s", given.agent, given.host, given.port),
    )  # fmt: skip
    server.run()
    journal.close()
    if not server.listening_addresses:
        sys.stderr.write(f"Port {given.port} on {given.host} cannot be used.\n")
        return 1
    return 0


def settle(given: argparse.Namespace) -> int:
    """What nobody but the agent's owner can know: whether it acted on the answers."""
    if given.outcome is None:
        sys.stderr.write("Say --as taken when the agent acted on the answers, --as open when it did not.\n")
        return 2
    if not given.state.exists():
        raise Unusable(f"There is no state file {given.state}.")
    count = Journal(given.state).settle(digest(given.settle), taken=given.outcome == "taken")
    if not count:
        sys.stderr.write(f"Nothing is in doubt on thread {given.settle}.\n")
        return 1
    sys.stdout.write(f"Settled as {given.outcome}: {given.settle}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
