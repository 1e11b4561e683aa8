"""What EGRESS_ALLOW may say, and which addresses are which."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from agentbridge.net import allowlist


def listed(text: str, host: str, port: int, address: str) -> bool:
    return allowlist.is_listed(allowlist.parse(text), host, port, ip_address(address))


@pytest.mark.parametrize(
    ("text", "host", "port", "address"),
    [
        ("agent.internal", "Agent.Internal.", 9000, "10.0.0.7"),
        ("agent.internal:9000", "agent.internal", 9000, "10.0.0.7"),
        ("10.0.0.0/8", "anything", 80, "10.1.2.3"),
        ("10.0.0.7:8080", "anything", 8080, "10.0.0.7"),
        ("10.0.0.0/8:8080", "anything", 8080, "10.0.0.7"),
        ("::1", "localhost", 1, "::1"),
        ("[::1]:8001", "localhost", 8001, "::1"),
        ("[fd00::/8]:8001", "x", 8001, "fd12::1"),
        ("a, 10.0.0.0/8 ,b", "b", 1, "1.1.1.1"),
        ("10.0.0.0/8", "mapped", 80, "::ffff:10.0.0.1"),
        ("10.0.0.0/8", "nat64", 80, "64:ff9b::a00:1"),
    ],
)
def test_an_entry_covers(text, host, port, address):
    assert listed(text, host, port, address)


@pytest.mark.parametrize(
    ("text", "host", "port", "address"),
    [
        ("agent.internal:9000", "agent.internal", 9001, "10.0.0.7"),
        ("agent.internal", "evil-agent.internal", 80, "10.0.0.7"),
        ("agent.internal", "agent.internal.evil.example", 80, "10.0.0.7"),
        ("10.0.0.7:8080", "x", 8081, "10.0.0.7"),
        ("[::1]:8001", "x", 8001, "127.0.0.1"),
    ],
)
def test_an_entry_does_not_cover(text, host, port, address):
    assert not listed(text, host, port, address)


@pytest.mark.parametrize(
    "text",
    ["http://agent", "agent:0", "agent:65536", "agent:http", "999.1.1.1", "10.0.0.0/40", "[agent]:80", "a b", "0x7f.1"],
)
def test_nonsense_is_refused_by_name(text):
    with pytest.raises(allowlist.BadEntry, match="“"):
        allowlist.parse(text)


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254", "169.254.1.1", "fe80::1", "fd00:ec2::254", "100.100.100.200", "168.63.129.16", "224.0.0.1",
        "ff02::1", "0.0.0.0", "::", "0.1.2.3", "255.255.255.255", "240.0.0.1", "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "2002:a9fe:a9fe::1", "::a9fe:a9fe",
    ],
)  # fmt: skip
def test_some_addresses_are_never_an_agent(address):
    assert allowlist.is_forbidden(ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "100.64.0.1", "198.18.0.1", "::1", "fd00::1", "fec0::1",
        "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::1", "2001:0:1::1", "192.88.99.1", "2001:db8::1",
    ],
)  # fmt: skip
def test_internal_addresses_are_not_public(address):
    assert not allowlist.is_public(ip_address(address))


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"])
def test_the_rest_is_public(address):
    assert allowlist.is_public(ip_address(address)) and not allowlist.is_forbidden(ip_address(address))
