"""Lists by key, not by offset: a cursor says after which row to go on, so inserts neither hide nor repeat rows."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Annotated, Any

from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Query

from approvals.api.problems import bad_query

Limit = Annotated[int, Query(ge=1, le=200)]
PAGE = 50


def write_cursor(*place: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def read_cursor(text: str, *kinds: type) -> tuple[Any, ...]:
    """The place a cursor names; None is allowed at every position but the last. Raises 400 for anything else."""
    try:
        place = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, RecursionError):
        raise bad_query(_("This cursor is not one of ours.")) from None
    fits = isinstance(place, list) and len(place) == len(kinds)
    if not fits or not all(_fits(value, kind) for value, kind in zip(place, kinds, strict=True)) or place[-1] is None:
        raise bad_query(_("This cursor is not one of ours."))
    return tuple(place)


def _fits(value: Any, kind: type) -> bool:
    whole = kind is int and isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**62
    return value is None or whole or (kind is str and isinstance(value, str))


def only(request: HttpRequest, names: Iterable[str]) -> None:
    """Refuse filters that we do not know: one silently ignored would answer another question than was asked."""
    unknown = sorted(set(request.GET) - {"limit", "cursor", *names})
    if unknown:
        raise bad_query(_("Unknown filter: %(names)s.") % {"names": ", ".join(unknown)})
