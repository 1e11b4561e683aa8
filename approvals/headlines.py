"""A task in a few words: for the row of a queue and for finding it again. An index over the exhibit, no evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from approvals import jsontext
from approvals.audit import cleaned
from approvals.exhibits import Content

VALUES = 3
NAME_LENGTH = 40
VALUE_LENGTH = 60
HEADLINE_LENGTH = 200
SAYS_LENGTH = 120
SEARCH_LENGTH = 8000
CUT = "…"
TELLING = re.compile(
    r"amount|price|total|sum|^to$|recipient|email|iban|account|customer|user|host|service|path|file|url|query|command"
    r"|name|subject|title|invoice|order|(?:^|_)id$|Id$",
    re.IGNORECASE,
)


class Part(NamedTuple):
    """One argument of a row, each cut with a mark; words without a name have none."""

    name: str
    value: str


def headline(content: Content) -> str:
    """JSON of `values`, pairs of name and text, and of what the agent `says`; every cut carries a mark.

    Names and texts stay apart, so that no value passes for another argument.
    """
    if content.proposal is None:
        words = cut(content.message or content.reason, HEADLINE_LENGTH)
        return jsontext.dumps({"values": [Part("", words)], "says": ""})
    return jsontext.dumps({"values": _values(content.proposal), "says": cut(content.message or "", SAYS_LENGTH)})


def parts(text: str) -> list[Part]:
    """The arguments of a row; a row from before they were kept apart is words without a name."""
    found = _read(text)
    return [Part(name, value) for name, value in found["values"]] if found else [Part("", text)]


def says(text: str) -> str:
    """What the agent says of the call in a row, as far as it is kept there."""
    found = _read(text)
    return str(found["says"]) if found else ""


def _read(text: str) -> dict[str, Any] | None:
    try:
        found = jsontext.loads(text)
    except jsontext.JSONTextError:
        return None
    return found if isinstance(found, dict) and found.keys() == {"values", "says"} else None


def search_text(content: Content, refs: Mapping[str, str | None], codes: Iterable[str]) -> str:
    """Lower-case words by which a person may look for the task."""
    tool = [content.tool.name, content.tool.args_text] if content.tool else []
    said = [*codes, *(value for value in refs.values() if value), content.reason, content.message or "", *tool]
    return cleaned(" ".join(said))[:SEARCH_LENGTH]


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + CUT


def _values(proposal: str) -> list[Part]:
    """The telling members, in their order; what is not an object speaks for itself."""
    try:
        document = jsontext.parse(proposal)
    except jsontext.JSONTextError:
        return [Part("", cut(proposal, VALUE_LENGTH))]
    if document.root.kind != "object":
        return [Part("", cut(proposal, VALUE_LENGTH))]
    members = document.root.members
    ranked = sorted(range(len(members)), key=lambda place: (_rank(*members[place]), place))
    shown = [members[place] for place in sorted(ranked[:VALUES])]
    parts = [Part(cut(name, NAME_LENGTH), _value(document, node)) for name, node in shown]
    return [*parts, Part("", CUT)] if len(members) > VALUES else parts


def _rank(name: str, node: jsontext.Node) -> int:
    """How little a member tells: first whom and how much, then short values, last what is long, nested or empty."""
    if node.kind in ("object", "array"):
        return 4
    if node.kind == "null" or (node.kind == "string" and not node.text):
        return 5
    if node.kind == "string" and (len(node.text) > VALUE_LENGTH or "\n" in node.text):
        return 3
    if TELLING.search(name):
        return 0
    return 2 if node.kind in ("true", "false") else 1


def _value(document: jsontext.Document, node: jsontext.Node) -> str:
    """Never a dump: of what is nested, short lists are read out and all else is counted."""
    if node.kind == "string":
        return cut(node.text, VALUE_LENGTH)
    if node.kind == "object":
        return f"{{{CUT}}} {len(node.members)}" if node.members else "{}"
    if node.kind == "array":
        source = document.source(node)
        plain = all(item.kind not in ("object", "array") for item in node.items)
        return source if plain and len(source) <= VALUE_LENGTH else f"[{CUT}] {len(node.items)}"
    return cut(document.source(node), VALUE_LENGTH)
