"""Django's templates, but what they write can always be sent."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.template.backends.django import DjangoTemplates, Template

from approvals import jsontext


class Page(Template):
    """Foreign text may hold half a surrogate pair, which is no UTF-8: a page with one would be no page at all."""

    def render(self, context: dict[str, Any] | None = None, request: HttpRequest | None = None) -> str:
        return jsontext.printable(super().render(context, request))


class Templates(DjangoTemplates):
    def get_template(self, template_name: str) -> Page:
        return Page(super().get_template(template_name).template, self)
