"""Where our reader and the official Python models part, and why. `docs/differences.md` says the same to people."""

from __future__ import annotations

from typing import NamedTuple


class Difference(NamedTuple):
    """One frame. `ours`: read, noted (read with a warning), left out, rejects; `theirs`: read, refused."""

    what: str
    frame: str
    ours: str
    theirs: str
    why: str


def _ended(outcome: str, **more: str) -> str:
    rest = "".join(f',"{name}":{text}' for name, text in more.items())
    return f'{{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{outcome}{rest}}}'


def _asks(*interrupts: str) -> str:
    return _ended(f'{{"type":"interrupt","interrupts":[{",".join(interrupts)}]}}')


ID_AND_REASON = '"id":"a","reason":"x"'
DIFFERENCES = [
    Difference(
        "An event of a later version", '{"type":"SOMETHING_NEW","x":1}', "left out", "refused",
        "1.0 asks a consumer to drop unknown events, not to fail (C-2).",
    ),
    Difference(
        "A member of a later version", '{"type":"TOOL_CALL_END","toolCallId":"tc","priority":1}', "noted", "read",
        "The models keep it without a word; 1.0 asks to strip it and to warn (C-2).",
    ),
    Difference(
        "A name in snake_case", '{"type":"TOOL_CALL_END","tool_call_id":"tc"}', "noted", "read",
        "The models take it silently; here it is understood and said to be a deviation (C-3).",
    ),
    Difference(
        "A whole number written as a string", '{"type":"TOOL_CALL_END","toolCallId":"tc","timestamp":"5"}', "noted",
        "read", "The models coerce; 1.0 forbids coercion, so the member is left out and said (C-3).",
    ),
    Difference(
        "Null in an optional place", '{"type":"TOOL_CALL_END","toolCallId":"tc","metadata":null}', "noted", "read",
        "Absent is the only way to leave something out; null reads as absent and is said (C-29b).",
    ),
    Difference(
        "A result without a message id", '{"type":"TOOL_CALL_RESULT","toolCallId":"tc","content":"paid"}', "noted",
        "refused", "A result is evidence of what happened: it counts however odd it is.",
    ),
    Difference(
        "A start without its ids", '{"type":"RUN_STARTED"}', "noted", "refused",
        "Which run this is we know from our own request (C-15).",
    ),
    Difference(
        "An error without a message", '{"type":"RUN_ERROR"}', "noted", "refused",
        "That the run failed is what counts; a refused frame would leave it truncated.",
    ),
    Difference(
        "An outcome of a later version", _ended('{"type":"paused"}'), "noted", "refused",
        "Read as an ending that this version does not know, never as success (T-21).",
    ),
    Difference(
        "A success that carries interrupts", _ended(f'{{"type":"success","interrupts":[{{{ID_AND_REASON}}}]}}'),
        "noted", "read", "The models keep both; here it is a success with a loud warning (G-3).",
    ),
    Difference(
        "An interrupt without a reason", _asks('{"id":"a"}'), "noted", "refused",
        "The question is shown with what it has: a refused frame would hide that somebody is asked (C-29b).",
    ),
    Difference(
        "An interrupt with a number for its id", _asks('{"id":7,"reason":"x"}'), "noted", "refused",
        "Shown and blocked, since no answer can name it (C-29b).",
    ),
    Difference(
        "A response schema that is no object", _asks(f'{{{ID_AND_REASON},"responseSchema":true}}'), "noted", "refused",
        "The question stays; its answer is free JSON (C-29b).",
    ),
    Difference(
        "A time limit that is a number", _asks(f'{{{ID_AND_REASON},"expiresAt":123}}'), "noted", "refused",
        "Shown as received, treated as an unknown deadline (R-28).",
    ),
    Difference(
        "One interrupt id used twice", _asks(f"{{{ID_AND_REASON}}}", f"{{{ID_AND_REASON}}}"), "noted", "read",
        "The models do not look; both are shown and need the same answer (C-34).",
    ),
    Difference(
        "An interrupt outcome that asks nothing", _asks(), "rejects", "refused",
        "Here it rejects the stream by name; in the models it is one frame that fails (C-29b).",
    ),
    Difference(
        "An outcome that is a word", _ended('"interrupt"'), "rejects", "refused",
        "A draft that was never released: the stream is rejected, the bytes are kept (T-20).",
    ),
    Difference(
        "An operation that nobody knows", '{"type":"STATE_DELTA","delta":[{"op":"frob","path":"/a","value":1}]}',
        "noted", "refused", "Unknown operations are dropped with a warning, the rest of the patch counts (C-19).",
    ),
    Difference(
        "A number too large for a float", '{"type":"STATE_SNAPSHOT","snapshot":1e400}', "read", "read",
        "The models hold infinity, from which no JSON comes back; here the digits are kept.",
    ),
    Difference(
        "One name twice", '{"type":"STATE_SNAPSHOT","snapshot":{"a":1,"a":2}}', "read", "read",
        "The models keep the last; here the text is kept, and flagged where a person decides on it.",
    ),
    Difference(
        "Half of a surrogate pair", '{"type":"CUSTOM","name":"n","value":"\\ud800"}', "read", "refused",
        "It is JSON; it is kept as the escape that it was.",
    ),
    Difference(
        "Reasoning of AG-UI before 1.0", '{"type":"THINKING_START","title":"hm"}', "noted", "refused",
        "Translated before anything else looks at it, and said (B.4).",
    ),
]  # fmt: skip
