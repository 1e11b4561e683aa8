"""A list in which each of a few values stands at most once: drawn as boxes to tick, one for each value.

The order and the bytes of what stood there stay; what is ticked comes behind it, in the order of the schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from approvals import jsontext, schemas
from approvals.forms import texts
from approvals.forms.fields import Field, Option
from approvals.forms.posted import Posted

MOST = 50  # boxes; a longer list is easier to fill in item by item

Choices = tuple[tuple[Any, str], ...]  # value, title


def fits(choices: Choices, items: Sequence[str]) -> bool:
    """Whether boxes can say all that stands in a list: only values that may be chosen, none of them twice."""
    if not len(items) <= len(choices) <= MOST or not choices:
        return False
    found = [number_of(choices, item) for item in items]
    return None not in found and len(set(found)) == len(found)


def number_of(choices: Choices, item: str) -> int | None:
    """Which of the choices a JSON text is."""
    return next((at for at, text in enumerate(values(choices)) if schemas.equal(text, item)), None)


def values(choices: Choices) -> list[str]:
    return [jsontext.dumps(value) for value, _title in choices]


def items(source: str | None) -> list[str]:
    """The items of a list as they are written; none where there is no list."""
    if source is None or not source.startswith("["):
        return []
    document = jsontext.parse(source)
    return [document.source(item) for item in document.root.items]


def fill(made: Field, posted: Posted) -> None:
    """Which boxes there are, and which are ticked. `rendered` and `shown` are their numbers."""
    names = [posted.names.about(f"tick{number}", made.pointer) for number in range(len(made.choices))]
    made.rendered = _numbers(made, made.source)
    made.shown = made.rendered
    if posted.about("ticks", made.pointer) is not None:
        made.shown = " ".join(str(number) for number, name in enumerate(names) if posted.data.get(name))
    if made.default is not None and _numbers(made, made.default):
        made.default_name = made.name
        made.shown = _numbers(made, made.default) if posted.action("use", made.pointer) else made.shown
    chosen = made.shown.split()
    made.options = [
        Option(name, title or texts.label(value), chosen=str(number) in chosen, foreign=True)
        for number, (name, (value, title)) in enumerate(zip(names, made.choices, strict=True))
    ]


def read(one: Field, base: str) -> str:
    """The list over its old text: what is not ticked is gone, what was not there comes behind."""
    there = [number_of(one.choices, item) for item in items(base)]
    ticked = [int(number) for number in one.shown.split()]
    changes: dict[str, str | None] = {f"/{at}": None for at, number in enumerate(there) if number not in ticked}
    new = [text for number, text in enumerate(values(one.choices)) if number in ticked and number not in there]
    changes |= {f"/{len(there) + at}": text for at, text in enumerate(new)}
    return jsontext.replace(base, changes) if changes else base


def _numbers(made: Field, source: str | None) -> str:
    """In the order of the choices: boxes have no other."""
    found = {number_of(made.choices, item) for item in items(source)}
    return " ".join(str(number) for number in sorted(number for number in found if number is not None))
