"""Request bodies, read as text: what is passed on keeps its bytes, so no number is ever rounded on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _

from approvals import jsontext
from approvals.api.problems import invalid
from approvals.schemas import Problem


@dataclass(frozen=True)
class Body:
    """A JSON object with known members. Every getter raises 422 with a pointer to the member."""

    document: jsontext.Document

    def exact(self, name: str) -> str | None:
        """The text of a member exactly as it was sent; None if it is not there."""
        node = self.document.at(jsontext.pointer(name))
        return None if node is None else self.document.source(node)

    def string(self, name: str, default: str | None = None) -> str:
        """A text member; null and absent are the default, or refused if there is none."""
        node = self.document.at(jsontext.pointer(name))
        if (node is None or node.kind == "null") and default is not None:
            return default
        if node is None:
            raise invalid(Problem(jsontext.pointer(name), _("This member is required.")))
        if node.kind != "string":
            raise invalid(Problem(jsontext.pointer(name), _("This member is a text.")))
        return node.text


def read(request: HttpRequest, known: Collection[str]) -> Body:
    """Parse the body. Unknown and repeated members are refused: a misspelt `edits` must not approve without them."""
    document = parse(text_of(request))
    if document.root.kind != "object":
        raise invalid(Problem("", _("The body is a JSON object.")))
    names = [name for name, _node in document.root.members]
    wrong = [Problem(jsontext.pointer(name), _("Unknown member.")) for name in names if name not in known]
    wrong += [Problem(jsontext.pointer(name), _("This member is given twice.")) for name in sorted(repeated(names))]
    if wrong:
        raise invalid(*wrong)
    return Body(document)


def repeated(names: list[str]) -> set[str]:
    return {name for name, times in Counter(names).items() if times > 1}


def text_of(request: HttpRequest) -> str:
    """The body as text; an absent body counts as an empty object."""
    try:
        return request.body.decode("utf-8") or "{}"
    except UnicodeDecodeError as error:
        raise invalid(Problem("", _("The body is not UTF-8: byte %(at)d.") % {"at": error.start})) from None


def parse(text: str) -> jsontext.Document:
    try:
        return jsontext.parse(text)
    except jsontext.JSONTextError as error:
        raise invalid(Problem("", str(error))) from None


def value_of(text: str | None) -> Any:
    """Stored JSON text as a value whose numbers keep their text, for printing inside an answer."""
    return None if text is None else jsontext.loads(text)
