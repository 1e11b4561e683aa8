"""The addresses of this app. Names are plain: pages of the bridge link to ours by name."""

from __future__ import annotations

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import URLPattern, URLResolver, path
from django.views.generic import RedirectView

from approvals.views import queue

urlpatterns: list[URLPattern | URLResolver] = [
    path("", RedirectView.as_view(pattern_name="queue"), name="home"),
    path("queue/", queue.queue, name="queue"),
    path("tasks/<slug:code>/claim/", queue.claim, name="task-claim"),
    path("tasks/<slug:code>/release/", queue.release, name="task-release"),
    path("accounts/login/", LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
]
