from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import DatabaseError
from django.utils import timezone

from agentbridge.record import verifying
from approvals.trail import bundles, verification


class Command(BaseCommand):
    help = (
        "Checks the trail and the rows it speaks of. Exit code: 0 good, 1 tampered (the first bad entry is named), "
        "2 usage, or the record cannot be read, 3 incomplete."
    )
    requires_system_checks = ()  # they load every page and the API; the servers run them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--bundle", type=Path, metavar="FILE", help="check an exported bundle, not this desk")
        parser.add_argument("--key", action="append", help="with --bundle: the log's public key, from elsewhere")
        parser.add_argument(
            "--since", type=int, metavar="SIZE", help="believe what the checkpoint of this size signed; check the rest"
        )
        parser.add_argument("--json", action="store_true", help="print the report as JSON")
        parser.add_argument("--record", action="store_true", help="put the result on the trail; without it, only reads")

    def handle(
        self, *, bundle: Path | None, key: list[str] | None, since: int | None, json: bool, record: bool, **options: Any
    ) -> None:
        if bundle and record:
            self.stderr.write("--record is for this desk's own trail; a bundle has none.")
            sys.exit(verification.USAGE)
        report = self.report(bundle, key, since)
        if record:
            verification.told(report, now=timezone.now())
        if json:
            self.stdout.write(as_json(report))
        else:
            self.tell(report)
        if report.status:
            sys.exit(report.status)

    def report(self, bundle: Path | None, keys: list[str] | None, since: int | None) -> verification.Report:
        try:
            if bundle is None:
                return verification.verify(checks=[verifying.checks], since=since)
            return bundles.verify(bundle, keys)
        except (bundles.NotABundle, LookupError) as problem:
            self.stderr.write(f"{bundle}: {problem}" if bundle else str(problem))
            sys.exit(verification.USAGE)
        except DatabaseError as problem:  # nobody is accused for what cannot be read
            self.stderr.write(f"The record cannot be read: {problem}".strip())
            sys.exit(verification.USAGE)

    def tell(self, report: verification.Report) -> None:
        result = report.to_json()["result"]
        self.stdout.write(f"{result}: {report.entries} entries, head {report.head or 'none'}")
        if report.first_bad is not None:
            self.stdout.write(f"first bad entry: {report.first_bad}")
        for finding in report.findings:
            self.stdout.write(f"- {finding.kind}: {finding.sentence}")
        for note in report.notes:
            self.stdout.write(f"note: {note}")


def as_json(report: verification.Report) -> str:
    return json.dumps(report.to_json(), indent=2)
