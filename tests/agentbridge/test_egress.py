"""Out only where allowed: judged by the address that is connected to."""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address

import pytest

from agentbridge.net import allowlist, egress


def allowing(text: str = "") -> egress.Policy:
    return egress.Policy(allowlist.parse(text))


@pytest.mark.parametrize(
    ("listed", "host", "port", "scheme", "address"),
    [
        ("", "agent.example", 443, "https", "1.1.1.1"),
        ("agent.example:8080", "agent.example", 8080, "http", "1.1.1.1"),
        ("agent.internal", "agent.internal", 9000, "http", "10.0.0.1"),
        ("127.0.0.1:9000", "localhost", 9000, "http", "127.0.0.1"),
    ],
)
def test_allowed(listed, host, port, scheme, address):
    allowing(listed).check(host, port, scheme, ip_address(address))


@pytest.mark.parametrize(
    ("listed", "host", "port", "scheme", "address", "reason"),
    [
        ("", "agent.example", 80, "http", "1.1.1.1", "only https"),
        ("", "agent.example", 25, "https", "1.1.1.1", "only port 443"),
        ("", "agent.example", 443, "https", "10.0.0.1", "internal address"),
        ("", "agent.example", 443, "https", "::ffff:127.0.0.1", "internal address"),
        ("127.0.0.1:9000", "localhost", 9001, "http", "127.0.0.1", "internal address"),
        ("metadata.internal", "metadata.internal", 80, "http", "169.254.169.254", "no agent may be"),
        ("169.254.0.0/16", "x", 80, "http", "169.254.169.254", "no agent may be"),
        ("0.0.0.0", "x", 80, "http", "0.0.0.0", "no agent may be"),
    ],
)
def test_refused_with_the_reason(listed, host, port, scheme, address, reason):
    with pytest.raises(egress.NotAllowed, match=reason) as refusal:
        allowing(listed).check(host, port, scheme, ip_address(address))
    assert refusal.value.nothing_sent


@pytest.mark.parametrize(
    "url",
    ["ftp://a", "file:///etc/passwd", "//a", "a", "http://", "http://user@a/", "http://u:p@a/", "http://a:99999/", "gopher://a"],
)
def test_what_no_agents_address_may_be(url):
    with pytest.raises(egress.NotAllowed):
        egress.check_url(url)


async def nothing() -> None:
    pass


async def try_to_reach(url: str, policy: egress.Policy) -> None:
    progress = egress.Progress(before_first_byte=nothing, first_byte_seconds=5)
    async with egress.exchange("POST", url, headers=[], body=b"", progress=progress, connect_seconds=5, policy=policy):
        raise AssertionError("reached")


@pytest.fixture
async def listening():
    """A port that counts who connects."""
    connected = []
    server = await asyncio.start_server(lambda r, w: (connected.append(1), w.close()), "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1], connected
    server.close()
    await server.wait_closed()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "[::ffff:127.0.0.1]"])
async def test_loopback_by_any_spelling_is_not_even_connected_to(host, listening):
    port, connected = listening
    with pytest.raises(egress.NotAllowed):
        await try_to_reach(f"http://{host}:{port}/", allowing())
    assert connected == []


async def test_a_name_that_resolves_inward_is_refused(monkeypatch, listening):
    port, connected = listening
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("127.0.0.1", port))])
    with pytest.raises(egress.NotAllowed, match="internal address"):
        await try_to_reach(f"https://agent.example:{port}/", allowing())
    assert connected == []


async def test_an_unknown_name_sends_nothing(monkeypatch):
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(egress.EgressError) as failure:
        await try_to_reach("https://agent.example/", allowing())
    assert (failure.value.kind, failure.value.nothing_sent) == ("dns", True)


async def test_nobody_listening_is_a_refusal():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(egress.EgressError) as failure:
            await try_to_reach(f"http://127.0.0.1:{unused.getsockname()[1]}/", allowing("127.0.0.1"))
    assert (failure.value.kind, failure.value.nothing_sent) == ("refused", True)


async def test_no_tls_on_the_other_side(listening):
    port, _connected = listening
    with pytest.raises(egress.EgressError) as failure:
        await try_to_reach(f"https://127.0.0.1:{port}/", allowing("127.0.0.1"))
    assert (failure.value.kind, failure.value.nothing_sent) == ("tls", True)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9000/", "https://10.1.2.3/", "http://[::1]/x"])
async def test_looking_up_says_what_connecting_would(url, listening):
    with pytest.raises(egress.NotAllowed):
        await egress.look_up(url, allowing())
    await egress.look_up(f"http://127.0.0.1:{listening[0]}/", allowing("127.0.0.1"))
    assert listening[1] == []
