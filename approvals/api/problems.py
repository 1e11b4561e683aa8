"""Everything that goes wrong in the API leaves as `application/problem+json` (RFC 9457), with a code for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

from approvals import jsontext
from approvals.api.stamps import stamp
from approvals.refusals import AlreadyDecided, Invalid, Refused, Unread
from approvals.schemas import Problem

MEDIA_TYPE = "application/problem+json"


class ApiProblem(Exception):
    """An answer other than 2xx, with its code, its sentence and extra members."""

    def __init__(
        self, status: int, code: str, detail: str, *, errors: Sequence[Problem] = (), retry_after: int = 0, **more: Any
    ) -> None:
        super().__init__(detail)
        self.status, self.code, self.detail = status, code, detail
        self.errors, self.retry_after, self.more = errors, retry_after, more


def bad_query(detail: str) -> ApiProblem:
    return ApiProblem(400, "bad_query", detail)


def not_found() -> ApiProblem:
    return ApiProblem(404, "not_found", _("There is nothing here that you may see."))


def invalid(*errors: Problem, code: str = "invalid") -> ApiProblem:
    detail = errors[0].message if errors else _("The body does not fit.")
    return ApiProblem(422, code, detail, errors=errors)


def response(problem: ApiProblem) -> HttpResponse:
    """The answer's bytes; `type` is a relative reference into `docs/api.md`."""
    body: dict[str, Any] = {
        "type": f"/problems/{problem.code}",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": problem.detail,
        "code": problem.code,
        **problem.more,
    }
    if problem.errors:
        body["errors"] = [{"pointer": found.pointer, "message": found.message} for found in problem.errors]
    answer = HttpResponse(jsontext.dumps(body), status=problem.status, content_type=MEDIA_TYPE)
    if problem.status == 401:
        answer["WWW-Authenticate"] = "Bearer"
    if problem.retry_after:
        answer["Retry-After"] = str(problem.retry_after)
    return answer


def of_refusal(refused: Refused) -> ApiProblem:
    """A verb's refusal with its code: 403, 409 or 422, and who decided first where somebody did."""
    if isinstance(refused, Invalid):
        return ApiProblem(refused.status, refused.code, str(refused), errors=list(refused.problems))
    more: dict[str, Any] = {}
    if isinstance(refused, AlreadyDecided):
        by = refused.by.username if refused.by else None
        more = {"by": by, "verdict": str(refused.verdict), "at": stamp(refused.at)}
    if isinstance(refused, Unread):
        more = {"unread": refused.parts}
    return ApiProblem(refused.status, refused.code, str(refused), **more)


def of_query(error: ValidationError) -> ApiProblem:
    """Ninja only reads queries and paths for us; bodies are read by `approvals.api.bodies`."""
    said = [f"{found['loc'][-1]}: {found['msg']}" for found in error.errors]
    return bad_query("; ".join(said))


def install(api: NinjaAPI, more: Mapping[type[Exception], Any] | None = None) -> None:
    """Make every exception of the API a problem; `more` turns further exceptions into an `ApiProblem`."""
    makers: dict[type[Exception], Any] = {
        ApiProblem: lambda problem: problem,
        Refused: of_refusal,
        Http404: lambda _missing: not_found(),
        ValidationError: of_query,
        AuthenticationError: lambda _error: ApiProblem(401, "unauthorized", _("Send the Bearer token of a person.")),
        HttpError: lambda error: ApiProblem(error.status_code, "refused", str(error)),
        RequestDataTooBig: lambda _error: ApiProblem(413, "too_large", _("The body is larger than we read.")),
        **(more or {}),
    }
    for kind, make in makers.items():

        def handle(request: HttpRequest, error: Any, make: Any = make) -> HttpResponse:
            return response(make(error))

        api.add_exception_handler(kind, handle)
