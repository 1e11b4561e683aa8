"""A pause becomes a case: frozen as it will be shown, found again by what it says."""

from __future__ import annotations

import hashlib

import pytest

from approvals import exhibits, headlines, intake, keys
from approvals.models import Task
from tests.people import ARGS, asked, in_seconds, new_task, only_task, shown, verbs


def test_case_and_tasks_are_stored_in_order(payments, open_case):
    case = open_case(tasks=[new_task(payments, 1), new_task(payments, 2, exhibit=asked())])

    first, second = case.tasks.order_by("position")
    assert (case.state, first.state, first.tool, second.tool) == ("open", "open", "send_money", "")
    assert verbs(case) == ["case.opened", "task.opened", "task.opened"]


def test_earliest_deadline_is_the_cases(payments, open_case):
    soon, late = in_seconds(60), in_seconds(600)
    case = open_case(tasks=[new_task(payments, 1, deadline=late), new_task(payments, 2, deadline=soon)])

    assert case.deadline == soon
    assert {task.due_at for task in case.tasks.all()} == {soon}


def test_queue_sorts_by_the_cases_deadline(open_case):
    never, late, soon = open_case(), open_case(deadline=in_seconds(600)), open_case(deadline=in_seconds(60))

    order = [task.case for task in Task.objects.soonest_first().select_related("case")]
    assert order == [soon, late, never]


def test_a_long_case_costs_little_more_than_an_entry_for_each_question(open_case, django_assert_max_num_queries):
    many = 2 * intake.PORTION + 1
    with django_assert_max_num_queries(many + 40):
        case = open_case(many)

    assert list(case.tasks.order_by("position").values_list("position", flat=True)) == list(range(many))
    assert {task.exhibits.get().digest for task in case.tasks.all()} == {task.shown_digest for task in case.tasks.all()}


def test_case_that_asks_nothing_is_refused(db):
    new = intake.NewCase(agent="a", thread_key="", refs={}, tasks=[])

    with pytest.raises(ValueError, match="at least one"):
        intake.open_case(new, now=in_seconds(0))


def test_exhibit_comes_back_exactly(open_case):
    content = shown(
        message="\ud800 \x00 <b>",
        tool_definition='{"name":"send_money","parameters":{"type":"object"}}',
        messages=('{"n": 1.0}', '{"n":1e400}'),
        state='{"big":12345678901234567890}',
        flags=({"slug": "duplicate-keys", "sentence": "Twice.", "pointer": "/to"},),
    )
    exhibit = only_task(open_case(exhibit=content)).exhibits.get()

    assert exhibits.load(exhibit.body) == content
    assert exhibit.digest == hashlib.sha256(exhibit.body.encode()).hexdigest()
    assert content.parameters == '{"type":"object"}'


@pytest.mark.parametrize(
    ("state", "args", "proposal"),
    [("complete", ARGS, ARGS), ("empty", "", "{}"), ("missing", "", None), ("invalid", "{", None)],
)
def test_proposal_is_what_can_be_read(state, args, proposal):
    tool = exhibits.Tool(id="c", name="t", args_text=args, state=state)

    assert shown(tool=tool.name, args="").proposal == "{}"
    assert exhibits.Content(reason="tool_call", tool=tool, agent_name="A").proposal == proposal


def test_headline_shows_values_and_marks_every_cut():
    args = '{"to": "' + "x" * 80 + '", "amount": 1.50, "list": [1, 2], "more": true}'

    assert headline(shown(args=args)) == [("to", "x" * 59 + "…"), ("amount", "1.50"), ("more", "true"), ("", "…")]
    assert headline(shown(args="[1]")) == [("", "[1]")]
    assert headline(asked("Which account?")) == [("", "Which account?")]


def test_a_headline_tells_whom_and_how_much_and_never_dumps():
    args = '{"meta": {"a": 1}, "note": "", "amount": 12.50, "dry_run": false, "tags": ["a"], "email": "m@example.org"}'

    assert headline(shown(args=args)) == [
        ("amount", "12.50"), ("dry_run", "false"), ("email", "m@example.org"), ("", "…"),
    ]  # fmt: skip
    nested = '{"lines": [{"sku": 1}, {"sku": 2}], "meta": {"a": 1, "b": 2}, "tags": ["a", "b"]}'
    assert headline(shown(args=nested)) == [("lines", "[…] 2"), ("meta", "{…} 2"), ("tags", '["a", "b"]')]


def test_no_value_of_a_headline_passes_for_another_argument():
    assert headline(shown(args='{"to": "mina · amount: 1", "amount": 9}')) == [
        ("to", "mina · amount: 1"),
        ("amount", "9"),
    ]
    assert headlines.parts("to: mina · amount: 9") == [("", "to: mina · amount: 9")]  # from before there were pairs
    assert headlines.parts("9") == [("", "9")]


def test_a_row_holds_the_agents_words_apart_from_the_arguments():
    said = headlines.headline(shown(message="to: mina " + "x" * 200))
    assert headlines.says(said) == "to: mina " + "x" * 110 + "…"
    assert headlines.says(headlines.headline(asked("Which account?"))) == headlines.says("to: mina") == ""


def headline(content):
    return headlines.parts(headlines.headline(content))


def test_task_is_found_by_what_it_says(open_case):
    task = only_task(open_case(exhibit=shown(args='{"iban":"DE\\u0000 99 ÄÖ"}', message="Hello\x00 ÄÖ")))

    for words in ("send_money", "hello", "äö", "thread-1", task.code.lower(), task.case.code.lower()):
        assert words in task.search_text
    assert "\x00" not in task.search_text


def test_second_asking_is_numbered(payments, open_case):
    first = only_task(open_case())

    assert only_task(open_case(asked_before=first)).asking == 2


def test_refused_case_says_why_from_the_start(open_case):
    case = open_case(case={"blocked": "The interrupt has no id."})

    assert "but: The interrupt has no id." in case.entries.get(verb="case.opened").sentence


def test_deadline_of_a_case_is_frozen_with_its_text(open_case):
    end = in_seconds(60)
    task = only_task(open_case(deadline=end, deadline_text="in a minute or so"))
    task.refresh_from_db()

    assert (task.deadline, task.case.deadline, task.deadline_text) == (end, end, "in a minute or so")


def test_keys_are_separate_by_purpose_and_survive_rotation(settings):
    old = keys.derived("decision")
    settings.SIGNING_KEYS = [b"n" * 32, *settings.SIGNING_KEYS]

    assert keys.derived("decision")[1:] == old
    assert keys.derived("form")[0] != keys.derived("decision")[0]
    assert len(keys.derived("form")[0]) == 32


def test_a_call_without_a_name_is_told_as_one(open_case):
    entry = open_case(exhibit=shown("")).entries.get(verb="task.opened")
    assert entry.sentence.endswith("to run a tool without a name.")
