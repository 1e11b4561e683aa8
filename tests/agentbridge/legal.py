"""Legal AG-UI streams of any kind, for properties: what each event refers to is open, and everything is closed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from tests.agentbridge.streams import STARTED, body, event, finished

Events = list[dict[str, Any]]
TEXT = st.text(st.characters(codec="utf-8"), max_size=6)
IDS = st.sampled_from(["a", "b", "ü", "0"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@st.composite
def message(draw: st.DrawFn, kind: str = "TEXT_MESSAGE") -> Events:
    id_ = draw(IDS)
    role = {"role": "reasoning"} if kind == "REASONING_MESSAGE" else {}
    deltas = draw(st.lists(TEXT, max_size=3))
    told = [event(f"{kind}_CONTENT", messageId=id_, delta=delta) for delta in deltas]
    return [event(f"{kind}_START", messageId=id_, **role), *told, event(f"{kind}_END", messageId=id_)]


@st.composite
def call(draw: st.DrawFn) -> Events:
    """A call of an id of its own; the assembly gives it a fresh one."""
    text = json.dumps(draw(JSON), ensure_ascii=draw(st.booleans()))
    cut = draw(st.integers(0, len(text)))
    told = [event("TOOL_CALL_ARGS", toolCallId="?", delta=piece) for piece in (text[:cut], text[cut:])]
    start = event("TOOL_CALL_START", toolCallId="?", toolCallName=draw(TEXT))
    return [start, *told, event("TOOL_CALL_END", toolCallId="?")]


@st.composite
def chunked_call(draw: st.DrawFn) -> Events:
    first = event("TOOL_CALL_CHUNK", toolCallId="?", toolCallName=draw(TEXT), delta=draw(TEXT))
    return [first, *[event("TOOL_CALL_CHUNK", delta=draw(TEXT)) for _ in range(draw(st.integers(0, 2)))]]


def single(**members: Any) -> st.SearchStrategy[Events]:
    return st.fixed_dictionaries(members).map(lambda one: [one])


STEP = TEXT.map(lambda name: [event("STEP_STARTED", stepName=name), event("STEP_FINISHED", stepName=name)])
PARTS = st.one_of(
    message(), message("REASONING_MESSAGE"), call(), chunked_call(), STEP,
    single(type=st.just("STATE_SNAPSHOT"), snapshot=JSON),
    single(type=st.just("RAW"), event=JSON), single(type=st.just("CUSTOM"), name=TEXT, value=JSON),
    single(type=st.just("MESSAGES_SNAPSHOT"), messages=st.just([{"id": "u1", "role": "user", "content": "hi"}])),
)  # fmt: skip
INTERRUPT = st.fixed_dictionaries(
    {"reason": TEXT}, optional={"message": TEXT, "metadata": st.dictionaries(TEXT, JSON, max_size=2), "expiresAt": TEXT}
)


@st.composite
def outcome(draw: st.DrawFn) -> Any:
    asked = [{"id": f"int-{n}", **one} for n, one in enumerate(draw(st.lists(INTERRUPT, min_size=1, max_size=3)))]
    plain = st.sampled_from([None, {"type": "success"}, {"type": "cancelled"}])
    return draw(plain | st.just({"type": "interrupt", "interrupts": asked}))


@st.composite
def stream(draw: st.DrawFn) -> Events:
    """One whole run."""
    parts = draw(st.lists(PARTS, max_size=6))
    return [STARTED, *renumbered(parts), finished(draw(outcome()))]


def renumbered(parts: list[Events]) -> Iterator[dict[str, Any]]:
    """No two calls of a run share an id, which ties call, result and interrupt. Chunks end before the next part."""
    for number, part in enumerate(parts):
        for one in part:
            yield {**one, "toolCallId": f"tc-{number}"} if one.get("toolCallId") == "?" else one
        if part[0]["type"] == "TOOL_CALL_CHUNK":
            yield event("CUSTOM", name="between", value=None)


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """A stream as bytes, in one of the framings that the standard allows."""
    raw = body(draw(stream()))
    end = draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))
    raw = raw.replace(b"\n\n", end * 2)
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf", b": hello" + end * 2])) + raw
