"""Evidence bundles: the entries of a filter with everything that proves them, in one zip that needs nobody's help.

    manifest.json · manifest.sig    which log, which filter, how many entries, the digest of every file; signed
    entries.jsonl                   one entry a line: body, leaf hash, side texts and salts (base64; null: erased)
    tree.jsonl                      the subtrees between the entries: with them, they make every signed root
    checkpoints/ · log-keys.txt     signed states of the trail, and the keys that signed them
    entries.csv · summary.html      for people
    sealed.jsonl · runs/ · …        what other apps add (`extras`)
    README.txt · verify.py · verify.mjs
"""

from __future__ import annotations

from pathlib import Path

from approvals.trail.bundles.verify import Unusable as NotABundle
from approvals.trail.bundles.verify import check
from approvals.trail.bundles.writing import Bundle, Extra, Found, begin, pieces, write
from approvals.trail.verification import Finding, Report

__all__ = ["Bundle", "Extra", "Found", "NotABundle", "begin", "pieces", "verify", "write"]


def verify(path: Path, keys: list[str] | None = None) -> Report:
    """Check a bundle with nothing but the bundle, by the program that is in it. Raises NotABundle."""
    told = check(path, keys)
    findings = [Finding(found["kind"], found["sentence"], found["seq"]) for found in told["findings"]]
    return Report(entries=told["entries"], head=told["head"], findings=findings, notes=told["notes"])
