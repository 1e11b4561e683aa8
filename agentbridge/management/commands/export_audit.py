from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from agentbridge.record import evidence
from approvals import audit
from approvals.models import AuditEntry
from approvals.trail import bundles, checkpoints, trailsearch


class Command(BaseCommand):
    help = "Writes an evidence bundle of exactly the entries that the filter asks for."
    requires_system_checks = ()  # they load every page and the API; the servers run them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--out", required=True, type=Path, metavar="FILE")
        for name in ("agent", "thread", "actor", "verb"):
            parser.add_argument(f"--{name}", default="")
        for name in ("since", "until"):
            parser.add_argument(f"--{name}", default="", metavar="TIME", help="ISO 8601; without a zone: UTC")

    def handle(self, *, out: Path, **options: Any) -> None:
        wanted = {name: options[name] for name in ("agent", "thread", "actor", "verb", "since", "until")}
        times = {name: moment(name, wanted[name]) for name in ("since", "until")}
        check_verb(wanted["verb"])
        entries = trailsearch.filtered(AuditEntry.objects.all(), **{**wanted, **times})
        try:
            bundle = bundles.begin(entries, wanted, extras=[evidence.extras], now=timezone.now())
            count = bundles.write(out, bundle)
        except checkpoints.Broken as broken:
            raise CommandError(f"Nothing is exported from a trail that is not whole: {broken}") from None
        except OSError as problem:
            raise CommandError(f"{out} cannot be written: {problem.strerror}.") from None
        said = {name: value for name, value in wanted.items() if value}
        audit.record(
            "export.made",
            f"{count} entries were exported.",
            data={"filter": said, "entries": count},
            now=timezone.now(),
        )
        self.stdout.write(f"{count} entries in {out}")


def check_verb(verb: str) -> None:
    """An empty bundle would say that nothing of the kind ever happened. Older versions may have had other verbs."""
    if verb and verb not in audit.verbs() and not AuditEntry.objects.filter(verb=verb).exists():
        raise CommandError(f"--verb: no entry is called “{verb}”; docs/auditing.md lists what entries are called.")


def moment(name: str, text: str) -> datetime | None:
    """A time of the filter; None when it is not asked for."""
    if not text:
        return None
    try:
        read = parse_datetime(text) or datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(f"--{name}: “{text}” is not a time.") from None
    return read if timezone.is_aware(read) else timezone.make_aware(read)
