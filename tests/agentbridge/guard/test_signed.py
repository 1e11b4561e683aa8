"""Answers that a desk has signed, and answers that only look so."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agentbridge.guard.trust import Trust
from agentbridge.wire import jws, signature
from tests.agentbridge.guard.conftest import NO, YES, Before, answer, clock, events
from tests.scripted_agent import Json, finished, finishing, interrupt, pausing

KEY = Ed25519PrivateKey.generate()
DESK, AGENT = "https://desk.example", "bank"


@pytest.fixture
def trust(tmp_path: Path) -> Trust:
    public = jws.PublicKey("k-1", "Ed25519", KEY.public_key().public_bytes_raw())
    (tmp_path / "keys.json").write_text(json.dumps({"keys": [public.to_jwk()]}))
    return Trust(str(tmp_path / "keys.json"), DESK, AGENT, clock=clock)


def signed(run: str = "r-1", payload: Json = YES, *, key: Ed25519PrivateKey = KEY, **other: object) -> Json:
    """An answer to `int-1`, vouched for as an answer to what that run asked."""
    now = int(datetime.now(UTC).timestamp())
    raw = json.loads(finished(interrupt())[6:])["outcome"]["interrupts"][0]
    told = {
        "issuer": DESK, "audience": AGENT, "id": "d-1", "decided_at": now, "expires_at": now + 600, "thread_id": "t-1",
        "source_run_id": run, "interrupt_id": "int-1", "tool_call_id": "tc-1", "payload": json.dumps(payload),
        "interrupt": json.dumps(raw, separators=(",", ":")).encode(), "proposal": b'{"amount": 12.50}',
        "batch": ["int-1"], **other,
    }  # fmt: skip
    token = signature.sign(signature.Statement(**told), key=key, kid="k-1")  # type: ignore[arg-type]
    return answer(payload, metadata={"countersign": {"v": 1, "jws": token}})


def test_a_signed_answer_passes(before: Before, trust: Trust) -> None:
    trust.required = True
    door = before(pausing(), finishing(), trust=trust)
    door.post("r-1")
    assert events(door.post("r-2", [signed()]))[-1]["outcome"] == {"type": "success"}


@pytest.mark.parametrize(
    "other",
    [
        {"source_run_id": "r-0"}, {"issuer": "https://other.example"}, {"audience": "other"}, {"thread_id": "t-2"},
        {"expires_at": 1}, {"interrupt": b"{}"}, {"proposal": b'{"amount": 9999}'}, {"payload": json.dumps(NO)},
        {"batch": ["int-1", "int-2"]},
    ],
)  # fmt: skip
def test_a_signature_for_something_else_is_refused(before: Before, trust: Trust, other: Json) -> None:
    door = before(pausing(), trust=trust)
    door.post("r-1")
    entry = signed()
    entry["metadata"] = signed(**other)["metadata"] if "payload" not in other else signed(payload=NO)["metadata"]
    assert door.code("r-2", [entry]) == "APPROVAL_SIGNATURE_INVALID" and len(door.agent.posts) == 1


def test_a_stranger_s_signature_is_refused(before: Before, trust: Trust) -> None:
    door = before(pausing(), trust=trust)
    door.post("r-1")
    assert door.code("r-2", [signed(key=Ed25519PrivateKey.generate())]) == "APPROVAL_SIGNATURE_INVALID"
    nonsense = answer(metadata={"countersign": {"jws": "a.b.c"}})
    assert door.code("r-3", [nonsense]) == "APPROVAL_SIGNATURE_INVALID"


def test_an_unsigned_answer_passes_unless_signatures_are_required(before: Before, trust: Trust) -> None:
    door = before(pausing(), finishing(), trust=trust)
    door.post("r-1")
    trust.required = True
    assert door.code("r-2", [answer()]) == "APPROVAL_SIGNATURE_INVALID"
    trust.required = False
    assert events(door.post("r-3", [answer()]))[-1]["outcome"] == {"type": "success"}


def test_a_signature_tells_the_new_answer_from_the_old_where_an_id_is_used_again(before: Before, trust: Trust) -> None:
    door = before(pausing(), pausing(), finishing(), trust=trust)
    door.post("r-1"), door.post("r-2", [signed("r-1")])
    other = {"messages": [{"id": "m", "role": "user", "content": "?"}]}
    assert door.code("r-3", [signed("r-1")], **other) == "APPROVAL_SIGNATURE_INVALID"
    assert events(door.post("r-4", [signed("r-2")], **other))[-1]["outcome"] == {"type": "success"}


def test_a_new_key_is_found_and_a_file_that_is_away_for_a_while_forgiven(trust: Trust, tmp_path: Path) -> None:
    file, now = tmp_path / "keys.json", datetime(2026, 11, 30, tzinfo=UTC)
    trust.clock = lambda: now
    assert "k-1" in trust.keys("k-1")
    new = jws.PublicKey("k-2", "Ed25519", KEY.public_key().public_bytes_raw())
    file.write_text(json.dumps({"keys": [new.to_jwk()]}))
    assert "k-2" not in trust.keys("k-2")
    now += timedelta(minutes=2)
    assert "k-2" in trust.keys("k-2")
    file.unlink()
    now += timedelta(hours=2)
    assert "k-2" in trust.keys("k-2")


def test_a_clock_that_is_set_back_keeps_no_new_key_out(trust: Trust, tmp_path: Path) -> None:
    now = datetime(2036, 11, 30, tzinfo=UTC)
    trust.clock = lambda: now
    trust.read()
    new = jws.PublicKey("k-2", "Ed25519", KEY.public_key().public_bytes_raw())
    (tmp_path / "keys.json").write_text(json.dumps({"keys": [new.to_jwk()]}))
    now = datetime(2026, 11, 30, tzinfo=UTC)
    assert "k-2" in trust.keys("k-2")
