"""A wrong or missing setting stops the start with one sentence that names it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import ProgrammingError

import manage
from config import environment
from tests.environment import KEYS
from tests.source import ROOT

SHOW = "import json; from config import settings as s; print(json.dumps({n: getattr(s, n) for n in %r}, default=str))"


def start(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    own = {"PATH": os.environ["PATH"], **KEYS, "DATABASE_URL": "sqlite:///var/unused.sqlite3", **variables}
    return subprocess.run([sys.executable, *words], env=own, cwd=ROOT, capture_output=True, text=True, timeout=60)


def settings_with(*names: str, **variables: str) -> dict[str, object]:
    shown = start("-c", SHOW % (names,), **variables)
    assert shown.returncode == 0, shown.stderr
    return dict(json.loads(shown.stdout))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SECRET_KEY", ""),
        ("FIELD_KEY", "too-short"),
        ("SIGNING_KEY", "not base64url!"),
        ("FIELD_KEY_FILE", "/nowhere"),
        ("DATABASE_URL", "mysql://u:hush@h/d"),
        ("REDIS_URL", "http://h"),
        ("PUBLIC_URL", "desk.example"),
        ("PUBLIC_URL", "https://desk.example/path"),
        ("EGRESS_ALLOW", "http://agent"),
        ("DEBUG", "maybe"),
        ("UNDO_SECONDS", "soon"),
        ("UNDO_SECONDS", "-1"),
        ("LEASE_SECONDS", "0"),
        ("BODY_LIMIT", "1.5"),
    ],
)
def test_a_wrong_one_is_named_in_one_line(name, value):
    stopped = start("manage.py", "check", **{name: value})
    assert stopped.returncode == 1
    assert stopped.stderr.startswith("Cannot start: ") and name in stopped.stderr
    assert stopped.stderr.count("\n") == 1 and "hush" not in stopped.stderr


def test_a_database_that_nobody_migrated_is_told_in_one_line(tmp_path):
    stopped = start("manage.py", "add_queue", "Payments", DATABASE_URL=f"sqlite:///{tmp_path / 'empty.sqlite3'}")
    assert stopped.returncode == 1
    assert stopped.stderr == "The database lacks tables of this version. Run this first: manage.py migrate\n"


@pytest.mark.parametrize(
    ("cause", "behind"),
    [(psycopg.errors.UndefinedTable, True), (psycopg.errors.UndefinedColumn, True), (psycopg.errors.DiskFull, False)],
)
def test_postgresql_says_it_in_whatever_language(cause, behind):
    problem = ProgrammingError("la relación no existe")
    problem.__cause__ = cause()
    assert manage.is_behind(problem) is behind


def test_a_good_environment_starts():
    assert start("manage.py", "check").returncode == 0


def test_our_defaults_behind_https_are_fit_to_deploy():
    """R-60."""
    checked = start("manage.py", "check", "--deploy", "--fail-level", "WARNING", PUBLIC_URL="https://desk.example")
    assert checked.returncode == 0, checked.stderr


def test_debug_needs_no_keys():
    assert start("manage.py", "check", DEBUG="1", SECRET_KEY="", FIELD_KEY="", SIGNING_KEY="").returncode == 0


def test_a_key_may_come_from_a_file(tmp_path: Path, monkeypatch):
    (tmp_path / "key").write_text(KEYS["FIELD_KEY"].rstrip("=") + "\n")
    plain = environment.keys("FIELD_KEY", debug=False)
    monkeypatch.setenv("FIELD_KEY", "")
    monkeypatch.setenv("FIELD_KEY_FILE", str(tmp_path / "key"))
    assert environment.keys("FIELD_KEY", debug=False) == plain and len(plain[0]) == 32


def test_keys_are_newest_first(monkeypatch):
    monkeypatch.setenv("FIELD_KEY", f"{KEYS['SIGNING_KEY']}, {KEYS['SECRET_KEY']}")
    newest, older = environment.keys("FIELD_KEY", debug=False)
    monkeypatch.setenv("FIELD_KEY", KEYS["SIGNING_KEY"])
    assert environment.keys("FIELD_KEY", debug=False) == [newest] and newest != older


def test_a_key_is_never_quoted(monkeypatch):
    monkeypatch.setenv("FIELD_KEY", "secret-but-short")
    with pytest.raises(ImproperlyConfigured) as problem:
        environment.keys("FIELD_KEY", debug=False)
    assert "secret-but-short" not in str(problem.value)


@pytest.mark.parametrize(
    ("url", "secure", "prefix"), [("https://desk.example", True, "__Host-"), ("http://desk", False, "")]
)
def test_cookies_are_secure_exactly_where_people_use_https(url, secure, prefix):
    found = settings_with("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SESSION_COOKIE_NAME", "HTTPS", PUBLIC_URL=url)
    assert found == {
        "SESSION_COOKIE_SECURE": secure,
        "CSRF_COOKIE_SECURE": secure,
        "SESSION_COOKIE_NAME": f"{prefix}session",
        "HTTPS": secure,
    }


def test_postgresql_by_one_variable():
    database = environment_database("postgres://u:p%40ss@h:5433/d")
    assert (database["HOST"], database["PORT"], database["PASSWORD"]) == ("h", 5433, "p@ss")
    assert database["CONN_MAX_AGE"] == 0 and database["OPTIONS"]["pool"]
    assert "lock_timeout" in database["OPTIONS"]["options"] and "jit=off" in database["OPTIONS"]["options"]


@pytest.mark.parametrize(("url", "path"), [("sqlite:///var/a.db", "var/a.db"), ("sqlite:////tmp/b.db", "/tmp/b.db")])
def test_sqlite_paths_are_relative_to_the_project_or_absolute(url, path):
    assert environment_database(url)["NAME"] == str(ROOT / path)


def environment_database(url: str) -> dict[str, object]:
    os.environ["SOME_DATABASE"] = url
    try:
        return environment.database("SOME_DATABASE", "", base=ROOT)
    finally:
        del os.environ["SOME_DATABASE"]


def test_redis_by_one_variable():
    found = settings_with("CHANNEL_LAYERS", REDIS_URL="redis://h:1/0")
    assert "RedisPubSub" in str(found["CHANNEL_LAYERS"])
