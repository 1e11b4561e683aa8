"""Who sees and may do what, asked anew at the moment of the deed."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser

from approvals import people, permissions, reviewing
from approvals.models import Queue, User
from approvals.models.people import Role
from tests.people import approval_kit, decide, in_seconds, new_task, only_task

PEOPLE = ("alice", "charlie", "carol", "olga", "adam")


@pytest.mark.parametrize(
    ("name", "verdicts"),
    [
        ("alice", ["approved", "rejected", "cancelled"]),
        ("charlie", []),
        ("carol", []),
        ("olga", ["cancelled"]),
        ("adam", []),
    ],
)
def test_offered_is_exactly_what_may_be_decided(request, task, name, verdicts):
    person = request.getfixturevalue(name)
    offered, why_not, can_edit = permissions.offered(person, task)

    assert offered == verdicts
    assert set(why_not) == {"approved", "rejected", "cancelled"} - set(verdicts)
    assert can_edit == (name == "alice")
    for verdict in why_not:
        with pytest.raises(reviewing.NotAllowed):
            decide(task, person, verdict)


@pytest.mark.parametrize("cancel", ["unclear", "runs"])
def test_doubtful_cancel_is_for_operators(alice, olga, open_case, cancel):
    task = only_task(open_case(kit=approval_kit(cancel=cancel)))

    assert permissions.offered(alice, task)[0] == ["approved", "rejected"]
    with pytest.raises(reviewing.NotAllowed):
        decide(task, alice, "cancelled")
    assert decide(task, olga, "cancelled").answer is None


def test_reason_of_the_kit_comes_before_that_of_the_role(carol, open_case):
    task = only_task(open_case(kit=approval_kit(impossible={"rejected": "The schema admits no no."})))

    assert permissions.offered(carol, task)[1]["rejected"] == "The schema admits no no."


@pytest.mark.parametrize("name", PEOPLE)
def test_tasks_and_cases_that_a_person_sees(request, payments, open_case, name):
    travel = Queue.objects.create(name="travel")
    both = open_case(tasks=[new_task(payments, 1), new_task(travel, 2)])
    own = open_case()
    person = request.getfixturevalue(name)

    tasks, cases = permissions.visible_tasks(person), permissions.visible_cases(person)
    expected = {"alice": (2, {both, own}), "charlie": (1, {both})}.get(name, (3, {both, own}))
    assert (tasks.count(), set(cases)) == expected


def test_visitors_and_disabled_people_see_nothing(alice, task):
    alice.is_active = False

    for nobody in (AnonymousUser(), alice):
        assert not permissions.visible_tasks(nobody).exists()
        assert not permissions.visible_cases(nobody).exists()
        assert permissions.visible_queues(nobody) == []


def test_superuser_without_a_group_has_no_rights(task):
    root = User.objects.create_superuser("root")

    assert not permissions.visible_tasks(root).exists()
    with pytest.raises(reviewing.NotAllowed):
        decide(task, root)


def test_rights_are_those_of_the_moment(alice, task):
    """The page was drawn for a reviewer; the form comes back from somebody who is none any more."""
    assert permissions.offered(alice, task)[0]
    people.set_user("alice", role=Role.REVIEWER, queues=["travel"], now=in_seconds(0))

    with pytest.raises(reviewing.NotAllowed):
        decide(task, alice)


def test_disabled_person_decides_nothing(alice, task):
    User.objects.filter(pk=alice.pk).update(is_active=False)

    with pytest.raises(reviewing.NotAllowed):
        decide(task, alice)


def test_seeing_one_task_is_seeing_it_in_the_list(alice, charlie, carol, olga, adam, task):
    for somebody in (alice, charlie, carol, olga, adam):
        listed = permissions.visible_tasks(somebody).filter(pk=task.pk).exists()
        assert permissions.can_see(somebody, task) is listed, somebody
