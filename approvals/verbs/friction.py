"""How hard a yes is, by the risk of the queue. Pure but for its words.

Low and medium risk decide at once. In a queue of high risk a yes needs three things that the server checks: that the
whole list was read, that the value which makes this call this one was typed, and a second look at what will happen.
A no is never harder than anywhere else.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from django.core import signing
from django.utils.translation import gettext as _

from approvals import jsontext
from approvals.exhibits import Content
from approvals.foreign import glyphs, masking
from approvals.jsontext import Document, Node
from approvals.kit import ANSWERED, APPROVED
from approvals.models import Queue, Task, User
from approvals.schemas import Problem
from approvals.verbs.answering import Given

SECOND_LOOK_LASTS = 15 * 60  # seconds
MOST_LOOKED_AT = 500  # values of a proposal
LONGEST_TYPED = 60  # characters that a person can be asked to type
SALT = "countersign/second-look/v1"
AMOUNTS = re.compile(r"amount|total|sum|price|value|quantity|count|limit|budget|size|replicas", re.IGNORECASE)
PLACES = re.compile(
    r"iban|account|recipient|^to$|to_|email|address|host|server|database|table|path|file|user|customer|service|name|id$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Distinctive:
    """The value by which one recognises this call among others."""

    pointer: str
    text: str  # as it stands on the page: a string without its quotes, a number as written


def is_high(queue: Queue) -> bool:
    return queue.risk == Queue.Risk.HIGH


def needs_second_look(queue: Queue, verdict: str) -> bool:
    """Whether this verdict lets something happen that cannot be taken back lightly."""
    return is_high(queue) and verdict in (APPROVED, ANSWERED)


def distinctive(proposal: str | None) -> Distinctive | None:
    """An amount before a place before anything else that can be typed; None where there is nothing."""
    if proposal is None:
        return None
    document = jsontext.parse(proposal)
    leaves = [one for one in _leaves(document) if _can_be_typed(one)]
    for wanted in (AMOUNTS, PLACES):
        for one in leaves:
            name = jsontext.parts(one.pointer)[-1:]
            if name and wanted.search(name[0]):
                return one
    return leaves[0] if leaves else None


def _leaves(document: Document) -> Iterator[Distinctive]:
    """Texts and numbers, those near the root first; of a huge list only the beginning."""
    waiting = deque([("", document.root)])
    for _step in range(MOST_LOOKED_AT):
        if not waiting:
            return
        pointer, node = waiting.popleft()
        if node.kind in ("string", "number"):
            yield Distinctive(pointer, node.text if node.kind == "string" else document.source(node))
        waiting.extend((pointer + jsontext.pointer(name), child) for name, child in _children(node))


def _children(node: Node) -> list[tuple[str, Node]]:
    if node.kind == "object":
        return list(node.members)
    return [(str(place), item) for place, item in enumerate(node.items)] if node.kind == "array" else []


def _can_be_typed(one: Distinctive) -> bool:
    """Seen on the page as it is: nothing hidden in it, and not hidden itself."""
    text, rules = one.text, masking.scope()
    if any(rules.hides(name) for name in jsontext.parts(one.pointer)) or rules.spans(text):
        return False
    return 0 < len(text) <= LONGEST_TYPED and text == text.strip() and "\n" not in text and not glyphs.has_hidden(text)


def problems(exhibit: Content, given: Given, post: Mapping[str, str]) -> list[Problem]:
    """What a yes in a queue of high risk still lacks, before the second look."""
    found = []
    if exhibit.tool is not None and post.get("read_all") != "1":
        found.append(Problem("/read", _("Say that you have read the whole list.")))
    wanted = wanted_of(exhibit, given)
    if wanted and _plain(post.get("typed", "")) != _plain(wanted.text):
        text = _("What you typed is not what stands at %(place)s.")
        found.append(Problem("/typed", text % {"place": wanted.pointer}))
    return found


def wanted_of(exhibit: Content, given: Given) -> Distinctive | None:
    """The value to type: as it will be sent, so with the edits."""
    proposed = distinctive(exhibit.proposal)
    if proposed is None or given.edits is None:
        return proposed
    document = jsontext.parse(given.edits)
    node = document.at(proposed.pointer)
    if node is None or node.kind not in ("string", "number"):
        return distinctive(given.edits)
    return Distinctive(proposed.pointer, node.text if node.kind == "string" else document.source(node))


def _plain(text: str) -> str:
    return " ".join(text.split())


def second_look(task: Task, by: User, given: Given) -> str:
    """A token for exactly this answer of this person; good for some minutes."""
    return signing.TimestampSigner(salt=SALT).sign(_fingerprint(task, by, given))


def was_looked_at(token: str, task: Task, by: User, given: Given) -> bool:
    """Whether this person was shown exactly this before, on a page of its own."""
    try:
        shown = signing.TimestampSigner(salt=SALT).unsign(token, max_age=SECOND_LOOK_LASTS)
    except signing.BadSignature:
        return False
    return shown == _fingerprint(task, by, given)


def _fingerprint(task: Task, by: User, given: Given) -> str:
    said = repr((task.code, task.shown_digest, by.pk, given)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(said).hexdigest()
