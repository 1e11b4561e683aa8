"""Who was told of a question, as far as that is on record: those named in notes, and whoever was relieved of it.

The desk sends no mail, and what a browser announces stays in that browser: for everybody else it stood in the queue.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from approvals import jsontext
from approvals.models import AuditEntry, User

NAMED, RELIEVED = "named", "relieved"


@dataclass(frozen=True, kw_only=True)
class Told:
    """`how`: named in a note, or relieved by somebody who took over. `who` has a pseudonym where no name is known."""

    who: list[str]
    how: str
    entry: AuditEntry


def told(notes: Iterable[AuditEntry], handed_over: Iterable[AuditEntry]) -> list[Told]:
    """In the order it happened. A note that names nobody tells nobody; of an erased one it is no longer known."""
    named = [(entry, NAMED, [str(name) for name in _data(entry).get("mentions", [])]) for entry in notes]
    relieved = [(entry, RELIEVED, [str(_data(entry)["from"])]) for entry in handed_over if "from" in _data(entry)]
    found = sorted((one for one in [*named, *relieved] if one[2]), key=lambda one: one[0].seq)
    names = _names([who for _entry, _how, people in found for who in people])
    return [Told(who=[names.get(who, who) for who in people], how=how, entry=entry) for entry, how, people in found]


def _names(people: list[str]) -> dict[str, str]:
    """By name of account and by pseudonym: notes keep the one, hand-overs the other."""
    known = User.objects.filter(Q(username__in=people) | Q(pseudonym__in=people)) if people else []
    return {key: person.display_name for person in known for key in (person.username, person.pseudonym)}


def _data(entry: AuditEntry) -> dict[str, Any]:
    return {} if entry.data is None else dict(jsontext.loads(entry.data))
