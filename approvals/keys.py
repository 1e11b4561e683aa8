"""Keys for one purpose each, derived from SIGNING_KEY by label, so that one leaked purpose opens no other."""

from __future__ import annotations

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


def derived(label: str) -> list[bytes]:
    """32 bytes for `label` from each signing key, newest first: sign with the first, verify with any."""
    return [
        HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=f"countersign/{label}".encode()).derive(key)
        for key in settings.SIGNING_KEYS
    ]
