"""The guard's own server: whoever listens slowly holds back their own stream, not this process's memory."""

from __future__ import annotations

from typing import Any

from daphne.endpoints import build_endpoint_description_strings

from agentbridge.net.serving import SteadyServer


def server_at(application: Any, *, host: str, port: int, **more: Any) -> SteadyServer:
    return SteadyServer(application, endpoints=build_endpoint_description_strings(host=host, port=port), **more)
