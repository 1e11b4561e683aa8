"""What a browser posted for one form, by the pointer of its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from approvals import jsontext
from approvals.forms.texts import normal

# Buttons that only change the shape of the form, or what it shows: nothing is decided by them.
VERBS = ("add", "remove", "restore", "up", "down", "branch", "open", "use", "show", "to-raw", "to-fields")


@dataclass(frozen=True)
class Names:
    """The names of controls: `v/amount` for the value at /amount, `v:state/amount` for what is said about it."""

    prefix: str = "v"

    def value(self, pointer: str) -> str:
        return f"{self.prefix}{pointer}"

    def about(self, what: str, pointer: str = "") -> str:
        return f"{self.prefix}:{what}{pointer}"


@dataclass(frozen=True)
class Posted:
    """Read access to a POST; an empty one stands for a form that was not posted yet."""

    data: Mapping[str, str]
    names: Names

    def value(self, pointer: str) -> str | None:
        found = self.data.get(self.names.value(pointer))
        return None if found is None else normal(found)

    def about(self, what: str, pointer: str = "") -> str | None:
        found = self.data.get(self.names.about(what, pointer))
        return None if found is None else normal(found)

    def numbers(self, what: str, pointer: str) -> list[int] | None:
        """A list of small numbers, as our own hidden controls post it; None if it is not there or not ours."""
        found = self.about(what, pointer)
        if found is None or not all(part.isascii() and part.isdigit() and len(part) < 6 for part in found.split()):
            return None
        return [int(part) for part in found.split()]

    def new_names(self, pointer: str) -> list[str]:
        """Members that were added to a map since the form was first shown."""
        try:
            names = jsontext.loads(self.about("names", pointer) or "[]")
        except jsontext.JSONTextError:
            return []
        return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []

    def action(self, verb: str, pointer: str) -> bool:
        return self.data.get("action") == f"{verb}:{self.names.value(pointer)}"

    @property
    def is_structural(self) -> bool:
        """Whether a button of the form itself was pressed, and not a verdict."""
        verb, _, _ = self.data.get("action", "").partition(":")
        return verb in VERBS
