"""The agent's own trace: where an owner looks at a run, linked for whoever settles a doubt, whatever the ids hold."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from agentbridge import owntrace, registering
from agentbridge.models import Agent, Run
from agentbridge.net.egress import NotAllowed
from approvals.models import AuditEntry, Case, Queue, User
from tests import bridge_rows as rows
from tests.pages import Page
from tests.people import OpenCase
from tests.programs import Program

TRACES = "https://traces.example/t/{thread_id}?run={run_id}#end"
ASKED = "https://traces.example/t/thread-1?run=resumed-1#end"
SAID = "The agent's own trace of this run (traces.example, in a new tab)"


def href(template: str = TRACES, *, thread_id: str = "thread-1", run_id: str = "run-1") -> str | None:
    found = owntrace.link(template, thread_id=thread_id, run_id=run_id)
    return found.url if found else None


@pytest.mark.parametrize(
    "address",
    [
        "https://traces.example/", "http://localhost:3000/#/runs/{run_id}", "HTTPS://[2001:db8::1]:8443/{run_id}",
        TRACES, "https://traces.example/{thread_id}/{thread_id}-{run_id}.html?q=%20",
    ],
)  # fmt: skip
def test_an_address_of_the_web_may_be_set_with_ids_and_without(address: str) -> None:
    owntrace.check(address)


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)", "javascript://traces.example/%0aalert(1)", "data:text/html,{run_id}",
        "//traces.example/", "traces.example/{run_id}", "https:///x", "https:{run_id}", "https://me:secret@traces.example/",
        "https://me@traces.example/", "https://traces.example:99999/", "https://{thread_id}/", "https://t.{run_id}/x",
        "https://traces.example:{run_id}/", "https://traces.example\\@other.example/", "https://traces.example/\n",
        "https://traces.example/\t{run_id}", "https://traces.example/\x00", "https://traces.example/a b",
        "https://traces.example/\u202e", "https://trac\u0435s.example/", "https://traces.example/\ud800",
        "https://traces.example/{session}", "https://traces.example/{Run_id}", "https://traces.example/{{run_id}}",
        "https://traces.example/{run_id", "https://traces.example/}", "https://traces.example/{}",
        "https://traces.example/../{run_id}", "https://traces.example/%2E./x", "https://[::1/", "https://h]/",
        "https://traces.example/" + "x" * 2_000,
    ],
)  # fmt: skip
def test_what_no_link_is_made_of_is_refused(address: str) -> None:
    with pytest.raises(NotAllowed):
        owntrace.check(address)


def test_ids_are_encoded_and_stay_in_their_place() -> None:
    assert href(thread_id="a/b?c#d&e=f", run_id="%2e é\x00 {thread_id}") == (
        "https://traces.example/t/a%2Fb%3Fc%23d%26e%3Df?run=%252e%20%C3%A9%00%20%7Bthread_id%7D#end"
    )
    assert href(thread_id="\ud800") == "https://traces.example/t/%ED%A0%80?run=run-1#end"


@pytest.mark.parametrize(
    ("template", "thread_id", "run_id"),
    [
        (TRACES, "..", "x"), (TRACES, ".", "x"), ("https://h.example/{thread_id}{run_id}/", ".", "."),
        ("https://h.example/.{run_id}", "x", "."), (TRACES, "x", "y" * 10_000),
    ],
)  # fmt: skip
def test_ids_that_would_lead_elsewhere_make_no_link(template: str, thread_id: str, run_id: str) -> None:
    owntrace.check(template)
    assert href(template, thread_id=thread_id, run_id=run_id) is None


def test_behind_the_path_dots_are_only_dots() -> None:
    assert href("https://h.example/?a={run_id}#/{thread_id}/..", thread_id="..", run_id="..") is not None


@pytest.mark.parametrize("stored", ["javascript:alert(1)", "https://[::1/", "ftp://h/", "x"])
def test_what_came_into_the_database_otherwise_is_not_linked(stored: str) -> None:
    assert href(stored) is None


def test_the_host_is_told_as_the_browser_finds_it() -> None:
    found = owntrace.link("https://traces.example:8443/a@b/{run_id}", thread_id="x", run_id="@other.example")
    assert found is not None and found.host == "traces.example:8443"


@pytest.fixture
def agent(payments: Queue) -> Agent:
    return rows.add_agent(payments, url="http://127.0.0.1:9000/agui", trace_url=TRACES)


@pytest.fixture
def doubtful(open_case: OpenCase, agent: Agent) -> Case:
    """A case whose answers may have arrived."""
    case, run = open_case(), rows.add_run(agent)
    rows.bind(run, case.tasks.all())
    rows.attempt(rows.seal(case, run))
    return case


def links(client: Client, user: User, address: str) -> list[dict[str, Any]]:
    """The links to a trace on a page."""
    client.force_login(user)
    found = Page(client.get(address).content.decode())
    linked = [given for tag, given in found.tags if tag == "a" and given.get("class") == "own-trace"]
    assert bool(linked) == (SAID in found.text)
    return linked


@pytest.mark.parametrize("address", ["/deliveries/", "/cases/{code}/delivery/", "/agents/payer/runs/?run=resumed-1"])
def test_it_is_linked_where_a_doubt_is_settled(client: Client, olga: User, doubtful: Case, address: str) -> None:
    (link,) = links(client, olga, address.format(code=doubtful.code))
    assert link["href"] == ASKED
    assert (link["target"], link["rel"]) == ("_blank", "noopener noreferrer")


def test_it_is_linked_where_something_else_happened_than_was_decided(
    client: Client, olga: User, open_case: OpenCase, agent: Agent
) -> None:
    case, run = open_case(), rows.add_run(agent)
    ran = rows.attempt(rows.seal(case, run, state="finished"), status=Run.Status.SUCCEEDED)
    rows.incident(case, ran)
    assert [link["href"] for link in links(client, olga, f"/cases/{case.code}/delivery/")] == [ASKED]


def test_a_reviewer_of_the_case_follows_it_and_a_stranger_does_not(
    client: Client, alice: User, charlie: User, doubtful: Case
) -> None:
    assert links(client, alice, f"/cases/{doubtful.code}/delivery/")
    client.force_login(charlie)
    assert client.get(f"/cases/{doubtful.code}/delivery/").status_code == 404


def test_without_an_address_nothing_is_linked(client: Client, olga: User, doubtful: Case) -> None:
    Agent.objects.update(trace_url="")
    assert links(client, olga, "/deliveries/") == []
    assert Program(olga).get(f"cases/{doubtful.code}").json()["delivery"]["attempts"][0]["traceUrl"] is None


def test_ids_that_are_no_utf8_break_no_page(client: Client, olga: User, open_case: OpenCase, agent: Agent) -> None:
    case, run = open_case(), rows.add_run(agent, "run-\udfff", "thread-\ud800/?#&\x00")
    resume = rows.seal(case, run)
    rows.add_run(agent, "again-\ud83d", "thread-\ud800/?#&\x00", kind=Run.Kind.RESUMED, resume=resume, attempt=1)
    wanted = "https://traces.example/t/thread-%ED%A0%80%2F%3F%23%26%00?run=again-%ED%A0%BD#end"
    for address in ("/deliveries/", f"/cases/{case.code}/delivery/", f"/cases/{case.code}/runs/"):
        found = [link["href"] for link in links(client, olga, address)]
        assert found == ([] if address.endswith("/runs/") else [wanted])
    assert Program(olga).get(f"cases/{case.code}").json()["delivery"]["attempts"][0]["traceUrl"] == wanted


def test_programs_are_told_it_of_attempts_and_runs(olga: User, doubtful: Case) -> None:
    program = Program(olga)
    assert program.get(f"cases/{doubtful.code}").json()["delivery"]["attempts"][0]["traceUrl"] == ASKED
    assert program.get("runs?agent=payer").json()["runs"][0]["traceUrl"] == ASKED


def test_the_shell_sets_it_and_takes_it_away(agent: Agent) -> None:
    call_command("add_agent", "payer", agent.url, trace_url="https://other.example/{run_id}")
    assert Agent.objects.get().trace_url == "https://other.example/{run_id}"
    call_command("add_agent", "payer", agent.url)
    assert Agent.objects.get().trace_url == "https://other.example/{run_id}"
    call_command("add_agent", "payer", agent.url, "--trace-url", "")
    assert Agent.objects.get().trace_url == ""
    with pytest.raises(CommandError, match="in braces"):
        call_command("add_agent", "payer", agent.url, "--trace-url", "https://other.example/{x}")


def test_a_change_of_it_is_on_the_trail_by_name_only(adam: User, agent: Agent) -> None:
    wanted = registering.Wanted(slug="payer", url=agent.url, trace_url="https://other.example/key-in-a-path/{run_id}")
    assert registering.change(agent, wanted, by=adam, now=timezone.now()) == ["trace_url"]
    entry = AuditEntry.objects.get(verb="agent.changed")
    assert '"changed":["trace_url"]' in entry.data and "key-in-a-path" not in entry.data + entry.sentence


def test_the_form_keeps_it_and_says_at_its_field_what_it_cannot_be(client: Client, adam: User, agent: Agent) -> None:
    client.force_login(adam)
    every = Page(client.get("/agents/payer/edit/").content.decode()).forms
    form = next(form for form in every if form.fields.get("trace_url") == TRACES)
    refused = client.post("/agents/payer/edit/", {**form.fields, "trace_url": "javascript:alert(1)"})
    assert refused.status_code == 422 and 'id="id_trace_url-error"' in refused.content.decode()
    client.post("/agents/payer/edit/", {**form.fields, "trace_url": f" {TRACES}&x=1 "})
    assert Agent.objects.get().trace_url == f"{TRACES}&x=1"
    assert "Its own traces" in client.get("/agents/payer/").content.decode()
