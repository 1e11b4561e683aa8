"""The bridge for every test here that asks for it."""

from tests.bridge_work import quick, script, unhurried

__all__ = ["quick", "script", "unhurried"]
