"""What an edit changed: by place for people, by line for raw JSON. Pure.

Values differ when their text does: `1`, `1.0` and `true` are three, as they are to the program that will run them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from approvals import jsontext
from approvals.jsontext import Document, Node

MOST_LINES = 3000  # beyond, the texts stand side by side unmarked: marking them would take seconds
LONGEST_LINE = 1000  # characters of both sides that are compared by word
MOST_MARKED = 20_000  # of all lines together
WORD = re.compile(r"\w+|\s+|[^\w\s]")
KINDS = {"true": "boolean", "false": "boolean"}


@dataclass(frozen=True, slots=True)
class Change:
    """One place that differs."""

    pointer: str
    kind: str  # "changed" | "added" | "removed"
    type: str  # of the new value, or of the one that went; "number → string" where the type changed
    before_text: str | None
    after_text: str | None


def argument_diff(before_text: str, after_text: str) -> list[Change]:
    """The smallest places that differ, in the order of the old text. Raises `JSONTextError`."""
    before, after = jsontext.parse(before_text), jsontext.parse(after_text)
    return [_change(pointer, before, after) for pointer in jsontext.changed_paths(before_text, after_text)]


def _change(pointer: str, before: Document, after: Document) -> Change:
    old, new = before.at(pointer), after.at(pointer)
    kind = "added" if old is None else "removed" if new is None else "changed"
    types = list(dict.fromkeys(KINDS.get(node.kind, node.kind) for node in (old, new) if node is not None))
    return Change(pointer, kind, " → ".join(types), _source(before, old), _source(after, new))


def _source(document: Document, node: Node | None) -> str | None:
    return None if node is None else document.source(node)


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text and whether the other side has it."""

    text: str
    marked: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One line of each side; an empty side has no such line."""

    before: tuple[Piece, ...]
    after: tuple[Piece, ...]

    @property
    def changed(self) -> bool:
        return any(piece.marked for piece in (*self.before, *self.after))


def side_by_side(before_text: str, after_text: str) -> list[Row]:
    """Both texts line by line, first the lines matched and then the words of those that differ."""
    old, new = before_text.splitlines(), after_text.splitlines()
    if len(old) + len(new) > MOST_LINES:
        return [_row(left, right, marked=False) for left, right in _pairs(old, new)]
    rows: list[Row] = []
    left_to_mark = MOST_MARKED
    for tag, i, j, k, m in difflib.SequenceMatcher(None, old, new).get_opcodes():
        for left, right in _pairs(old[i:j], new[k:m]):
            size = len(left or "") + len(right or "")
            by_word = tag == "replace" and size <= min(LONGEST_LINE, left_to_mark)
            rows.append(_words(left or "", right or "") if by_word else _row(left, right, marked=tag != "equal"))
            left_to_mark -= size if by_word else 0
    return rows


def _pairs(old: list[str], new: list[str]) -> Iterator[tuple[str | None, str | None]]:
    for at in range(max(len(old), len(new))):
        yield (old[at] if at < len(old) else None, new[at] if at < len(new) else None)


def _row(left: str | None, right: str | None, *, marked: bool) -> Row:
    return Row(_whole(left, marked), _whole(right, marked))


def _whole(text: str | None, marked: bool) -> tuple[Piece, ...]:
    return () if text is None else (Piece(text, marked),)


def _words(left: str, right: str) -> Row:
    old, new = WORD.findall(left), WORD.findall(right)
    codes = difflib.SequenceMatcher(None, old, new).get_opcodes()
    before = [Piece("".join(old[i:j]), tag != "equal") for tag, i, j, _k, _m in codes if i < j]
    after = [Piece("".join(new[k:m]), tag != "equal") for tag, _i, _j, k, m in codes if k < m]
    return Row(tuple(before), tuple(after))
