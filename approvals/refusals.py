"""Why a verb said no. Each has the code that programs see, a status for HTTP and a sentence for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from django.utils.translation import gettext as _

from approvals.models import Decision
from approvals.schemas import Problem


class Refused(Exception):
    """Nothing was changed. `str()` is the sentence."""

    code: ClassVar[str] = "wrong_state"
    status: ClassVar[int] = 409


class WrongState(Refused):
    """The case or task is not where this can be done."""


class NotDue(Refused):
    """The case cannot be taken: not settled, taken by another, blocked, recalled, expired or inside the undo window."""

    code = "not_due"


class AlreadyDecided(Refused):
    code = "decided"

    def __init__(self, decision: Decision) -> None:
        by, verdict = decision.by, decision.verdict
        name = by.display_name if by else decision.get_by_kind_display()
        super().__init__(_("Already decided by %(name)s: %(verdict)s.") % {"name": name, "verdict": verdict})
        self.by, self.verdict, self.at = by, verdict, decision.at


class Expired(Refused):
    code = "expired"


class Changed(Refused):
    """The decision was made on something that is not what is shown now."""

    code = "changed"


class Blocked(Refused):
    code = "blocked"


class Unread(Refused):
    """The queue wants long texts opened whole before a yes; `parts` were not."""

    code = "unread"

    def __init__(self, parts: Sequence[str], sentence: str) -> None:
        super().__init__(sentence)
        self.parts = list(parts)


class Taken(Refused):
    """The answer is on its way: it can no longer be taken back."""

    code = "taken"


class Withdrawn(Refused):
    code = "withdrawn"


class Quarantined(Refused):
    code = "quarantined"


class NotAllowed(Refused):
    """Seen, but not theirs to do."""

    code = "not_allowed"
    status = 403


class Invalid(Refused):
    """What was sent cannot be the answer; `problems` point into the request."""

    code = "invalid"
    status = 422

    def __init__(self, problems: Sequence[Problem], code: str = "invalid") -> None:
        super().__init__(" ".join(problem.message for problem in problems))
        self.problems = list(problems)
        self.code = code  # type: ignore[misc]
