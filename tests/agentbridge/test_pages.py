"""Pages about agents, runs and deliveries: what is said, what is offered, and that foreign words stay words."""

from __future__ import annotations

import pytest
from django.utils import timezone

from agentbridge.delivery import incidents
from agentbridge.models import Run, ToolCall
from agentbridge.models.agents import key_of
from tests import bridge_rows as rows
from tests.people import decide, in_seconds

HOSTILE = '<script>alert(1)</script>\u202e"onload=x'
WARNING = '[{"rule":"T-77","severity":"warning","where":"7 TOOL_CALL_RESULT","text":"A result without a call."}]'


@pytest.fixture
def agent(payments):
    return rows.add_agent(payments, headers='[["Authorization","Bearer top-secret"]]', routes={"wire": "payments"})


@pytest.fixture
def case(open_case, agent):
    case = open_case(case={"thread_key": key_of("thread-1")})
    rows.bind(rows.add_run(agent), case.tasks.all())
    return case


def page(client, user, address, **query):
    client.force_login(user)
    answer = client.get(address, query)
    assert answer.status_code == 200, answer.content
    return answer.content.decode()


def test_an_agent_is_told_without_its_secrets(client, alice, agent):
    text = page(client, alice, "/agents/payer/")
    assert "1 header is set" in text
    assert "top-secret" not in text and "Authorization" not in text
    assert "At most one send by itself" in text
    assert '<span class="val">wire</span>' in text


def test_the_agents_page_links_its_runs_by_their_id(client, alice, agent):
    rows.add_run(agent, "a/b c")
    rows.add_run(agent, "never", status=Run.Status.UNSENT)
    text = page(client, alice, "/agents/payer/")
    assert 'href="/agents/payer/runs/?run=a%2Fb+c"' in text
    assert "never<" not in text
    assert "never<" in page(client, alice, "/agents/payer/", all="1")


def test_a_run_is_started_from_the_page(client, alice, agent):
    client.force_login(alice)
    answer = client.post("/agents/payer/start/", {"message": "please go on", "thread": ""})
    run = Run.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/agents/payer/runs/?run={run.run_id}")
    assert b"please go on" in run.input


def test_a_start_on_a_paused_thread_names_what_is_open(client, alice, case):
    client.force_login(alice)
    answer = client.post("/agents/payer/start/", {"message": "<typed>", "thread": "thread-1"})
    text = answer.content.decode()
    assert answer.status_code == 409
    assert f'<a class="val" href="/cases/{case.code}/">' in text and "int-1" in text
    assert "&lt;typed&gt;</textarea>" in text


def test_only_those_who_may_are_offered_a_start(client, carol, agent):
    assert "Start the run" not in page(client, carol, "/agents/payer/")


def test_a_run_shows_its_warnings_calls_and_bytes(client, alice, agent):
    run = rows.add_run(agent, warnings=WARNING, stream=b"data: \xff<b>\n\n", error="boom")
    ToolCall.objects.create(
        run=run, key=key_of("c"), tool_call_id="c", position=0, name="pay", args='{"a":1.0}', state="complete",
        result='[{"messageId":"m","text":"done"}]',
    )  # fmt: skip
    text = page(client, alice, "/agents/payer/runs/", run="run-1")
    assert 'data-flag="orphan-result"' in text and "A result without a call." in text
    assert "{&quot;a&quot;:1.0}" in text and "done" in text and "boom" in text
    assert "data: \\xff&lt;b&gt;" in text


@pytest.mark.parametrize("part", ["run_id", "error", "outcome", "stream", "input"])
def test_foreign_words_stay_words(client, alice, agent, part):
    value = HOSTILE.encode() if part in ("stream", "input") else HOSTILE[:40]
    run = rows.add_run(agent, **{part: value})
    text = page(client, alice, "/agents/payer/runs/", run=run.run_id)
    assert "<script>alert" not in text and "\u202e" not in text
    assert "U+202E" in text


@pytest.mark.parametrize(("status", "is_theirs"), [("failed", True), ("truncated", False)])
def test_a_run_says_whose_words_its_error_is(client, alice, case, status, is_theirs):
    Run.objects.update(status=status, error="The stream ended early.")
    for address in (f"/cases/{case.code}/runs/", "/agents/payer/runs/?run=run-1"):
        text = page(client, alice, address)
        assert "The stream ended early." in text and ("The agent said:" in text) == is_theirs


def test_a_long_stream_is_cut_with_a_mark_and_a_way_to_all_of_it(client, alice, agent):
    run = rows.add_run(agent, stream=b"x" * 70_000)
    assert "Cut here; the file has all of it." in page(client, alice, "/agents/payer/runs/", run="run-1")
    answer = client.get("/agents/payer/runs/stream/", {"run": "run-1"})
    assert answer.content == b"x" * run.bytes_received
    assert (answer["Content-Type"], answer["X-Content-Type-Options"]) == ("application/octet-stream", "nosniff")


