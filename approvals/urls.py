"""The addresses of this app. Names are plain: pages of the bridge link to ours by name."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, path
from django.views.generic import RedirectView

from approvals.views import queue, sign_in

urlpatterns: list[URLPattern | URLResolver] = [
    path("", RedirectView.as_view(pattern_name="queue"), name="home"),
    path("queue/", queue.queue, name="queue"),
    path("tasks/<slug:code>/claim/", queue.claim, name="task-claim"),
    path("tasks/<slug:code>/release/", queue.release, name="task-release"),
    path("accounts/login/", sign_in.SignIn.as_view(), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
]
