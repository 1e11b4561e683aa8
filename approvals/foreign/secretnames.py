"""Which names are those of secrets: words as programs write them, in snake case, camel case or with numbers behind."""

from __future__ import annotations

import unicodedata
from fnmatch import fnmatchcase
from functools import lru_cache

import regex

_WORD_START = regex.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BETWEEN = regex.compile(r"[^\p{L}\p{N}*]+")


@lru_cache(maxsize=4096)
def hides(names: tuple[str, ...], name: str) -> bool:
    """Whether one of these names, or patterns with `*`, stands at the end of this one."""
    said = _plain(name).rstrip("0123456789_")
    joined = said.replace("_", "")  # `PassWord` and `pass_word` are a password too
    return any(
        any(fnmatchcase(one, rule) for one in (said, joined))
        if "*" in rule
        else said == rule or said.endswith("_" + rule)
        for rule in _all_plain(names)
    )


@lru_cache(maxsize=256)
def _all_plain(names: tuple[str, ...]) -> tuple[str, ...]:
    """Once for a set of rules: a state of megabytes has ten thousands of names to hold against it."""
    return tuple(map(_plain, names))


def _plain(name: str) -> str:
    same = unicodedata.normalize("NFKC", name)
    return str(_BETWEEN.sub("_", _WORD_START.sub("_", same)).strip("_").lower())