def test_without_a_run_the_address_leads_to_the_agent(client, alice, agent):
    client.force_login(alice)
    assert client.get("/agents/payer/runs/")["Location"] == "/agents/payer/"


def test_deliveries_that_wait_stand_first_with_ways_out_for_operators(client, olga, alice, case):
    rows.attempt(rows.seal(case, Run.objects.get(), note="The connection broke."))
    text = page(client, olga, "/deliveries/")
    assert "1 delivery waits for a person." in text and "The connection broke." in text
    assert all(f'name="action" value="{action}"' in text for action in ("mark_done", "resend", "abandon"))
    assert 'value="answer_again"' not in text
    assert 'name="action"' not in page(client, alice, "/deliveries/")


def test_an_operator_settles_with_a_reason(client, olga, case):
    resume = rows.seal(case, Run.objects.get())
    rows.attempt(resume)
    client.force_login(olga)
    address = f"/cases/{case.code}/delivery/settle/"
    assert client.post(address, {"action": "mark_done", "reason": " "}).status_code == 422
    assert (
        client.post(address, {"action": "mark_done", "reason": "seen", "back": "deliveries"})["Location"]
        == "/deliveries/"
    )
    resume.refresh_from_db()
    assert resume.state == "marked_done"


def test_an_expired_case_waits_for_an_operator_too(client, olga, case):
    type(case).objects.filter(pk=case.pk).update(deadline=timezone.now())
    text = page(client, olga, "/deliveries/", view="waiting")
    assert case.code in text and 'value="send_cancelled"' in text


def test_a_settled_case_is_held_then_ready(client, alice, case, settings):
    settings.UNDO_SECONDS = 60
    decide(case.tasks.get(), alice)
    text = page(client, alice, "/deliveries/", view="under_way")
    assert case.code in text and "Its authors can still recall it." in text


def test_each_view_shows_its_own_states(client, carol, case):
    rows.seal(case, Run.objects.get(), state="finished")
    for view, there in {"finished": True, "all": True, "waiting": False, "under_way": False, "ended": False}.items():
        assert (case.code in page(client, carol, "/deliveries/", view=view)) is there, view


def test_the_case_file_gets_fragments_or_pages(client, alice, case):
    rows.attempt(rows.seal(case, Run.objects.get()))
    for part in ("delivery", "runs"):
        whole = page(client, alice, f"/cases/{case.code}/{part}/")
        piece = client.get(f"/cases/{case.code}/{part}/", headers={"HX-Request": "true"})
        assert "</html>" in whole and "<html" not in piece.content.decode()
        assert f'id="case-{part}"' in piece.content.decode()
        assert "HX-Request" in piece["Vary"]


def test_an_incident_is_told_on_the_case(client, alice, case):
    rows.incident(case, Run.objects.get(), task=case.tasks.get(), text=HOSTILE)
    text = page(client, alice, f"/cases/{case.code}/delivery/")
    assert 'data-flag="ran_twice"' in text and "&lt;script&gt;" in text


def test_an_incident_stands_at_the_head_of_its_case_until_it_is_closed(client, alice, olga, case):
    incident = rows.incident(case, Run.objects.get(), task=case.tasks.get())
    address = f"/cases/{case.code}/standing/"
    assert f'href="#incident-{incident.pk}"' in page(client, alice, address)
    incidents.close(incident, by=olga, reason="Seen.", now=timezone.now())
    assert "#incident-" not in page(client, alice, address)


def test_the_list_of_deliveries_asks_a_fixed_number_of_questions(
    client, carol, case, open_case, django_assert_max_num_queries
):
    run = Run.objects.get()
    for number in range(6):
        rows.attempt(rows.seal(open_case(), run, state="finished"), number + 1, thread_id=f"t{number}")
    client.force_login(carol)
    with django_assert_max_num_queries(26):
        client.get("/deliveries/")


def test_soon_is_not_expired(client, olga, open_case, agent):
    case = open_case(deadline=in_seconds(900))
    assert case.code not in page(client, olga, "/deliveries/")


def test_lists_and_runs_under_way_read_themselves_again(client, olga, agent, case):
    running = rows.add_run(agent, "going", "t2", status=Run.Status.RUNNING)
    assert 'hx-trigger="live:trail from:body"' in page(client, olga, "/deliveries/")
    assert 'hx-trigger="live:trail from:body"' in page(client, olga, "/agents/payer/runs/", run=running.run_id)
    assert "live:trail from:body" not in page(client, olga, "/agents/payer/runs/", run="run-1")
    piece = client.get("/deliveries/", headers={"HX-Request": "true"}).content.decode()
    assert piece.strip().startswith('<div id="deliveries"') and "</html>" not in piece


@pytest.mark.parametrize(("part", "heading"), [("delivery", "Delivery"), ("runs", "Runs")])
def test_a_part_of_a_case_on_a_page_of_its_own_has_a_heading(client, alice, case, part, heading):
    assert page(client, alice, f"/cases/{case.code}/{part}/").count(f"<h1>{heading}</h1>") == 1
