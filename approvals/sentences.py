"""Sentences that were stored in English where the fact was known, said in the reader's language where they are shown.

A row keeps the finished sentence: in ten years it says what it said. A page says it again by the template that it was
made from. Templates are written as gettext has them (`%(name)s`) and registered by whoever makes the sentences; what no
template made, such as what a person wrote or an agent said, stays as it is. The trail is shown in its own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from django.utils.translation import get_language, gettext

PLACE = re.compile(r"%\((\w+)\)[sd]")
END = re.compile(r"(?<=[.!?:]) ")
MOST = 2_000  # characters of a text that is looked at; ours are short, what they quote may not be

_templates: dict[str, re.Pattern[str]] = {}


def register(templates: Iterable[str]) -> None:
    """Make templates known. Those with the longest words of their own are tried first."""
    known = {**_templates, **{template: _pattern(template) for template in templates}}
    _templates.clear()
    _templates.update(sorted(known.items(), key=lambda item: -len(PLACE.sub("", item[0]))))


def told(text: str) -> str:
    """A stored text in the language of now: as a whole, by its template, or one sentence after the other."""
    if not text or len(text) > MOST or (get_language() or "en").startswith("en"):  # written in English
        return text
    said = _said(text)
    if said != text:
        return said
    for cut in END.finditer(text):
        head = text[: cut.start()]
        if (said := _said(head)) != head:
            return f"{said} {told(text[cut.end() :])}"
    return text


def is_known(text: str) -> bool:
    return any(pattern.fullmatch(text) for pattern in _templates.values())


def _said(text: str) -> str:
    """Without a template only whole sentences are looked up: an agent's “failed” is its own word."""
    said = _by_template(text)
    return gettext(text) if said == text and text.endswith(".") else said


def _by_template(text: str) -> str:
    """What stands in the places is somebody else's, or made by a template too: nothing else of it is touched."""
    for template, pattern in _templates.items():
        if found := pattern.fullmatch(text):
            return gettext(template) % {name: _within(value) for name, value in found.groupdict().items()}
    return text


def _within(text: str) -> str:
    """What stands inside another sentence of ours may have lost its full stop there."""
    said = _by_template(text)
    if said != text or text.endswith("."):
        return said
    said = _by_template(f"{text}.")
    return text if said == f"{text}." else said.removesuffix(".")


def _pattern(template: str) -> re.Pattern[str]:
    pieces = PLACE.split(template)
    words = [re.escape(piece.replace("%%", "%")) for piece in pieces[::2]]
    places = [f"(?P<{name}>.*?)" for name in pieces[1::2]]
    return re.compile("".join(a + b for a, b in zip(words, [*places, ""], strict=True)), re.DOTALL)
