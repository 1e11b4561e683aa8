"""Ed25519 (RFC 8032), verifying only: slow, short, and independent of any library. A part of `verify.py`."""

from __future__ import annotations

import hashlib

P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
Point = tuple[int, int, int, int]


def verified(key: bytes, message: bytes, signature: bytes) -> bool:
    try:
        a, r, s = point(key), point(signature[:32]), int.from_bytes(signature[32:], "little")
    except ValueError:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    left, right = times(s, BASE), add(r, times(h, a))
    same = all((left[axis] * right[2] - right[axis] * left[2]) % P == 0 for axis in (0, 1))
    return same and len(signature) == 64 and s < L


def add(one: Point, two: Point) -> Point:
    a, b = (one[1] - one[0]) * (two[1] - two[0]) % P, (one[1] + one[0]) * (two[1] + two[0]) % P
    c, d = 2 * one[3] * two[3] * D % P, 2 * one[2] * two[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def times(number: int, one: Point) -> Point:
    total = (0, 1, 1, 0)
    while number:
        total, one, number = add(total, one) if number & 1 else total, add(one, one), number >> 1
    return total


def point(encoded: bytes) -> Point:
    """Raises ValueError for bytes that are no point of the curve."""
    sign, y = divmod(int.from_bytes(encoded, "little"), 1 << 255)
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if (x * x - square) % P == 0 else x * pow(2, (P - 1) // 4, P) % P
    if len(encoded) != 32 or y >= P or (x * x - square) % P or (x == 0 and sign):
        raise ValueError("not a point")
    x = P - x if x & 1 != sign else x
    return (x, y, 1, x * y % P)


BASE = point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))
