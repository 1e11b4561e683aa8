"""The addresses of this app. Names are plain: pages of the bridge link to ours by name."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, path
from django.views.generic import RedirectView

from approvals.views import audit, case, queue, sign_in

urlpatterns: list[URLPattern | URLResolver] = [
    path("", RedirectView.as_view(pattern_name="queue"), name="home"),
    path("queue/", queue.queue, name="queue"),
    path("tasks/<slug:code>/claim/", queue.claim, name="task-claim"),
    path("tasks/<slug:code>/release/", queue.release, name="task-release"),
    path("tasks/<slug:code>/decision/", case.decide, name="task-decision"),
    path("cases/<slug:code>/", case.case, name="case"),
    path("cases/<slug:code>/recall/", case.recall, name="case-recall"),
    path("audit/", audit.audit, name="audit"),
    path("accounts/login/", sign_in.SignIn.as_view(), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
]
