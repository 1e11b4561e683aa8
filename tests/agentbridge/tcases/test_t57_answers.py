"""T-57 to T-66, T-99, T-100: what an answer says, what is never in it, and what never leaks."""

from __future__ import annotations

import json
import logging
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from agentbridge import dialects
from agentbridge.models import Agent, Incident, Run
from approvals import jsontext
from approvals.models import Decision, User
from approvals.refusals import Refused
from tests.agentbridge.recordings import Tape, case_of, kit_of, slugs, warned
from tests.agentbridge.streams import ASK, STARTED, call, paused, read
from tests.bridge_work import Script, ask, delivery, paused_case, register, work
from tests.people import decide, only_task
from tests.scripted_agent import Answer, failed, finishing, interrupt, pausing, started
from tests.scripted_agent import call as called
from tests.scripted_agent import finished as ended

YES_NO = {"type": "object", "required": ["approved"], "properties": {"approved": {"type": "boolean"}}}


@pytest.fixture
def tape(payments: Any, alice: User) -> Tape:
    return Tape(payments, alice)


def answered(script: Script, by: User, verdict: str, asked: Any, *, calls: bytes | None = None, **given: Any) -> Any:
    """The entries that an agent gets for one question."""
    agent = script(pausing(asked, calls=calls), finishing())
    decide(only_task(paused_case(register(agent), by)), by, verdict, **given)
    work()
    return agent.resumes


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("verdict", "sent"),
    [("rejected", {"status": "resolved", "payload": {"approved": False}}), ("cancelled", {"status": "cancelled"})],
)
def test_t57_a_no_is_an_answer_and_a_cancel_has_none(
    script: Script, alice: User, olga: User, verdict: str, sent: Any
) -> None:
    assert answered(script, alice, verdict, interrupt()) == [[{"interruptId": "int-1", **sent}]]


@pytest.mark.django_db
def test_t58_a_required_reason_left_empty_is_said_and_nothing_is_recorded(tape: Tape, alice: User) -> None:
    schema = {**YES_NO, "required": ["approved", "reason"]}
    schema["properties"] = {**YES_NO["properties"], "reason": {"type": "string", "minLength": 1}}
    task = tape.task(started(), called(), ended(interrupt(responseSchema=schema)))
    with pytest.raises(Refused) as refusal:
        decide(task, alice)
    assert (refusal.value.status, Decision.objects.exists()) == (422, False)
    assert jsontext.loads(decide(task, alice, comment="fine").answer)["reason"] == "fine"


@pytest.mark.django_db(transaction=True)
def test_t59_a_comment_without_a_place_stays_here(script: Script, alice: User) -> None:
    sent = answered(script, alice, "approved", interrupt(responseSchema=YES_NO), comment="between us")
    assert "between us" not in json.dumps(sent)
    assert Decision.objects.get().comment == "between us"


@pytest.mark.django_db
def test_t60_edits_are_offered_where_the_schema_has_a_place_and_must_be_whole(tape: Tape, alice: User) -> None:
    declared = tape.task(started(), called(), ended(interrupt()))
    other = tape.task(started(), called(), ended(interrupt(responseSchema=YES_NO)), thread="thread-2")
    assert (kit_of(declared).can_edit, kit_of(other).can_edit) == (True, False)
    with pytest.raises(Refused):
        decide(other, alice, edits='{"amount": 1}')
    assert decide(declared, alice, edits='{"amount": 1.0}').answer == '{"approved":true,"editedArgs":{"amount": 1.0}}'


FLAT = {
    "type": "object", "additionalProperties": False, "required": ["approved"],
    "properties": {"approved": {"type": "boolean"}, "amount": {"type": "number"}, "to": {"type": "string"},
                   "editedArgs": {"type": "object", "required": ["amount", "to"]}},
}  # fmt: skip


