"""Content goes, and the trail stands: four eyes, holds, rules, and not a word of it left in any table."""

from __future__ import annotations

import base64
import random
import re
import zipfile
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from agentbridge.models import StreamChunk
from agentbridge.record import erasing, evidence, verifying
from approvals import jsontext, people
from approvals.erasing import asking, holding, retention
from approvals.models import AuditEntry, Case, Decision, Erasure, Exhibit, RetentionRule
from approvals.models.people import Role
from approvals.refusals import Invalid, NotAllowed, WrongState
from approvals.trail import bundles, verification
from tests.bridge_work import paused_case, register, work
from tests.emptying import everything
from tests.people import PASSWORD, decide, only_task, shown
from tests.scripted_agent import finishing, pausing
from tests.trails import good

pytestmark = pytest.mark.django_db(transaction=True)
WORDS = "Zeisigweg"  # stands in what was typed, and nowhere in our own words


@pytest.fixture
def berta(db):
    """Administers too."""
    return people.set_user("berta", role=Role.ADMIN, password=PASSWORD, now=timezone.now())


@pytest.fixture
def delivered(script, alice):
    """A conversation that is over; its answer was edited and has a comment."""
    case = paused_case(register(script(pausing(), finishing())), alice)
    task = only_task(case)
    proposal = jsontext.loads(Exhibit.objects.get(task=task).body)["tool"]["argsText"]
    edits = jsontext.replace(proposal, {"/note": f'"{WORDS} 7"'}) if '"note"' in proposal else proposal
    decide(task, alice, edits=edits, comment=f"To {WORDS}.")
    work()
    case.refresh_from_db()
    return case


def ask(case: Case, by, **more: str) -> Erasure:
    told = {"reason": "Consent was taken back.", "basis": "GDPR Art. 17(1)(b)", **more}
    return asking.ask(case, **told, by=by, now=timezone.now())


def test_nothing_of_it_is_left_in_any_table(delivered, carol, adam):
    exhibit = jsontext.loads(Exhibit.objects.get().body)
    known = [WORDS, exhibit["tool"]["argsText"], exhibit["tool"]["id"] and "approved\":true"]
    assert all(word.encode() in everything() for word in known[:2])
    erasing.carry_out(ask(delivered, carol), by=adam, now=timezone.now())
    left = everything()
    assert [word for word in known if word.encode() in left] == []
    assert not StreamChunk.objects.exclude(data=b"").exists()
    good()


def carried_away(path: Path) -> bytes:
    """Every byte of a bundle of the whole trail, unpacked, and base64 read."""
    bundles.write(path, bundles.begin(AuditEntry.objects.all(), {}, extras=[evidence.extras], now=timezone.now()))
    with zipfile.ZipFile(path) as bundle:
        members = b"\n".join(bundle.read(name) for name in bundle.namelist())
    coded = re.findall(rb'"([A-Za-z0-9+/]{8,}={0,2})"', members)
    return b"\n".join([members, *(base64.b64decode(text) for text in coded if len(text) % 4 == 0)])


def test_of_many_only_those_that_were_asked_for_go(open_case, payments, alice, carol, adam, tmp_path):
    """R-35 in small: each conversation holds a word of its own."""
    pick = random.Random(35)
    words = {open_case(exhibit=shown(args=f'{{"to": "word{n}x"}}'), case={"thread_key": f"{n:064x}"}): f"word{n}x"
             for n in range(10)}  # fmt: skip
    for case, word in words.items():
        decide(only_task(case), alice, comment=word)
    Case.objects.update(state="delivered", taken_at=timezone.now(), ended_at=timezone.now())
    gone = pick.sample(list(words), 5)
    for case in gone:
        erasing.carry_out(ask(case, carol), by=adam, now=timezone.now())
    for left in (everything(), carried_away(tmp_path / "all.zip")):
        assert {case for case, word in words.items() if word.encode() not in left} == set(gone)
    good()


