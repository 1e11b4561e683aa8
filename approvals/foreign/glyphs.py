"""Finds in foreign text what a reader would not see, or would take for something else (security.md T27, T28). Pure.

Three kinds of marks: characters without a picture of their own, letters that pose as Latin ones inside a Latin word,
and long runs of white space that push the rest out of view. Pages draw the marks, intake flags them.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import regex

Kind = Literal["hidden", "space", "alike", "run"]

# Invisible though Unicode calls them letters, marks or symbols: fillers, joiners, blanks.
FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0"
HIDDEN = rf"(?:[\p{{C}}\p{{Zl}}\p{{Zp}}{FILLERS}--\n\r\t]|\r(?!\n)|(?<![\p{{So}}\p{{Emoji_Presentation}}\d#*])\p{{VS}})"
SPACES = r"[\p{Zs}--\u0020\u3000]"
STACKED = r"(?<=\p{M}{4})\p{M}"
# The first run keeps one line break or space before the mark; indentation may be longer than a gap between words.
LINES = r"(?:\r?\n[ \t]*){3,}\r?\n"
GAP = r"(?<=[^\s])[ \t]{8,}"
INDENT = r"^[ \t]{41,}"

_MARKS = regex.compile(
    rf"(?P<hidden>{HIDDEN}|{STACKED})|(?P<space>{SPACES})|(?P<lines>{LINES})|(?P<gap>{GAP})|(?P<indent>{INDENT})",
    regex.VERSION1 | regex.MULTILINE,
)
_PLAIN = regex.compile(r"[\x20-\x7e\n\t]*", regex.VERSION1)
_AIRY = regex.compile(r"\n[ \t]*\n|[ \t]{8}")
_TURNS = regex.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_NATIVE = r"[\p{L}\p{M}--[\p{Latin}\p{Greek}\p{Cyrillic}\p{Han}\p{Hangul}]]"
# Where writing needs them: in one picture made of several, and between the letters of Persian or Hindi.
_JOINERS = regex.compile(
    r"(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})"
    rf"|(?<={_NATIVE})[\u200c\u200d](?={_NATIVE})",
    regex.VERSION1,
)
_CHUNK = regex.compile(r"\S+")
_WORD = regex.compile(r"[\p{L}\p{Nl}\p{M}\p{So}\p{N}]+", regex.VERSION1)
_LATIN = regex.compile(r"\p{Script=Latin}", regex.VERSION1)
# Other scripts' letters that look Latin, and Latin ones that look like others: full width, mathematical, small caps.
_ALIKE = regex.compile(
    r"[\p{Script=Cyrillic}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}\p{Script=Lisu}\p{Script=Deseret}"
    r"\p{Script=Gothic}\p{Script=Old_Italic}ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγικνορτυχωϲϳͿ"
    r"\U0001d400-\U0001d7ff\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\u2100-\u214f\u2160-\u2188"
    r"ɑɡɩɪʟɴʀʏꜱᴀᴄᴅᴇᴊᴋᴍᴏᴛᴜᴠᴡᴢꞵƽǀǃℓ&&[\p{L}\p{N}]]",
    regex.VERSION1,
)
_LATIN_ALIKE = regex.compile(r"[aceijopsxyABCEHIJKMOPSTXY]")
_ADDRESS = regex.compile(r"@|[^\W_]\.\p{L}{2,}|://", regex.VERSION1)
# Letters that no eye can tell from Latin: a whole word of them beside Latin ones is a disguise too.
_TWINS = regex.compile(r"[аеорсухіјѕһӏԁԛԝѵАВЕКМНОРСТУХІЈЅ\uff21-\uff5a\U0001d400-\U0001d7ff\d]+")
# In an address even one dotless i is a disguise; in prose it is Turkish.
_IN_ADDRESS = regex.compile(r"[ıȷſⅼ․]")


@dataclass(frozen=True, slots=True)
class Mark:
    """`text[start:end]` needs to be made visible. A run of white space is named by what it is made of."""

    start: int
    end: int
    kind: Kind
    text: str

    @property
    def codes(self) -> list[str]:
        return [f"U+{ord(character):04X}" for character in self.text]

    @property
    def name(self) -> str:
        return ", ".join(unicodedata.name(character, "CONTROL CHARACTER") for character in self.text)


def marks(text: str, *, indented: bool = False) -> list[Mark]:
    """All marks in order, none overlapping. `indented`: long indentation is ours and needs no mark."""
    if _PLAIN.fullmatch(text) and not _AIRY.search(text):
        return []
    found = [*_plain_marks(text, indented=indented), *_alike_marks(text)]
    return sorted(found, key=lambda mark: mark.start)


def spelled(text: str) -> str:
    """The same where no mark can be drawn, as in the options of a menu: codes in brackets, runs of space counted."""
    out: list[str] = []
    here = 0
    for mark in marks(text):
        codes = "".join(f"[{code}]" for code in mark.codes)
        said = f" [{len(mark.text)} × U+0020] " if mark.kind == "run" else codes
        out += [text[here : mark.start], mark.text if mark.kind == "alike" else "", said]
        here = mark.end
    return "".join([*out, text[here:]])


def escaped(json_text: str) -> str:
    """JSON text to be edited: what has no picture is written as an escape. The value is the same, its order plain."""
    if _PLAIN.fullmatch(json_text):
        return json_text
    out: list[str] = []
    here = 0
    for mark in marks(json_text, indented=True):
        if mark.kind == "hidden":
            out += [json_text[here : mark.start], json.dumps(mark.text)[1:-1]]
            here = mark.end
    return "".join([*out, json_text[here:]])


def turns(text: str) -> bool:
    """Whether a character turns the direction of writing: a line of text then shows another order than it has."""
    return _TURNS.search(text) is not None


def conceals(text: str) -> bool:
    """Whether a text holds what no control shows as it is: it is edited as JSON then, with escapes (R-49)."""
    if _PLAIN.fullmatch(text):
        return False
    return any(mark.kind == "hidden" for mark in marks(_JOINERS.sub("", text), indented=True))


def has_hidden(text: str) -> bool:
    """Whether a character is invisible or a letter poses as another; white space alone does not count."""
    return any(mark.kind in ("hidden", "alike") for mark in marks(text, indented=True))


def _plain_marks(text: str, *, indented: bool) -> Iterator[Mark]:
    for match in _MARKS.finditer(text):
        start, end = match.span()
        if match.lastgroup == "indent" and indented:
            continue
        if match.lastgroup in ("lines", "gap", "indent"):
            yield Mark(start, end, "run", match[0])
        else:
            yield Mark(start, end, "space" if match.lastgroup == "space" else "hidden", match[0])


def _alike_marks(text: str) -> Iterator[Mark]:
    if text.isascii() or not _LATIN.search(text) or not (_ALIKE.search(text) or _IN_ADDRESS.search(text)):
        return
    for chunk in _CHUNK.finditer(text):
        if chunk[0].isascii():
            continue
        address = _ADDRESS.search(chunk[0]) is not None and _LATIN.search(chunk[0]) is not None
        for word in _WORD.finditer(chunk[0]):
            for place in _posing(word[0], address=address):
                start = chunk.start() + word.start() + place
                yield Mark(start, start + 1, "alike", text[start])


def _posing(word: str, *, address: bool) -> list[int]:
    """Which letters of a word pose as another script: the fewer of the two, or a whole word of twins in an address."""
    if word.isascii():
        return []
    alike = [match.start() for match in _ALIKE.finditer(word)]
    borrowed = set(alike)
    latin = [match.start() for match in _LATIN.finditer(word) if match.start() not in borrowed]
    if address and (latin or _TWINS.fullmatch(word)):
        return sorted({*alike, *(match.start() for match in _IN_ADDRESS.finditer(word))})
    if not alike or not latin:
        return []
    guests = [place for place in latin if _LATIN_ALIKE.match(word[place])]
    return guests if guests and len(latin) < len(alike) else alike
