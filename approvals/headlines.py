"""A task in a few words: for the row of a queue and for finding it again. An index over the exhibit, no evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from approvals import jsontext
from approvals.audit import cleaned
from approvals.exhibits import Content

VALUES = 3
VALUE_LENGTH = 60
HEADLINE_LENGTH = 200
SEARCH_LENGTH = 8000
CUT = "…"


def headline(content: Content) -> str:
    """A few argument values, or what the agent says when there are none; every cut carries a mark."""
    if content.proposal is None:
        return cut(content.message or content.reason, HEADLINE_LENGTH)
    return cut(" · ".join(_values(content.proposal)), HEADLINE_LENGTH)


def search_text(content: Content, refs: Mapping[str, str | None], codes: Iterable[str]) -> str:
    """Lower-case words by which a person may look for the task."""
    tool = [content.tool.name, content.tool.args_text] if content.tool else []
    said = [*codes, *(value for value in refs.values() if value), content.reason, content.message or "", *tool]
    return cleaned(" ".join(said))[:SEARCH_LENGTH]


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + CUT


def _values(proposal: str) -> list[str]:
    """`name: value` of the first members; what is not an object speaks for itself."""
    try:
        document = jsontext.parse(proposal)
    except jsontext.JSONTextError:
        return [cut(proposal, VALUE_LENGTH)]
    if document.root.kind != "object":
        return [cut(proposal, VALUE_LENGTH)]
    members = document.root.members
    shown = [f"{name}: {_value(document, node)}" for name, node in members[:VALUES]]
    return [*shown, CUT] if len(members) > VALUES else shown


def _value(document: jsontext.Document, node: jsontext.Node) -> str:
    return cut(node.text if node.kind == "string" else document.source(node), VALUE_LENGTH)
