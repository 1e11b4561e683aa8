"""Deny by default: every address × every kind of person, and no address without a row in the table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from approvals import tokens
from approvals.trail import trailsearch
from tests import audit_rows
from tests import bridge_rows as rows
from tests.access_table import API, BODIES, PAGES, QUERIES

WHO = ("nobody", "alice", "charlie", "olga", "carol", "adam")
TABLE = {**API, **PAGES}


def routes(patterns: list[URLPattern | URLResolver], before: str = "") -> Iterator[str]:
    for pattern in patterns:
        here = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, here)
        else:
            yield here


def test_every_route_has_a_row_and_every_row_a_route():
    known = {row.partition(" ")[2] for row in TABLE}
    assert sorted(set(routes(get_resolver().url_patterns)) ^ known) == []


@pytest.fixture
def world(alice, bob, charlie, olga, carol, adam, open_case, payments):
    """A case of payments that a run of the agent asked; the people of the columns."""
    run = rows.add_run(rows.add_agent(payments))
    case = open_case()
    rows.bind(run, case.tasks.all())
    task = case.tasks.get()
    people = {"alice": alice, "charlie": charlie, "olga": olga, "carol": carol, "adam": adam}
    made = {"tokens": {name: tokens.issue(person, now=timezone.now()) for name, person in people.items()}}
    found = rows.incident(case, run)
    ids = {"run_id": "run-1", "thread_id": "thread-1", "slug": "payer", "number": found.pk}
    beside = audit_rows.one_of_each(case, auditor=carol, admin=adam)
    beside["queues/"] = payments.pk
    # Bob is nobody of the columns: whoever is disabled there asks for nothing afterwards.
    ids |= {"part": "message", "pseudonym": bob.pseudonym, "uidb64": "MQ", "token": "no-link"}
    return {**people, **made, **ids, "case": case, "task": task, "beside": beside}


def address(row: str, world) -> str:
    """The route with the world's values in its places."""
    route = row.partition(" ")[2]
    code = world["task"].code if "tasks/<" in route else world["case"].code
    values = {"code": code, "pk": world["task"].pk, **world}
    for start, number in world["beside"].items():
        if route.startswith(start):
            values["number"] = number
    filled = re.sub(r"<(?:\w+:)?(\w+)>", lambda place: str(values[place[1]]), route)
    return f"/{filled}" + (f"?{QUERIES[row]}" if row in QUERIES else "")


def ask(row: str, who: str, world, *, undo: bool = True) -> int:
    """The status that this person gets; whatever the request did is undone, unless that is what is asked."""
    client = Client()
    headers = {}
    if row in API and who != "nobody":
        headers["Authorization"] = f"Bearer {world['tokens'][who]}"
    elif who != "nobody":
        client.force_login(world[who])
    body = {key: value.replace("{digest}", world["task"].shown_digest) for key, value in BODIES.get(row, {}).items()}
    with transaction.atomic():
        if row.startswith("GET "):
            answer = client.get(address(row, world), headers=headers)
        elif row in API:
            answer = client.post(
                address(row, world), json.dumps(body), content_type="application/json", headers=headers
            )
        else:
            answer = client.post(address(row, world), body)
        transaction.set_rollback(undo)
    return answer.status_code


@pytest.mark.parametrize("row", TABLE)
def test_each_person_gets_what_the_table_says(row, world):
    expected = dict(zip(WHO, TABLE[row].split(), strict=True))
    assert {who: str(ask(row, who, world)) for who in WHO} == expected


@pytest.mark.parametrize("row", [row for row in TABLE if row.startswith("GET ")])
def test_a_get_changes_nothing(row, world):
    from approvals.models import AuditEntry, Decision

    # That somebody looked, or was not let in, is on record too.
    deeds = AuditEntry.objects.exclude(verb__in=(*trailsearch.READS, "access.refused"))
    before = (deeds.count(), Decision.objects.count(), world["case"].state)
    for who in WHO:
        ask(row, who, world, undo=False)
    world["case"].refresh_from_db()
    assert (deeds.count(), Decision.objects.count(), world["case"].state) == before


@pytest.mark.parametrize("row", [row for row in PAGES if row.startswith("POST ")])
def test_a_page_is_posted_to_only_with_its_csrf_token(row, world):
    client = Client(enforce_csrf_checks=True)
    client.force_login(world["olga"])
    assert client.post(address(row, world), BODIES.get(row, {})).status_code == 403
