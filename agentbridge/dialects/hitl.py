"""LangChain's HumanInTheLoopMiddleware over LangGraph: its own words for a decision. A wrong answer can end the thread.

Batched, one question asks for all gated calls of a message and wants `{"decisions": [...]}`, one per call;
per call, each question wants one decision.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext_noop as _

from agentbridge.dialects import evidence, kits
from agentbridge.dialects.contract import Pause, flag
from agentbridge.wire.record import CallView, RunView
from approvals import jsontext
from approvals.kit import AnswerForm, VerdictKit

WORDS = ("approve", "edit", "reject", "respond")
ALWAYS = frozenset({"approve", "reject"})
NO_EDITS = _(
    "The middleware takes edited arguments for one call that the stream showed whole, where the agent allows it."
)
NO_CANCEL = _("The middleware fails on a cancel, and the thread could not be answered any more.")
EACH = _("One decision for each call, in their order.")
NOT_ALLOWED = _("The agent does not allow this for this call.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One call the middleware asks about, and the words it takes."""

    name: str
    args: str  # text of JSON
    allowed: frozenset[str]


def bound(pause: Pause, run: RunView) -> Pause:
    """The pause with the call that its only action names, if exactly one call of the run is that."""
    actions = batched(pause)
    if not actions or pause.call is not None:
        return replace(pause, schema=pause.schema or _published(pause, run)) if per_call(pause) else pause
    if len(actions) == 1:
        return replace(pause, call=evidence.matching(run, actions[0].name, actions[0].args))
    names = ", ".join(action.name for action in actions)
    sentence = f"One answer decides {len(actions)} tool calls together: {names}. Their arguments are in the metadata."
    return replace(pause, flags=[*pause.flags, flag("several-calls", sentence)])


def kit(pause: Pause) -> VerdictKit | None:
    """The middleware's verdicts; None if it is not the one who asks."""
    if actions := batched(pause):
        return _batched_kit(actions, pause.call)
    action = per_call(pause)
    return _per_call_kit(action, pause) if action else None


def batched(pause: Pause) -> list[Action]:
    """The actions of a batched question; [] if it is none, or none we can read."""
    raw = evidence.text_at(pause.interrupt.metadata, "langgraph", "raw")
    requests = jsontext.items(_list_at(raw, "action_requests"))
    configs = [jsontext.loads(text) for text in jsontext.items(_list_at(raw, "review_configs"))]
    names = [evidence.string_at(text, "name") for text in requests]
    if not requests or None in names:
        return []
    return [
        Action(name=name or "", args=evidence.text_at(text, "args") or "{}", allowed=_allowed(configs, name))
        for name, text in zip(names, requests, strict=True)
    ]


def _list_at(text: str | None, name: str) -> str:
    found = evidence.text_at(text, name)
    return found if found is not None and found.startswith("[") else "[]"


def _allowed(configs: list[Any], name: str | None) -> frozenset[str]:
    """The words every configuration of this tool allows; without one, those that were always there."""
    mine = [config for config in configs if isinstance(config, dict) and config.get("action_name") == name]
    words = [set(c["allowed_decisions"]) for c in mine if _are_words(c.get("allowed_decisions"))]
    return frozenset(set.intersection(*words) if words else ALWAYS)


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)


def _batched_kit(actions: list[Action], call: CallView | None) -> VerdictKit:
    single = len(actions) == 1
    all_allow = frozenset.intersection(*(action.allowed for action in actions))
    editable = single and "edit" in all_allow and call is not None and call.state == "complete"
    edit = _edit(actions[0].name)
    forms = {
        "approved": AnswerForm(
            answer=_decisions('{"type":"approve"}', len(actions)),
            edited=_decisions(edit, 1) if editable else None,
            edits_at="/decisions/0/edited_action/args" if editable else None,
        ),
        "rejected": AnswerForm(
            answer=_decisions('{"type":"reject"}', len(actions)), comment_at="/decisions/0/message" if single else None
        ),
        "answered": replace(kits.WHOLE, note=EACH),
    }
    return _restricted(forms, all_allow, schema=_batch_schema(actions), whole=not single or "respond" in all_allow)


