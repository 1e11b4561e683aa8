"""The same value twice in one form, as fields and as raw JSON: which of the two counts, and how one follows the other.

The page remembers two things, and both may come back from a browser that runs no script: over which value the fields
were laid out (`over`), and from which value the raw box was drawn with which text (`drawn`). From these it is known
which of the two was changed after it had seen the other. Where each was changed without the other, nobody guesses: the
person says which one counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from approvals import jsontext
from approvals.foreign import glyphs
from approvals.forms import texts
from approvals.forms.posted import Names, Posted
from approvals.jsontext import JSONTextError


@dataclass(frozen=True, kw_only=True)
class Raw:
    """The raw box of a form: as it was drawn, as it is now, and from what it was drawn."""

    rendered: str  # what it holds for the value that the fields stand over
    shown: str
    of: str  # digest of the value it was drawn from
    held: str  # digest of the text it was drawn with

    @property
    def is_changed(self) -> bool:
        return digest(self.shown) != self.held

    @property
    def drawn(self) -> str:
        return f"{self.of} {self.held}"

    @property
    def text(self) -> str:
        return self.shown.strip(" \t\r\n")


def digest(text: str | None) -> str:
    data = texts.normal(text or "").encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:24]


def rendering(text: str | None) -> str:
    """What the raw box holds for a value; what is no JSON stands there as it is."""
    try:
        return glyphs.escaped(jsontext.printable(jsontext.pretty(text))) if text else ""
    except JSONTextError:
        return text or ""


def drawn_from(text: str | None, shown: str | None = None) -> Raw:
    """A raw box that follows this value; `shown` if it holds it in somebody's own writing."""
    rendered = rendering(text)
    held = rendered if shown is None else shown
    return Raw(rendered=rendered, shown=held, of=digest(text), held=digest(held))


def raw_of(posted: Posted, over: str | None) -> Raw:
    """The raw box as it was posted."""
    fresh = drawn_from(over)
    shown = posted.about("raw")
    drawn = (posted.about("drawn") or "").split(" ")
    if len(drawn) != 2:
        drawn = [fresh.of, fresh.held]
    return Raw(rendered=fresh.rendered, shown=fresh.shown if shown is None else shown, of=drawn[0], held=drawn[1])


def over(posted: Posted, first: str | None) -> str | None:
    """The value that the fields stand over: the first one, or what the raw box said when they were laid out again."""
    found = posted.about("over")
    try:
        told = jsontext.loads(found) if found else None
        jsontext.loads(told if isinstance(told, str) else "")
    except JSONTextError:
        return first
    return str(told)


def over_as_posted(text: str | None) -> str:
    """As a JSON string without line ends or controls, so that a browser returns it as it was sent."""
    return "" if text is None else jsontext.dumps(text)


def adopted(raw: Raw, before: str | None) -> str:
    """What the raw box says, every byte of the value before that it did not change kept. Raises JSONTextError."""
    jsontext.loads(raw.text)
    return raw.text if before is None else rebased(before, raw.text)


def rebased(before: str, after: str) -> str:
    """The new value written over the old text: same value, same order of names, untouched places byte for byte."""
    try:
        old, new = jsontext.parse(before), jsontext.parse(after)
        places = {place: (new.source(node) if (node := new.at(place)) else None)
                  for place in jsontext.changed_paths(before, after)}  # fmt: skip
        written = jsontext.replace(before, places)
    except (JSONTextError, LookupError):
        return after
    # Where names were put into another order or stand twice, the text itself is what was meant.
    return after if old.duplicates or new.duplicates or _names(written) != _names(after) else written


def _names(text: str) -> str:
    """Value and order of names in one text: equal for texts that differ in white space and escapes only."""
    return jsontext.dumps(jsontext.loads(text))


def without_fields(post: Mapping[str, str], names: Names) -> dict[str, str]:
    """A POST less all that it says about the fields of one form; its raw box and the rest stay."""
    kept = {names.about(what) for what in ("raw", "drawn", "over")}
    value, about = names.value(""), names.about("")
    return {
        name: text
        for name, text in post.items()
        if name in kept or not (name == value or name.startswith((value + "/", about)))
    }
