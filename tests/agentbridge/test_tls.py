"""Agents by https: whose certificate is taken, and that not one byte of a request leaves before arming."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from agentbridge.net import client, egress
from tests.waiting import PATIENCE

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
LIMITS = client.Limits(
    connect_seconds=PATIENCE, first_event_seconds=PATIENCE, idle_seconds=PATIENCE, stream_bytes=10_000_000
)


def name_of(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


class Authority:
    """Signs certificates, and is the only one that we trust."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.key = folder, ec.generate_private_key(ec.SECP256R1())
        self.place = folder / "authority.pem"
        until = datetime.now(UTC) + timedelta(days=1)
        made = self._signed("authority", self.key, until, x509.BasicConstraints(ca=True, path_length=0))
        self.place.write_bytes(made.public_bytes(serialization.Encoding.PEM))

    def _signed(self, name: str, key, until: datetime, extension) -> x509.Certificate:
        number = x509.random_serial_number()
        draft = x509.CertificateBuilder(name_of("authority"), name_of(name), key.public_key(), number)
        draft = draft.not_valid_before(until - timedelta(days=9)).not_valid_after(until)
        return draft.add_extension(extension, critical=False).sign(self.key, hashes.SHA256())

    def context(self, name: str = "localhost", *, until: datetime | None = None) -> ssl.SSLContext:
        """Of a server of that name."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([x509.DNSName(name)])
        made = self._signed(name, key, until or datetime.now(UTC) + timedelta(days=1), names)
        secret = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        both = self.folder / "server.pem"
        both.write_bytes(secret + made.public_bytes(serialization.Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(both)
        return context


@pytest.fixture
def authority(tmp_path, monkeypatch):
    made = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.place))
    egress._tls.cache_clear()
    yield made
    egress._tls.cache_clear()


class Agent:
    """Answers one request by TLS; remembers what it got, and by which name it was asked for."""

    def __init__(self, context: ssl.SSLContext, say: bytes = HEAD + b"data: 1\n\n", *, farewell: bool = True) -> None:
        self.got, self.asked_for, self._say, self._farewell = bytearray(), [], say, farewell
        context.sni_callback = lambda _socket, name, _context: self.asked_for.append(name)
        context.set_alpn_protocols(["h2", "http/1.1"])
        self._context, self._listening = context, socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(PATIENCE)
        self._serving = threading.Thread(target=self._serve)
        self.url = f"https://localhost:{self._listening.getsockname()[1]}/agui"

    def __enter__(self) -> Agent:
        self._serving.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._serving.join()
        self._listening.close()

    def _serve(self) -> None:
        connection, _address = self._listening.accept()
        with suppress(OSError), self._context.wrap_socket(connection, server_side=True) as secured:
            while not self.got.endswith(b"{}") and (data := secured.recv(65536)):
                self.got += data
            secured.sendall(self._say)
            if self._farewell:
                secured.unwrap()

    async def asked(self, arm=client.at_once) -> bytes:
        async with client.post(self.url, headers=(), body=b"{}", arm=arm, limits=LIMITS) as answer:
            return b"".join([part async for part in answer.aiter()])


async def test_an_agent_with_a_certificate_is_asked_by_its_name(authority):
    with Agent(authority.context()) as agent:
        assert await agent.asked() == b"data: 1\n\n"
    assert agent.asked_for == ["localhost"]
    assert b"Host: localhost:" in bytes(agent.got)


async def test_arming_comes_between_the_handshake_and_the_first_byte(authority):
    seen = []

    async def arm() -> None:
        await asyncio.sleep(0.1)
        seen.append((list(agent.asked_for), bytes(agent.got)))

    with Agent(authority.context()) as agent:
        await agent.asked(arm)
    assert seen == [(["localhost"], b"")]


async def test_much_comes_through_whole(authority):
    say = HEAD + b"data: x\n\n" * 300_000
    with Agent(authority.context(), say) as agent:
        assert HEAD + await agent.asked() == say


async def test_an_end_without_a_farewell_is_an_end(authority):
    """Many servers do so; what an end means is for the events to say."""
    with Agent(authority.context(), HEAD + b"data: 1", farewell=False) as agent:
        assert await agent.asked() == b"data: 1"


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion:DeprecationWarning")  # which is the point
@pytest.mark.parametrize("wrong", ["expired", "other name", "too old"])
async def test_a_certificate_or_tls_that_is_not_accepted_gets_nothing(authority, wrong):
    until = datetime.now(UTC) - timedelta(days=1) if wrong == "expired" else None
    context = authority.context("elsewhere.example" if wrong == "other name" else "localhost", until=until)
    if wrong == "too old":
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    with Agent(context) as agent, pytest.raises(egress.EgressError, match="certificate or TLS") as failure:
        await agent.asked()
    assert (failure.value.kind, failure.value.nothing_sent, agent.got) == ("tls", True, b"")


async def test_an_authority_that_we_do_not_know_vouches_for_nobody(authority, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE")
    egress._tls.cache_clear()
    with Agent(authority.context()) as agent, pytest.raises(egress.EgressError, match="certificate or TLS"):
        await agent.asked()
    assert agent.got == b""
