"""The bare Django view that deciding is compared with: a login, and the statements of one decision, nothing else.

`record` decides one task through the product and keeps the statements; `serve` is a web server whose only view sends
them again for another task, with that one's numbers and codes in place. Both run on the database of DATABASE_URL.
"""

from __future__ import annotations

import itertools
import os
import pickle
import secrets
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import django
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import path
from django.views.decorators.http import require_POST

MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
]
LOGIN = ('FROM "django_session"', 'FROM "approvals_user" WHERE "approvals_user"."id" =')  # what the middleware asks
HEAD, ENTRY = 'FROM "approvals_auditentry" ORDER BY', 'INSERT INTO "approvals_auditentry"'


class Statement(NamedTuple):
    sql: str
    values: tuple[Any, ...]
    together: bool  # in the transaction of the deed


class Deed(NamedTuple):
    """The statements of a decision, and what its task was called in them."""

    names: tuple[Any, ...]  # task, case (keys), task, case (codes)
    statements: list[Statement]


def record(way: str, person: str, file: str) -> None:
    """Decide the first open task as this person, on the page or by the API, and keep what was sent to the database."""
    django.setup()
    from django.test import Client
    from django.utils import timezone

    from approvals import tokens
    from approvals.models import Task, User

    user = User.objects.get(username=person)
    # The last one: its number is no small one that stands for something else too.
    task = Task.objects.select_related("case").filter(state="open").order_by("-pk")[0]
    token = tokens.issue(user, now=timezone.now())
    heard: list[Statement] = []

    def listen(execute: Any, sql: str, values: Any, many: bool, context: Any) -> Any:
        heard.append(Statement(sql, tuple(plain(value) for value in values or ()), connection.in_atomic_block))
        return execute(sql, values, many, context)

    client = Client(headers={"Host": "127.0.0.1"})
    client.force_login(user)
    with connection.execute_wrapper(listen):
        if way == "page":
            posted = {"verdict": "approved", "shown_digest": task.shown_digest, "idempotency_key": "k"}
            answer = client.post(f"/tasks/{task.code}/decision/", posted)
        else:
            said = {"verdict": "approved", "shownDigest": task.shown_digest}
            headers = {"Authorization": f"Bearer {token}"}
            place = f"/api/v1/tasks/{task.code}/decision"
            answer = client.post(place, said, content_type="application/json", headers=headers)
    if answer.status_code not in (200, 303):
        raise SystemExit(f"deciding answered {answer.status_code}: {answer.content!r}")
    names = (task.pk, task.case.pk, task.code, task.case.code)
    Path(file).write_bytes(pickle.dumps(Deed(names, list(of_the_deed(heard)))))


def plain(value: Any) -> Any:
    """What can be read without our models."""
    if isinstance(value, memoryview):
        return bytes(value)
    return str(value) if isinstance(value, str) else value


def of_the_deed(statements: Iterable[Statement]) -> Iterable[Statement]:
    """The middleware of the bare server reads session and person by itself, once."""
    left = list(LOGIN)
    for statement in statements:
        asked = next((part for part in left if part in statement.sql), None)
        if asked:
            left.remove(asked)
        elif not statement.sql.startswith(("BEGIN", "SAVEPOINT", "RELEASE")):  # the view begins by itself
            yield statement


@require_POST
@login_required
def decide(request: HttpRequest, code: str) -> HttpResponse:
    deed = settings.DEED
    task, case, case_code = request.POST["about"].split(",")
    instead = dict(zip(deed.names, (int(task), int(case), code, case_code), strict=True))
    with connection.cursor() as cursor:
        for together, group in itertools.groupby(deed.statements, key=lambda statement: statement.together):
            if together:
                with transaction.atomic():
                    send(cursor, group, instead)
            else:
                send(cursor, group, instead)
    return HttpResponseRedirect(f"/cases/{case_code}/")


def send(cursor: Any, statements: Iterable[Statement], instead: dict[Any, Any]) -> None:
    seq = 0
    for sql, values, _together in statements:
        values = tuple(instead.get(value, value) if isinstance(value, int | str) else value for value in values)
        if sql.startswith(ENTRY):
            seq += 1
            values = (seq, values[1], secrets.token_hex(32), *values[3:])  # seq, body, leaf_hash, …
        cursor.execute(sql, values)
        rows = cursor.fetchall() if sql.startswith("SELECT") else []
        if HEAD in sql and rows:
            seq = rows[0][0]


urlpatterns = [path("bare/<slug:code>/", decide)]


def serve(port: str, file: str) -> None:
    from config import settings as ours

    names = {name: getattr(ours, name) for name in dir(ours) if name.isupper()}
    deed = pickle.loads(Path(file).read_bytes())
    bare = {"ROOT_URLCONF": "benchmarks.bare", "MIDDLEWARE": MIDDLEWARE, "TEMPLATES": [], "DEED": deed}
    settings.configure(**{**names, **bare})
    django.setup()
    from daphne.server import Server
    from django.core.asgi import get_asgi_application

    place = f"tcp:port={port}:interface=127.0.0.1"
    Server(application=get_asgi_application(), endpoints=[place], server_name="").run()


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    # By its own name: what is stored must be found again as `benchmarks.bare.Deed`.
    from benchmarks import bare

    {"record": bare.record, "serve": bare.serve}[sys.argv[1]](*sys.argv[2:])
