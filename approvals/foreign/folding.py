"""How much of a long foreign text a page shows at once, and from which size on it brings the rest on demand. Pure."""

from __future__ import annotations

LINES = 14
LENGTH = 1_400
LONGEST_ON_PAGE = 20_000  # characters of one text that a page holds folded; longer ones come on demand


def is_long(text: str) -> bool:
    """Whether a text is more than a page should hold."""
    return len(text) > LONGEST_ON_PAGE


def is_folded(text: str) -> bool:
    """Whether words of an agent are not all in view at once."""
    return fold_at(text) < len(text)


def fold_at(text: str) -> int:
    """Where a long text is folded: never inside the first lines, never for a short tail."""
    lines = text.split("\n", LINES)
    by_lines = len(text) - len(lines[-1]) if len(lines) > LINES else len(text)
    cut = min(by_lines, LENGTH)
    return cut if len(text) - cut > LENGTH // 10 or by_lines < len(text) else len(text)