@pytest.mark.django_db
def test_t60_a_partial_edit_is_refused_where_all_arguments_are_wanted(tape: Tape, alice: User) -> None:
    calls = called(args='{"amount": 12.50, "to": "ann"}')
    task = tape.task(started(), calls, ended(interrupt(responseSchema=FLAT)))
    with pytest.raises(Refused) as refusal:
        decide(task, alice, edits='{"amount": 1}')
    assert refusal.value.status == 422


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("value", ["false", "0", '""', "[]", "{}"])
def test_t61_a_falsy_answer_is_sent_as_it_is(script: Script, alice: User, value: str) -> None:
    agent = script(pausing(interrupt(call_id=None, reason="acme:ask", responseSchema={}), calls=b""), finishing(None))
    decide(only_task(paused_case(register(agent), alice)), alice, "answered", input=value)
    work()
    assert f'"payload":{value}}}'.encode() in agent.posts[1].body


@pytest.mark.parametrize(
    ("reason", "yes", "no"),
    [("confirmation", "true", "false"), ("tool_call", '{"approved":true}', '{"approved":false}')],
)
def test_t62_without_a_schema_a_confirmation_is_a_boolean_and_a_call_an_object(reason: str, yes: str, no: str) -> None:
    run = read(STARTED, *call("{}"), paused({**ASK, "reason": reason})).run
    dialect, [pause], _ = dialects.recognise(run)
    forms = dialect.kit(pause).forms
    assert (forms["approved"].answer, forms["rejected"].answer) == (yes, no)


@pytest.mark.django_db
def test_t63_a_call_that_no_event_knows_is_said_and_can_be_answered(tape: Tape, alice: User, client: Client) -> None:
    task = tape.task(started(), ended(interrupt(call_id="tc-unknown")))
    client.force_login(alice)
    page = client.get(f"/cases/{task.case.code}/").content.decode()
    assert ("arguments-missing" in slugs(task), 'data-flag="arguments-missing"' in page) == (True, True)
    assert decide(task, alice).answer == '{"approved":true}'


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("asked", "member"),
    [
        (interrupt(reason="core:later"), "reason"),
        (interrupt(call_id=None), "toolCallId"),
        ({"id": "int-1", "reason": "input_required"}, "responseSchema"),
    ],
)
def test_c36_a_reason_used_against_its_rule_is_a_warning_and_drawn(
    tape: Tape, alice: User, client: Client, asked: Any, member: str
) -> None:
    run = tape.record(started(), called(), ended(asked))
    task = case_of(run).tasks.get()
    client.force_login(alice)
    assert warned(run) == {"C-36": f"5 RUN_FINISHED /outcome/interrupts/0/{member}"}
    assert ("decision" in client.get(f"/cases/{task.case.code}/").content.decode(), bool(kit_of(task).forms)) == (
        True, True
    )  # fmt: skip


REAL = {"id": "tc-real", "name": "refund", "args": {"amount": 12}}
SYNTHETIC = interrupt(
    "adk-1", "adk-1", reason="confirmation", responseSchema=YES_NO, metadata={"adk": {"originalFunctionCall": REAL}}
)


@pytest.mark.django_db(transaction=True)
def test_t64_the_result_of_the_real_call_behind_a_made_up_one_is_linked(script: Script, alice: User) -> None:
    calls = called("refund", '{"amount": 12}', "tc-real") + called("adk_request_confirmation", "{}", "adk-1")
    agent = script(pausing(SYNTHETIC, calls=calls), finishing("refunded", "tc-real"))
    case = paused_case(register(agent), alice)
    task = only_task(case)
    assert (task.tool, json.loads(task.refs)["toolCallId"]) == ("refund", "adk-1")
    decide(task, alice)
    work()
    task.refresh_from_db()
    assert json.loads(task.results or "[]")[0]["text"] == "refunded"
    assert (task.conclusion, Incident.objects.exists()) == ("Executed as approved.", False)


@pytest.mark.django_db
def test_t65_metadata_that_says_another_amount_is_flagged_beside_the_arguments(
    tape: Tape, alice: User, client: Client
) -> None:
    task = tape.task(started(), called(args='{"amount": 1200}'), ended(interrupt(metadata={"amount": 12})))
    client.force_login(alice)
    page = client.get(f"/cases/{task.case.code}/").content.decode()
    assert ("conflicting-arguments" in slugs(task), 'data-flag="conflicting-arguments"' in page) == (True, True)
    assert "1200" in page and "has 12 here" in page


