"""The lists of what stories tell: how they are written, and that each belongs to a module of stories."""

from __future__ import annotations

from pathlib import Path

from tests import trails


def test_who_did_what_is_one_line_for_each_turn() -> None:
    told = [("alice", "task.claimed"), ("alice", "note.added"), ("alice", "note.added"), ("bob", "task.decided")]
    assert list(trails.spoken(told)) == ["alice: task.claimed, note.added ×2", "bob: task.decided"]


def test_what_is_written_is_read_again_and_a_story_may_tell_nothing(tmp_path: Path) -> None:
    lists = {"test_b[x y]": ["bob: task.decided"], "test_a": []}
    trails.write(tmp_path / "new" / "some.txt", lists)
    assert trails.read(tmp_path / "new" / "some.txt") == lists
    assert trails.read(tmp_path / "none.txt") == {}


def test_there_are_lists_of_exactly_the_modules_of_stories() -> None:
    written = {(file.parent.name, file.stem) for file in trails.TOLD.rglob("*.txt")}
    assert written == {(folder, module) for folder, modules in trails.STORIES.items() for module in modules}
