"""Single keys: what they can do, which key does it for whom, and what a person may change about that. Pure.

A page says with `data-key-focus` or `data-key-act` which of its elements an action is for; `static/js/key-shortcuts.js`
does the rest. No key decides: those of the verdicts only lead to the button, where Enter counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.models import User
from approvals.schemas import Problem

EVERYWHERE, LISTS, CASES = gettext_lazy("Everywhere"), gettext_lazy("In the queue"), gettext_lazy("On a case")
PLACES: Sequence[str | Promise] = (EVERYWHERE, LISTS, CASES)


@dataclass(frozen=True, kw_only=True)
class Action:
    """Something that a key does. `key` is ours until a person chooses another; "" is none."""

    name: str
    key: str
    says: str | Promise
    place: str | Promise


ACTIONS = (
    Action(name="next", key="j", says=gettext_lazy("next one"), place=EVERYWHERE),
    Action(name="previous", key="k", says=gettext_lazy("previous one"), place=EVERYWHERE),
    Action(name="claim", key="c", says=gettext_lazy("claim, release or take over"), place=EVERYWHERE),
    Action(name="not-now", key="z", says=gettext_lazy("not now"), place=EVERYWHERE),
    Action(name="queue", key="q", says=gettext_lazy("to the queue"), place=EVERYWHERE),
    Action(name="help", key="?", says=gettext_lazy("this list"), place=EVERYWHERE),
    Action(name="open", key="o", says=gettext_lazy("open; Enter does too"), place=LISTS),
    Action(name="search", key="/", says=gettext_lazy("search"), place=LISTS),
    Action(name="choose", key="s", says=gettext_lazy("choose for a list"), place=LISTS),
    Action(name="list", key="l", says=gettext_lazy("the chosen side by side"), place=LISTS),
    Action(name="approve", key="a", says=gettext_lazy("to Approve; Enter there decides"), place=CASES),
    Action(name="reject", key="r", says=gettext_lazy("to Reject; Enter there decides"), place=CASES),
    Action(name="answer", key="w", says=gettext_lazy("to Answer; Enter there decides"), place=CASES),
    Action(name="cancel", key="x", says=gettext_lazy("to Cancel; Enter there decides"), place=CASES),
    Action(name="edit", key="e", says=gettext_lazy("to the first field; Escape leaves it"), place=CASES),
    Action(name="comment", key="m", says=gettext_lazy("to the comment"), place=CASES),
    Action(name="recall", key="u", says=gettext_lazy("to Recall; Enter there takes it back"), place=CASES),
    Action(name="next-case", key="n", says=gettext_lazy("next case of the queue"), place=CASES),
)
KNOWN = {action.name: action for action in ACTIONS}


@dataclass(frozen=True, kw_only=True)
class Bound:
    """An action with the key that a person has for it."""

    name: str
    key: str
    says: str
    place: str
    usual: str


def of(user: User) -> list[Bound]:
    """Every action, those without a key too."""
    own = user.keys if isinstance(user.keys, dict) else {}
    return [
        Bound(
            name=action.name, key=str(own.get(action.name, action.key)), usual=action.key,
            says=str(action.says), place=str(action.place),
        )
        for action in ACTIONS
    ]  # fmt: skip


def chosen(post: Mapping[str, str]) -> tuple[dict[str, str], list[Problem]]:
    """The keys that differ from ours, from fields `key-<action>`; and what is wrong with them, by field."""
    wanted = {name: post.get(f"key-{name}", action.key).strip() for name, action in KNOWN.items()}
    problems = [
        Problem(f"key-{name}", _("A key is one character, or nothing for none."))
        for name, key in wanted.items()
        if len(key) > 1 or not key.isprintable()
    ]
    taken: dict[str, str] = {}
    for name, key in wanted.items():
        if key and key in taken:
            text = _("“%(key)s” does something else already: %(says)s.")
            problems.append(Problem(f"key-{name}", text % {"key": key, "says": KNOWN[taken[key]].says}))
        taken.setdefault(key, name)
    return {name: key for name, key in wanted.items() if key != KNOWN[name].key}, problems
