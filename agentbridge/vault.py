"""Secrets at rest: agents' credentials are encrypted before they reach the database."""

from __future__ import annotations

import base64
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import models


class Unreadable(Exception):
    """Stored with a key that is no longer in FIELD_KEY."""


def _fernet() -> MultiFernet:
    # The newest key encrypts; older ones still decrypt, so keys can be changed without a stop.
    return MultiFernet([Fernet(base64.urlsafe_b64encode(key)) for key in settings.FIELD_KEYS])


def encrypt(text: str) -> str:
    return _fernet().encrypt(text.encode()).decode("ascii")


def decrypt(token: str) -> str:
    """The text behind `encrypt`. Raises Unreadable, which never quotes the token."""
    try:
        return _fernet().decrypt(token.encode("ascii")).decode()
    except InvalidToken:
        raise Unreadable("A stored secret cannot be read with the keys in FIELD_KEY.") from None


class EncryptedTextField(models.TextField):
    """Text that only this deployment's FIELD_KEY can read. "" stays "": the database can see that nothing is stored."""

    description = "Encrypted text"

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> str | None:
        return decrypt(value) if value else value

    def get_prep_value(self, value: Any) -> Any:
        text = super().get_prep_value(value)
        return encrypt(text) if text else text
