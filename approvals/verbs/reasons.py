"""Why people decide as they do, in words that can be counted: the reason codes of a queue and the length of a comment.

A code stands beside the comment and never replaces it where a queue asks for one. Pure but for its words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override

from approvals.models import Queue
from approvals.schemas import Problem

CODE = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
COMMENT_LIMIT = 10_000  # characters

# What a queue without a list of its own offers.
USUAL = (
    ("checked", gettext_lazy("checked against the source")),
    ("agreed", gettext_lazy("agreed beforehand")),
    ("wrong_details", gettext_lazy("details are wrong")),
    ("not_needed", gettext_lazy("not needed any more")),
    ("too_risky", gettext_lazy("too risky")),
    ("not_allowed", gettext_lazy("against the rules")),
    ("ask_again", gettext_lazy("more must be known first")),
)


def of(queue: Queue) -> list[tuple[str, str]]:
    """Code and words, in the order in which they are offered; our own words in the reader's language."""
    return [(code, str(words)) for code, words in queue.reason_codes or USUAL]


def words(queue: Queue, code: str) -> str:
    """What a code says; a code that the queue no longer has says itself."""
    return dict(of(queue)).get(code, code)


def told(queue: Queue, code: str, comment: str) -> str:
    """What the other side reads: the words of the code, in English as the trail is, and then the comment."""
    if not code:
        return comment
    with override("en"):
        said = words(queue, code)
    return f"{said[:1].upper()}{said[1:]}. {comment}".rstrip()


def problems(queue: Queue, *, code: str, comment: str) -> list[Problem]:
    """What is wrong with why somebody decides, at /comment and /reasonCode."""
    found = []
    length = len(comment.strip())
    if queue.reason_required and not length:
        found.append(Problem("/comment", _("In this queue every decision needs a comment.")))
    elif queue.reason_required and length < queue.reason_length:
        text = _("In this queue a comment has at least %(least)d characters; these are %(length)d.")
        found.append(Problem("/comment", text % {"least": queue.reason_length, "length": length}))
    if len(comment) > COMMENT_LIMIT:
        found.append(Problem("/comment", _("A comment has at most %d characters.") % COMMENT_LIMIT))
    if code and code not in dict(of(queue)):
        known = ", ".join(code for code, _words in of(queue))
        found.append(Problem("/reasonCode", _("The reason is one of: %s.") % known))
    return found


def read_codes(texts: Sequence[str]) -> list[list[str]]:
    """`CODE=WORDS` each, as commands take them. Raises ValueError that names the one that is wrong."""
    pairs = [text.partition("=") for text in texts]
    for text, (code, _equals, said) in zip(texts, pairs, strict=True):
        if not CODE.fullmatch(code) or not said.strip():
            raise ValueError(f"{text!r}: a reason is CODE=WORDS, the code in small letters, digits, - and _")
    if len({code for code, *_rest in pairs}) < len(pairs):
        raise ValueError("a code stands there twice")
    return [[code, said.strip()] for code, _equals, said in pairs]
