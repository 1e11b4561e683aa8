"""Changing some places of a JSON text and no other byte of it."""

from __future__ import annotations

from collections.abc import Mapping

from approvals.jsontext.pointers import index, parts
from approvals.jsontext.reading import Document, Node, loads, parse, skip
from approvals.jsontext.writing import dumps

Splice = tuple[int, int, str]  # from, to, what stands there instead


def replace(text: str, changes: Mapping[str, str | None]) -> str:
    """The text with new JSON (or None: nothing) at some JSON Pointers; every other byte stays.

    Pointers mean places of `text` as it is given: removing item 0 does not move item 1. A new member goes behind its
    siblings, and so does an item at or beyond the end of its array, or at `-`. Missing parents become objects.
    Pointers inside a changed place mean its new text. `LookupError` if a parent is no bracket or the whole is
    removed; `JSONTextError` for a text or a change that is not JSON.
    """
    tree = _Change()
    for path, new in changes.items():
        place = tree
        for part in parts(path):
            place = place.inside.setdefault(part, _Change())
        place.put(new)
    if tree.removes:
        raise LookupError("the whole document cannot be removed")
    return tree.applied_to(text)


class _Change:
    """What happens at one place (`new`; None: removed) and inside it."""

    __slots__ = ("inside", "is_set", "new")

    def __init__(self) -> None:
        self.inside: dict[str, _Change] = {}
        self.is_set = False
        self.new: str | None = None

    def put(self, new: str | None) -> None:
        if new is not None:
            loads(new)
        self.new, self.is_set = new, True

    @property
    def removes(self) -> bool:
        return self.is_set and self.new is None and not self.inside

    def applied_to(self, text: str) -> str:
        if self.is_set:
            text = "{}" if self.new is None else self.new
        if not self.inside:
            return text
        document = parse(text)
        return _spliced(text, _splices(document, self))

    def made(self) -> str:
        """The text of a place that was not there."""
        return self.applied_to("{}")

    def only_removes(self) -> bool:
        return self.removes or (not self.is_set and all(change.only_removes() for change in self.inside.values()))


def _spliced(text: str, splices: list[Splice]) -> str:
    out: list[str] = []
    here = 0
    for start, end, new in sorted(splices):
        out += [text[here:start], new]
        here = end
    return "".join([*out, text[here:]])


def _splices(document: Document, change: _Change) -> list[Splice]:
    splices: list[Splice] = []
    todo = [(document.root, change)]
    while todo:
        node, inner = todo.pop()
        if node.kind in ("object", "array"):
            bracket = _Bracket(document, node)
            splices += bracket.apply(inner)
            todo += bracket.inner
        elif not inner.only_removes():
            raise LookupError(f"a {node.kind} has no members")
    return splices


class _Bracket:
    """The children of an object or array, and where each begins with its name."""

    def __init__(self, document: Document, node: Node) -> None:
        self.text = document.text
        self.node = node
        self.children = [child for _, child in node.members] or list(node.items)
        self.inner: list[tuple[Node, _Change]] = []  # changes inside children that stay
        self.places: dict[str, list[int]] = {}
        for position, (name, _) in enumerate(node.members):
            self.places.setdefault(name, []).append(position)

    def apply(self, change: _Change) -> list[Splice]:
        splices: list[Splice] = []
        removed: set[int] = set()
        added: list[tuple[str, str]] = []
        for name, inner in change.inside.items():
            found = self.find(name)
            if inner.removes:
                removed.update(found)
            elif not found:
                added += [] if inner.only_removes() else [(name, inner.made())]
            elif inner.is_set:
                child = self.children[found[-1]]
                splices.append((child.start, child.end, inner.applied_to("")))
            else:
                self.inner.append((self.children[found[-1]], inner))
        return splices + self.removals_and_additions(removed, added)

    def find(self, name: str) -> list[int]:
        """Positions of that name: several when an object repeats it, the last of which counts."""
        if self.node.kind == "object":
            return self.places.get(name, [])
        position = index(name, len(self.children))
        return [] if position is None else [position]

    def removals_and_additions(self, removed: set[int], added: list[tuple[str, str]]) -> list[Splice]:
        kept = [position for position in range(len(self.children)) if position not in removed]
        if not kept:
            inside = (self.node.start + 1, self.node.end - 1)
            return [(*inside, ",".join(self.member(*one, ":") for one in added))] if removed or added else []
        starts = self.starts() if removed or added else []
        splices: list[Splice] = [
            (starts[at], starts[at + 1], "") if at < kept[0] else (self.children[at - 1].end, self.children[at].end, "")
            for at in removed
        ]
        if added:
            end = self.children[kept[-1]].end
            comma, colon = self.manners(starts)
            splices.append((end, end, "".join(comma + self.member(*one, colon) for one in added)))
        return splices

    def starts(self) -> list[int]:
        starts = [skip(self.text, self.node.start + 1)]
        starts += [skip(self.text, skip(self.text, child.end) + 1) for child in self.children[:-1]]
        return starts

    def manners(self, starts: list[int]) -> tuple[str, str]:
        """The comma and colon of this bracket with their white space, so that a new member looks like its siblings."""
        last = self.children[-1]
        if len(starts) > 1:
            comma = self.text[self.children[-2].end : starts[-1]]
        else:
            comma = "," + self.text[self.node.start + 1 : starts[0]]
        named = self.text[starts[-1] : last.start]
        return comma, named[len(named.rstrip(" \t\r\n:")) :]

    def member(self, name: str, value: str, colon: str) -> str:
        return f"{dumps(name)}{colon}{value}" if self.node.kind == "object" else value
