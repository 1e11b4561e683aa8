"""Microsoft Agent Framework (`agent-framework-ag-ui`): strict schemas, and no mixed answers in one batch."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext_noop as _

from agentbridge.dialects import kits
from agentbridge.dialects.contract import Flag, Pause, flag
from agentbridge.dialects.plain import Plain
from agentbridge.wire.record import RunView
from approvals.kit import VerdictKit

MIXED = _(
    "This agent runs nothing when some of these are approved and others rejected or cancelled: "
    "it then asks again and cannot be answered in parts. Approve all of them, or none."
)
CANCEL = _("Nobody can say what a cancel does: a workflow of this framework takes no answer for an empty one.")


class MicrosoftAgentFramework(Plain):
    """Approvals as plain AG-UI has them; workflows ask with a schema that says nothing."""

    name = "msaf"
    mark = "agent_framework"

    def flags(self, run: RunView, pauses: Sequence[Pause]) -> list[Flag]:
        return [flag("mixed-answers", MIXED)] if len(pauses) > 1 else []

    def kit(self, pause: Pause) -> VerdictKit:
        kit = kits.standard(pause)
        if pause.among > 1:
            for verdict in ("approved", "rejected", "cancelled"):
                kit = kits.noted(kit, verdict, MIXED)
        return kit if pause.interrupt.tool_call_id is not None else kits.cancel_is(kit, "unclear", CANCEL)
