"""Pydantic AI (`AGUIAdapter`) and django-ag-ui: stateless, they run what the resent history says."""

from __future__ import annotations

from agentbridge.dialects.plain import Plain
from agentbridge.wire.record import RunView
from approvals import jsontext

SCHEMA = (
    '{"properties":{"approved":{"type":"boolean"},"editedArgs":{"type":"object"},"reason":{"type":"string"}},'
    '"required":["approved"],"type":"object"}'
)


class PydanticAI(Plain):
    """Plain answers; but without the reviewed call in the history nothing may be sent (R-18)."""

    name = "pydantic_ai"
    needs_history = True

    def evident(self, run: RunView) -> bool:
        """It signs nothing: its one schema, and no snapshot ever, are what it is known by."""
        schemas = [interrupt.response_schema for interrupt in run.interrupts]
        known = bool(schemas) and all(schema is not None and jsontext.same(schema, SCHEMA) for schema in schemas)
        return known and not run.snapshot_seen
