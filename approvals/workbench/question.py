"""A question to the record, as it stands in an address: which entries, and which decisions among them.

The same words in any order are the same question (`Question.words`): a sample, a saved question and an export of it
name exactly this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.translation import gettext as _

from approvals import audit, permissions
from approvals.models import AuditEntry, Decision, User
from approvals.models.cases import Verdict
from approvals.trail import trailsearch

DAY = timedelta(days=1)
NAMES = (
    "q", "actor", "verb", "agent", "thread", "case", "tool", "queue", "verdict", "edited", "incident", "since",
    "until", "reads",
)  # fmt: skip
CHOICES = {
    "verdict": Verdict.values,
    "edited": [trailsearch.YES, trailsearch.NO],
    "incident": [trailsearch.ANY, trailsearch.OPEN],
    "reads": [trailsearch.YES],
}


@dataclass(frozen=True)
class Question:
    """The filters, and what could not be understood of them."""

    texts: dict[str, str]
    since: datetime | None
    until: datetime | None
    problems: list[str]

    @property
    def is_set(self) -> bool:
        return any(self.texts.values())

    @property
    def words(self) -> str:
        """The question as a query string: members in order, nothing empty."""
        given = {name: self.texts[name] for name in sorted(NAMES) if self.texts[name]}
        return urlencode(given, errors="surrogatepass")

    @property
    def told(self) -> dict[str, str]:
        """For the trail and for manifests."""
        return {name: self.texts[name] for name in NAMES if self.texts[name]}

    def filters(self) -> dict[str, Any]:
        """As `trailsearch.filtered` takes them. What people looked at is left out unless asked for."""
        plain = {name: text for name, text in self.texts.items() if name not in ("since", "until")}
        reads = self.texts["reads"] or trailsearch.NO
        return {**plain, "reads": reads, "since": self.since, "until": self.until}

    def entries(self, user: User) -> QuerySet[AuditEntry]:
        """All entries that it asks for and this person may read, in no order."""
        return trailsearch.filtered(trailsearch.visible(user), **self.filters())

    def decisions(self, user: User) -> QuerySet[Decision]:
        """The decisions that count among what is asked for; words are looked for in what was proposed."""
        told = self.texts
        found = trailsearch.decisions(verdict=told["verdict"], edited=told["edited"]).live()
        wanted = {
            "by__username": told["actor"], "at__gte": self.since, "at__lt": self.until,
            "task__case__code": told["case"].upper(),
        }  # fmt: skip
        found = found.filter(**{name: value for name, value in wanted.items() if value})
        about = {name: told[name] for name in ("tool", "queue", "agent", "thread")}
        if any(about.values()) or not permissions.sees_all(user):
            found = found.filter(task__in=trailsearch.tasks(permissions.visible_tasks(user), **about))
        if told["incident"]:
            found = found.filter(task__case__in=trailsearch.with_incident(told["incident"]))
        for word in audit.cleaned(told["q"]).split():
            found = found.filter(task__search_text__contains=word)
        return found


def asked(query: QueryDict | Mapping[str, str]) -> Question:
    """Read a question from an address."""
    texts = {name: str(query.get(name, "")).strip() for name in NAMES}
    since, until = moment(texts["since"]), moment(texts["until"], end_of_day=True)
    unread = [name for name, at in (("since", since), ("until", until)) if texts[name] and at is None]
    problems = [_("“%(text)s” is not a date.") % {"text": texts[name]} for name in unread]
    unknown = [texts[name] for name, known in CHOICES.items() if texts[name] and texts[name] not in known]
    problems += [_("“%(text)s” is nothing that can be asked for here.") % {"text": text} for text in unknown]
    return Question(texts=texts, since=since, until=until, problems=problems)


def read(words: str) -> Question:
    """A question from its words. Raises nothing: what cannot be read is told in `problems`."""
    return asked(dict(parse_qsl(words, errors="surrogatepass")))


def moment(text: str, *, end_of_day: bool = False) -> datetime | None:
    """A day or a moment in UTC; `end_of_day`: a day counts whole."""
    try:
        day: date | None = parse_date(text)
        at = datetime.combine(day, time(), UTC) + (DAY if end_of_day else timedelta()) if day else parse_datetime(text)
    except (ValueError, OverflowError):
        return None
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at
