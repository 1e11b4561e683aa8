"""The protocol report of an agent: every warning counted once, however often its run is looked at."""

from __future__ import annotations

import pytest

from agentbridge.models import ProtocolNote, Run
from agentbridge.runs import protocolreport
from approvals import jsontext
from approvals.models import Queue
from tests import bridge_rows as rows
from tests.bridge_work import ask, register, work
from tests.scripted_agent import Answer, finished, frame, started


def warned(*rules: str, severity: str = "warning") -> str:
    return jsontext.dumps(
        [
            {"rule": rule, "severity": severity, "where": f"{n} RAW", "text": f"Number {n}"}
            for n, rule in enumerate(rules)
        ]
    )


@pytest.fixture
def agent(payments):
    return rows.add_agent(payments)


@pytest.fixture
def travel_task(charlie, open_case):
    return open_case(queue=Queue.objects.get(name="travel")).tasks.get()


def counts() -> dict[str, int]:
    return dict(ProtocolNote.objects.values_list("rule", "count"))


def test_a_run_is_counted_once_and_its_later_warnings_are_added(agent):
    run = rows.add_run(agent, warnings=warned("C-2", "C-2", "T-77"))
    protocolreport.count(run)
    protocolreport.count(run)
    assert counts() == {"C-2": 2, "T-77": 1}
    Run.objects.filter(pk=run.pk).update(warnings=warned("C-2", "C-2", "T-77", "C-2"))
    protocolreport.count(run)
    assert counts() == {"C-2": 3, "T-77": 1}


def test_the_newest_example_stands_for_its_rule(agent):
    for run_id in ("run-1", "run-2"):
        protocolreport.count(rows.add_run(agent, run_id, run_id, warnings=warned("C-2", "C-2")))
    note = ProtocolNote.objects.get()
    assert (note.count, note.last_run.run_id, note.where, note.text) == (4, "run-2", "1 RAW", "Number 1")


def test_the_worst_come_first(agent, olga):
    protocolreport.count(rows.add_run(agent, "a", "a", warnings=warned("C-1", "C-1", severity="info")))
    protocolreport.count(rows.add_run(agent, "b", "b", warnings=warned("C-9", severity="error")))
    protocolreport.count(rows.add_run(agent, "c", "c", warnings=warned("C-5", "C-6", "C-6")))
    assert [line.note.rule for line in protocolreport.of_agent(agent, olga)] == ["C-9", "C-6", "C-5", "C-1"]


def test_an_example_of_another_queue_is_not_shown(agent, alice, travel_task):
    run = rows.add_run(agent, warnings=warned("C-2"))
    protocolreport.count(run)
    assert protocolreport.of_agent(agent, alice)[0].example == run
    rows.bind(run, [travel_task])
    assert protocolreport.of_agent(agent, alice)[0].example is None


@pytest.mark.django_db(transaction=True)
def test_what_a_stream_is_warned_of_is_in_the_report_when_its_run_ends(alice, script):
    odd = frame(type="SOMETHING_NEW", a=1)
    agent = register(script(Answer([started(), odd, odd, finished()])))
    ask(agent, alice)
    work()
    run = Run.objects.get()
    told = [each["rule"] for each in jsontext.loads(run.warnings)]
    assert counts() == {rule: told.count(rule) for rule in set(told)} and counts()["C-2"] == 2
    assert run.warnings_counted == len(told)


def test_the_page_reads_no_run_but_the_examples(agent, olga, client, django_assert_max_num_queries):
    """What it asks does not grow with the runs."""
    client.force_login(olga)
    for n in range(8):
        protocolreport.count(rows.add_run(agent, f"r{n}", f"t{n}", warnings=warned("C-2", f"C-{n}")))
    with django_assert_max_num_queries(3):
        list(protocolreport.of_agent(agent, olga))
