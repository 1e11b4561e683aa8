"""The entries as a table that spreadsheets open, and that no spreadsheet executes."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from approvals.trail import chain

HEADINGS = ("number", "at", "verb", "person", "case", "task", "sentence", "refs", "data")
# Wide and small signs are formulas where such are typed; blanks and marks without width before them are skipped.
RUNS = re.compile("[\\s\u200b-\u200f\u2060-\u2064\ufeff]*[=+\\-@＝＋－＠﹦﹢﹣﹫\t\r\n\0]")


def cells(row: Mapping[str, Any]) -> list[str]:
    names = ("verb", "actor__username", "case__code", "task__code", "sentence", "refs", "data")
    told = [str(row["seq"]), chain.moment(row["at"]), *("" if row[name] is None else row[name] for name in names)]
    return [harmless(text) for text in told]


def harmless(text: str) -> str:
    """An apostrophe before whatever a spreadsheet would take for a formula; NUL as its picture."""
    shown = text.replace("\0", "␀")
    return f"'{shown}" if RUNS.match(text) else shown


def line(cells: Sequence[str]) -> bytes:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerow(cells)
    return out.getvalue().encode("utf-8", "backslashreplace")
