"""The signed statement as an agent reads it: what was decided here, for this interrupt, and nothing else."""

from __future__ import annotations

import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agentbridge.wire import jws, signature

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = KEY.public_key().public_bytes_raw()
NOW = 1_790_000_000
RAW = b'{"id":"int-1","reason":"tool_call"}'
ARGS = b'{"amount": 12.50}'
ASKED = signature.Asked(thread_id="th-1", run_id="run-1", interrupt_id="int-1", raw=RAW, proposal=ARGS)
TRUST = signature.Trust(
    issuer="https://desk.example.org",
    audience="ledger",
    keys={"d-1": jws.PublicKey("d-1", "Ed25519", PUBLIC), "e-1": jws.PublicKey("e-1", "EdDSA", PUBLIC)},
)


def statement(**other):
    told = {
        "issuer": TRUST.issuer, "audience": TRUST.audience, "id": "T-1.1", "decided_at": NOW, "expires_at": NOW + 600,
        "thread_id": "th-1", "source_run_id": "run-1", "interrupt_id": "int-1", "tool_call_id": "tc-1",
        "payload": '{"approved":true}', "interrupt": RAW, "proposal": ARGS, "batch": ["int-1"],
    }  # fmt: skip
    return signature.Statement(**(told | other))


def entry_of(told, **other):
    token = signature.sign(told, key=KEY, kid="d-1")
    receipt = {"countersign": {"v": 1, "jws": token}}
    entry = {"interruptId": told.interrupt_id, "status": told.status, "metadata": receipt}
    if told.payload is not None:
        entry["payload"] = json.loads(told.payload)
    return entry | other


def verified(*entries, asked=(ASKED,), now=NOW, trust=TRUST):
    return signature.verify(list(entries), asked=asked, trust=trust, now=now)


def test_an_agent_reads_the_answer_from_what_was_signed():
    assert verified(entry_of(statement()))[0]["payload"] == {"approved": True}


def test_the_same_decision_is_the_same_token():
    assert entry_of(statement()) == entry_of(statement())


def test_numbers_arrive_as_they_were_written():
    told = statement(payload='{"amount":9007199254740993,"rate":1.10}')
    assert '"amount":9007199254740993,"rate":1.10' in told.to_text()
    assert verified(entry_of(told))[0]["payload"]["amount"] == 9007199254740993


def test_a_long_answer_is_represented_by_its_digest():
    told = statement(payload=json.dumps({"text": "ü" * 20_000}))
    assert "payload" not in json.loads(told.to_text())
    assert verified(entry_of(told))[0]["payloadDigest"].startswith("sha-256:")


def test_a_long_answer_that_libraries_write_differently_stays_inside():
    told = statement(payload=json.dumps({"text": "x" * 20_000, "rate": 1.5}))
    assert "payload" in verified(entry_of(told))[0]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"issuer": "https://elsewhere.example"}, "other_issuer"),
        ({"audience": "another"}, "other_audience"),
        ({"thread_id": "th-2"}, "other_run"),
        ({"source_run_id": "run-0"}, "other_run"),
        ({"interrupt": b"{}"}, "other_interrupt"),
        ({"proposal": b"{}"}, "other_proposal"),
        ({"batch": ["int-1", "int-2"]}, "other_batch"),
        ({"decided_at": NOW + 61}, "not_yet"),
        ({"expires_at": NOW - 60}, "expired"),
        ({"interrupt_id": "int-9"}, "not_open"),
        ({"payload": '{"approved":true,"approved":false}'}, "malformed"),
    ],
)
def test_what_was_signed_for_something_else_is_refused(change, code):
    with pytest.raises(signature.Refused) as refused:
        verified(entry_of(statement(**change)))
    assert refused.value.code == code


@pytest.mark.parametrize(
    "change",
    [{"payload": {"approved": 1}}, {"payload": {"approved": False}}, {"status": "cancelled"}, {"payload": None}],
)
def test_an_answer_that_was_changed_on_the_way_is_refused(change):
    with pytest.raises(signature.Refused) as refused:
        verified(entry_of(statement()) | change)
    assert refused.value.code == "other_answer"


def test_an_answer_left_out_is_noticed():
    both = [ASKED, signature.Asked(thread_id="th-1", run_id="run-1", interrupt_id="int-2")]
    with pytest.raises(signature.Refused) as refused:
        verified(entry_of(statement(batch=["int-1", "int-2"])), asked=both)
    assert refused.value.code == "other_batch"


def test_a_key_under_its_other_name_is_another_key():
    token = signature.sign(statement(), key=KEY, kid="d-1", alg="EdDSA")
    with pytest.raises(signature.Refused) as refused:
        jws.verify(token, keys=TRUST.keys, typ=signature.TYP)
    assert refused.value.code == "wrong_algorithm"


def test_a_published_key_set_is_read_back():
    document = {"keys": [key.to_jwk() for key in TRUST.keys.values()] + [{"kty": "RSA", "kid": "r"}]}
    assert jws.read_jwks(document) == TRUST.keys
