"""Signed decisions from the seal to the agent: made once, the same every time, and true."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import timedelta

import pytest
from django.utils import timezone

from agentbridge.delivery import receipts, sealing, settling
from agentbridge.models import Interrupt, Resume
from agentbridge.record import verifying
from agentbridge.wire import jws, signature
from approvals.models import AuditEntry, Case, PublicKey
from approvals.trail import lifecycle, signing, verification
from tests.bridge_work import ask, paused_case, register, work
from tests.people import decide, only_task
from tests.scripted_agent import Answer, call, finishing, interrupt, pausing

pytestmark = pytest.mark.django_db(transaction=True)
ARGS = b'{"amount": 12.50}'


def sent(agent, n: int = -1):
    return agent.resumes[n]


def trust(client, audience="payer"):
    keys = jws.read_jwks(client.get("/.well-known/jwks.json").json())
    return signature.Trust(issuer="http://localhost:8000", audience=audience, keys=keys)


def asked() -> list[signature.Asked]:
    rows = Interrupt.objects.select_related("run__thread").order_by("pk")
    return [
        signature.Asked(
            thread_id=row.run.thread.thread_id, run_id=row.run.run_id, interrupt_id=row.interrupt_id,
            raw=row.raw.encode(), proposal=ARGS,
        )
        for row in rows
    ]  # fmt: skip


def now() -> int:
    return int(timezone.now().timestamp())


@pytest.fixture(params=["Ed25519", "EdDSA"])
def delivered(request, script, alice):
    """One edited approval at an agent with receipts on."""
    scripted = script(pausing(), finishing())
    case = paused_case(register(scripted, receipts=request.param), alice)
    decide(only_task(case), alice, edits='{"amount": 1.0}')
    work()
    return scripted


def test_an_agent_can_check_what_it_was_sent(client, delivered, alice):
    said = signature.verify(sent(delivered), asked=asked(), trust=trust(client), now=now())[0]
    assert (said["payload"], said["edited"]) == ({"approved": True, "editedArgs": {"amount": 1.0}}, True)
    assert said["approvers"][0]["sub"] == alice.pseudonym


def test_another_agent_refuses_it(client, delivered):
    with pytest.raises(signature.Refused, match="another agent"):
        signature.verify(sent(delivered), asked=asked(), trust=trust(client, "other"), now=now())


def test_the_receipt_names_the_entry_of_the_decision(delivered):
    log = sent(delivered)[0]["metadata"]["countersign"]["log"]
    assert AuditEntry.objects.get(seq=log["seq"]).verb == "task.decided"


def test_without_receipts_nothing_is_added_and_the_statement_is_on_record(script, alice):
    scripted = script(pausing(), finishing())
    case = paused_case(register(scripted), alice)
    decide(only_task(case), alice)
    work()
    assert "metadata" not in sent(scripted)[0]
    assert json.loads(Resume.objects.get().signature)["receipts"]["int-1"]["jws"]
    assert verification.verify(checks=[verifying.checks]).findings == []


def test_every_attempt_carries_the_same_bytes(script, alice):
    scripted = script(pausing(), Answer(status=429), Answer(status=429), finishing())
    case = paused_case(register(scripted, receipts="Ed25519"), alice)
    decide(only_task(case), alice)
    for _ in range(40):
        work()
        if len(scripted.resumes) == 3:
            break
    assert len(scripted.resumes) == 3
    assert len({json.dumps(entries) for entries in scripted.resumes}) == 1


DELIVERIES = 50


@pytest.mark.in_any_order
def test_many_deliveries_carry_one_receipt_each_in_every_attempt(script, alice, monkeypatch):
    """R-41; `make soak ARGS=r41` is the long run."""
    scripted = script(pausing())
    attempts = defaultdict(list)

    def answer(post):
        if post.resume is None:
            return pausing()
        mine = attempts[post.json["threadId"]]
        mine.append(post.resume[0]["metadata"]["countersign"]["jws"])
        return Answer(status=429) if len(mine) == 1 else finishing()

    monkeypatch.setattr(scripted, "answer", answer)
    agent = register(scripted, receipts="Ed25519")
    for n in range(DELIVERIES):
        ask(agent, alice, thread_id=f"thread-{n}")
    work()
    for case in Case.objects.order_by("pk"):
        decide(only_task(case), alice)
    for _ in range(200):
        work()
        if Case.objects.filter(state="delivered").count() == DELIVERIES:
            break
    assert len(attempts) == DELIVERIES and {len(jws) for jws in attempts.values()} == {2}
    assert all(first == second for first, second in attempts.values())


def test_where_one_entry_carries_several_answers_no_receipt_goes_along(script, alice):
    """LangGraph's parallel nodes: a statement about one answer is not about the entry, and still on record."""
    asked = pausing(interrupt("a", "tc-1"), interrupt("b", "tc-2"), calls=call() + call(id_="tc-2"))
    scripted = script(asked, finishing())
    case = paused_case(register(scripted, receipts="Ed25519", dialect="langgraph"), alice)
    for task in case.tasks.all():
        decide(task, alice)
    work()
    assert [set(entry) for entry in sent(scripted)] == [{"interruptId", "status", "payload"}]
    assert set(json.loads(Resume.objects.get().signature)["receipts"]) == {"a", "b"}
    assert verification.verify(checks=[verifying.checks]).findings == []


