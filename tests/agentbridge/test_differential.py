"""Our reader beside the official `ag-ui-protocol` models: alike on what real agents sent, apart where it is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Event as Official
from pydantic import TypeAdapter, ValidationError

from agentbridge.wire import sse
from agentbridge.wire.protocol import Event, parse_event
from agentbridge.wire.reading import Reader
from tests import source
from tests.agentbridge.differences import DIFFERENCES, Difference
from tests.agentbridge.streams import STARTED, read

OFFICIAL: TypeAdapter[Any] = TypeAdapter(Official)
STREAMS = sorted((Path(__file__).parents[1] / "streams").rglob("run*.sse"))
PAGE = source.ROOT / "docs" / "differences.md"


def frames(path: Path) -> list[str]:
    parser = sse.Parser()
    return [frame.data for frame in parser.feed(path.read_bytes()) + parser.close()]


def theirs(frame: str) -> dict[str, Any]:
    return OFFICIAL.validate_json(frame).model_dump(mode="json", by_alias=True, exclude_none=True)


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: f"{path.parent.parent.name}/{path.parent.name}/{path.stem}")
def test_each_recorded_event_has_the_same_members_and_values(path: Path) -> None:
    for frame in frames(path):
        ours = parse_event(frame)
        assert isinstance(ours, Event)
        assert ours.notes == []
        read = {name: json.loads(ours.source(name) or "") for name in ours.body}
        assert read == theirs(frame)


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: f"{path.parent.parent.name}/{path.parent.name}/{path.stem}")
def test_each_recorded_run_has_the_same_calls_questions_and_results(path: Path) -> None:
    reader = Reader(thread_id="t", run_id="r", run_input=None)
    reader.feed(path.read_bytes())
    reader.close()
    assert meaning_of(reader) == meaning(theirs(frame) for frame in frames(path))


def meaning_of(reader: Reader) -> dict[str, Any]:
    return {
        "args": {id_: call.args for run in reader.runs for id_, call in run.calls.items()},
        "results": [(each.tool_call_id, each.text) for run in reader.runs for each in run.results],
        "asked": [json.loads(each.raw) for run in reader.runs for each in run.interrupts],
        "errors": [run.error for run in reader.runs if run.error],
    }


def meaning(events: Any) -> dict[str, Any]:
    """What the official events say when their deltas are simply put together."""
    args: dict[str, str] = {}
    found: dict[str, Any] = {"args": args, "results": [], "asked": [], "errors": []}
    for event in events:
        kind, outcome = event["type"], event.get("outcome") or {}
        if kind == "TOOL_CALL_START":
            args[event["toolCallId"]] = ""
        elif kind == "TOOL_CALL_ARGS":
            args[event["toolCallId"]] += event["delta"]
        elif kind == "TOOL_CALL_RESULT":
            found["results"].append((event["toolCallId"], event["content"]))
        elif kind == "RUN_ERROR":
            found["errors"].append(event["message"])
        found["asked"] += outcome.get("interrupts", [])
    return found


def ours_on(row: Difference) -> str:
    """What becomes of the frame as the second of a stream (or as the first, if it starts a run)."""
    before = [] if '"RUN_STARTED"' in row.frame else [STARTED]
    run = read(*before, row.frame).run
    if run.rejected:
        return "rejects"
    noted = [each for each in run.warnings if each.where.startswith(f"{len(before) + 1} ")]
    if any("does not know the event" in each.text for each in noted):
        return "left out"
    return "noted" if noted else "read"


def theirs_on(row: Difference) -> str:
    try:
        OFFICIAL.validate_json(row.frame)
    except ValidationError:
        return "refused"
    return "read"


@pytest.mark.parametrize("row", DIFFERENCES, ids=lambda row: row.what)
def test_the_known_differences_are_as_they_are_written(row: Difference) -> None:
    assert (ours_on(row), theirs_on(row)) == (row.ours, row.theirs)


@pytest.mark.parametrize("text", ["1e400", '{"a":1,"a":2}'])
def test_where_both_read_only_we_keep_the_text(text: str) -> None:
    frame = f'{{"type":"STATE_SNAPSHOT","snapshot":{text}}}'
    event = parse_event(frame)
    assert isinstance(event, Event) and event.source("snapshot") == text
    assert text not in OFFICIAL.validate_json(frame).model_dump_json(by_alias=True)


def test_every_difference_is_on_the_page() -> None:
    page = PAGE.read_text("utf-8")
    assert [row.what for row in DIFFERENCES if line(row) not in page] == []


def line(row: Difference) -> str:
    return f"| {row.what} | `{row.frame}` | {row.ours} | {row.theirs} | {row.why} |"
