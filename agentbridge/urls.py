"""The addresses of this app. Names are plain: pages of `approvals` include fragments of ours by name."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from agentbridge.views import health

urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.metrics, name="metrics"),
]
