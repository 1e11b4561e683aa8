"""Checks signed decisions inside an agent; `cryptography` is all it needs. Copy it and keep it (signature.md)."""

import base64
import hashlib
import json
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def verify(resume: Any, *, asked: list, jwks: dict, issuer: str, audience: str, now: float) -> list[dict[str, Any]]:
    """The statements of a whole resume; ValueError: run nothing, and answer RUN_ERROR APPROVAL_SIGNATURE_INVALID."""
    try:
        said = [statement(entry, asked, {key["kid"]: key for key in jwks["keys"]}) for entry in resume]
    except (AttributeError, IndexError, KeyError, TypeError, RecursionError) as problem:
        raise ValueError("malformed") from problem
    for one in said:
        need(one.get("iss") == issuer and one.get("aud") == audience and isinstance(one.get("jti"), str), "not for us")
        need(all(type(one.get(name)) is int for name in ("iat", "nbf", "exp")), "times")
        need(one["nbf"] - 60 <= now < one["exp"] + 60, "too early or too late")
        need(sorted(map(str, one["batch"])) == sorted(own["interruptId"] for own in asked), "other interrupts")
    need(sorted(one["interruptId"] for one in said) == sorted(one["interruptId"] for one in asked), "not every answer")
    return said


def statement(entry: Any, asked: list, keys: dict) -> dict[str, Any]:
    parts = ((entry.get("metadata") or {}).get("countersign") or {}).get("jws", "").split(".")
    need(len(parts) == 3, "not signed")
    header, said = (json.loads(decode(part), object_pairs_hook=once, parse_constant=need) for part in parts[:2])
    need(header.keys() == {"alg", "kid", "typ"} and header["typ"] == "countersign+jws", "header")
    need(isinstance(header["kid"], str) and header["kid"] in keys, "no pinned key")
    key = keys[header["kid"]]
    need(header["alg"] == key["alg"] and key["alg"] in ("Ed25519", "EdDSA") and key["crv"] == "Ed25519", "algorithm")
    try:
        Ed25519PublicKey.from_public_bytes(decode(key["x"])).verify(decode(parts[2]), ".".join(parts[:2]).encode())
    except InvalidSignature:
        raise ValueError("signature") from None
    need(said.get("v") == "countersign/1" and isinstance(said.get("batch"), list), "statement")
    one = next((one for one in asked if one["interruptId"] == said.get("interruptId")), {})
    need(one and (said.get("threadId"), said.get("sourceRunId")) == (one["threadId"], one["runId"]), "not open")
    for name, ours in (("interruptDigest", one["interrupt"]), ("proposalDigest", one["proposal"])):
        need(ours is None or said.get(name) == digest(ours), name)
    need((entry.get("interruptId"), entry.get("status")) == (said["interruptId"], said.get("status")), "other entry")
    written = text(entry["payload"]) if "payload" in entry else None
    if "payload" in said:
        fits = "payloadDigest" not in said and written == text(said["payload"])
    else:
        fits = said.get("payloadDigest") == (written and digest(written))
    need(fits and said["status"] == ("cancelled" if written is None else "resolved"), "payload")
    return said  # act on said["payload"], or on entry["payload"] where only its digest was signed


def text(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")


def digest(content: bytes) -> str:
    return "sha-256:" + hashlib.sha256(content).hexdigest()


def decode(part: str) -> bytes:
    content = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    need(base64.urlsafe_b64encode(content).rstrip(b"=").decode() == part, "not base64url")
    return content


def once(pairs: list) -> dict:
    need(len(dict(pairs)) == len(pairs), "a member twice")
    return dict(pairs)


def need(holds: Any, why: str = "") -> None:
    if not (holds and why):
        raise ValueError(why or holds)
