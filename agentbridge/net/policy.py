"""Where agents may be reached, and what is said when one cannot be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from django.conf import settings
from django.utils.translation import gettext as _

from agentbridge.net import allowlist

Kind = Literal["refused", "dns", "tls", "timeout", "not_allowed", "reset", "limit"]
Moment = Callable[[], Awaitable[None]]


class EgressError(Exception):
    """A request that failed on the way. `nothing_sent`: not one byte of it can have arrived."""

    def __init__(self, kind: Kind, sentence: str, *, nothing_sent: bool) -> None:
        super().__init__(sentence)
        self.kind, self.sentence, self.nothing_sent = kind, sentence, nothing_sent


class NotAllowed(EgressError):
    """The address policy says no."""

    def __init__(self, sentence: str) -> None:
        super().__init__("not_allowed", sentence, nothing_sent=True)


@dataclass(frozen=True)
class Policy:
    """Unlisted: https on 443 to public addresses. Listed in EGRESS_ALLOW: there too, by http as well. Some: never."""

    entries: Sequence[allowlist.Entry] = ()

    @classmethod
    def from_settings(cls) -> Policy:
        return cls(settings.EGRESS_ALLOW)

    def check(self, host: str, port: int, scheme: str, address: allowlist.Address) -> None:
        """Raises NotAllowed with the reason."""
        if allowlist.is_forbidden(address):
            raise NotAllowed(_("%(host)s is at %(address)s, where no agent may be.") % _where(host, port, address))
        if allowlist.is_listed(self.entries, host, port, address):
            return
        if not allowlist.is_public(address):
            text = _("%(host)s is at the internal address %(address)s, which EGRESS_ALLOW does not list.")
        elif scheme != "https":
            text = _("%(host)s is not listed in EGRESS_ALLOW, so only https is allowed.")
        elif port != 443:
            text = _("%(host)s is not listed in EGRESS_ALLOW, so only port 443 is allowed, not %(port)s.")
        else:
            return
        raise NotAllowed(text % _where(host, port, address))


def _where(host: str, port: int, address: allowlist.Address) -> dict[str, str]:
    return {"host": host, "port": str(port), "address": str(address)}
