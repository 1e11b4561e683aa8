"""Agents registered, changed and tended: who may, what an address takes with it, and what the trail keeps."""

from __future__ import annotations

import hashlib

import pytest
from django.core.management import call_command
from django.utils import timezone

from agentbridge import registering, tending
from agentbridge.models import Agent
from agentbridge.registering import BadAgent, Wanted
from approvals.models import AuditEntry
from approvals.refusals import Invalid, NotAllowed, WrongState
from tests import bridge_rows as rows

pytestmark = pytest.mark.django_db
SECRET = [("Authorization", "Bearer top-secret")]


@pytest.fixture
def agent(payments) -> Agent:
    return rows.add_agent(payments, headers='[["Authorization", "Bearer top-secret"]]')


def wanted(**more) -> Wanted:
    return Wanted(**{"slug": "payer", "url": "https://agent.example/", **more})


def change(agent, by, **more) -> list[str]:
    changed = registering.change(agent, wanted(**more), by=by, now=timezone.now())
    agent.refresh_from_db()
    return changed


def verbs() -> list[str]:
    return list(AuditEntry.objects.filter(agent="payer").order_by("seq").values_list("verb", flat=True))


def test_an_admin_registers_and_gets_tokens_once(adam, payments):
    made, tokens = registering.add(wanted(queue="payments", headers=SECRET), by=adam, now=timezone.now())
    assert Agent.objects.get(pk=made.pk).host_token == hashlib.sha256(tokens.host.encode()).hexdigest()
    assert verbs() == ["agent.added", "agent.token_made"]
    told = "".join(str((entry.sentence, entry.data)) for entry in AuditEntry.objects.all())
    assert "top-secret" not in told and tokens.host not in told


def test_a_slug_is_registered_once(adam, agent):
    with pytest.raises(BadAgent, match="already"):
        registering.add(wanted(), by=adam, now=timezone.now())


@pytest.mark.parametrize("who", ["alice", "olga", "carol"])
def test_others_change_nothing(who, agent, request):
    person = request.getfixturevalue(who)
    deeds = [
        lambda: registering.add(wanted(slug="other"), by=person, now=timezone.now()),
        lambda: change(agent, person, name="Other"),
        lambda: tending.rotate(agent, kind="host", by=person, now=timezone.now()),
        lambda: tending.switch(agent, on=False, by=person, now=timezone.now()),
    ]
    for deed in deeds:
        with pytest.raises(NotAllowed):
            deed()
    assert verbs() == []


def test_rights_are_those_of_the_moment(adam, agent):
    type(adam).objects.filter(pk=adam.pk).update(is_active=False)
    with pytest.raises(NotAllowed):
        change(agent, adam, name="Other")


def test_another_address_takes_no_credentials_along(adam, agent):
    assert change(agent, adam, url="https://other.example/x?key=1") == ["url", "headers"]
    assert (agent.headers, agent.url_version) == ("", 2)
    moved = AuditEntry.objects.get(verb="agent.url_changed")
    assert '"to":"https://other.example/x"' in moved.data.replace(" ", "") and "key=1" not in moved.data


def test_credentials_given_anew_go_to_the_new_address(adam, agent):
    change(agent, adam, url="https://other.example/", headers=[("X-Key", "new")])
    assert agent.headers == '[["X-Key", "new"]]'


def test_another_address_is_not_proven(adam, agent):
    change(agent, adam, replay="verified", reason="probed twice")
    assert change(agent, adam, url="https://other.example/", replay="verified") == ["url", "headers", "replay_class"]
    lapsed = AuditEntry.objects.get(verb="agent.replay_lapsed")
    assert agent.replay_class == "unknown" and agent.replay_server is None
    assert "proven for its old address" in lapsed.sentence and lapsed.actor == adam


def test_a_class_that_is_said_for_the_new_address_counts(adam, agent):
    change(agent, adam, replay="guarded", reason="our guard")
    change(agent, adam, url="https://other.example/", replay="guarded", reason="the same guard stands there")
    assert agent.replay_class == "guarded"
    registering.register(wanted(url="https://third.example/", replay="verified"), now=timezone.now())
    agent.refresh_from_db()
    assert agent.replay_class == "verified" and "agent.replay_lapsed" not in verbs()


def test_the_shell_says_that_the_class_lapsed(agent, capsys):
    Agent.objects.update(replay_class="guarded")
    call_command("add_agent", "payer", "https://other.example/")
    assert "unknown" in capsys.readouterr().err
    assert Agent.objects.get().replay_class == "unknown" and verbs()[-1] == "agent.replay_lapsed"


def test_what_is_not_mentioned_stays(adam, agent):
    assert change(agent, adam, name="Payer", dialect="strands") == ["dialect"]
    assert agent.headers and agent.url_version == 1


def test_another_replay_class_needs_a_reason(adam, olga, agent):
    with pytest.raises(BadAgent, match="reason"):
        change(agent, adam, replay="guarded")
    with pytest.raises(Invalid):
        tending.set_replay(agent, replay="verified", reason=" ", by=olga, now=timezone.now())
    tending.set_replay(agent, replay="verified", reason="probed twice", by=olga, now=timezone.now())
    agent.refresh_from_db()
    assert agent.replay_class == "verified"
    assert '"reason":"probed twice"' in AuditEntry.objects.get(verb="agent.replay_set").data


def test_a_rotated_token_replaces_only_its_own(adam, agent):
    before = agent.caller_token
    tokens = tending.rotate(agent, kind="host", by=adam, now=timezone.now())
    agent.refresh_from_db()
    assert tokens.caller == "" and agent.caller_token == before
    assert agent.host_token == hashlib.sha256(tokens.host.encode()).hexdigest()


def test_switching_twice_is_refused(adam, agent):
    tending.switch(agent, on=False, by=adam, now=timezone.now())
    with pytest.raises(WrongState):
        tending.switch(agent, on=False, by=adam, now=timezone.now())
    tending.switch(agent, on=True, by=adam, now=timezone.now())
    assert verbs() == ["agent.switched_off", "agent.switched_on"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("url", "ftp://agent.example/"), ("url", "https://me:secret@agent.example/"), ("dialect", "klingon"),
        ("replay", "always"), ("tolerances", ["anything"]), ("headers", [("Host", "x")]), ("slug", "new"),
        ("capabilities_url", "file:///etc/passwd"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_named(field, value):
    with pytest.raises(BadAgent) as refusal:
        registering.check(wanted(**{field: value}))
    assert refusal.value.field == field and "secret" not in str(refusal.value)


def test_the_shell_says_that_it_dropped_the_credentials(agent, capsys):
    call_command("add_agent", "payer", "https://other.example/")
    said = capsys.readouterr()
    assert said.out.strip() == '{"slug": "payer"}' and "headers" in said.err


def test_the_shell_says_what_keeps_a_first_question_from_people(db, alice, payments, capsys):
    call_command("add_agent", "far", "http://10.1.1.1/", "--queue", "payments", "--route", "mail=Customer mail")
    said = capsys.readouterr().err
    assert "10.1.1.1, which EGRESS_ALLOW does not list. As it is, nothing is sent there." in said
    assert "--queue 'Customer mail'" in said and "“payments”" not in said


def test_the_shell_has_nothing_to_say_of_an_agent_that_can_be_asked(db, alice, payments, capsys):
    call_command("add_agent", "near", "https://agent.example/", "--queue", "payments")
    assert capsys.readouterr().err == ""
