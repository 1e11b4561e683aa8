"""An auditor's questions, counts, samples and findings."""

from __future__ import annotations

import hashlib
from datetime import UTC, date

import pytest
from django.utils import timezone

from approvals import audit
from approvals.models import AuditEntry, Finding, Sample, Task
from approvals.refusals import Invalid, NotAllowed, WrongState
from approvals.trail import trailsearch
from approvals.workbench import charting, counting, findings, question, questions, sampling
from tests.people import ARGS, decide, new_task, only_task, shown

EDITS = ARGS.replace("120.50", "99")


def ask(**words: str) -> question.Question:
    return question.asked(words)


@pytest.fixture
def decided(open_case, payments, alice, bob):
    """Four decisions: two tools, two reviewers, one edited, one rejected."""

    def of(tool: str):
        return only_task(open_case(tasks=[new_task(payments, exhibit=shown(tool))]))

    return [
        decide(of("send_money"), alice, edits=EDITS),
        decide(of("send_money"), alice),
        decide(of("send_email"), bob),
        decide(of("send_email"), bob, "rejected"),
    ]


@pytest.mark.parametrize(
    ("words", "which"),
    [
        ({}, [0, 1, 2, 3]),
        ({"tool": "send_money"}, [0, 1]),
        ({"verdict": "approved", "edited": "yes"}, [0]),
        ({"edited": "no", "actor": "bob"}, [2, 3]),
        ({"verdict": "rejected", "tool": "send_money"}, []),
        ({"queue": "payments", "agent": "payer"}, [0, 1, 2, 3]),
        ({"agent": "nobody"}, []),
        ({"thread": "nowhere"}, []),
        ({"queue": "travel"}, []),
        ({"until": "2001-01-01"}, []),
        ({"q": "SEND_EMAIL ops@"}, [2, 3]),
        ({"incident": "any"}, []),
    ],
)
def test_a_question_finds_decisions_and_the_entries_that_tell_of_them(words, which, decided, carol):
    asked = ask(**words)
    assert [decided.index(one) for one in asked.decisions(carol).order_by("pk")] == which
    if "q" not in words:
        told = asked.entries(carol).filter(verb="task.decided")
        assert {entry.task_id for entry in told} == {decided[n].task_id for n in which}


@pytest.mark.parametrize("length", [99, 100, 101, 5000])
def test_a_tool_is_found_by_its_whole_name_however_long(length, open_case, payments, carol):
    """Two bytes a letter, around the end of what the index holds."""
    name = "é" * length
    for tool in (name, name + "x", name[1:]):
        open_case(tasks=[new_task(payments, exhibit=shown(tool))])
    found = trailsearch.tasks(Task.objects.all(), tool=name)
    assert [task.tool for task in found] == [name]


def test_the_same_words_in_any_order_are_the_same_question():
    assert ask(tool="a", actor="b").words == ask(actor="b", tool="a").words == "actor=b&tool=a"
    assert question.read("tool=a&actor=b").texts == ask(tool="a", actor="b").texts


def test_incidents_that_are_closed_are_no_longer_open_ones(decided, carol):
    audit.register("incident.opened", "incident.closed")  # the bridge's verbs
    for entry, verb in ((0, "opened"), (1, "opened"), (1, "closed")):
        audit.record(f"incident.{verb}", "Incident.", case=decided[entry].task.case, now=timezone.now())
    assert list(ask(incident="any").decisions(carol).order_by("pk")) == decided[:2]
    assert list(ask(incident="open").decisions(carol)) == decided[:1]


def test_reviewers_count_their_own_queues_only(decided, charlie, alice):
    assert (ask().decisions(charlie).count(), ask().decisions(alice).count()) == (0, 4)


def test_what_cannot_be_asked_is_said():
    assert ask(verdict="perhaps").problems == ["“perhaps” is nothing that can be asked for here."]


def test_what_people_only_looked_at_is_left_out_unless_asked_for(carol, task):
    audit.record("case.viewed", "carol opened it.", actor=carol, case=task.case, now=timezone.now())
    assert not ask().entries(carol).filter(verb="case.viewed").exists()
    assert ask(reads="yes").entries(carol).filter(verb="case.viewed").exists()
    assert ask(verb="case.viewed").entries(carol).exists()


def test_counts_tell_edits_from_plain_approvals(decided, carol):
    counts = counting.counted(ask().decisions(carol))
    assert (counts.kinds, counts.total) == ([("approved", 2), ("edited", 1), ("rejected", 1)], 4)


@pytest.mark.parametrize(
    ("last", "unit", "bars"),
    [(date(2026, 3, 2), "day", 61), (date(2026, 6, 1), "week", 23), (date(2028, 1, 1), "month", 25)],
)
def test_a_long_time_is_gathered_into_weeks_and_months(last, unit, bars):
    first = date(2026, 1, 1)
    assert counting.unit_for(first, last) == unit and len(counting.starts(first, last, unit)) == bars


