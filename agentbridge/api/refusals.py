"""Refusals of the bridge as problems of the API."""

from __future__ import annotations

from agentbridge import links
from agentbridge.runs.starting import ThreadOpen
from agentbridge.wire.protocol import ProtocolError
from approvals import jsontext
from approvals.api.problems import ApiProblem, invalid
from approvals.schemas import Problem


def of_open_thread(refused: ThreadOpen) -> ApiProblem:
    """409 with what is open on the thread, by id and by page."""
    pages = [links.absolute(links.case_page(code)) for code in refused.cases]
    return ApiProblem(409, "thread_open", str(refused), ids=list(refused.ids), links=pages)


def of_protocol(error: ProtocolError) -> ApiProblem:
    """A body that is no RunAgentInput, with a pointer to the member where it is known."""
    return invalid(Problem(jsontext.pointer(error.field) if error.field else "", str(error)))
