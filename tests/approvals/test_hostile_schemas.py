"""Schemas made to hurt (R-54): nothing is fetched, nothing runs on, and the question can still be answered."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
from typing import Any

import pytest

from approvals import schemas
from approvals.kit import standard_kit
from approvals.validation import worker
from tests.approvals.formpage import Filled
from tests.desk import ROOT


def wide(levels: int) -> dict[str, Any]:
    """Twice as many ways to fail on each level, through references."""
    named = {f"n{at}": {"allOf": [{"$ref": f"#/$defs/n{at + 1}"}] * 2} for at in range(levels)}
    return {"$defs": {**named, f"n{levels}": {"type": "string"}}, "$ref": "#/$defs/n0"}


SLOW = "^(a|a)*(a|a)*(a|a)*b$"
MANY = [{"type": "object", "properties": {"k": {"const": at}, "s": {"pattern": SLOW}}} for at in range(25)]
HOSTILE = {
    "remote reference": {"$ref": "https://evil.example/schema.json"},
    "file reference": {"$ref": "file:///etc/passwd"},
    "remote dialect": {
        "$schema": "http://evil.example/dialect",
        "type": "object",
        "properties": {"a": {"type": "string"}},
    },
    "dynamic loop": {"$dynamicAnchor": "x", "$dynamicRef": "#x"},
    "loop of references": {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
    "slow pattern": {"type": "object", "properties": {"a": {"type": "string", "pattern": SLOW}}},
    "slow names": {"type": "object", "patternProperties": {SLOW: {"type": "string"}}, "additionalProperties": False},
    "huge pattern": {"type": "object", "properties": {"a": {"type": "string", "pattern": "((a{1000}){1000}){1000}"}}},
    "twice on each level": wide(40),
    "deep": "deep",
    "large": {"type": "object", "properties": {f"p{at}": {"type": "string"} for at in range(60_000)}},
    "many slow branches": {"type": "object", "properties": {"b": {"oneOf": MANY}}},
    "unique items": {"type": "object", "properties": {"l": {"type": "array", "uniqueItems": True}}},
    "words of objects": {"properties": {"__proto__": {"type": "string"}, "constructor": {"type": "string"}}},
    "not a pattern": {"type": "object", "properties": {"a": {"type": "string", "pattern": "(["}}},
}
DEEP = '{"type":"object","properties":{"a":' * 500 + "true" + "}}" * 500
VALUE = json.dumps({"a": "a" * 50 + "c", "b": {"k": 3, "s": "a" * 50}, "l": list(range(500)), "a" * 60: "x"})


def text_of(name: str) -> str:
    return DEEP if name == "deep" else json.dumps(HOSTILE[name])


def form_of(name: str, value: str | None = None) -> Filled:
    return Filled(value=value, text=text_of(name))


@pytest.fixture(autouse=True)
def no_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: Any, **_more: Any) -> None:
        raise AssertionError("something was to be fetched")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_page_is_drawn_and_what_is_there_comes_back(name: str) -> None:
    form = form_of(name, VALUE)
    assert sum(1 for _field in form.tree.root.walk()) < 400
    assert form.read().text == VALUE
    empty = form_of(name)
    empty.page.values["v:raw"] = '{"a":"x"}'
    assert empty.read().text == '{"a":"x"}'


@pytest.mark.parametrize("name", HOSTILE)
def test_the_question_can_still_be_answered(name: str) -> None:
    kit = standard_kit(reason="input_required", schema=text_of(name), has_call=False, proposal=None)
    assert "answered" in kit.forms or "answered" in kit.impossible
    if kit.schema is None:  # it cannot be used: the answer is free JSON
        assert kit.answer("answered", proposal=None, input='{"a":"x"}') == '{"a":"x"}'


def test_a_slow_schema_is_asked_once_for_all_its_branches(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def slow(schema: str, value: str) -> list[schemas.Problem]:
        asked.append(value)
        raise schemas.UnusableSchema("slow")

    monkeypatch.setattr(schemas, "problems", slow)
    Filled({"properties": {name: {"oneOf": MANY} for name in "abc"}}, '{"a":{},"b":{},"c":{}}')
    assert len(asked) == 1


def test_a_check_without_end_costs_a_part_of_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """R-54. Processor time is what is counted: nobody waits by the clock here, however busy the machine."""
    monkeypatch.setattr(worker, "WAIT_SECONDS", 600)
    assert worker.CHECK_SECONDS <= 0.5, "the page around it, and another process after it, need the rest"
    checker = worker.Checker()
    process = checker.running()
    question = json.dumps([text_of("twice on each level"), VALUE, 65536, 32, 0.1]).encode()
    with pytest.raises(worker.UnusableSchema) as refused:
        checker.ask(question)
    assert (refused.value.code, checker.process, process.wait()) == ("too_slow", None, -signal.SIGPROF)


def test_a_slow_check_is_refused_in_the_same_words_again(monkeypatch: pytest.MonkeyPatch) -> None:
    text, said = text_of("twice on each level"), []
    monkeypatch.setattr(worker, "_slow", worker.Slow())
    for _once in range(2):
        with pytest.raises(schemas.UnusableSchema) as refused:
            schemas.problems(text, VALUE)
        said.append(str(refused.value))
        monkeypatch.setattr(worker, "_checker", None)  # the second time nothing is asked
    assert said == ["The schema takes too long to check."] * 2


def test_the_kernel_is_asked_for_no_other_machine() -> None:
    """The checks run in processes of their own, so the kernel counts: in a network that leads nowhere."""
    apart = [shutil.which("unshare") or "unshare", "--map-root-user", "--net"]
    if not shutil.which("unshare") or subprocess.run([*apart, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no network namespaces on this machine")
    words = [*apart, sys.executable, "-m", "tests.approvals.asked_of_the_network", VALUE]
    schemas = json.dumps([text_of(name) for name in HOSTILE])
    done = subprocess.run(words, cwd=ROOT, input=schemas, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [0, 1]
