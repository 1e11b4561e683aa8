"""Which addresses agents may have: the grammar of EGRESS_ALLOW and the kinds of address. Pure; `egress` applies it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?:\.(?!-)[a-z0-9_-]{1,63})*")
NUMERIC = re.compile(r"(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)$")  # an address in some old spelling, not a name
BRACKETED = re.compile(r"\[([^\]]+)\](?::([0-9]+))?")
PLAIN = re.compile(r"([^:]+)(?::([0-9]+))?")

# Where clouds keep their credentials; some of these lie outside the link-local ranges.
METADATA = {ip_address(text) for text in ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "168.63.129.16")}
# IPv6 prefixes whose last 32 bits are an IPv4 address: compatible, NAT64 and its local-use range.
EMBEDDING = tuple(IPv6Network(text) for text in ("::/96", "64:ff9b::/96", "64:ff9b:1::/48"))
# Not for the public internet, though older `ipaddress` tables call them global.
NOT_PUBLIC = tuple(
    ip_network(text) for text in ("192.88.99.0/24", "2001::/32", "fec0::/10", "3fff::/20", "5f00::/16", "100::/64")
)


class BadEntry(ValueError):
    """An entry of EGRESS_ALLOW that says nothing we understand."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """`name` matches the host as written in the URL, `network` the resolved address; `port` None means any."""

    name: str = ""
    network: Network | None = None
    port: int | None = None

    def __str__(self) -> str:
        """As it is written in the setting."""
        v6 = self.network is not None and self.network.version == 6
        place = f"[{self.network}]" if v6 else self.name or str(self.network)
        return place if self.port is None else f"{place}:{self.port}"

    def covers(self, host: str, port: int, address: Address) -> bool:
        if self.port not in (None, port):
            return False
        if self.network is None:
            return self.name == plain_host(host)
        return address.version == self.network.version and address in self.network


def parse(text: str) -> tuple[Entry, ...]:
    """`host[:port]`, `CIDR[:port]` or `[v6]:port`, separated by commas. Raises BadEntry naming the entry."""
    return tuple(_entry(part.strip()) for part in text.split(",") if part.strip())


def _entry(text: str) -> Entry:
    network = _network(text)  # before ports: bare IPv6 is full of colons
    if network:
        return Entry(network=network)
    match = BRACKETED.fullmatch(text) or PLAIN.fullmatch(text)
    if not match:
        raise BadEntry(f"“{text}” is neither host[:port], CIDR[:port] nor [v6]:port")
    place, port = match[1], _port(text, match[2])
    network = _network(place)
    if network:
        return Entry(network=network, port=port)
    name = plain_host(place)
    if not NAME.fullmatch(name) or text.startswith("[") or NUMERIC.search(name):
        raise BadEntry(f"“{text}” holds neither a host name nor an address range")
    return Entry(name=name, port=port)


def _port(text: str, digits: str | None) -> int | None:
    if digits is None:
        return None
    if not 0 < int(digits) < 65_536:
        raise BadEntry(f"“{text}” names no port between 1 and 65535")
    return int(digits)


def _network(text: str) -> Network | None:
    try:
        return ip_network(text.strip("[]") if text.endswith("]") else text, strict=False)
    except ValueError:
        return None


def plain_host(host: str) -> str:
    return host.lower().rstrip(".")


def effective(address: Address) -> Address:
    """The address that traffic really reaches: IPv4 inside IPv6 is unpacked (mapped, compatible, NAT64, 6to4)."""
    if isinstance(address, IPv4Address):
        return address
    address = IPv6Address(int(address))  # without a zone
    inner = address.ipv4_mapped or address.sixtofour
    if inner:
        return inner
    if any(address in network for network in EMBEDDING) and int(address) > 1:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def is_forbidden(address: Address) -> bool:
    """Never allowed, listed or not: link-local, metadata, multicast, unspecified, reserved."""
    address = effective(address)
    if address in METADATA or address.is_link_local or address.is_multicast or address.is_unspecified:
        return True
    return isinstance(address, IPv4Address) and (address.is_reserved or address in IPv4Network("0.0.0.0/8"))


def is_public(address: Address) -> bool:
    address = effective(address)
    return address.is_global and not any(
        address.version == network.version and address in network for network in NOT_PUBLIC
    )


def is_listed(entries: Iterable[Entry], host: str, port: int, address: Address) -> bool:
    return any(entry.covers(host, port, effective(address)) for entry in entries)
