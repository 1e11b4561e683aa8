"""The addresses of this app. Names are plain: pages of `approvals` include fragments of ours by name."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, path

from agentbridge.api.mount import api
from agentbridge.views import (
    agents,
    cases,
    deliveries,
    discovery,
    erasures,
    exporting,
    health,
    incidents,
    record,
    runs,
    tending,
    ways,
)

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/v1/", api.urls),
    path("agents/", agents.agent_list, name="agent-list"),
    path("agents/new/", tending.agent_new, name="agent-new"),
    path("agents/<slug:slug>/", agents.agent_detail, name="agent-page"),
    path("agents/<slug:slug>/start/", agents.agent_start, name="agent-start"),
    path("agents/<slug:slug>/edit/", tending.agent_edit, name="agent-edit"),
    path("agents/<slug:slug>/token/", tending.agent_token, name="agent-token"),
    path("agents/<slug:slug>/switch/", tending.agent_switch, name="agent-switch"),
    path("agents/<slug:slug>/replay/", tending.agent_replay, name="agent-replay"),
    path("agents/<slug:slug>/test/", tending.agent_test, name="agent-test"),
    path("agents/<slug:slug>/runs/", runs.run_detail, name="run-page"),
    path("agents/<slug:slug>/runs/stream/", runs.run_stream, name="run-stream"),
    path("agents/<slug:slug>/runs/input/", runs.run_input, name="run-input"),
    path("cases/<slug:code>/standing/", cases.case_standing, name="case-standing"),
    path("cases/<slug:code>/delivery/", cases.case_delivery, name="case-delivery"),
    path("cases/<slug:code>/delivery/settle/", cases.case_settle, name="case-settle"),
    path("cases/<slug:code>/runs/", cases.case_runs, name="case-runs"),
    path("cases/<slug:code>/record/", record.case_record, name="case-record"),
    path("audit/export/", exporting.export, name="audit-export"),
    path("audit/erasures/", erasures.erasure_list, name="erasure-list"),
    path("audit/erasures/ask/", erasures.erasure_ask, name="erasure-ask"),
    path("audit/erasures/<int:number>/", erasures.erasure_do, name="erasure-do"),
    path("audit/holds/", erasures.hold_place, name="hold-place"),
    path("audit/holds/<int:number>/lift/", erasures.hold_lift, name="hold-lift"),
    path("audit/retention/", erasures.rule_ask, name="rule-ask"),
    path("audit/retention/<int:number>/", erasures.rule_settle, name="rule-settle"),
    path("incidents/<int:number>/close/", incidents.incident_close, name="incident-close"),
    path("deliveries/", deliveries.delivery_list, name="delivery-list"),
    path("agui/<slug:slug>", ways.relay, name="relay"),
    path("agui/<slug:slug>/push", ways.push, name="push"),
    path("agui/<slug:slug>/resumes", ways.resumes, name="resumes"),
    path("agui/<slug:slug>/threads/<opaque:thread_id>/events", ways.thread_events, name="thread-events"),
    path(".well-known/countersign", discovery.about, name="about"),
    path(".well-known/jwks.json", discovery.jwks, name="jwks"),
    path(".well-known/jwks-archive.json", discovery.archive, name="jwks-archive"),
    path(".well-known/checkpoint", discovery.checkpoint, name="checkpoint"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", health.metrics, name="metrics"),
]
