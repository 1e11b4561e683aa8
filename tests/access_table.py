"""Every address and what each kind of person gets there. A route without a row fails `test_access`.

Columns: nobody signed in · reviewer of the queue · reviewer of another queue · operator · auditor · admin.
`{…}` stand for what the world of the test holds. API rows are asked with the person's token, pages with a session.
"""

from __future__ import annotations

EVERYBODY = "200 200 200 200 200 200"
SIGNED_IN = "302 200 200 200 200 200"
PERSONS = "401 200 200 200 200 200"
TOKEN_SEES = "401 200 404 200 200 200"
PAGE_SEES = "302 200 404 200 200 200"
OPERATORS = "401 403 404 409 403 403"  # 409: theirs to do, but not where the world's case is
AGENTS = "401 401 401 401 401 401"  # the agent's own callers and host only
CLOSED = "404 404 404 404 404 404"
ADMINS = "302 403 403 403 403 200"

API = {
    "GET api/v1/": CLOSED,
    "GET api/v1/openapi.json": EVERYBODY,
    "GET api/v1/tasks": PERSONS,
    "GET api/v1/tasks/<code>": TOKEN_SEES,
    "POST api/v1/tasks/<code>/claim": "401 200 404 403 403 403",
    "POST api/v1/tasks/<code>/release": "401 409 404 409 403 403",  # 409: there is nothing to give back
    "POST api/v1/tasks/<code>/decision": "401 200 404 403 403 403",
    "GET api/v1/audit": PERSONS,
    "GET api/v1/cases/<code>": TOKEN_SEES,
    "GET api/v1/cases/<code>/trail": TOKEN_SEES,
    "POST api/v1/cases/<code>/recall": "401 409 404 409 403 403",
    "POST api/v1/cases/<code>/resolve-doubt": OPERATORS,
    "POST api/v1/cases/<code>/close-expired": OPERATORS,
    "POST api/v1/cases/<code>/accept-deviation": OPERATORS,
    "POST api/v1/cases/<code>/rebind": OPERATORS,
    "POST api/v1/cases/<code>/unblock": OPERATORS,
    "POST api/v1/cases/<code>/abandon": "401 403 404 200 403 403",
    "POST api/v1/agents/<slug>/runs": "401 202 404 202 403 403",
    "GET api/v1/runs": PERSONS,
    "GET api/v1/runs/stream": TOKEN_SEES,
    "GET api/v1/runs/<opaque:run_id>/stream": TOKEN_SEES,
    "GET api/v1/incidents": PERSONS,
    "POST api/v1/incidents/<int:number>/close": "401 403 404 200 403 403",
    "POST agui/<slug:slug>": AGENTS,
    "POST agui/<slug:slug>/push": AGENTS,
    "GET agui/<slug:slug>/resumes": AGENTS,
    "GET agui/<slug:slug>/threads/<opaque:thread_id>/events": AGENTS,
    "GET metrics": "401 403 403 200 200 200",
}
PAGES = {
    "GET ": "302 302 302 302 302 302",
    "GET queue/": SIGNED_IN,
    "GET queue/side-by-side/": SIGNED_IN,
    "POST queue/side-by-side/": "302 422 422 422 422 422",  # 422: nothing was in the list
    "POST queue/views/": "302 302 302 302 302 302",
    "POST queue/views/<int:number>/": "302 404 404 404 404 404",  # there is no such view
    "GET tasks/<slug:code>/take-over/": PAGE_SEES,
    "POST tasks/<slug:code>/take-over/": "302 409 404 403 403 403",  # 409: nobody is on it
    "GET tasks/<slug:code>/not-now/": PAGE_SEES,
    "POST tasks/<slug:code>/not-now/": "302 302 404 403 403 403",
    "POST tasks/<slug:code>/pick-up/": "302 302 404 302 302 302",
    "POST tasks/<slug:code>/claim/": "302 302 404 302 302 302",  # a refusal is told on the page they came from
    "GET audit/": SIGNED_IN,
    "POST audit/questions/": "302 303 303 303 303 303",
    "POST audit/questions/<int:number>/forget/": "302 404 404 404 303 404",  # the auditor's own
    "POST audit/samples/": "302 403 403 403 303 303",
    "GET audit/samples/<int:number>/": "302 404 404 404 200 200",
    "GET audit/findings/": "302 403 403 200 200 200",
    "POST audit/findings/<int:number>/close/": "302 404 404 403 303 403",
    "POST cases/<slug:code>/findings/": "302 403 404 403 303 403",
    "GET cases/<slug:code>/record/": PAGE_SEES,
    "POST audit/export/": "302 403 403 200 200 200",
    "GET audit/erasures/": "302 403 403 200 200 200",
    "POST audit/erasures/ask/": "302 403 403 404 404 404",
    "POST audit/erasures/<int:number>/": "302 403 403 403 303 303",  # whoever asked may take it back
    "POST audit/holds/": "302 403 403 403 303 303",
    "POST audit/holds/<int:number>/lift/": "302 403 403 403 403 303",
    "POST audit/retention/": "302 403 403 403 403 303",
    "POST audit/retention/<int:number>/": "302 403 403 403 403 303",
    "GET cases/<slug:code>/": PAGE_SEES,
    "POST tasks/<slug:code>/decision/": "302 303 404 403 403 403",
    "GET tasks/<slug:code>/text/<slug:part>/": PAGE_SEES,
    "POST tasks/<slug:code>/preview/": "302 403 404 403 403 403",  # 403: nothing of a form was posted
    "POST cases/<slug:code>/show-hidden/": "302 303 404 403 303 403",
    "POST cases/<slug:code>/recall/": "302 409 404 409 403 403",  # 409: there is nothing to take back
    "POST tasks/<slug:code>/release/": "302 302 404 302 302 302",
    "POST tasks/<slug:code>/draft/": "302 303 404 303 403 403",
    "POST tasks/<slug:code>/note/": "302 303 404 303 403 403",
    "GET tasks/<slug:code>/precedents/": PAGE_SEES,
    "POST cases/<slug:code>/reading/": PAGE_SEES,
    "GET people/": ADMINS,
    "GET people/new/": ADMINS,
    "POST people/new/": "302 403 403 403 403 200",
    "GET people/<slug:pseudonym>/": ADMINS,
    "POST people/<slug:pseudonym>/rights/": "302 403 403 403 403 409",  # 409: the form was not drawn from what is now
    "POST people/<slug:pseudonym>/switch/": "302 403 403 403 403 303",
    "POST people/<slug:pseudonym>/sessions/": "302 403 403 403 403 303",
    "POST people/<slug:pseudonym>/tokens/": "302 403 403 403 403 409",  # 409: there is none
    "POST people/<slug:pseudonym>/password/": "302 403 403 403 403 200",
    "GET queues/": ADMINS,
    "POST queues/": "302 403 403 403 403 303",
    "GET queues/<int:number>/": ADMINS,
    "POST queues/<int:number>/": "302 403 403 403 403 409",  # as above
    "POST queues/<int:number>/hidden/": "302 403 403 403 403 303",
    "GET accounts/me/": SIGNED_IN,
    "POST accounts/me/": "302 303 303 303 303 303",
    "GET accounts/password/<slug:uidb64>/<slug:token>/": CLOSED,  # to whom nobody gave a link
    "POST accounts/password/<slug:uidb64>/<slug:token>/": CLOSED,
    "GET accounts/login/": "200 302 302 302 302 302",
    "POST accounts/logout/": "302 302 302 302 302 302",
    "GET agents/": SIGNED_IN,
    "GET agents/<slug:slug>/": PAGE_SEES,
    "GET agents/new/": "302 403 403 403 403 200",
    "POST agents/new/": "302 403 403 403 403 422",
    "GET agents/<slug:slug>/edit/": "302 403 404 403 403 200",
    "POST agents/<slug:slug>/edit/": "302 403 404 403 403 303",
    "POST agents/<slug:slug>/token/": "302 403 404 403 403 200",
    "POST agents/<slug:slug>/switch/": "302 403 404 403 403 303",
    "POST agents/<slug:slug>/replay/": "302 403 404 303 403 303",
    "POST agents/<slug:slug>/test/": "302 403 404 200 403 200",
    "POST agents/<slug:slug>/start/": "302 302 404 302 403 403",
    "GET agents/<slug:slug>/runs/": PAGE_SEES,
    "GET agents/<slug:slug>/runs/stream/": PAGE_SEES,
    "GET agents/<slug:slug>/runs/input/": PAGE_SEES,
    "GET cases/<slug:code>/standing/": PAGE_SEES,
    "GET cases/<slug:code>/delivery/": PAGE_SEES,
    "POST cases/<slug:code>/delivery/settle/": "302 403 404 302 403 403",
    "GET cases/<slug:code>/runs/": PAGE_SEES,
    "POST incidents/<int:number>/close/": "302 403 404 303 403 403",
    "GET deliveries/": SIGNED_IN,
    "GET .well-known/countersign": EVERYBODY,
    "GET .well-known/jwks.json": EVERYBODY,
    "GET .well-known/jwks-archive.json": EVERYBODY,
    "GET .well-known/checkpoint": CLOSED,  # until there is one
    "GET healthz": EVERYBODY,
    "GET readyz": EVERYBODY,
    "POST i18n/setlang/": "302 302 302 302 302 302",
}
QUERIES = {
    "GET api/v1/runs/stream": "agent=payer&run=run-1",
    "GET api/v1/runs/<opaque:run_id>/stream": "agent=payer",
    "GET agents/<slug:slug>/runs/": "run=run-1",
    "GET agents/<slug:slug>/runs/stream/": "run=run-1",
    "GET agents/<slug:slug>/runs/input/": "run=run-1",
}
BODIES = {
    "POST audit/questions/": {"name": "mine", "words": "verb=task.decided"},
    "POST audit/samples/": {"size": "1", "seed": "s"},
    "POST audit/findings/<int:number>/close/": {"reason": "why"},
    "POST cases/<slug:code>/findings/": {"text": "what"},
    "POST audit/erasures/ask/": {"case": "C-NONE", "reason": "why", "basis": "law"},
    "POST audit/erasures/<int:number>/": {"action": "refuse", "because": "why"},
    "POST audit/holds/": {"agent": "payer", "reason": "why"},
    "POST audit/holds/<int:number>/lift/": {"because": "why"},
    "POST audit/retention/": {"days": "30", "basis": "law"},
    "POST audit/retention/<int:number>/": {"action": "end"},
    "POST api/v1/tasks/<code>/decision": {"verdict": "approved", "shownDigest": "{digest}"},
    "POST tasks/<slug:code>/decision/": {"verdict": "approved", "shown_digest": "{digest}"},
    "POST tasks/<slug:code>/not-now/": {"until": "2999-01-01T09:00"},
    "POST tasks/<slug:code>/note/": {"note": "Have a look."},
    "POST api/v1/cases/<code>/resolve-doubt": {"action": "resend", "reason": "why"},
    "POST api/v1/cases/<code>/close-expired": {"action": "abandon", "reason": "why"},
    "POST api/v1/cases/<code>/accept-deviation": {"reason": "why"},
    "POST api/v1/cases/<code>/rebind": {"reason": "why"},
    "POST api/v1/cases/<code>/unblock": {"reason": "why"},
    "POST api/v1/cases/<code>/abandon": {"reason": "why"},
    "POST api/v1/incidents/<int:number>/close": {"reason": "why"},
    "POST agents/<slug:slug>/start/": {"message": "hello"},
    "POST people/new/": {"name": "newcomer", "role": "auditor"},
    "POST people/<slug:pseudonym>/rights/": {"role": "auditor", "reason": "why"},
    "POST people/<slug:pseudonym>/switch/": {"to": "off", "reason": "why"},
    "POST people/<slug:pseudonym>/tokens/": {"token": "all"},
    "POST queues/": {"name": "refunds"},
    "POST queues/<int:number>/": {"risk": "low", "reason": "why"},
    "POST queues/<int:number>/hidden/": {"name": "iban", "reason": "why"},
    "POST agents/<slug:slug>/edit/": {
        "name": "Payer", "url": "https://127.0.0.1/", "queue": "payments", "dialect": "auto", "replay": "unknown",
    },
    "POST agents/<slug:slug>/token/": {"kind": "host"},
    "POST agents/<slug:slug>/switch/": {"to": "off"},
    "POST agents/<slug:slug>/replay/": {"replay": "verified", "reason": "why"},
    "POST incidents/<int:number>/close/": {"reason": "why"},
    "POST cases/<slug:code>/delivery/settle/": {"action": "abandon", "reason": "why"},
}