@pytest.mark.django_db(transaction=True)
def test_t66_a_fingerprint_goes_back_byte_for_byte_and_drift_asks_for_a_new_review(script: Script, alice: User) -> None:
    seal = '{"alg": "x", "n": 1.0}'
    asked = interrupt(responseSchema=YES_NO, metadata={"governance": {"actionFingerprint": "SEAL"}})
    parts = pausing(asked).parts
    sealed = [part.replace(b'"SEAL"', seal.encode()) if isinstance(part, bytes) else part for part in parts]
    agent = script(Answer(sealed), Answer([started(), failed("the action drifted", "FINGERPRINT_MISMATCH")]))
    case = paused_case(register(agent), alice)
    decide(only_task(case), alice)
    work()
    assert f'"approvedActionFingerprint":{seal}'.encode() in agent.posts[1].body
    assert (delivery(case).answer_class, delivery(case).state) == ("C", "agent_error")


SECRET = "s3cr3t-0f-the-agent"


@pytest.mark.django_db(transaction=True)
def test_t99_a_secret_of_an_agent_is_in_no_row_no_log_and_no_page(
    script: Script, alice: User, adam: User, client: Client, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    agent = script(pausing(), Answer([b"no"], status=401, headers={}), Answer([failed("no")]))
    given = {"headers": [("Authorization", f"Bearer {SECRET}"), ("X-Key", SECRET)]}
    case = paused_case(register(agent, **given), alice)
    decide(only_task(case), alice)
    work()
    ask(register(agent, **given), alice, thread_id="thread-2")
    agent.down()
    work()
    assert agent.posts[0].headers["authorization"] == f"Bearer {SECRET}"
    call_command("export_audit", out=tmp_path / "bundle.zip")
    with zipfile.ZipFile(tmp_path / "bundle.zip") as bundle:
        bundle.extractall(tmp_path)
    database = Path(connection.settings_dict["NAME"])
    kept = [*everything(), *files(tmp_path, "**/*"), *files(database.parent, f"{database.name}*")]
    assert [text for text in kept if SECRET in text] == []
    assert SECRET not in caplog.text
    client.force_login(adam)
    for path in ("/agents/", "/agents/payer/", "/deliveries/", f"/cases/{case.code}/", "/audit/"):
        assert SECRET not in client.get(path).content.decode(), path


def files(folder: Path, pattern: str = "*") -> list[str]:
    """The bytes of files, as far as they are text; the database's own among them where it is a file."""
    # Read by another process: closing any descriptor of a SQLite file here would drop the locks of our own connections
    # (POSIX), and the next process to open it would cut the shared memory under us.
    paths = [str(path) for path in folder.glob(pattern) if path.is_file()]
    return [subprocess.run(["cat", path], capture_output=True, check=True).stdout.decode("latin-1") for path in paths]


def everything() -> list[str]:
    """Every table as text, as the database holds it."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            found.append(" ".join(as_text(value) for row in cursor.fetchall() for value in row))
    return found


def as_text(value: Any) -> str:
    return bytes(value).decode("utf-8", "replace") if isinstance(value, bytes | memoryview) else str(value)


@pytest.mark.django_db(transaction=True)
def test_t100_an_older_server_gets_no_version_and_all_it_requires(script: Script, alice: User) -> None:
    agent = script(pausing(), finishing())
    older = register(agent)
    Agent.objects.update(pre_1_0=True)
    older.refresh_from_db()
    decide(only_task(paused_case(older, alice)), alice)
    work()
    wanted = {"threadId", "runId", "state", "messages", "tools", "context", "forwardedProps"}
    assert [set(post.json) for post in agent.posts] == [wanted, wanted | {"resume"}]
    assert Run.objects.latest("pk").status == "succeeded"
