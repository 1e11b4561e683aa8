"""What was tried and refused is on the trail too: by whom, on which task, and why (`audit.md` D.1).

The refused deed left nothing behind; its entry is written afterwards, in a transaction of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from approvals import audit
from approvals.models import Case, Task
from approvals.refusals import Refused

P = ParamSpec("P")
T = TypeVar("T")
audit.register("task.refused", "case.refused")
WHY = {
    "decided": "somebody had decided", "expired": "time had run out", "changed": "what is asked had changed",
    "blocked": "nothing can be sent", "taken": "the answers were on their way", "withdrawn": "nobody asks any more",
    "quarantined": "an operator has not accepted it", "not_allowed": "it is not theirs to do",
    "invalid": "it does not fit", "idempotency_mismatch": "the key was used for another decision",
    "wrong_state": "it is not open", "unread": "the whole text had not been opened",
}  # fmt: skip


def told(doing: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A verb on a task or a case whose refusals are recorded; `doing` goes on from “tried to”."""

    def wrap(verb: Callable[P, T]) -> Callable[P, T]:
        @wraps(verb)
        def deed(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return verb(*args, **kwargs)
            except Refused as refused:
                _record(args[0], doing, refused, kwargs)
                raise

        return deed

    return wrap


def _record(about: Any, doing: str, refused: Refused, asked: Any) -> None:
    """In English, whatever language the refusal was said in."""
    who, why = asked["by"], WHY.get(refused.code, refused.code)
    case, task = (about, asked.get("task")) if isinstance(about, Case) else (about.case, about)
    data = {"code": refused.code, "verdict": asked.get("verdict")}
    place = task.code if isinstance(task, Task) else case.code
    audit.record(
        f"{'task' if isinstance(about, Task) else 'case'}.refused", f"{who} tried to {doing} {place}: refused, {why}.",
        actor=who, case=case, task=task, data={name: value for name, value in data.items() if value}, now=asked["now"],
    )  # fmt: skip
