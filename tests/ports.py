"""Ports for the servers that tests start, each given to nobody else."""

from __future__ import annotations

import socket


def free_port() -> int:
    """A port of this process until it ends: it stays bound, though nobody listens.

    A server that allows its address to be used again, as they all do, may listen there; a port that was let go could be
    given to another test's server, or to a connection, before ours has started.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    port = int(held.getsockname()[1])
    held.detach()
    return port
