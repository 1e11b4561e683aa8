"""Reading JSON by RFC 8259: every node knows which bytes it came from."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined] # scanstring: not in the stubs
from typing import Any

from approvals.jsontext.pointers import index, parts, pointer
from approvals.jsontext.values import JSONTextError, Number

SPACE = re.compile(r"[ \t\r\n]*")
PLAIN_STRING = re.compile(r'"([^"\\\x00-\x1f]*)"')
SCALAR = re.compile(r"(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)|true|false|null")
# RFC 8259 lets a reader set this limit. A text of ten million brackets would cost gigabytes: what lies deeper than this
# is no value here, only text. A schema of 10,000 levels in an event is still read (T-30); the C decoder stops at 1,000.
DEEPEST = 12_000
PUNCTUATION = '{}[],:" \t\r\n'


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Node:
    """One value of a document. `text` is the decoded string, for strings only."""

    kind: str  # "object" "array" "string" "number" "true" "false" "null"
    start: int
    end: int
    members: tuple[tuple[str, Node], ...] = ()
    items: tuple[Node, ...] = ()
    text: str = ""

    def member(self, name: str) -> Node | None:
        """The member of that name; of repeated ones the last, as every common parser takes it."""
        return next((node for key, node in reversed(self.members) if key == name), None)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Document:
    """A parsed text with the places of its values."""

    text: str
    root: Node
    duplicates: tuple[str, ...] = ()  # pointers of repeated names
    depth: int = 0  # brackets inside brackets; 0 = a scalar

    def at(self, pointer: str) -> Node | None:
        """The node at a JSON Pointer, or None."""
        node: Node | None = self.root
        for part in parts(pointer):
            if node is None:
                return None
            position = index(part, len(node.items))
            node = node.items[position] if position is not None else node.member(part)
        return node

    def source(self, node: Node) -> str:
        """The exact text of a node."""
        return self.text[node.start : node.end]


def skip(text: str, position: int) -> int:
    """Where the white space here ends."""
    if text[position : position + 1] > " ":  # mostly there is none
        return position
    found = SPACE.match(text, position)
    return found.end() if found else position


def scan_string(text: str, start: int) -> tuple[str, int]:
    """The decoded string whose quote stands at `start`, and where it ends; `JSONDecodeError` if it does not."""
    decoded, end = scanstring(text, start + 1, True)
    return decoded, end


class _Open:
    """A bracket that is not closed yet."""

    __slots__ = ("children", "is_object", "key", "names", "start")

    def __init__(self, start: int, is_object: bool) -> None:
        self.start = start
        self.is_object = is_object
        self.children: list[Any] = []
        self.names: set[str] = set()
        self.key = ""

    def add(self, node: Node) -> None:
        self.children.append((self.key, node) if self.is_object else node)

    def close(self, end: int) -> Node:
        children = tuple(self.children)
        if self.is_object:
            return Node("object", self.start, end, members=children)
        return Node("array", self.start, end, items=children)

    def place(self) -> str | int:
        return self.key if self.is_object else len(self.children)


class _Parser:
    def __init__(self, text: str, max_depth: int) -> None:
        self.text = text
        self.max_depth = max_depth
        self.open: list[_Open] = []
        self.depth = 0
        self.duplicates: list[str] = []

    def fail(self, reason: str, position: int) -> JSONTextError:
        return JSONTextError("The text ends too early" if position >= len(self.text) else reason, self.text, position)

    def document(self) -> Document:
        node, end = self.value(skip(self.text, 0))
        while self.open or node is None:
            node, end = self.after(node, end)
        if (end := skip(self.text, end)) < len(self.text):
            raise self.fail("Something follows the end of the JSON value", end)
        return Document(self.text, node, tuple(self.duplicates), self.depth)

    def after(self, node: Node | None, end: int) -> tuple[Node | None, int]:
        """One step inside the innermost open bracket: `node` was just finished there, or it was just opened."""
        inner = self.open[-1]
        here = skip(self.text, end)
        closing = "}" if inner.is_object else "]"
        if node is not None:
            inner.add(node)
        if self.text[here : here + 1] == closing:
            self.open.pop()
            return inner.close(here + 1), here + 1
        if node is not None:
            if self.text[here : here + 1] != ",":
                raise self.fail(f"A comma or “{closing}” is missing", here)
            here = skip(self.text, here + 1)
        return self.value(self.name(inner, here) if inner.is_object else here)

    def name(self, inner: _Open, here: int) -> int:
        """Read a member's name and colon; returns where its value starts."""
        if self.text[here : here + 1] != '"':
            raise self.fail("A name in double quotes is missing", here)
        inner.key, end = self.string(here)
        if inner.key in inner.names:
            self.duplicates.append(pointer(*(bracket.place() for bracket in self.open)))
        inner.names.add(inner.key)
        here = skip(self.text, end)
        if self.text[here : here + 1] != ":":
            raise self.fail("A colon is missing", here)
        return skip(self.text, here + 1)

    def value(self, here: int) -> tuple[Node | None, int]:
        """The scalar here, or None after opening a bracket."""
        first = self.text[here : here + 1]
        if first == '"':
            decoded, end = self.string(here)
            return Node("string", here, end, text=decoded), end
        if first in ("{", "["):
            return self.bracket(here, first == "{")
        found = SCALAR.match(self.text, here)
        if found is None:
            raise self.fail("This is not a JSON value", here)
        if found.end() < len(self.text) and self.text[found.end()] not in PUNCTUATION:
            raise self.fail("This is not a JSON value", here)
        return Node(found.lastgroup or found[0], here, found.end()), found.end()

    def bracket(self, here: int, is_object: bool) -> tuple[None, int]:
        self.open.append(_Open(here, is_object))
        self.depth = max(self.depth, len(self.open))
        if self.depth > self.max_depth:
            raise self.fail(f"Nested deeper than {self.max_depth} levels", here)
        return None, here + 1

    def string(self, here: int) -> tuple[str, int]:
        if found := PLAIN_STRING.match(self.text, here):
            return found[1], found.end()
        try:
            decoded, end = scan_string(self.text, here)
        except JSONDecodeError as error:
            raise JSONTextError(_string_reason(error.msg), self.text, error.pos) from None
        return decoded, end


