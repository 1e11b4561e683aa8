"""Checks schemas in a network of its own that leads nowhere, and prints what the kernel was asked there.

Run as `unshare --map-root-user --net python -m tests.approvals.asked_of_the_network VALUE` with a JSON list of schema
texts as input. Prints how often an address was asked for meanwhile, and how often by one connection that is tried on
purpose: a counter that does not count proves nothing.
"""

from __future__ import annotations

import contextlib
import json
import socket
import sys
from pathlib import Path

from approvals.validation import worker
from approvals.validation.check import Limits, UnusableSchema


def without_a_route() -> int:
    """How often the kernel was asked for a way to another machine."""
    lines = Path("/proc/self/net/snmp").read_text().splitlines()
    names, values = (line.split() for line in lines if line.startswith("Ip:"))
    return int(values[names.index("OutNoRoutes")])


def main() -> None:
    for schema in json.load(sys.stdin):
        with contextlib.suppress(UnusableSchema):
            worker.failures(schema, sys.argv[1], Limits())
    asked = without_a_route()
    with contextlib.suppress(OSError):
        socket.create_connection(("192.0.2.1", 443), timeout=1)
    sys.stdout.write(json.dumps([asked, without_a_route() - asked]))


if __name__ == "__main__":
    main()
