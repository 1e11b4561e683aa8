"""The bridge, and a bundle of what it did, for every test here that asks for them."""

from tests.agentbridge.bundled import kept, whole
from tests.bridge_work import quick, script, unhurried

__all__ = ["kept", "quick", "script", "unhurried", "whole"]
