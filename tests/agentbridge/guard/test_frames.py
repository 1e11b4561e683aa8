"""A recorded stream told again."""

from __future__ import annotations

import pytest

from agentbridge.guard.frames import Retelling

STREAM = (
    b': hi\n\ndata: {"type":"RUN_STARTED","threadId":"t","runId":"old","input":{"runId":"old","n":1.0}}\n\n'
    b'id: 1\r\ndata: {"type":"CUSTOM","name":"runId","value":"old"}\r\n\r\n'
    b'data: {"type":"RUN_FINISHED",\rdata: "runId":"old","result":{"runId":"old"}}\r\r'
)
TOLD = (
    b': hi\n\ndata: {"type":"RUN_STARTED","threadId":"t","runId":"new","input":{"runId":"new","n":1.0}}\n\n'
    b'id: 1\r\ndata: {"type":"CUSTOM","name":"runId","value":"old"}\r\n\r\n'
)


@pytest.mark.parametrize("size", range(1, 9))
def test_only_the_run_id_changes_wherever_the_network_cuts(size: int) -> None:
    retelling = Retelling(was="old", now="new")
    parts = [retelling.feed(STREAM[n : n + size]) for n in range(0, len(STREAM), size)]
    told = b"".join([*parts, retelling.close()])
    assert told.startswith(TOLD)
    assert told[len(TOLD) :].count(b'"new"') == 1 and told.count(b'"result":{"runId":"old"}') == 1


def test_under_the_same_id_every_byte_stays() -> None:
    retelling = Retelling(was="old", now="old")
    assert retelling.feed(STREAM) + retelling.close() == STREAM


def test_another_id_than_the_one_that_was_asked_with_stays() -> None:
    frame = b'data: {"type":"RUN_FINISHED","threadId":"t","runId":"its own"}\n\n'
    assert Retelling(was="old", now="new").feed(frame) == frame
