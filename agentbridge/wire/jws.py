"""Compact JWS (RFC 7515) with Ed25519 and nothing else: one way to write a token, one way to read it. Pure.

Strict on purpose, for whoever verifies has to be sure of what was signed: three parts of base64url in its one spelling,
a header of exactly `alg`, `kid` and `typ`, no member twice, and the algorithm that the key says. A key named by the
token itself (`jwk`, `jku`, `x5u`) is never looked at.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

ALGORITHMS = ("Ed25519", "EdDSA")  # RFC 9864's name, and the older one that some libraries know alone


class Refused(ValueError):
    """A token that proves nothing; `code` is for programs."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key as it stands in a JWKS: bound to one algorithm name."""

    kid: str
    alg: str
    raw: bytes

    def to_jwk(self) -> dict[str, str]:
        return {"kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": self.alg, "kid": self.kid, "x": encode(self.raw)}


def read_jwks(document: Any) -> dict[str, PublicKey]:
    """The Ed25519 keys of a JWKS by `kid`; others are passed over. Raises Refused for what is no JWKS."""
    listed = document.get("keys") if isinstance(document, Mapping) else None
    if not isinstance(listed, list):
        raise Refused("malformed", "This is not a JWKS.")
    found = [jwk for jwk in listed if isinstance(jwk, Mapping) and jwk.get("crv") == "Ed25519"]
    return {jwk["kid"]: PublicKey(jwk["kid"], jwk["alg"], decode(jwk["x"])) for jwk in found if _whole(jwk)}


def sign(payload: bytes, *, key: Ed25519PrivateKey, kid: str, alg: str, typ: str) -> str:
    header = json.dumps({"alg": alg, "kid": kid, "typ": typ}, separators=(",", ":")).encode()
    signed = f"{encode(header)}.{encode(payload)}"
    return f"{signed}.{encode(key.sign(signed.encode()))}"


def verify(token: Any, *, keys: Mapping[str, PublicKey], typ: str, algs: Sequence[str] = ALGORITHMS) -> bytes:
    """The payload of a token that one of `keys` signed. Raises Refused."""
    parts = token.split(".") if isinstance(token, str) else []
    if len(parts) != 3:
        raise Refused("malformed", "This is not a compact JWS.")
    header = read_json(decode(parts[0]))
    if not isinstance(header, dict) or header.keys() != {"alg", "kid", "typ"} or header["typ"] != typ:
        raise Refused("wrong_header", f"The header is not that of {typ}.")
    key = keys.get(header["kid"]) if isinstance(header["kid"], str) else None
    if key is None:
        raise Refused("unknown_key", "The key that is named is not one of the pinned keys.")
    if header["alg"] not in algs or header["alg"] != key.alg:
        raise Refused("wrong_algorithm", "The algorithm is not the key's.")
    try:
        Ed25519PublicKey.from_public_bytes(key.raw).verify(decode(parts[2]), ".".join(parts[:2]).encode())
    except (InvalidSignature, ValueError):
        raise Refused("bad_signature", "The signature does not fit.") from None
    return decode(parts[1])


def encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def decode(text: Any) -> bytes:
    """base64url without padding, in its one spelling. Raises Refused."""
    try:
        content = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise Refused("malformed", "A part is not base64url.") from None
    if encode(content) != text:
        raise Refused("malformed", "A part is not base64url in its one spelling.")
    return content


def read_json(content: bytes) -> Any:
    """Strict JSON in UTF-8: no member twice, no NaN. Raises Refused."""
    try:
        return json.loads(content.decode(), object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as problem:
        raise Refused("malformed", f"A part is not JSON: {problem}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a member stands twice")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _whole(jwk: Mapping[str, Any]) -> bool:
    return all(isinstance(jwk.get(name), str) for name in ("kid", "alg", "x")) and jwk["alg"] in ALGORITHMS
