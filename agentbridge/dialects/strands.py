"""Strands (`ag-ui-strands`): closest to the Interrupts page. Its tools may also ask questions of their own."""

from __future__ import annotations

from django.utils.translation import gettext_noop as _

from agentbridge.dialects import kits
from agentbridge.dialects.contract import Pause
from agentbridge.dialects.plain import Plain
from agentbridge.wire.record import InterruptView, RunView
from approvals import jsontext
from approvals.kit import VerdictKit

CANCEL = _('Nobody can say what a cancel does: the tool sees {"cancelled": true} and may go on.')


class Strands(Plain):
    """Approvals of its hook are safe to cancel; what a tool or a hook of the agent's own asks is not."""

    name = "strands"
    mark = "strandsName"

    def evident(self, run: RunView) -> bool:
        return super().evident(run) or any(is_native(interrupt) for interrupt in run.interrupts)

    def kit(self, pause: Pause) -> VerdictKit:
        kit = kits.standard(pause)
        return kits.cancel_is(kit, "unclear", CANCEL) if is_native(pause.interrupt) else kit


def is_native(interrupt: InterruptView) -> bool:
    """A question of a tool's own: everything it says stands in `metadata.reason`, which is all its metadata."""
    bare = interrupt.message is None and interrupt.response_schema is None and interrupt.tool_call_id is None
    return bare and list(jsontext.members(interrupt.metadata or "{}")) == ["reason"]
