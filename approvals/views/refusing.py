"""A deed from a plain form, and what the next page says when it was refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied

from approvals import permissions
from approvals.refusals import Invalid, NotAllowed, Refused
from approvals.requests import PersonRequest


def is_done(request: PersonRequest, deed: Callable[[], Any]) -> bool:
    """False with the sentence that says why not on the next page. Raises PermissionDenied where it may not be done."""
    try:
        deed()
    except NotAllowed as refused:
        raise PermissionDenied(str(refused)) from None
    except Invalid as invalid:
        messages.error(request, str(invalid.problems[0].message))
    except Refused as refused:
        messages.error(request, str(refused))
    else:
        return True
    return False


def administrators_only(request: PersonRequest) -> None:
    """Raises PermissionDenied."""
    if refusal := permissions.may_administer(request.user):
        raise PermissionDenied(refusal)
