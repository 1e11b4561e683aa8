"""The evidence bundle of a question, as a download: exactly what the page lists, whole, and streamed as it is made."""

from __future__ import annotations

from collections.abc import AsyncIterator

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from agentbridge.record import evidence
from agentbridge.work.database import DatabaseThreads
from approvals import audit, permissions
from approvals.requests import PersonRequest
from approvals.trail import bundles, checkpoints
from approvals.trail.bundles import Bundle
from approvals.workbench import question


@require_POST
@login_required
def export(request: PersonRequest) -> HttpResponseBase:
    """The question stands in the address, as on the page. The export is on the trail before its first byte."""
    if not permissions.sees_all(request.user):
        raise PermissionDenied(_("Only those who may read everything carry evidence away."))
    asked, now = question.asked(request.GET), timezone.now()
    if asked.problems:
        return HttpResponse("\n".join(asked.problems), status=400, content_type="text/plain; charset=utf-8")
    try:
        bundle = bundles.begin(asked.entries(request.user), asked.told, extras=[evidence.extras], now=now)
    except checkpoints.Broken as broken:
        told = _("Nothing is exported from a trail that is not whole: %(why)s") % {"why": broken}
        return HttpResponse(told, status=409, content_type="text/plain; charset=utf-8")
    count = bundle.entries.count()
    said = f"{request.user.display_name} exported {count} entries."
    audit.record("export.made", said, actor=request.user, data={"filter": asked.told, "entries": count}, now=now)
    answer = StreamingHttpResponse(_flowing(bundle), content_type="application/zip")
    answer["Content-Disposition"] = f'attachment; filename="evidence-{now:%Y%m%d-%H%M%S}.zip"'
    return answer


async def _flowing(bundle: Bundle) -> AsyncIterator[bytes]:
    """Each piece is made in one thread of its own, which keeps its database connection to the end."""
    thread = DatabaseThreads(1, keep=True)
    pieces = bundles.pieces(bundle)
    try:
        while (piece := await thread(next, pieces, None)) is not None:
            yield piece
    finally:
        await thread(pieces.close)
        await thread.close()
