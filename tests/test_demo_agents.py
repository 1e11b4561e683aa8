"""The demo agents keep the Interrupts page: both kinds of memory tell every story to the same end."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from ag_ui.core import RunAgentInput
from ag_ui_validate.pytest_plugin import assert_valid_agui
from django.core.management import CommandError, call_command

from demo.memory import Checkpoints, Memory, Replay
from demo.player import Player
from demo.stories import STORIES

Json = dict[str, Any]
# What the validator reports and AG-UI 1.0 allows: results of calls proposed in an earlier run.
ALLOWED = {"AGUI207": "off"}


def play(player: Player, run: int, resume: list[Json] | None, before: list[Json], **props: Any) -> list[Json]:
    messages = next((e["messages"] for e in reversed(before) if e["type"] == "MESSAGES_SNAPSHOT"), [])
    state = next((e["snapshot"] for e in reversed(before) if e["type"] == "STATE_SNAPSHOT"), {})
    given: Json = {"threadId": "t", "runId": f"r{run}", "messages": messages, "state": state, "forwardedProps": props}
    if resume is not None:
        given["resume"] = resume
    model = RunAgentInput.model_validate(given)
    return [event.model_dump(by_alias=True, mode="json", exclude_none=True) for event in player.run(model)]


def answers(events: list[Json], payload: Any) -> list[Json]:
    asked = events[-1]["outcome"]["interrupts"]
    return [{"interruptId": ask["id"], "status": "resolved", "payload": payload} for ask in asked]


@pytest.mark.parametrize("memory", [Checkpoints, Replay])
@pytest.mark.parametrize("story", sorted(STORIES))
def test_every_story_ends_in_success_after_its_rounds(story: str, memory: type[Memory]) -> None:
    player, events, run = Player(memory()), [], 1
    events = play(player, run, None, [], story=story, seed=7)
    while events[-1]["outcome"]["type"] == "interrupt":
        assert_valid_agui(events, severity_overrides=ALLOWED)
        run += 1
        events = play(player, run, answers(events, {"approved": True}), events, story=story, seed=7)
    assert events[-1]["outcome"] == {"type": "success"}
    assert run <= 3


@pytest.mark.parametrize("memory", [Checkpoints, Replay])
def test_it_runs_exactly_the_edited_call(memory: type[Memory]) -> None:
    player = Player(memory())
    first = play(player, 1, None, [], story="edit", seed=1)
    edited = {"invoice": "INV-1", "currency": "EUR", "amount": 1.5, "to": "x@example.test", "notify": False}
    play(player, 2, answers(first, {"approved": True, "editedArgs": edited}), first, story="edit", seed=1)
    assert [entry["arguments"] for entry in player.ledger] == [edited]


@pytest.mark.parametrize("memory", [Checkpoints, Replay])
def test_it_refuses_a_partial_resume(memory: type[Memory]) -> None:
    player = Player(memory())
    first = play(player, 1, None, [], story="parallel", seed=1)
    second = play(player, 2, answers(first, {"approved": True})[:2], first, story="parallel", seed=1)
    assert second[-1] == {"type": "RUN_ERROR", "message": second[-1]["message"], "code": "PARTIAL_RESUME"}
    assert player.ledger == []


@pytest.mark.parametrize(("in_use", "told"), [("DEMO_REPLAYING_PORT", "in this folder"), ("", "make demo PORT=")])
def test_a_second_demo_says_what_is_in_its_way(in_use: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as first:
        first.bind(("127.0.0.1", 0))
        taken = first.getsockname()[1]
        for name in ("DEMO_KEEPING_PORT", "DEMO_REPLAYING_PORT"):
            monkeypatch.setenv(name, str(taken) if name == in_use else "0")
        with pytest.raises(CommandError, match=f"Port {taken} cannot be used .*{told}"):
            call_command("demo", port=0 if in_use else taken)
