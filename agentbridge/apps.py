from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from agentbridge import stored
from approvals import sentences


class AgentBridgeConfig(AppConfig):
    name = "agentbridge"
    verbose_name = _("Agent bridge")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        sentences.register(stored.TEMPLATES)
