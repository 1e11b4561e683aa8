"""Writes `docs/owners/signature-vectors.json`: signed resumes that every verifier accepts, and ones that all refuse.

    python -m tests.agentbridge.signature_vectors > docs/owners/signature-vectors.json
"""

from __future__ import annotations

import hashlib
import hmac
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agentbridge.wire import jws, signature

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
THIEF = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
PUBLIC = KEY.public_key().public_bytes_raw()
KEYS = [jws.PublicKey("d-1", "Ed25519", PUBLIC), jws.PublicKey("d-1-eddsa", "EdDSA", PUBLIC)]
ISSUER, AUDIENCE, NOW = "https://desk.example.org", "ledger", 1_790_000_000
RAW, ARGS = '{"id":"int-1","reason":"tool_call"}', '{"amount": 12.50, "to": "ACME"}'
Json = dict[str, Any]


def asked(id_: str = "int-1", **other: Any) -> Json:
    return {"threadId": "th-1", "runId": "run-1", "interruptId": id_, "interrupt": RAW, "proposal": ARGS, **other}


def statement(**other: Any) -> signature.Statement:
    told = {
        "issuer": ISSUER, "audience": AUDIENCE, "id": "T-1.1", "decided_at": NOW - 5, "expires_at": NOW + 600,
        "thread_id": "th-1", "source_run_id": "run-1", "interrupt_id": "int-1", "tool_call_id": "tc-1",
        "payload": '{"approved":true}', "interrupt": RAW.encode(), "proposal": ARGS.encode(), "batch": ["int-1"],
        "approvers": [{"sub": "p_1", "kind": "person", "at": NOW - 5, "amr": ["pwd"]}],
    }  # fmt: skip
    return signature.Statement(**(told | other))


def token(text: str, *, kid: str = "d-1", alg: str = "Ed25519", key: Ed25519PrivateKey = KEY, **header: Any) -> str:
    """Any statement text under any header, properly signed."""
    return signed(json.dumps({"alg": alg, "kid": kid, "typ": signature.TYP, **header}), text, key)


def signed(header: str, text: str, key: Ed25519PrivateKey = KEY) -> str:
    head = f"{jws.encode(header.encode())}.{jws.encode(text.encode())}"
    return f"{head}.{jws.encode(key.sign(head.encode()))}"


def entry(jws_: Any, payload: str | None = '{"approved":true}', id_: str = "int-1", **other: Any) -> str:
    """One entry's text; other members replace."""
    held: Json = {"interruptId": id_, "status": "resolved" if payload is not None else "cancelled"}
    held["metadata"] = {"countersign": {"v": 1, "jws": jws_}}
    text = json.dumps({name: value for name, value in {**held, **other}.items() if value is not ...})
    return text if payload is None else f'{text[:-1]}, "payload": {payload}}}'


def case(name: str, *entries: str, about: list[Json] | None = None, now: int = NOW) -> Json:
    return {"name": name, "resume": f"[{', '.join(entries)}]", "asked": about or [asked()], "now": now}


def signed_case(name: str, *, now: int = NOW, about: list[Json] | None = None, **other: Any) -> Json:
    said = statement(**other)
    return case(name, entry(signature.sign(said, key=KEY, kid="d-1"), said.payload), about=about, now=now)


ANSWERS = {
    "approved": '{"approved":true}', "rejected": '{"approved":false}',
    "edited": '{"approved":true,"editedArgs":{"a":1}}',
    "true": "true", "null": "null", "empty text": '""', "text": '"yes, \\u00e9 \\"quoted\\""', "number": "12.5",
    "big integer": "9007199254740991", "negative": "-3", "empty object": "{}", "empty list": "[]",
    "hangul": '{"이름":"정정"}', "emoji": '{"text":"👍🏽"}', "nested": "[" * 40 + "]" * 40,
    "spaced": '{ "approved" : true }', "long": json.dumps({"text": "ü" * 9000}),
    "long with a fraction": json.dumps({"text": "x" * 17_000, "rate": 1.5}),
    "long, members unsorted": json.dumps({"z": "x" * 17_000, "a": [1, None, True]}),
}  # fmt: skip


def good() -> Iterator[Json]:
    for name, payload in ANSWERS.items():
        yield signed_case(name, payload=payload)
    yield signed_case("cancelled", payload=None, status="cancelled")
    yield case("under the older name", entry(signature.sign(statement(), key=KEY, kid="d-1-eddsa", alg="EdDSA")))
    yield signed_case("a little late", now=NOW + 659)
    yield signed_case("a little early", now=NOW - 65)
    yield signed_case("without a call", proposal=None, tool_call_id=None, about=[asked(proposal=None)])
    yield signed_case("agent kept nothing", about=[asked(proposal=None, interrupt=None)])
    yield signed_case("asked a second time", asking=2)
    yield signed_case("by a policy", policy="small amounts")
    token_ = signature.sign(statement(), key=KEY, kid="d-1")
    metadata = {"countersign": {"v": 1, "jws": token_, "log": {"seq": 9}}, "other": {"x": None}}
    yield case("beside other metadata", entry(token_, metadata=metadata))
    both = [asked(), asked("int-2")]
    ids = ["int-1", "int-2"]
    pair = [signature.sign(statement(interrupt_id=id_, batch=ids), key=KEY, kid="d-1") for id_ in ids]
    yield case("two together", entry(pair[0]), entry(pair[1], id_="int-2"), about=both)
    yield case("two in another order", entry(pair[1], id_="int-2"), entry(pair[0]), about=both)


def text(**change: Any) -> str:
    """A statement with members changed; `...` leaves one out."""
    told = {**json.loads(statement().to_text()), **change}
    return json.dumps({name: value for name, value in told.items() if value is not ...})


