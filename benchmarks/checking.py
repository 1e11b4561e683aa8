"""What it costs to check an answer against the small schema that most agents send, beside the library by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from time import perf_counter

from jsonschema import Draft202012Validator

from approvals import schemas
from benchmarks import Measured, row

SCHEMA = '{"type":"object","properties":{"approved":{"type":"boolean"}},"required":["approved"]}'
ANSWER = '{"approved":true}'
CHECKS = 1_000
REPEATS = 7


@row("checking", what="one answer against a small schema, numbers by their text", goal="≤ 1 ms")
def checking() -> Measured:
    bare = Draft202012Validator(json.loads(SCHEMA))
    ours, library = [], []
    for _ in range(REPEATS):
        ours.append(milliseconds(lambda: schemas.problems(SCHEMA, ANSWER)))
        library.append(milliseconds(lambda: list(bare.iter_errors(json.loads(ANSWER)))))
    return Measured(
        figure=f"{min(ours):.3f} ms", met=min(ours) <= 1, detail=f"jsonschema by itself: {min(library):.3f} ms"
    )


def milliseconds(check: Callable[[], object]) -> float:
    """Of one, in a round of many."""
    began = perf_counter()
    for _ in range(CHECKS):
        check()
    return (perf_counter() - began) / CHECKS * 1000