def test_a_cancelled_answer_is_signed_by_the_operator_who_closed_the_case(client, script, alice, olga, settings):
    deadline = timezone.now() + timedelta(seconds=60)
    scripted = script(pausing(interrupt(expiresAt=deadline.isoformat())))
    case = paused_case(register(scripted, receipts="Ed25519"), alice)
    late = deadline + timedelta(seconds=1)
    settling.close_expired(case, action="send_cancelled", reason="late", by=olga, now=late)
    entry = json.loads(Resume.objects.get().entries)[0]
    said = signature.verify([entry], asked=asked(), trust=trust(client), now=int(late.timestamp()))[0]
    assert (said["status"], said["approvers"][0]["sub"]) == ("cancelled", olga.pseudonym)


def test_a_new_key_is_published_before_it_signs_and_the_old_one_after(client, settings):
    old = settings.SIGNING_KEYS
    now = timezone.now()
    first = signing.signer("decision", now=now)
    settings.SIGNING_KEYS = [b"n" * 32, *old]
    assert signing.signer("decision", now=now).kid == first.kid
    assert len(client.get("/.well-known/jwks.json").json()["keys"]) == 4
    later = now + timedelta(seconds=settings.KEY_LEAD_SECONDS)
    assert signing.signer("decision", now=later).kid != first.kid
    settings.SIGNING_KEYS = [b"n" * 32]
    signing.publish(now=later)
    archived = {key["kid"]: key for key in client.get("/.well-known/jwks-archive.json").json()["keys"]}
    assert "retiredAt" in archived[first.kid]


def test_a_stolen_key_signs_nothing_and_is_published_no_more(client, settings):
    settings.SIGNING_KEYS = [b"n" * 32, *settings.SIGNING_KEYS]
    kid = signing.signer("decision", now=timezone.now()).kid
    signing.revoke(kid, reason="laptop lost", now=timezone.now())
    assert signing.signer("decision", now=timezone.now()).kid != kid
    assert kid not in {key["kid"] for key in client.get("/.well-known/jwks.json").json()["keys"]}
    with pytest.raises(signing.Unknown):
        signing.revoke(kid, reason="again", now=timezone.now())


def test_answers_sealed_before_a_rotation_still_verify(script, alice, settings):
    case = paused_case(register(script(pausing()), receipts="Ed25519"), alice)
    decide(only_task(case), alice)
    sealing.seal(case, now=timezone.now())
    settings.SIGNING_KEYS = [b"n" * 32]
    signing.publish(now=timezone.now())
    assert verification.verify(checks=[verifying.checks]).findings == []
    assert PublicKey.objects.exclude(retired_at=None).count() == 2


def test_the_desk_says_who_it_is(client):
    told = client.get("/.well-known/countersign").json()
    assert told["issuer"] == "http://localhost:8000" and told["jwks_uri"].endswith("/.well-known/jwks.json")
    assert list(receipts.public_keys({"d-1": b""})) == ["d-1", "d-1-eddsa"]


def test_an_agent_that_reads_the_keys_hourly_never_meets_an_unknown_one(client, settings):
    """R-40: 500 deliveries over four days; the key is rotated in the second, the old one leaves in the fourth."""
    begin, old, new = timezone.now(), settings.SIGNING_KEYS, [b"n" * 32]
    signing.publish(now=begin)
    cached: dict[int, dict[str, jws.PublicKey]] = {}
    used = set()
    for n in range(500):
        at = begin + timedelta(hours=96 * n / 500)
        hour = 96 * n // 500
        settings.SIGNING_KEYS = old if hour < 24 else [*new, *old] if hour < 72 else new
        signing.publish(now=at)
        if hour not in cached:
            cached[hour] = jws.read_jwks(client.get("/.well-known/jwks.json").json())
        pair = signing.signer("decision", now=at)
        used.add(pair.kid)
        token = jws.sign(b"{}", key=pair.private, kid=pair.kid, alg="Ed25519", typ="t")
        assert jws.verify(token, keys=cached[max(0, hour - 1) if hour - 1 in cached else hour], typ="t") == b"{}"
    assert len(used) == 2


def test_starts_and_stops_are_on_the_trail():
    with lifecycle.at_work("worker"):
        pass
    told = AuditEntry.objects.filter(verb__startswith="desk.").order_by("seq")
    assert [(entry.verb, entry.sentence) for entry in told] == [
        ("desk.started", "A worker was started."), ("desk.stopped", "A worker was stopped."),
    ]  # fmt: skip
    assert lifecycle.version() in told[0].data