def headers() -> Iterator[tuple[str, str]]:
    """Tokens whose header is not ours."""
    said = text()
    for alg in ("none", "HS256", "RS256", "ES256", "EdDSA", "ed25519", ""):
        yield f"alg {alg or 'empty'}", token(said, alg=alg)
    yield "alg Ed25519 for the older name", token(said, kid="d-1-eddsa")
    yield "alg none without a signature", token(said, alg="none").rpartition(".")[0] + "."
    head = token(said, alg="HS256").rpartition(".")[0]
    yield "HMAC with the public key", f"{head}.{jws.encode(hmac.new(PUBLIC, head.encode(), hashlib.sha256).digest())}"
    for kid in ("d-2", "", "D-1"):
        yield f"kid {kid or 'empty'}", token(said, kid=kid)
    yield "kid a number", token(said, kid=1)  # type: ignore[arg-type]
    yield "typ JWT", token(said, typ="JWT")
    yield "typ missing", signed('{"alg":"Ed25519","kid":"d-1"}', said)
    for name in ("jwk", "jku", "x5u", "crit", "b64"):
        yield f"header with {name}", token(said, **{name: "x"})
    twice = '{"alg":"none","alg":"Ed25519","kid":"d-1","typ":"countersign+jws"}'
    yield "header member twice", signed(twice, said)
    yield "header a list", signed('["alg","kid","typ"]', said)
    yield "header no JSON", signed("{", said)
    yield "another's key", token(said, key=THIEF)


def spellings() -> Iterator[tuple[str, str]]:
    """Tokens that are not written as a token is."""
    whole = token(text())
    head, said, tail = whole.split(".")
    yield "two parts", f"{head}.{said}"
    yield "four parts", f"{whole}.x"
    yield "empty", ""
    yield "signature cut", whole[:-4]
    yield "statement cut", f"{head}.{said[:-4]}.{tail}"
    yield "padded", f"{whole}=="
    yield "last bits set", whole[:-1] + chr(ord(whole[-1]) + 1)
    yield "white space", f"{head}.{said}. {tail}"
    yield "signature of another", f"{head}.{said}.{token(text(jti='T-2.1')).rpartition('.')[2]}"
    yield "statement of another", f"{head}.{jws.encode(text(exp=NOW + 9999).encode())}.{tail}"


def statements() -> Iterator[tuple[str, str]]:
    """Statements that are properly signed and say something else."""
    changes: dict[str, Json] = {
        "another desk": {"iss": "https://evil.example"},
        "another agent": {"aud": "payroll"},
        "a list of agents": {"aud": ["ledger"]},
        "expired": {"exp": NOW - 60},
        "not yet": {"nbf": NOW + 61},
        "exp a text": {"exp": str(NOW + 600)},
        "exp missing": {"exp": ...},
        "exp a fraction": {"exp": NOW + 600.5},
        "exp true": {"exp": True},
        "no id": {"jti": ...},
        "another thread": {"threadId": "th-2"},
        "another run": {"sourceRunId": "run-0"},
        "not open": {"interruptId": "int-9"},
        "another interrupt": {"interruptDigest": "sha-256:00"},
        "other arguments": {"proposalDigest": "sha-256:00"},
        "arguments left out": {"proposalDigest": ...},
        "another answer": {"payload": {"approved": False}},
        "1 for true": {"payload": {"approved": 1}},
        "more in the answer": {"payload": {"approved": True, "x": 1}},
        "answer and digest": {"payloadDigest": "sha-256:00"},
        "neither": {"payload": ...},
        "batch missing": {"batch": ...},
        "wrong digest": {"payload": ..., "payloadDigest": "sha-256:00"},
        "batch with more": {"batch": ["int-1", "int-2"]},
        "empty batch": {"batch": []},
        "another version": {"v": "countersign/2"},
        "cancelled with an answer": {"status": "cancelled"},
    }
    for name, change in changes.items():
        yield name, token(text(**change))
    yield "member twice", token(text()[:-1] + ',"aud":"ledger"}')
    yield "answer member twice", token(text().replace('"approved": true', '"approved": false, "approved": true'))
    yield "statement a list", token("[]")
    yield "statement NaN", token(text(gen=float("nan")))


def bad() -> Iterator[Json]:
    for source in (headers, spellings, statements):
        yield from (case(name, entry(made)) for name, made in source())
    whole = token(text())
    changed: dict[str, Callable[[], Json]] = {
        "answer changed on the way": lambda: case("", entry(whole, '{"approved":false}')),
        "answer taken out": lambda: case("", entry(whole, None, status="resolved")),
        "turned into a cancel": lambda: case("", entry(whole, None)),
        "put on another interrupt": lambda: case("", entry(whole, id_="int-2"), about=[asked("int-2")]),
        "one of two left out": lambda: case("", entry(whole), about=[asked(), asked("int-2")]),
        "one answered twice": lambda: case("", entry(whole), entry(whole)),
        "no metadata": lambda: case("", entry(whole, metadata=...)),
        "another's metadata": lambda: case("", entry(whole, metadata={"signature": whole})),
        "token a number": lambda: case("", entry(7)),
    }
    yield from ({**make(), "name": name} for name, make in changed.items())


def document() -> Json:
    return {
        "issuer": ISSUER, "audience": AUDIENCE, "jwks": {"keys": [key.to_jwk() for key in KEYS]},
        "good": list(good()), "bad": list(bad()),
    }  # fmt: skip


if __name__ == "__main__":
    json.dump(document(), sys.stdout, indent=1)
    sys.stdout.write("\n")
