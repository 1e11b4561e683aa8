"""Whole rounds with real LangGraph and Strands servers: each tool runs once, with exactly the approved arguments."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from tests.desk import Desk
from tests.real.conftest import RealAgent

pytestmark = pytest.mark.real
Json = dict[str, Any]


class Round:
    """One thread with one real agent: start it, answer pause after pause, look at what ran."""

    def __init__(self, desk: Desk, agent: RealAgent, path: str) -> None:
        self.desk, self.agent = desk, agent
        self.slug = f"{agent.name}-{path.strip('/').replace('/', '-')}"
        desk.manage("add_agent", self.slug, agent.url(path), "--queue", "payments")
        self.before = len(agent.ledger())
        started = json.loads(desk.manage("start_run", self.slug, "--thread", str(uuid.uuid4()), "--message", "please"))
        self.thread = started["threadId"]

    def task(self) -> Json:
        return self.desk.wait_until(lambda: self.desk.open_tasks(self.thread), f"{self.slug} pauses")[0]

    def answer(self, verdict: str, **more: Any) -> Json:
        task = self.task()
        self.desk.decide(task, verdict, **more)
        return self.desk.case_ends(task["case"])

    def ran(self) -> list[Json]:
        return self.agent.ledger()[self.before :]


@pytest.fixture
def play(running_desk: Desk, real_agents: dict[str, RealAgent]) -> Any:
    return lambda name, path: Round(running_desk, real_agents[name], path)


def test_langgraph_runs_the_edited_call_and_nothing_else(play: Any) -> None:
    round_ = play("langgraph", "/approval")
    case = round_.answer("approved", edits={"to": "ann@example.com", "amount": 99.5}, comment="half only")
    assert case["delivery"]["state"] == "finished"
    assert [(ran["tool"], ran["arguments"]["amount"]) for ran in round_.ran()] == [("refund", 99.5)]
    assert "99.5" in case["tasks"][0]["evidence"]["results"][0]["text"]
    assert case["tasks"][0]["decision"]["changedPaths"] == ["/amount"]


def test_langgraph_runs_nothing_that_was_rejected(play: Any) -> None:
    round_ = play("langgraph", "/approval")
    case = round_.answer("rejected", comment="no")
    assert case["state"] == "delivered" and round_.ran() == []


def test_langgraph_plain_sentence_is_answered_as_free_json(play: Any) -> None:
    round_ = play("langgraph", "/plain")
    round_.answer("answered", input="yes")
    assert [(ran["tool"], ran["arguments"]) for ran in round_.ran()] == [
        ("refund_plain", {"to": "ann@example.com", "amount": 120.5})
    ]


def test_langgraph_form_gets_the_numbers_as_typed(play: Any) -> None:
    round_ = play("langgraph", "/form")
    round_.answer("answered", input={"quarter": "Q1", "year": 2026, "revenue": 4200000})
    assert [ran["arguments"]["answer"] for ran in round_.ran()] == [{"quarter": "Q1", "year": 2026, "revenue": 4200000}]


def test_langgraph_chain_asks_twice_in_two_cases(play: Any) -> None:
    round_ = play("langgraph", "/chain")
    first = round_.answer("approved")
    assert first["delivery"]["state"] == "interrupted_again"
    second = round_.answer("rejected")
    assert (first["next"], second["previous"]) == (second["code"], first["code"])
    assert [ran["tool"] for ran in round_.ran()] == ["stop_service", "delete_data"]
    assert [ran["arguments"]["answer"] for ran in round_.ran()] == [{"approved": True}, {"approved": False}]


def test_strands_approval_runs_once_as_proposed(play: Any) -> None:
    round_ = play("strands", "/approval")
    case = round_.answer("approved")
    assert case["delivery"]["state"] == "finished" and case["tasks"][0]["evidence"]
    assert [(ran["tool"], ran["arguments"]) for ran in round_.ran()] == [
        ("refund", {"to": "ann@example.com", "amount": 120.5})
    ]


def test_strands_offers_no_edit_that_it_would_ignore(play: Any) -> None:
    assert play("strands", "/approval").task()["canEdit"] is False


def test_strands_native_question_reaches_the_tool(play: Any) -> None:
    round_ = play("strands", "/native")
    round_.answer("answered", input={"slot": "Tue 14:00"})
    assert [ran["arguments"]["answer"] for ran in round_.ran()] == [{"response": {"slot": "Tue 14:00"}}]


def test_strands_twice_asks_in_two_cases(play: Any) -> None:
    round_ = play("strands", "/twice")
    first = round_.answer("answered", input="one")
    second = round_.answer("answered", input="two")
    assert second["previous"] == first["code"] and second["delivery"]["state"] == "finished"
    assert [ran["tool"] for ran in round_.ran()][-1] == "two_questions.end"


def test_every_round_leaves_a_good_trail(running_desk: Desk) -> None:
    assert json.loads(running_desk.manage("verify_audit", "--json"))["result"] == "good"
