"""A page as a program sees it: its words, elements, links and forms, and a form filled in by its hooks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class Form:
    """One form: what its fields hold, the fields by their `data-pointer`, its buttons."""

    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)
    pointers: dict[str, dict[str, str]] = field(default_factory=dict)
    raw: str | None = None
    buttons: list[dict[str, str]] = field(default_factory=list)

    def filled(self, **pressed: str) -> dict[str, str]:
        return {**self.fields, **pressed}

    def type(self, pointer: str, text: str) -> Form:
        self.fields[self.pointers[pointer]["name"]] = text
        return self


class Page(HTMLParser):
    """Reads the source once; `text` is what a person can read, white space made single."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.source = source
        self.words: list[str] = []
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.forms: list[Form] = []
        self._area: str | None = None
        self._select: str | None = None
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.append((tag, given))
        self.words.append(" " if tag in ("p", "div", "li", "td", "dd", "dt", "h1", "h2", "h3") else "")
        if tag == "form":
            self.forms.append(Form(given.get("action", ""), given.get("method", "get").lower()))
        elif tag in ("input", "select", "textarea", "button") and self.forms and given.get("name"):
            self._field(self.forms[-1], tag, given)
        elif tag == "option" and self._select and "selected" in given:
            self.forms[-1].fields[self._select] = given.get("value", "")

    def _field(self, form: Form, tag: str, given: dict[str, str]) -> None:
        if tag == "button":
            form.buttons.append(given)
            return
        if "data-pointer" in given:
            form.pointers.setdefault(given["data-pointer"], given)
        form.raw = given["name"] if "data-raw-json" in given else form.raw
        if given.get("type") not in ("checkbox", "radio") or "checked" in given:
            form.fields[given["name"]] = given.get("value", "")
        self._area = given["name"] if tag == "textarea" else None
        self._select = given["name"] if tag == "select" else None

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = None

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if self._area:
            self.forms[-1].fields[self._area] = data.removeprefix("\n")

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words))

    @property
    def flags(self) -> set[str]:
        return {word for _tag, given in self.tags for word in given.get("data-flag", "").split()}

    def links(self) -> list[str]:
        return [given["href"] for tag, given in self.tags if tag == "a" and given.get("href")]

    def decisions(self) -> list[Form]:
        """The forms of tasks that can be decided."""
        return [form for form in self.forms if form.action.endswith("/decision/")]

    def verdicts(self) -> list[str]:
        buttons = [button for form in self.decisions() for button in form.buttons]
        return [button["value"] for button in buttons if button["name"] == "verdict"]
