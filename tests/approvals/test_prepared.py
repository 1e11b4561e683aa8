"""A question that is put together once answers as its queryset does, each time it is asked and on every database."""

from __future__ import annotations

from contextlib import suppress

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext

from approvals import locking
from approvals.models import Note, Queue, Task, User
from approvals.prepared import Addition, Change, Prepared, slot
from tests.people import in_seconds

HARD = "a\x00\ud800"  # no column of text takes it


def columns(row):
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


@pytest.fixture
def tasks(open_case):
    """Two, one of them with a deadline, a result and a flag."""
    told = {"deadline": in_seconds(60), "results": HARD, "flags": [{"slug": "new", "sentence": "New."}]}
    rows = list(Task.objects.filter(case=open_case(2)).order_by("pk"))
    Task.objects.filter(pk=rows[1].pk).update(**told)
    return Task.objects.order_by("pk")


def test_a_row_is_the_row_of_its_queryset(tasks):
    question = Prepared(lambda: Task.objects.filter(code=slot("code")))
    for task in tasks:
        assert columns(question.one(code=task.code)) == columns(task)


def test_it_is_put_together_once_and_asked_each_time(tasks):
    built, codes = [], [*tasks.values_list("code", flat=True), "T-none"]
    question = Prepared(lambda: built.append("once") or Task.objects.filter(code=slot("code")))
    with CaptureQueriesContext(connection) as heard:
        found = [question.first(code=code) for code in codes]
    assert (found, built, len(heard)) == ([*tasks, None], ["once"], 3)


def test_a_row_that_was_read_can_be_written(tasks):
    found = Prepared(lambda: Task.objects.filter(pk=slot("pk"))).one(pk=tasks[0].pk)
    found.tool = "other"
    found.save()
    assert tasks[0].tool == "other"


def test_what_is_joined_comes_along(tasks, django_assert_num_queries):
    question = Prepared(lambda: Task.objects.select_related("queue", "claimed_by").filter(pk=slot("pk")))
    pk = tasks[0].pk
    with django_assert_num_queries(1):
        found = question.one(pk=pk)
        assert (found.queue.name, found.claimed_by) == ("payments", None)


def test_what_is_left_out_is_read_when_it_is_wanted(tasks, django_assert_num_queries):
    found = Prepared(lambda: Task.objects.only("code").filter(pk=slot("pk"))).one(pk=tasks[1].pk)
    with django_assert_num_queries(1):
        assert found.results == HARD


def test_values_come_as_they_were_asked_for(tasks):
    of_queue = Task.objects.filter(queue__name=slot("queue")).order_by("-pk")
    question = Prepared(lambda: of_queue.values_list("results", "pk"))
    assert question.rows(queue="payments") == [(HARD, tasks[1].pk), (None, tasks[0].pk)]


def test_nothing_found_is_said_as_the_queryset_says_it(db):
    with pytest.raises(Queue.DoesNotExist):
        Prepared(lambda: Queue.objects.filter(name=slot("name"))).one(name="none")


def test_a_slot_must_be_filled(db):
    with pytest.raises(KeyError, match="name"):
        Prepared(lambda: Queue.objects.filter(name=slot("name"))).rows(other="payments")


def test_another_name_is_no_other_question(alice):
    """Foreign text is a value, never a part of the statement."""
    question = Prepared(lambda: User.objects.filter(username=slot("name")))
    assert question.rows(name="' OR 1=1 --") == []
    assert question.one(name="alice") == alice


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_lock_is_refused_outside_a_transaction_each_time(alice):
    for _time in range(2):
        with pytest.raises(TransactionManagementError):
            locking.person_locked.first(pk=alice.pk)


@pytest.mark.postgres
def test_the_lock_is_in_the_statement_each_time(alice):
    with CaptureQueriesContext(connection) as heard:
        assert [locking.person_locked.one(pk=alice.pk) for _time in range(2)] == [alice, alice]
    assert [told["sql"].endswith("FOR NO KEY UPDATE") for told in heard] == [True, True]


def test_a_change_writes_what_update_writes(tasks, alice):
    """Texts that no column takes, times, JSON, keys, nothing at all: each column says how it is written."""
    listed = [{"slug": "new", "sentence": HARD}]
    told = {"tool": HARD, "results": HARD, "deadline": in_seconds(60), "flags": listed, "claimed_by": alice.pk}
    change = Change(lambda: Task.objects.filter(code=slot("code")), *told)
    for values in (told, {"tool": "", "results": None, "deadline": None, "flags": [], "claimed_by": None}):
        made = Task.objects.filter(pk=tasks[0].pk).update(**values), change.set(values, code=tasks[1].code)
        before, after = ([columns(row).get(name) for name in told] for row in tasks.all())
        assert (made, before) == ((1, 1), after)


def test_a_change_says_how_many_rows_it_met(tasks):
    """Its condition is the lock: of two at once exactly one sees a changed row."""
    task = tasks[0]
    change = Change(lambda: Task.objects.filter(pk=slot("pk"), agent=slot("before")), "agent")
    assert [change.set({"agent": "other"}, pk=task.pk, before=task.agent) for _time in range(2)] == [1, 0]


def test_a_change_needs_every_column(tasks):
    with pytest.raises(KeyError, match="tool"):
        Change(lambda: Task.objects.filter(pk=slot("pk")), "tool").set({}, pk=tasks[0].pk)


def test_a_row_that_is_added_is_the_row_that_was_made(task, django_assert_num_queries):
    """With the key that the database gave it, and free to be written again."""
    made = [Note(task=task, text=HARD, at=in_seconds(0)) for _time in range(2)]
    addition = Addition(Note)
    with django_assert_num_queries(2):
        assert [addition.add(row) for row in made] == made
    for row in made:
        assert columns(Note.objects.get(pk=row.pk)) == columns(row)
    made[0].save()
    assert Note.objects.count() == 2


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has always returned keys")
def test_an_old_sqlite_tells_the_key_of_a_row_as_well(task, monkeypatch):
    monkeypatch.setattr(connection.features, "can_return_columns_from_insert", False)
    added = Addition(Note).add(Note(task=task, text="kept", at=in_seconds(0)))
    assert Note.objects.get().pk == added.pk


def test_rows_that_are_added_together_are_those_that_were_made(task, django_assert_max_num_queries):
    made = [Note(task=task, text=text, at=in_seconds(n)) for n, text in enumerate((HARD, "", "b"))]
    with django_assert_max_num_queries(1):
        Addition(Note).add_all(made)
    stored = Note.objects.order_by("at")
    assert [{**columns(row), "id": None} for row in stored] == [columns(row) for row in made]


@pytest.mark.postgres
def test_no_rows_are_added_as_nothing(db, django_assert_num_queries):
    with django_assert_num_queries(0):
        Addition(Note).add_all([])


def test_a_row_that_is_there_is_not_added(task):
    """Whoever goes on after that is stopped, as with Django's own: the transaction is undone."""
    again = Addition(Queue)
    with pytest.raises(TransactionManagementError), transaction.atomic():
        with suppress(IntegrityError):
            again.add(Queue(name=task.queue.name))
        again.add(Queue(name="another"))
