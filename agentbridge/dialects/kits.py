"""Verdict kits put together: the standard one for what an interrupt says, and the departures that dialects make."""

from __future__ import annotations

from dataclasses import replace

from agentbridge.dialects import evidence
from agentbridge.dialects.contract import Pause
from approvals import jsontext
from approvals.kit import AnswerForm, VerdictKit, standard_kit

FINGERPRINT = "approvedActionFingerprint"
WHOLE = AnswerForm(answer="null", input="whole")  # what is filled in is the answer


def standard(pause: Pause) -> VerdictKit:
    """What plain AG-UI rules make of the reason and the response schema (R-7, R-8, R-19, R-20, R-25)."""
    call = pause.call
    whole = call is not None and call.state == "complete"
    seal = evidence.fingerprint(pause.interrupt)
    kit = standard_kit(
        reason=pause.interrupt.reason,
        schema=pause.schema if seal is None else without_member(pause.schema, FINGERPRINT),
        has_call=call is not None,
        proposal=call.args if call is not None and whole else None,
    )
    return kit if seal is None else fingerprinted(kit, seal, pause.schema)


def without_member(schema: str | None, name: str) -> str | None:
    """An object schema as if it did not know a member, so that nobody is asked to type it in."""
    if schema is None or evidence.text_at(schema, "properties", name) is None:
        return schema
    text = jsontext.replace(schema, {jsontext.pointer("properties", name): None})
    needed = evidence.text_at(text, "required")
    if needed is None or not needed.startswith("["):
        return text
    kept = [item for item in jsontext.items(needed) if item != jsontext.dumps(name)]
    return jsontext.replace(text, {"/required": f"[{','.join(kept)}]"})


def fingerprinted(kit: VerdictKit, seal: str, schema: str | None) -> VerdictKit:
    """The kit that echoes an action's fingerprint byte for byte, wherever the schema lets it."""
    closed = evidence.text_at(schema, "additionalProperties") == "false"
    if closed and evidence.text_at(schema, "properties", FINGERPRINT) is None:
        return kit
    needed = jsontext.dumps(FINGERPRINT) in jsontext.items(evidence.text_at(schema, "required") or "[]")
    sealed = {"approved", "rejected"} if needed else {"approved"}
    forms = {verdict: _with(form, seal) if verdict in sealed else form for verdict, form in kit.forms.items()}
    return replace(kit, forms=forms, schema=schema if kit.schema is not None else None)


def _with(form: AnswerForm, seal: str) -> AnswerForm:
    if form.answer is None or not form.answer.startswith("{"):
        return form
    return replace(form, answer=jsontext.replace(form.answer, {jsontext.pointer(FINGERPRINT): seal}))


def decided(
    approved: str, rejected: str, *, schema: str | None = None, cancel: str = "safe", no_edits: str = ""
) -> VerdictKit:
    """A kit of two fixed answers and a cancel."""
    answers = {"approved": approved, "rejected": rejected, "cancelled": None}
    forms = {verdict: AnswerForm(answer=answer) for verdict, answer in answers.items()}
    return VerdictKit(forms=forms, cancel=cancel, schema=schema, no_edits=no_edits)


def cancel_is(kit: VerdictKit, kind: str, sentence: str) -> VerdictKit:
    """The same kit where a cancel does what the sentence says: `unclear` or `runs`."""
    forms = kit.forms
    if "cancelled" in forms:
        forms = forms | {"cancelled": replace(forms["cancelled"], note=sentence)}
    return replace(kit, forms=forms, cancel=kind)


def impossible(kit: VerdictKit, verdict: str, sentence: str) -> VerdictKit:
    """The same kit without a verdict, and why."""
    forms = {name: form for name, form in kit.forms.items() if name != verdict}
    return replace(kit, forms=forms, impossible=kit.impossible | {verdict: sentence})


def noted(kit: VerdictKit, verdict: str, sentence: str) -> VerdictKit:
    """The same kit with a sentence under one verdict's button."""
    if verdict not in kit.forms:
        return kit
    form = kit.forms[verdict]
    return replace(kit, forms=kit.forms | {verdict: replace(form, note=f"{form.note} {sentence}".strip())})