def _per_call_kit(action: Action, pause: Pause) -> VerdictKit:
    editable = "edit" in action.allowed and pause.call is not None and pause.call.state == "complete"
    forms = {
        "approved": AnswerForm(
            answer='{"type":"approve"}',
            edited=_edit(action.name) if editable else None,
            edits_at="/edited_action/args" if editable else None,
        ),
        "rejected": AnswerForm(answer='{"type":"reject"}', comment_at="/message"),
        "answered": kits.WHOLE,
    }
    schema = pause.schema or jsontext.dumps(_decision_schema(action))
    return _restricted(forms, action.allowed, schema=schema, whole="respond" in action.allowed)


def _restricted(forms: dict[str, AnswerForm], allowed: frozenset[str], *, schema: str, whole: bool) -> VerdictKit:
    kit = VerdictKit(forms=forms, cancel="unclear", schema=schema, no_edits=NO_EDITS)
    for verdict, word in (("approved", "approve"), ("rejected", "reject")):
        if word not in allowed:
            kit = kits.impossible(kit, verdict, NOT_ALLOWED)
    if not whole and kit.forms.keys() > {"answered"}:
        kit = replace(kit, forms={verdict: form for verdict, form in kit.forms.items() if verdict != "answered"})
    return kits.impossible(kit, "cancelled", NO_CANCEL)


def _edit(name: str) -> str:
    return f'{{"type":"edit","edited_action":{{"name":{jsontext.dumps(name)},"args":{{}}}}}}'


def _decisions(decision: str, count: int) -> str:
    return f'{{"decisions":[{",".join([decision] * count)}]}}'


def _batch_schema(actions: list[Action]) -> str:
    """What the middleware takes: it checks nothing itself before it breaks."""
    each = [_decision_schema(action) for action in actions]
    alike = all(schema == each[0] for schema in each)
    items = {"items": each[0]} if alike else {"prefixItems": each}
    decisions = {"type": "array", "minItems": len(each), "maxItems": len(each), **items}
    return jsontext.dumps(_object({"decisions": decisions}))


def _decision_schema(action: Action) -> dict[str, Any]:
    edited = _object({"name": {"const": action.name}, "args": {"type": "object"}})
    message = {"type": "string"}
    branches = {
        "approve": _object({"type": {"const": "approve"}}),
        "edit": _object({"type": {"const": "edit"}, "edited_action": edited}),
        "reject": _object({"type": {"const": "reject"}, "message": message}, optional="message"),
        "respond": _object({"type": {"const": "respond"}, "message": message}),
    }
    return {"oneOf": [{"title": word, **branches[word]} for word in WORDS if word in action.allowed]}


def _object(properties: dict[str, Any], *, optional: str = "") -> dict[str, Any]:
    required = [name for name in properties if name != optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def per_call(pause: Pause) -> Action | None:
    """The one action of a per-call question; which words it takes, only its published schema says (R-23)."""
    raw = evidence.text_at(pause.interrupt.metadata, "langgraph", "raw")
    name = evidence.string_at(raw, "name")
    if evidence.string_at(raw, "type") != "tool_approval" or name is None:
        return None
    named = _constants(jsontext.loads(pause.schema)) if pause.schema else ALWAYS
    return Action(name=name, args=evidence.text_at(raw, "args") or "{}", allowed=frozenset(named & set(WORDS)))


def _constants(schema: Any) -> set[str]:
    """Every string that a schema fixes by `const`."""
    found, waiting = set(), [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            found |= {value["const"]} if isinstance(value.get("const"), str) else set()
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return found


def _published(pause: Pause, run: RunView) -> str | None:
    """The response schema that LangGraph publishes beside the value, in the event of the same interrupt id."""
    for custom in run.customs:
        schema = evidence.object_at(custom.raw_event, "response_schema")
        if schema is not None and evidence.string_at(custom.raw_event, "id") == pause.interrupt.id:
            return schema
    return None
