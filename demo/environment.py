"""The settings of the demo, made before Django reads any: keys of its own, and the way out to two loopback ports."""

from __future__ import annotations

import base64
import os
import secrets
import socket
from pathlib import Path

KEYS = ("SECRET_KEY", "FIELD_KEY", "SIGNING_KEY")
DEFAULT_PORT = 8000
AGENT_PORTS = ("DEMO_KEEPING_PORT", "DEMO_REPLAYING_PORT")


def prepare(words: list[str], root: Path) -> None:
    """Fill `os.environ` for `manage.py demo …`; what is set already stays as it is.

    Keys and the agents' ports are written once to `var/demo.env` (mode 0600): a second start opens the same database
    and finds the agents where their open questions came from.
    """
    port = port_of(words)
    for name, value in read_or_make(root / "var" / "demo.env").items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("EGRESS_ALLOW", ",".join(f"127.0.0.1:{os.environ[name]}" for name in AGENT_PORTS))
    os.environ.setdefault("PUBLIC_URL", f"http://127.0.0.1:{port}")
    os.environ.setdefault("ALLOWED_HOSTS", "127.0.0.1,localhost")


def port_of(words: list[str]) -> int:
    """The port asked for by `--port N` or `--port=N`; the command itself complains about anything unreadable."""
    for before, word in zip(["", *words], [*words, ""], strict=True):
        text = word if before == "--port" else word.removeprefix("--port=")
        if (before == "--port" or word.startswith("--port=")) and text.isdigit():
            return int(text)
    return DEFAULT_PORT


def read_or_make(file: Path) -> dict[str, str]:
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"{name}={base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()}\n" for name in KEYS]
        lines += [f"{name}={free_port()}\n" for name in AGENT_PORTS]
        # The mode is part of the creation: there is no moment in which others could read the keys.
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
            out.writelines(lines)
    pairs = (line.partition("=") for line in file.read_text().splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
