"""The exact texts of what stands directly inside a document, fast enough for long histories."""

from __future__ import annotations

from collections.abc import Iterator

from approvals.jsontext.reading import DECODER, DEEPEST, parse, scan_string, skip


def member(text: str, name: str) -> str | None:
    """The exact text of one member's value (of repeated ones the last); None if absent or not an object."""
    return members(text).get(name)


def members(text: str) -> dict[str, str]:
    """The exact text of each top-level member's value; `{}` if the text is not an object."""
    return dict(named(text))


def named(text: str) -> list[tuple[str, str]]:
    """The same in order, with each of those whose name is repeated: readers differ in which of them they take."""
    return [(name, text[start:end]) for name, start, end in _places(text, "{")]


def items(text: str) -> list[str]:
    """The exact text of each item of a top-level array; `[]` if the text is not an array."""
    return [text[start:end] for _, start, end in _places(text, "[")]


def _places(text: str, bracket: str) -> list[tuple[str, int, int]]:
    """(name, start, end) of each child of the root, at the C decoder's speed where it can."""
    try:
        if text.startswith(bracket, skip(text, 0)):
            return list(_scan(text, closing="}" if bracket == "{" else "]"))
    except (ValueError, RecursionError):
        pass  # too deep for it, or no JSON: our own parser reads the one and explains the other
    # Twice as deep: a value that was just deep enough may have been wrapped into an object of ours since.
    root = parse(text, max_depth=2 * DEEPEST).root
    children = root.members if bracket == "{" else [("", item) for item in root.items]
    return [(name, node.start, node.end) for name, node in children]


def _scan(text: str, closing: str) -> Iterator[tuple[str, int, int]]:
    here = skip(text, skip(text, 0) + 1)
    while not text.startswith(closing, here):
        name, start = _name(text, here) if closing == "}" else ("", here)
        _, end = DECODER.raw_decode(text, start)
        yield name, start, end
        here = skip(text, end)
        if text.startswith(",", here):
            here = skip(text, here + 1)
            if text.startswith(closing, here):
                raise ValueError("a comma too many")
        elif not text.startswith(closing, here):
            raise ValueError("no comma")
    if skip(text, here + 1) != len(text):
        raise ValueError("more than one value")


def _name(text: str, here: int) -> tuple[str, int]:
    if not text.startswith('"', here):
        raise ValueError("no name")
    name, end = scan_string(text, here)
    colon = skip(text, end)
    if not text.startswith(":", colon):
        raise ValueError("no colon")
    return name, skip(text, colon + 1)
