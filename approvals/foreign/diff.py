"""What an edit changed: by place for people, by line for raw JSON. Pure.

Values differ when their text does: `1`, `1.0` and `true` are three, as they are to the program that will run them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from approvals import jsontext
from approvals.jsontext import Document, Node

MOST_LINES = 3000  # beyond, the texts stand side by side unmarked: marking them would take seconds
LONGEST_LINE = 1000  # characters of both sides that are compared by word
MOST_MARKED = 20_000  # of all lines together
SPACING = re.compile(r'("(?:[^"\\]|\\.)*")|\s+')
LONGEST_KEY = 4000  # characters of an item that are read for it; longer ones are matched as they are written
MOST_ITEMS = 2000  # of both lists; longer ones are matched by number
WORD = re.compile(r"\w+|\s+|[^\w\s]")
KINDS = {"true": "boolean", "false": "boolean"}


@dataclass(frozen=True, slots=True)
class Change:
    """One place that differs. `pointer` is its place now; of what went, where it was."""

    pointer: str
    kind: str  # "changed" | "added" | "removed" | "moved"
    type: str  # of the new value, or of the one that went; "number → string" where the type changed
    before_text: str | None
    after_text: str | None
    was: str = ""  # its place before, where that was another: items move when others come and go


def argument_diff(before_text: str, after_text: str) -> list[Change]:
    """The smallest places that differ, in the order of the old text. Raises `JSONTextError`.

    Lists are matched by what stands in them: an item that was taken out changes nothing about those behind it, and one
    that stands somewhere else has moved.
    """
    comparing = _Comparing(jsontext.parse(before_text), jsontext.parse(after_text))
    return list(comparing.changes())


@dataclass(frozen=True, slots=True)
class _Pair:
    """What stood at one place and what stands there, or at another, now; None: nothing."""

    old: Node | None
    new: Node | None
    was: str
    now: str
    has_moved: bool = False


class _Comparing:
    def __init__(self, before: Document, after: Document) -> None:
        self.before, self.after = before, after

    def changes(self) -> Iterator[Change]:
        todo = [_Pair(self.before.root, self.after.root, "", "")]
        while todo:
            pair = todo.pop()
            if pair.has_moved or pair.old is None or pair.new is None:
                yield self.change(pair)
            elif pair.old.kind == pair.new.kind == "object":
                todo += reversed(self.members(pair, pair.old, pair.new))
            elif pair.old.kind == pair.new.kind == "array":
                todo += reversed(self.items(pair, pair.old, pair.new))
            elif (pair.old.kind, self.value(self.before, pair.old)) != (
                pair.new.kind,
                self.value(self.after, pair.new),
            ):
                yield self.change(pair)

    def value(self, document: Document, node: Node) -> str:
        """A scalar, or one bracket against another kind: a string by what it says, the rest as it is written."""
        return node.text if node.kind == "string" else document.source(node)

    def change(self, pair: _Pair) -> Change:
        kind = (
            "moved" if pair.has_moved else "added" if pair.old is None else "removed" if pair.new is None else "changed"
        )
        types = dict.fromkeys(KINDS.get(node.kind, node.kind) for node in (pair.old, pair.new) if node is not None)
        old = None if pair.old is None else self.before.source(pair.old)
        new = None if pair.new is None else self.after.source(pair.new)
        was = pair.was if pair.old is not None and pair.new is not None and pair.was != pair.now else ""
        return Change(pair.now if pair.new is not None else pair.was, kind, " → ".join(types), old, new, was)

    def members(self, pair: _Pair, old: Node, new: Node) -> list[_Pair]:
        olds, news = dict(old.members), dict(new.members)
        names = [*olds, *(name for name in news if name not in olds)]
        places = [(name, jsontext.pointer(name)) for name in names]
        return [_Pair(olds.get(name), news.get(name), pair.was + at, pair.now + at) for name, at in places]

    def items(self, pair: _Pair, old: Node, new: Node) -> list[_Pair]:
        olds = [_key(self.before.source(item)) for item in old.items]
        news = [_key(self.after.source(item)) for item in new.items]
        return [
            _Pair(
                None if i is None else old.items[i], None if k is None else new.items[k],
                f"{pair.was}/{i}", f"{pair.now}/{k}", has_moved,
            )
            for i, k, has_moved in _matched(olds, news)
        ]  # fmt: skip


def _key(source: str) -> str:
    """The text of an item without the white space between its words."""
    return SPACING.sub(r"\1", source) if len(source) <= LONGEST_KEY else source


def _matched(olds: list[str], news: list[str]) -> list[tuple[int | None, int | None, bool]]:
    """Which old item is which new one, and whether it moved, in the old order; what stays as it was is left out."""
    if len(olds) == len(news) == 1 or len(olds) + len(news) > MOST_ITEMS:
        return [(at if at < len(olds) else None, at if at < len(news) else None, False)
                for at in range(max(len(olds), len(news)))]  # fmt: skip
    apart = [
        code for code in difflib.SequenceMatcher(None, olds, news, autojunk=False).get_opcodes() if code[0] != "equal"
    ]
    came: dict[str, list[int]] = {}
    for _tag, _i, _j, k, m in apart:
        for at in range(k, m):
            came.setdefault(news[at], []).append(at)
    moved = {at: came[olds[at]].pop(0) for _tag, i, j, _k, _m in apart for at in range(i, j) if came.get(olds[at])}
    arrived = set(moved.values())
    found: list[tuple[int | None, int | None, bool]] = []
    for _tag, i, j, k, m in apart:
        went, there = [at for at in range(i, j) if at not in moved], [at for at in range(k, m) if at not in arrived]
        found += [(at, moved[at], True) for at in range(i, j) if at in moved]
        found += [(one, other, False) for one, other in zip_longest(went, there)]
    return found


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
