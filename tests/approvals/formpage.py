"""A form as a browser has it: parsed from the page, filled in by pointer, posted with CRLF line ends."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from django.template.loader import render_to_string

from approvals import forms
from approvals.forms import FieldTree


@dataclass
class FormPage(HTMLParser):
    """The controls of one drawn form."""

    source: str
    values: dict[str, str] = field(default_factory=dict)
    pointers: dict[str, dict[str, str]] = field(default_factory=dict)
    options: dict[str, list[str]] = field(default_factory=dict)
    buttons: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    area: str = ""
    menu: str = ""

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids += [given["id"]] if "id" in given else []
        if "data-pointer" in given:
            assert given["data-pointer"] not in self.pointers, "one element a pointer"
            self.pointers[given["data-pointer"]] = given
        name = given.get("name", "")
        if tag == "button":
            self.buttons.append(given["value"])
        elif tag == "option":
            self.options[self.menu].append(given["value"])
            if "selected" in given or len(self.options[self.menu]) == 1:
                self.values[self.menu] = given["value"]
        elif tag == "select":
            self.menu, self.options[name] = name, []
        elif tag == "textarea":
            self.area, self.values[name] = name, ""
        elif tag == "input" and (given.get("type") not in ("checkbox", "radio") or "checked" in given):
            self.values[name] = given.get("value", "").replace("\n", "").replace("\r", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            # HTML drops one line break after the tag, and a browser knows no lone carriage return.
            held = self.values[self.area].removeprefix("\n").replace("\r\n", "\n").replace("\r", "\n")
            self.values[self.area], self.area = held, ""

    def handle_data(self, data: str) -> None:
        if self.area:
            self.values[self.area] += data

    def posted(self, **more: str) -> dict[str, str]:
        return {name: value.replace("\n", "\r\n") for name, value in {**self.values, **more}.items()}

    def type(self, pointer: str, text: str) -> None:
        self.values[self.pointers[pointer]["name"]] = text

    def tick(self, pointer: str) -> None:
        self.values[self.pointers[pointer]["name"]] = self.pointers[pointer].get("value", "on")

    def choose_null(self, pointer: str) -> None:
        self.values[self.pointers[pointer]["name"]] = self.pointers[pointer]["data-null-value"]


def draw(tree: FieldTree) -> FormPage:
    fields = render_to_string("approvals/fields/_fields.html", {"tree": tree})
    return FormPage(fields + render_to_string("approvals/fields/_whole.html", {"tree": tree}))


@dataclass
class Filled:
    """A form for a schema and a value, over as many rounds as buttons are pressed."""

    schema: Any = None
    value: str | None = None
    prefix: str = "v"
    text: str | None = None  # of a schema that Python would not write

    def __post_init__(self) -> None:
        self.schema_text = json.dumps(self.schema) if self.schema is not None else self.text
        self.page = self.shown(None)

    def shown(self, post: dict[str, str] | None, **more: Any) -> FormPage:
        self.tree = forms.build(self.schema_text, self.value, prefix=self.prefix, post=post, **more)
        return draw(self.tree)

    def press(self, action: str) -> None:
        assert action in self.page.buttons
        post = self.page.posted(action=action)
        assert forms.is_structural(post)
        self.page = self.shown(post)

    def read(self) -> forms.Read:
        return forms.read(self.page.posted(), self.schema_text, self.value, prefix=self.prefix)
