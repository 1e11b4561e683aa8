"""Views are kept, shared, counted, and one of them can be what the queue opens with."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals.models import AuditEntry, SavedView
from approvals.models.people import Role
from approvals.refusals import Invalid, NotAllowed
from approvals.verbs import keeping
from tests.people import asked, in_seconds, question_kit, shown

pytestmark = pytest.mark.django_db


def kept(owner, name="mine", query="asks=1", *, shared=False):
    return keeping.save(owner, name=name, query=query, shared=shared, now=timezone.now())


def views(client, user):
    client.force_login(user)
    return {choice.name: choice for choice in client.get("/queue/?state=open").context["saved_views"]}


def test_a_view_is_kept_from_the_page_in_a_plain_form(client, alice):
    client.force_login(alice)
    answer = client.post("/queue/views/", {"name": "Mail", "query": "evil=1&q=%20rent%20&tool=send&after=xyz"})
    assert answer.headers["location"] == "/queue/?tool=send&q=rent"
    assert SavedView.objects.get().query == "tool=send&q=rent"


def test_own_and_shared_views_are_seen_and_private_ones_of_others_not(client, alice, bob):
    kept(bob, "private")
    kept(bob, "shared", shared=True)
    kept(alice, "mine")
    assert list(views(client, alice)) == ["mine", "shared"]


@pytest.mark.parametrize(
    ("query", "number"),
    [("asks=1", 1), ("tool=refund", 2), ("q=refund", 2), ("claimed=nobody", 3), ("due=15", 1), ("due=9999", 1),
     ("since=2020-01-01", 3), ("queue=payments&agent=payer", 3), ("state=settled", None), ("reason=tool_call", 2)],
)  # fmt: skip
def test_views_are_counted(client, alice, open_case, query, number):
    open_case(exhibit=shown("refund"), deadline=in_seconds(300))
    open_case(exhibit=shown("refund"))
    open_case(exhibit=asked(), kit=question_kit())
    kept(alice, query=query)
    assert views(client, alice)["mine"].number == number


def test_counting_views_costs_at_most_one_query(client, alice, open_case):
    open_case()
    client.force_login(alice)
    client.get("/queue/?state=open")
    numbers = []
    for n in range(8):
        with CaptureQueriesContext(connection) as queries:
            client.get("/queue/?state=open")
        numbers.append(len(queries))
        kept(alice, f"v{n}", query=f"q=word{n}" if n > 3 else f"tool=t{n}")
    assert numbers[:5] == [numbers[0]] * 5 and numbers[-1] == numbers[0] + 1


def test_the_queue_opens_with_the_view_of_ones_choice(client, alice):
    keeping.begin_with(alice, kept(alice))
    client.force_login(alice)
    assert client.get("/queue/").headers["location"] == "/queue/?asks=1"
    assert client.get("/queue/?state=open").status_code == 200
    keeping.begin_with(alice, None)
    assert client.get("/queue/").status_code == 200


def test_a_role_opens_with_a_shared_view_unless_one_chose_another(client, alice, adam):
    view = kept(adam, "team", "risk=high", shared=True)
    keeping.first_for(adam, view, role=Role.REVIEWER, now=timezone.now())
    client.force_login(alice)
    assert client.get("/queue/").headers["location"] == "/queue/?risk=high"
    keeping.begin_with(alice, kept(alice))
    assert client.get("/queue/").headers["location"] == "/queue/?asks=1"
    assert AuditEntry.objects.filter(verb="view.changed").count() == 2


def test_only_admins_set_the_first_view_of_a_role_and_only_a_shared_one(alice, adam):
    with pytest.raises(NotAllowed):
        keeping.first_for(alice, kept(alice, shared=True), role=Role.REVIEWER, now=timezone.now())
    with pytest.raises(Invalid):
        keeping.first_for(adam, kept(adam, "own"), role=Role.REVIEWER, now=timezone.now())


def test_a_name_is_used_again_by_its_owner_only(alice, bob):
    kept(bob)
    kept(alice)
    assert kept(alice, query="risk=high").pk == SavedView.objects.get(owner=alice).pk
    assert SavedView.objects.get(owner=bob).query == "asks=1"


@pytest.mark.parametrize("name", ["", " ", "x" * 61])
def test_a_view_needs_a_name(client, alice, name):
    client.force_login(alice)
    client.post("/queue/views/", {"name": name, "query": ""})
    assert not SavedView.objects.exists()


def test_views_have_a_limit(alice, monkeypatch):
    monkeypatch.setattr(keeping, "MOST", 1)
    kept(alice)
    with pytest.raises(Invalid):
        kept(alice, "another")


def test_views_of_others_cannot_be_touched(client, alice, bob):
    private, shared = kept(bob, "private"), kept(bob, "shared", shared=True)
    client.force_login(alice)
    assert client.post(f"/queue/views/{private.pk}/", {"action": "remove"}).status_code == 404
    client.post(f"/queue/views/{shared.pk}/", {"action": "remove"})
    client.post(f"/queue/views/{shared.pk}/", {"action": "role", "role": "reviewer"})
    assert SavedView.objects.get(pk=shared.pk).first_for == ""
    client.force_login(bob)
    client.post(f"/queue/views/{private.pk}/", {"action": "remove"})
    assert not SavedView.objects.filter(pk=private.pk).exists()
