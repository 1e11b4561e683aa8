"""JSON Pointers (RFC 6901): the address of a place in a document."""

from __future__ import annotations


def pointer(*parts: str | int) -> str:
    """The pointer through these names and indexes; none of them = the whole document, `""`."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def parts(pointer: str) -> list[str]:
    """The names along a pointer; `ValueError` if it is none."""
    if not pointer:
        return []
    if not pointer.startswith("/"):
        raise ValueError(f"not a JSON Pointer: {pointer!r}")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")]


def index(part: str, length: int) -> int | None:
    """Which of `length` items a name means; None if no item has it (RFC 6901: no leading zeros)."""
    if not (part.isascii() and part.isdigit()) or (part[0] == "0" and part != "0") or len(part) > 9:
        return None
    number = int(part)
    return number if number < length else None
