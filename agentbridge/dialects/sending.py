"""Answers as a framework takes them: `resume[]`, `forwardedProps.command`, or messages. Texts stay byte for byte."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentbridge.dialects.contract import Answered
from approvals import jsontext

ONE_SHOTS = ("resume", "interruptEvent")  # members of `command` that are an answer in themselves


class Unsendable(ValueError):
    """There is no way to say these answers to this framework; the text is a sentence for people."""


def distinct(answers: Iterable[Answered]) -> list[Answered]:
    """One per id, in order (R-12). Two answers to one id are `Unsendable`: nobody may guess between them."""
    kept: dict[str, Answered] = {}
    for answer in answers:
        first = kept.setdefault(answer.interrupt_id, answer)
        if (first.verdict == "cancelled", first.answer) != (answer.verdict == "cancelled", answer.answer):
            raise Unsendable(f"Two different answers to one question: {answer.interrupt_id}.")
    return list(kept.values())


def value(answer: Answered) -> str:
    """The answer's JSON text; `Unsendable` where there is none (R-21: `resolved` without payload approves at some)."""
    if answer.verdict == "cancelled" or answer.answer is None:
        raise Unsendable(f"There is no answer to {answer.interrupt_id} that can be sent.")
    return answer.answer


def entry(interrupt_id: str, payload: str | None) -> str:
    """One member of `resume[]`; None = cancelled, without a payload (R-7)."""
    name = jsontext.dumps(interrupt_id)
    if payload is None:
        return f'{{"interruptId":{name},"status":"cancelled"}}'
    return f'{{"interruptId":{name},"status":"resolved","payload":{payload}}}'


def entries(answers: Sequence[Answered]) -> str:
    """`resume[]`; "" for no answers (R-11: an empty list is never sent)."""
    found = [entry(a.interrupt_id, None if a.verdict == "cancelled" else value(a)) for a in distinct(answers)]
    return f"[{','.join(found)}]" if found else ""


def by_id(answers: Sequence[Answered]) -> str:
    """An object of answers by interrupt id."""
    return "{" + ",".join(f"{jsontext.dumps(a.interrupt_id)}:{value(a)}" for a in answers) + "}"


def without_one_shots(props: str) -> str | None:
    """`forwardedProps` without an earlier answer in it; None when there is none."""
    command = jsontext.member(props, "command")
    held = jsontext.members(command) if command is not None and command.startswith("{") else {}
    gone = [name for name in ONE_SHOTS if name in held]
    if not gone:
        return None
    if len(gone) == len(held):
        return jsontext.replace(props, {"/command": None})
    return jsontext.replace(props, {jsontext.pointer("command", name): None for name in gone})


def with_command(props: str, members: dict[str, str]) -> str:
    """`forwardedProps` with these members of `command` (texts of JSON) and no earlier answer."""
    props = without_one_shots(props) or props
    if not props.lstrip().startswith("{"):
        props = "{}"  # whatever else stood there, these frameworks read nothing but an object
    command = jsontext.member(props, "command")
    if command is None or not command.startswith("{"):
        text = "{" + ",".join(f"{jsontext.dumps(name)}:{text}" for name, text in members.items()) + "}"
        return jsontext.replace(props, {"/command": text})
    return jsontext.replace(props, {jsontext.pointer("command", name): text for name, text in members.items()})


def tool_message(answer: Answered) -> str:
    """The answer as the result of the call that asked; its id is the same on every attempt."""
    id_, call = jsontext.dumps(f"answer-{answer.interrupt_id}"), jsontext.dumps(answer.interrupt_id)
    return f'{{"id":{id_},"role":"tool","toolCallId":{call},"content":{jsontext.dumps(value(answer))}}}'