def test_who_when_and_how_stay(delivered, carol, adam, client):
    erasing.carry_out(ask(delivered, carol), by=adam, now=timezone.now())
    client.force_login(carol)
    text = client.get(f"/cases/{delivered.code}/record/").content.decode()
    assert "was erased" in text and "Asked for by carol, done by adam." in text and "approved" in text
    assert "The content of this case was erased." in client.get(f"/cases/{delivered.code}/").content.decode()
    decision = Decision.objects.get()
    assert (decision.verdict, decision.answer, decision.comment) == ("approved", None, "")


def test_the_entry_names_two_persons_the_reason_and_what_went(delivered, carol, adam):
    erasing.carry_out(ask(delivered, carol), by=adam, now=timezone.now())
    entry = AuditEntry.objects.get(verb="entry.erased")
    told = jsontext.loads(entry.data)
    assert (told["askedBy"], told["doneBy"]) == (carol.pseudonym, adam.pseudonym)
    assert told["basis"] == "GDPR Art. 17(1)(b)"
    gone = {(int(seq), column) for seq, column in told["entries"]}
    decided = AuditEntry.objects.get(verb="task.decided")
    assert (decided.seq, "data") in gone and decided.search_text is None


def test_whoever_asked_does_not_do_it(delivered, adam, berta, carol):
    erasure = ask(delivered, adam)
    for who in (adam, carol):
        with pytest.raises(NotAllowed):
            erasing.carry_out(erasure, by=who, now=timezone.now())
    erasing.carry_out(erasure, by=berta, now=timezone.now())
    with pytest.raises(WrongState):
        erasing.carry_out(erasure, by=berta, now=timezone.now())


@pytest.mark.parametrize("who", ["alice", "olga"])
def test_only_auditors_and_administrators_ask(who, delivered, request):
    with pytest.raises(NotAllowed):
        ask(delivered, request.getfixturevalue(who))


def test_an_erasure_wants_a_reason_and_a_legal_basis(delivered, carol):
    with pytest.raises(Invalid):
        ask(delivered, carol, basis=" ")


def test_what_is_not_over_is_not_erased(task, carol):
    with pytest.raises(WrongState):
        ask(task.case, carol)


@pytest.mark.parametrize("on", ["case", "queue", "agent"])
def test_a_hold_keeps_it_until_it_is_lifted(on, delivered, carol, adam, payments):
    erasure = ask(delivered, carol)
    held = {"case": delivered, "queue": payments, "agent": delivered.agent}[on]
    hold = holding.place(**{on: held}, reason="A court asks.", by=carol, now=timezone.now())
    with pytest.raises(WrongState):
        erasing.carry_out(erasure, by=adam, now=timezone.now())
    with pytest.raises(NotAllowed):
        holding.lift(hold, because="over", by=carol, now=timezone.now())
    holding.lift(hold, because="The court is done.", by=adam, now=timezone.now())
    erasing.carry_out(erasure, by=adam, now=timezone.now())
    good()


def test_a_refused_one_is_not_done(delivered, carol, adam):
    erasure = ask(delivered, carol)
    asking.refuse(erasure, because="We need it.", by=adam, now=timezone.now())
    with pytest.raises(WrongState):
        erasing.carry_out(erasure, by=adam, now=timezone.now())
    assert ask(delivered, carol).pk != erasure.pk


@pytest.mark.tampers
@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("UPDATE approvals_auditentry SET data = NULL, data_salt = NULL WHERE verb = 'task.decided'", "incomplete"),
        ("UPDATE approvals_exhibit SET body = %s", "incomplete"),
        ("UPDATE agentbridge_run SET input = %s", "incomplete"),
        ("UPDATE approvals_erasure SET done_at = NULL", None),
    ],
)
def test_content_that_goes_without_an_entry_is_noticed(sql, kind, delivered, carol, adam):
    if kind is None:
        erasing.carry_out(ask(delivered, carol), by=adam, now=timezone.now())
    with connection.cursor() as cursor, transaction.atomic():
        if kind is None:
            with pytest.raises(DatabaseError):
                cursor.execute(sql)
            return
        cursor.execute(sql, [b""] if "%s" in sql else [])
    assert kind in {one.kind for one in verification.verify(checks=[verifying.checks]).findings}


