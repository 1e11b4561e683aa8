"""What a reviewer is warned of before reading on: one sentence, and where. The slugs are an outside contract."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from agentbridge.dialects import evidence
from agentbridge.dialects.contract import Flag, Pause, flag
from agentbridge.wire import protocol
from agentbridge.wire.expiry import Deadline
from agentbridge.wire.patching import equal
from agentbridge.wire.record import CallView, RunView
from agentbridge.wire.toolcalls import same_arguments
from approvals import jsontext, schemas
from approvals.models import Task

Spoken = Sequence[tuple[str, str, str]]  # (id, name, argument text) as the history of messages has them
LONG_BLANK = re.compile(r"(?<![^\S\n])[^\S\n]{40,}|(?<!\s)(?:[^\S\n]*\n){12,}")  # tried once each
PLAIN_CONTROLS = "\t\n\r"


def of_case(view: RunView, pauses: Sequence[Pause]) -> list[Flag]:
    """What concerns all questions of the run."""
    found = []
    ids = Counter(pause.interrupt.id for pause in pauses)
    if any(count > 1 for id_, count in ids.items() if id_ is not None):
        found.append(flag("duplicate-interrupt-id", "Two questions share an id. Only one answer can be sent for both."))
    if view.late_error is not None:
        found.append(flag("error-after-the-pause", "After it paused, the agent reported an error."))
    if any(pause.interrupt.quarantined for pause in pauses):
        found.append(flag("quarantined", "These questions came after the stream had broken the protocol."))
    if any(pause.legacy for pause in pauses):
        found.append(flag("legacy-interrupt", "A legacy interrupt: announced without an interrupt outcome."))
    return found


def of_history(words: Sequence[str]) -> list[Flag]:
    """What the agent's history has a user say though no user said it here: its memory, or its invention (C-29)."""
    if not words:
        return []
    sentence = f"The agent's history has a user message that was not sent by us: {protocol.excerpt(words[0])}"
    return [flag("user-message-not-sent-by-us", sentence)]


def of_task(pause: Pause, *, deadline: Deadline | None, spoken: Spoken, asked_again: Task | None) -> list[Flag]:
    """What concerns one question; the dialect's own flags first."""
    found = list(pause.flags)
    found += _about_deadline(deadline)
    found += _about_schema(pause)
    found += _about_arguments(pause, spoken)
    found += _about_text(pause)
    if asked_again is not None:
        found.append(flag("asked-again", f"Asked again: this was a question before, see {asked_again}."))
    found += [flag("malformed-interrupt", text) for text in pause.interrupt.problems]
    return _once(found)


def _once(flags: Sequence[Flag]) -> list[Flag]:
    seen: dict[tuple[Any, ...], Flag] = {}
    for each in flags:
        seen.setdefault((each["slug"], each.get("pointer"), each["sentence"]), each)
    return list(seen.values())


def _about_deadline(deadline: Deadline | None) -> Iterator[Flag]:
    if deadline is None:
        return
    if deadline.at is None:
        yield flag("unreadable-expiry", deadline.note or "The time limit cannot be read; it is shown as received.")
    elif deadline.note:
        yield flag("expiry-note", deadline.note)


def _about_schema(pause: Pause) -> Iterator[Flag]:
    schema = pause.interrupt.response_schema
    reason = schemas.usable(schema) if schema is not None else None
    if reason:
        yield flag("invalid-schema", f"The schema cannot be used: {reason} The answer is free JSON.")


def _about_arguments(pause: Pause, spoken: Spoken) -> Iterator[Flag]:
    call = pause.call
    if call is None and pause.interrupt.tool_call_id is not None:
        yield flag("arguments-missing", "The arguments of this call are not in the stream.")
    if call is None or call.state == "missing":
        return  # the dialect said so
    if call.state in ("incomplete", "invalid"):
        yield flag("arguments-unreadable", "The arguments are not whole or not valid JSON; they are shown as received.")
    yield from _conflicts(pause, call, spoken)
    yield from _odd_json(call.args)


def _conflicts(pause: Pause, call: CallView, spoken: Spoken) -> Iterator[Flag]:
    """T-65, C-38: the reviewer approves one thing, the agent may do the other. Said once, with the other text."""
    others = [args for id_, _name, args in spoken if id_ == call.id] + ([call.conflict] if call.conflict else [])
    different = [other for other in others if not same_arguments(call.args, other)]
    claimed = evidence.claim(pause.interrupt)
    if claimed is not None and claimed.name == call.name and not _agrees(call.args, claimed.args):
        different.append(claimed.args)
    if different:
        sentence = f"Conflicting arguments: the agent also gave this call other arguments: {different[0]}"
        yield flag("conflicting-arguments", sentence)
    named = next((name for id_, name, _args in spoken if id_ == call.id and name != call.name), None)
    if named is not None and call.name:
        sentence = f"The agent's history names another tool ({named}) than the call ({call.name})."
        yield flag("conflicting-tool", sentence)


def _agrees(args: str, claimed: str) -> bool:
    """A note may name some of the arguments only; those it names have to be equal."""
    try:
        given, said = jsontext.loads(args or "{}"), jsontext.loads(claimed)
    except jsontext.JSONTextError:
        return True  # what cannot be read is flagged as that
    if not isinstance(given, dict) or not isinstance(said, dict):
        return same_arguments(args, claimed)
    return all(equal(given.get(name), value) for name, value in said.items())


def _odd_json(text: str) -> Iterator[Flag]:
    try:
        document = jsontext.parse(text) if text else None
    except jsontext.JSONTextError:
        return
    for place in document.duplicates if document else ():
        yield flag("duplicate-keys", "A repeated key: agents may read either of its values.", place)


def _about_text(pause: Pause) -> Iterator[Flag]:
    call = pause.call
    texts = [pause.interrupt.message or "", *([call.args, call.name] if call else [])]
    decoded = [_decoded(text) for text in texts]
    if any(LONG_BLANK.search(text) for text in decoded):
        yield flag("long-white-space-or-cut-value", "A long stretch of white space hides what follows it.")
    if any(_has_hidden(text) for text in decoded):
        yield flag("hidden-or-look-alike-characters", "Hidden characters: they are shown as signs.")


def _decoded(text: str) -> str:
    """Argument text with its escapes read, so that an escaped control character counts too."""
    try:
        values: list[Any] = [jsontext.loads(text)]
    except jsontext.JSONTextError:
        return text
    found: list[str] = []
    while values:
        value = values.pop()
        if isinstance(value, dict):
            values += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            values += value
        elif isinstance(value, str):
            found.append(value)
    return "\x1e".join(found).replace("\x1e", "\n")


def _has_hidden(text: str) -> bool:
    return any(unicodedata.category(sign) in ("Cc", "Cf", "Co", "Cs") for sign in text if sign not in PLAIN_CONTROLS)
