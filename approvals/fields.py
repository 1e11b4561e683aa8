"""Model fields for text that databases refuse or change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import models

from approvals import jsontext


class OpaqueTextField(models.Field):
    """Foreign text, kept exactly: any length, NUL and lone surrogates included.

    PostgreSQL text refuses NUL and surrogates, so the column holds UTF-8 bytes (`surrogatepass`) and the attribute is
    a `str`. Such a column cannot be searched by the database: search goes by a SHA-256 key or a cleaned copy beside it.
    """

    description = "Text kept byte for byte"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("editable", False)
        super().__init__(*args, **kwargs)

    def get_internal_type(self) -> str:
        return "BinaryField"

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> str | None:
        return self.to_python(value)

    def to_python(self, value: Any) -> Any:
        return bytes(value).decode("utf-8", "surrogatepass") if isinstance(value, bytes | memoryview) else value

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        value = super().get_db_prep_value(value, connection, prepared)
        if isinstance(value, str):
            value = value.encode("utf-8", "surrogatepass")
        return None if value is None else connection.Database.Binary(value)


class SentenceField(models.TextField):
    """A sentence that people read and that may quote foreign text: what a column of text refuses stands as its escape.

    To migrations it is the TextField that the column is.
    """

    def deconstruct(self) -> tuple[str, str, Sequence[Any], dict[str, Any]]:
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.TextField", args, kwargs

    def get_prep_value(self, value: Any) -> Any:
        text = super().get_prep_value(value)
        return jsontext.storable(text) if isinstance(text, str) else text


class SentencesField(models.JSONField):
    """The same for a list of objects whose members are such sentences; to migrations a JSONField."""

    def deconstruct(self) -> tuple[str, str, Sequence[Any], dict[str, Any]]:
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.JSONField", args, kwargs

    def get_prep_value(self, value: Any) -> Any:
        listed = super().get_prep_value(value)
        return [_storable(each) for each in listed] if isinstance(listed, list) else listed


def _storable(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: jsontext.storable(said) if isinstance(said, str) else said for name, said in members.items()}


class BytesField(models.BinaryField):
    """Bytes as received or sent; always read back as `bytes` (PostgreSQL drivers hand out memoryviews)."""

    description = "Bytes kept as they are"

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> bytes | None:
        return None if value is None else bytes(value)


START = 200  # bytes


class Start(models.Func):
    """The first bytes of an opaque text, for an index: trees of PostgreSQL refuse long keys."""

    template = f"SUBSTR(%(expressions)s, 1, {START})"  # written out: SQLite looks for the same words in its indexes
    output_field = OpaqueTextField()


def raw(column: str) -> models.ExpressionWrapper:
    """The bytes of an opaque text, for a query that need not read it."""
    return models.ExpressionWrapper(models.F(column), output_field=BytesField())


def text_of(data: bytes | memoryview) -> str:
    """The text that stored bytes spell, surrogates included."""
    return bytes(data).decode("utf-8", "surrogatepass")