def test_bars_stand_on_each_other_and_reach_as_high_as_their_number():
    counts = counting.Counts("day", [counting.Period(date(2026, 11, 30), {"approved": 3, "rejected": 1})])
    chart = charting.drawn(counts)
    drawn = [(bar.kind, bar.y, bar.height) for bar in chart.bars]
    assert drawn == [("approved", "43.5", "82.5"), ("rejected", "16.0", "27.5")]
    assert [line.value for line in chart.lines] == [0, 2, 4]


@pytest.mark.parametrize("most", [1, 2, 3, 7, 11, 99, 100, 101, 950, 12_345])
def test_a_scale_holds_its_highest_bar(most):
    assert most <= charting.nice(most) <= 2 * most


def test_a_sample_is_what_its_algorithm_says(decided, carol):
    """Written down again here: whoever checks a sample needs no code of ours."""
    sample = sampling.draw(ask(), seed="Q4", size=3, by=carol, now=timezone.now())
    keys = {}
    for one in decided:
        at = one.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        words = b"\x00".join([b"countersign/sample/v1", b"Q4", one.task.code.encode(), at.encode()])
        keys[hashlib.sha256(words).hexdigest()] = [one.task.case.code, one.task.code, at]
    assert sample.drawn == [keys[key] for key in sorted(keys)[:3]]


def test_the_same_seed_and_question_draw_the_same_and_another_seed_does_not(decided, carol):
    first, again, other = (
        sampling.draw(ask(actor="alice"), seed=seed, size=2, by=carol, now=timezone.now()) for seed in ("a", "a", "b")
    )
    assert first.drawn == again.drawn and sorted(first.drawn) == sorted(other.drawn)
    entry = AuditEntry.objects.filter(verb="sample.drawn").earliest("seq")
    assert '"asked":{"actor":"alice"}' in entry.data and first.drawn[0][0] in entry.data


def test_a_stratified_sample_takes_from_each(decided, carol):
    sample = sampling.draw(ask(), seed="a", size=1, each="tool", by=carol, now=timezone.now())
    tools = {one.task.code: one.task.tool for one in decided}
    assert {tools[task] for _case, task, _at in sample.drawn} == {"send_money", "send_email"}


@pytest.mark.parametrize("size", [1, 7, 500])
def test_the_smallest_are_kept_of_however_many_there_are(size):
    """More than is ever held at once; in another order they come out alike."""
    key = sampling.keys("Q4")
    whole = [(n % 3, (key(f"T-{n}", "now"), f"T-{n}", "now")) for n in range(4000)]
    drawn, number = sampling.smallest(whole, size)
    expected = [one for stratum in range(3) for one in sorted(d for s, d in whole if s == stratum)[:size]]
    assert (drawn, number) == (sorted(expected), 4000) == sampling.smallest(reversed(whole), size)


@pytest.mark.parametrize("wrong", [{"seed": ""}, {"size": 0}, {"size": 501}, {"each": "moon"}])
def test_what_cannot_be_drawn_is_refused(wrong, decided, carol):
    with pytest.raises(Invalid):
        sampling.draw(ask(), **{"seed": "a", "size": 1, **wrong}, by=carol, now=timezone.now())
    assert not Sample.objects.exists()


def test_a_finding_is_noted_and_closed_with_a_reason(carol, task):
    entry = task.entries.get(verb="task.opened")
    finding = findings.note(task.case, text="Odd.", seq=entry.seq, by=carol, now=timezone.now())
    with pytest.raises(Invalid):
        findings.close(finding, reason=" ", by=carol, now=timezone.now())
    findings.close(finding, reason="It was fine.", by=carol, now=timezone.now())
    with pytest.raises(WrongState):
        findings.close(finding, reason="Again.", by=carol, now=timezone.now())
    assert list(findings.checks()) == []


@pytest.mark.parametrize("who", ["alice", "olga", "adam"])
def test_only_auditors_note_findings(who, request, task):
    with pytest.raises(NotAllowed):
        findings.note(task.case, text="Odd.", by=request.getfixturevalue(who), now=timezone.now())


@pytest.mark.tampers
def test_a_finding_without_its_entry_is_noticed(carol, task):
    Finding.objects.create(case=task.case, text="Odd.", by=carol, at=timezone.now())
    assert "no entry tells of" in next(findings.checks()).sentence


def test_a_saved_question_is_its_owners_unless_shared(carol, adam):
    now = timezone.now()
    questions.save("verb=task.decided", name="mine", shared=False, by=carol, now=now)
    questions.save("verb=task.opened", name="ours", shared=True, by=carol, now=now)
    assert [one.name for one in questions.offered(adam)] == ["ours"]
    assert [one.words for one in questions.offered(carol)] == ["verb=task.decided", "verb=task.opened"]
