"""Where both apps hang. `agentbridge` comes first: its API paths are the more specific ones."""

from __future__ import annotations

from django.urls import include, path

urlpatterns = [
    path("i18n/", include("django.conf.urls.i18n")),
    path("", include("agentbridge.urls")),
    path("", include("approvals.urls")),
]

handler400 = "approvals.views.returning.not_understood"
handler404 = "config.faults.missing"
handler500 = "config.faults.broken"