def test_what_was_shown_may_be_erased_and_never_changed(delivered):
    with pytest.raises(DatabaseError):
        Exhibit.objects.update(body="{}")
    with pytest.raises(DatabaseError):
        Decision.objects.update(comment="other")


def rule(days: int, by, agreed_by=None, **scope) -> RetentionRule:
    told = {"queue": None, "agent": "", "basis": "policy 7", **scope}
    asked = retention.ask(**told, days=days, by=by, now=timezone.now())
    if agreed_by:
        retention.agree(asked, by=agreed_by, now=timezone.now())
    return asked


def in_days(days: int):
    return timezone.now() + timedelta(days=days)


def test_the_narrowest_rule_counts_and_only_once_two_agreed(delivered, adam, berta, payments):
    rule(1, adam)
    assert list(retention.due(in_days(400))) == []
    rule(1, adam, berta)
    rule(30, adam, berta, queue=payments)
    assert [one.rule.days for one in retention.due(in_days(31))] == [30]
    assert list(retention.due(in_days(29))) == []


def test_whoever_asked_for_a_rule_does_not_agree_to_it(adam, berta):
    asked = rule(7, adam)
    with pytest.raises(NotAllowed):
        retention.agree(asked, by=adam, now=timezone.now())


def test_a_new_rule_takes_the_place_of_the_old_one_for_the_same(adam, berta):
    rule(7, adam, berta)
    rule(9, berta, adam)
    assert [one.days for one in retention.in_force()] == [9]


def test_the_command_tells_first_and_erases_then(delivered, adam, berta, capsys, monkeypatch):
    rule(1, adam, berta)
    later = in_days(3)
    monkeypatch.setattr("agentbridge.management.commands.retention.timezone.now", lambda: later)
    call_command("retention", "--dry-run")
    assert delivered.code in capsys.readouterr().out and not Erasure.objects.exists()
    call_command("retention")
    assert "1 erased." in capsys.readouterr().out
    erasure = Erasure.objects.get()
    assert (erasure.asked_by, erasure.done_by) == (adam, berta)
    call_command("retention")
    assert "0 erased." in capsys.readouterr().out


def test_what_a_rule_erased_is_not_erased_again_by_hand(delivered, adam, berta, carol):
    erasure = ask(delivered, carol)
    rule(1, adam, berta)
    erasing.carry_out_rule(next(retention.due(in_days(3))), now=timezone.now())
    with pytest.raises(WrongState, match="erased already"):
        erasing.carry_out(erasure, by=adam, now=timezone.now())


def test_the_command_leaves_what_is_held(delivered, adam, berta, carol, capsys, monkeypatch):
    rule(1, adam, berta)
    holding.place(case=delivered, reason="A court asks.", by=carol, now=timezone.now())
    later = in_days(3)
    monkeypatch.setattr("agentbridge.management.commands.retention.timezone.now", lambda: later)
    call_command("retention")
    assert "held: A court asks." in capsys.readouterr().out and not Erasure.objects.exists()


def test_the_page_leads_two_people_through_it(delivered, carol, adam, client):
    client.force_login(carol)
    told = {"case": delivered.code, "reason": "Consent was taken back.", "basis": "GDPR"}
    assert client.post("/audit/erasures/ask/", told).status_code == 303
    erasure = Erasure.objects.get()
    assert "Only administrators erase." in client.get("/audit/erasures/").content.decode()
    client.force_login(adam)
    assert client.post(f"/audit/erasures/{erasure.pk}/", {"action": "erase"}).status_code == 303
    erasure.refresh_from_db()
    assert erasure.done_by == adam
    good()