def _string_reason(message: str) -> str:
    if message.startswith("Unterminated"):
        return "The text ends inside a string"
    if "control character" in message:
        return "A control character stands unescaped in a string"
    return "This escape is not one of JSON's"


def parse(text: str, *, max_depth: int = DEEPEST) -> Document:
    """Parse strictly; `JSONTextError` for what RFC 8259 refuses and for more than `max_depth` brackets.

    Repeated names and lone surrogate escapes are JSON: they are kept, and `Document.duplicates` names the first.
    """
    return _Parser(text, max_depth).document()


def _refuse(constant: str) -> Any:
    raise ValueError(constant)  # NaN and Infinity are no JSON


DECODER = json.JSONDecoder(parse_float=Number, parse_int=Number, parse_constant=_refuse)


def loads(text: str) -> Any:
    """The value with every number as a `Number`; of repeated names the last wins. Raises `JSONTextError`."""
    # The C decoder is twenty times faster; what it stumbles over, our own parser explains or, when deep, reads.
    try:
        if text.startswith("{"):  # nothing to skip in front, as in nearly every event
            value, end = DECODER.raw_decode(text)
            if end == len(text):
                return value
        return DECODER.decode(text)
    except (ValueError, RecursionError):
        return _value(parse(text))


def _value(document: Document) -> Any:
    """The document as Python values, without recursion."""
    top: list[Any] = []
    todo: list[tuple[Any, Any, Node]] = [(top, None, document.root)]
    while todo:
        holder, key, node = todo.pop()
        value: Any = {"object": {}, "array": [], "true": True, "false": False, "null": None}.get(node.kind)
        if node.kind in ("string", "number"):
            value = node.text if node.kind == "string" else Number(document.source(node))
        if isinstance(holder, dict):
            holder[key] = value
        else:
            holder.append(value)
        # Children are taken from the end of the list, so they go in backwards.
        todo.extend((value, name, child) for name, child in reversed(node.members))
        todo.extend((value, None, child) for child in reversed(node.items))
    return top[0]
