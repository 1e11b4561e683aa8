"""The addresses of this app. Names are plain: pages of the bridge link to ours by name."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import URLPattern, URLResolver, path
from django.views.generic import RedirectView

from approvals.views import (
    audit,
    batch,
    case,
    courtesies,
    desk,
    hidden,
    me,
    preview,
    queue,
    saved,
    sign_in,
    whole,
    workbench,
)

urlpatterns: list[URLPattern | URLResolver] = [
    path("", RedirectView.as_view(pattern_name="queue"), name="home"),
    path("queue/", queue.queue, name="queue"),
    path("queue/side-by-side/", batch.side_by_side, name="side-by-side"),
    path("queue/views/", saved.save_view, name="view-save"),
    path("queue/views/<int:number>/", saved.change_view, name="view-change"),
    path("tasks/<slug:code>/claim/", courtesies.claim, name="task-claim"),
    path("tasks/<slug:code>/release/", courtesies.release, name="task-release"),
    path("tasks/<slug:code>/take-over/", courtesies.take_over, name="task-take-over"),
    path("tasks/<slug:code>/not-now/", courtesies.not_now, name="task-not-now"),
    path("tasks/<slug:code>/pick-up/", courtesies.pick_up, name="task-pick-up"),
    path("tasks/<slug:code>/decision/", case.decide, name="task-decision"),
    path("tasks/<slug:code>/text/<slug:part>/", whole.text, name="task-text"),
    path("tasks/<slug:code>/preview/", preview.preview, name="task-preview"),
    path("tasks/<slug:code>/draft/", desk.draft, name="task-draft"),
    path("tasks/<slug:code>/note/", desk.note, name="task-note"),
    path("tasks/<slug:code>/precedents/", desk.precedents, name="task-precedents"),
    path("cases/<slug:code>/", case.case, name="case"),
    path("cases/<slug:code>/reading/", desk.reading_now, name="case-reading"),
    path("cases/<slug:code>/recall/", case.recall, name="case-recall"),
    path("cases/<slug:code>/show-hidden/", hidden.show, name="case-show-hidden"),
    path("cases/<slug:code>/findings/", workbench.finding_note, name="finding-note"),
    path("audit/", audit.audit, name="audit"),
    path("audit/questions/", workbench.question_save, name="question-save"),
    path("audit/questions/<int:number>/forget/", workbench.question_forget, name="question-forget"),
    path("audit/samples/", workbench.sample_draw, name="sample-draw"),
    path("audit/samples/<int:number>/", workbench.sample_page, name="sample-page"),
    path("audit/findings/", workbench.finding_list, name="finding-list"),
    path("audit/findings/<int:number>/close/", workbench.finding_close, name="finding-close"),
    path("accounts/me/", me.me, name="me"),
    path("accounts/login/", sign_in.SignIn.as_view(), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
]
