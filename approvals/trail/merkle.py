"""The Merkle tree over the leaves of the trail, as in RFC 9162: one root stands for every entry before it. Pure.

    leaf = SHA-256(0x00 || body), node = SHA-256(0x01 || left || right)
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

NOTHING = hashlib.sha256(b"").digest()  # the root of no entries
DIGEST_BYTES = 32


def node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


class Range:
    """The fewest whole subtrees that cover the leaves from `start` up to `end`, left to right.

    Grows by leaves or by whole subtrees. From 0 on it is all one has to keep of a tree: fewer than 64 digests.
    """

    __slots__ = ("end", "nodes", "start")

    def __init__(self, start: int = 0) -> None:
        self.start = self.end = start
        self.nodes: list[tuple[int, bytes]] = []  # height and digest

    def append(self, digest: bytes, height: int = 0) -> None:
        """Add a leaf, or a subtree of 2^height leaves. Raises ValueError where no such subtree begins."""
        if self.end % (1 << height):
            raise ValueError(f"no subtree of height {height} begins at {self.end}")
        self.end += 1 << height
        while self.nodes and self.nodes[-1][0] == height and self.end % (2 << height) == 0:
            digest = node(self.nodes.pop()[1], digest)
            height += 1
        self.nodes.append((height, digest))

    def root(self) -> bytes:
        """Of the tree of all leaves so far; only a range from 0 has one."""
        if not self.nodes:
            return NOTHING
        digest = self.nodes[-1][1]
        for _height, left in reversed(self.nodes[:-1]):
            digest = node(left, digest)
        return digest

    def to_hex(self) -> list[str]:
        return [digest.hex() for _height, digest in self.nodes]


def resumed(size: int, digests: Iterable[str]) -> Range:
    """The range from 0 to `size` whose `to_hex` this was. Raises ValueError for another number of digests."""
    heights = [bit for bit in range(size.bit_length() - 1, -1, -1) if size >> bit & 1]
    tree = Range()
    for height, digest in zip(heights, digests, strict=True):
        tree.append(bytes.fromhex(digest), height)
    return tree
