"""Agents in the browser: registered, changed, tested, switched off; what is secret is never shown again."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone

from agentbridge.models import Agent, Incident, Run
from agentbridge.runs import protocolreport, starting
from approvals.models import AuditEntry
from tests import bridge_rows as rows
from tests.agentbridge.test_protocol_report import warned
from tests.pages import Page
from tests.scripted_agent import Answer, ScriptedAgent

pytestmark = pytest.mark.django_db
SECRETS = '[["Authorization","Bearer top-secret"],["X-Key","k-1"]]'
FORM = {
    "slug": "biller", "name": "Biller", "url": "http://127.0.0.1:9000/agui", "queue": "payments",
    "routes": "wire = payments", "headers": "Authorization: Bearer top-secret", "dialect": "auto", "replay": "unknown",
}  # fmt: skip


@pytest.fixture
def agent(payments) -> Agent:
    return rows.add_agent(payments, headers=SECRETS, url="http://127.0.0.1:9000/agui")


@pytest.fixture
def as_adam(client, adam):
    client.force_login(adam)
    return client


def read(answer) -> Page:
    return Page(answer.content.decode())


def saved(agent: Agent) -> Agent:
    agent.refresh_from_db()
    return agent


def change(client, **fields):
    known = {name: value for name, value in FORM.items() if name not in ("slug", "headers", "routes")}
    return client.post("/agents/payer/edit/", {**known, "name": "Payer", **fields}, follow=True)


def test_an_agent_is_registered_and_its_tokens_are_seen_once(as_adam, payments):
    page = read(as_adam.post("/agents/new/", FORM))
    made = Agent.objects.get()
    assert re.search(r"csh_\S+", page.text) and re.search(r"csc_\S+", page.text)
    assert (made.slug, made.routes, made.header_count) == ("biller", {"wire": "payments"}, 1)
    again = read(as_adam.get("/agents/biller/"))
    assert "csh_" not in again.text and "top-secret" not in again.source


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("url", "http://10.0.0.1/", "EGRESS_ALLOW"), ("url", "ftp://x/", "Only http and https"),
        ("url", "http://169.254.169.254/", "no agent may be"), ("slug", "new", "taken by a page"),
        ("routes", "wire: payments", "Line 1 is not"), ("routes", "wire = nowhere", "no queue"),
        ("headers", "Authorization Bearer top-secret", "Line 1 is not"), ("headers", "Host: x", "set by the bridge"),
        ("replay", "verified", "needs a reason"), ("name", "", "required"), ("capabilities_url", "file:///x", "http"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said_at_its_field(as_adam, payments, field, value, said):
    answer = as_adam.post("/agents/new/", {**FORM, field: value})
    page = read(answer)
    assert answer.status_code == 422 and said in page.text
    assert Agent.objects.count() == 0 and "top-secret" not in page.source


def test_a_slug_that_is_taken_changes_nothing(as_adam, agent):
    answer = as_adam.post("/agents/new/", {**FORM, "slug": "payer"})
    assert answer.status_code == 422 and "already" in read(answer).text
    assert saved(agent).name == "Payer"


def test_the_form_of_a_known_agent_tells_how_many_headers_and_no_more(as_adam, agent):
    page = read(as_adam.get("/agents/payer/edit/"))
    assert "2 headers are set" in page.text
    assert "top-secret" not in page.source and "X-Key" not in page.source


def test_headers_stay_are_replaced_or_dropped(as_adam, agent):
    change(as_adam, name="Other")
    assert saved(agent).header_count == 2
    change(as_adam, headers="X-New: 1")
    assert saved(agent).headers == '[["X-New", "1"]]'
    change(as_adam, drop_headers="on")
    assert saved(agent).headers == ""


def test_another_address_says_what_waits_and_what_is_gone(as_adam, agent, open_case):
    case = open_case()
    rows.seal(case, rows.add_run(agent), state="ready")
    page = read(change(as_adam, url="http://127.0.0.1:9001/agui"))
    assert "1 delivery was sealed for the old address" in page.text and "headers belonged" in page.text
    assert (saved(agent).url_version, agent.headers) == (2, "")
    assert 'data-flag="agent-changed"' in page.source


def test_another_address_ends_what_was_proven(as_adam, agent):
    Agent.objects.update(replay_class="verified")
    page = read(change(as_adam, url="http://127.0.0.1:9001/agui", replay="verified"))
    assert "proven for the old address" in page.text and saved(agent).replay_class == "unknown"


def test_every_setting_is_kept(as_adam, agent):
    change(
        as_adam, dialect="strands", replay="guarded", reason="behind the guard", tolerances=["nested-run"],
        pre_1_0="on", busy_is_not_taken="on", capabilities_url="http://127.0.0.1:9000/capabilities",
    )  # fmt: skip
    page = read(as_adam.get("/agents/payer/edit/"))
    checked = {(given.get("name"), given.get("value")) for _tag, given in page.tags if "checked" in given}
    assert {("dialect", "strands"), ("replay", "guarded"), ("tolerances", "nested-run")} <= checked
    assert {name for name, _value in checked} >= {"pre_1_0", "busy_is_not_taken"}


def test_switched_off_nothing_is_started(as_adam, agent, alice):
    as_adam.post("/agents/payer/switch/", {"to": "off"})
    assert "switched off" in read(as_adam.get("/agents/")).text
    with pytest.raises(starting.AgentOff):
        starting.start(agent, message="go", by=alice, now=timezone.now())
    as_adam.post("/agents/payer/switch/", {"to": "on"})
    assert saved(agent).enabled


def test_a_token_is_rotated_and_shown_once(as_adam, agent):
    page = read(as_adam.post("/agents/payer/token/", {"kind": "host"}))
    assert "csh_" in page.text and "csc_" not in page.text
    assert as_adam.post("/agents/payer/token/", {"kind": "other"}).status_code == 422


def test_an_operator_sets_the_replay_class_and_says_why(client, olga, agent):
    client.force_login(olga)
    assert client.post("/agents/payer/replay/", {"replay": "verified", "reason": " "}).status_code == 422
    client.post("/agents/payer/replay/", {"replay": "verified", "reason": "probed"})
    assert saved(agent).replay_class == "verified"
    assert AuditEntry.objects.filter(verb="agent.replay_set").count() == 1
    assert "Switch off" not in read(client.get("/agents/payer/")).text


def test_the_connection_is_tested_from_the_page(client, olga, payments):
    client.force_login(olga)
    refusal = Answer([b'{"detail":"<b>messages</b> missing"}'], 422, {"Content-Type": "application/json"})
    with ScriptedAgent([refusal, Answer([b'{"x":1.0}'], 200, {"Content-Type": "application/json"})]) as scripted:
        rows.add_agent(payments, url=scripted.url, capabilities_url=scripted.url)
        page = read(client.post("/agents/payer/test/"))
    assert 'data-outcome="fine"' in page.source and "What was sent" in page.text
    assert "<b>messages" not in page.source and "1.0" in page.text
    assert AuditEntry.objects.get(verb="agent.tested").actor_id == olga.pk
    assert Run.objects.count() == 0


def test_the_list_tells_state_open_questions_and_the_last_run(client, alice, agent, open_case):
    run = rows.add_run(agent)
    rows.bind(run, open_case(2).tasks.all())
    client.force_login(alice)
    page = read(client.get("/agents/"))
    assert re.search(r"Payer .*on .*payments .*auto .*2 .*paused", page.text)
    assert "/agents/payer/runs/?run=run-1" in page.links() and "/agents/new/" not in page.links()


def test_the_report_shows_rule_count_and_the_last_example(client, alice, agent):
    protocolreport.count(rows.add_run(agent, warnings=warned("T-77", "T-77", "C-2")))
    client.force_login(alice)
    page = read(client.get("/agents/payer/"))
    assert {"orphan-result", "rule-c-2"} <= page.flags
    assert re.search(r"T-77 .*warning .*2 .*Number 1 *1 RAW", page.text)


def test_the_report_of_many_runs_costs_no_more_questions(client, olga, agent, django_assert_max_num_queries):
    for number in range(60):
        protocolreport.count(rows.add_run(agent, f"r{number}", f"t{number}", warnings=warned("C-2", f"C-{number % 9}")))
    client.force_login(olga)
    with django_assert_max_num_queries(13):
        client.get("/agents/payer/")


@pytest.mark.parametrize("place", ["/deliveries/", "/cases/{code}/delivery/"])
def test_an_operator_closes_an_incident_where_it_is_shown(client, olga, open_case, agent, place):
    case = open_case()
    incident = rows.incident(case, rows.add_run(agent))
    client.force_login(olga)
    form = next(f for f in read(client.get(place.format(code=case.code))).forms if "/incidents/" in f.action)
    assert client.post(form.action, form.filled(reason=" ")).status_code == 422
    client.post(form.action, form.filled(reason="paid back"))
    closed = Incident.objects.get(pk=incident.pk)
    assert (closed.reason, closed.closed_by) == ("paid back", olga)
    assert "closed by" in read(client.get(f"/cases/{case.code}/delivery/")).text


def test_others_read_incidents_and_are_offered_nothing(client, carol, open_case, agent):
    incident = rows.incident(open_case(), rows.add_run(agent))
    client.force_login(carol)
    page = read(client.get("/deliveries/"))
    assert "The call ran twice." in page.text and not [f for f in page.forms if "/incidents/" in f.action]
    answer = client.post(f"/incidents/{incident.pk}/close/", {"reason": "x"})
    assert answer.status_code == 403 and "Only operators" in read(answer).text
