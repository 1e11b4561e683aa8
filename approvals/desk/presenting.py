"""How a case is told: its title, what stands in the way, its messages, and which line goes under which button."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals import jsontext, sentences
from approvals.desk.casefile import CaseFile, Panel
from approvals.foreign import masking
from approvals.kit import ANSWERED, APPROVED, CANCELLED, REJECTED, AnswerForm
from approvals.models.cases import EXPIRED, State
from approvals.verbs import drafts, reasons

LABELS = {
    APPROVED: gettext_lazy("Approve"),
    REJECTED: gettext_lazy("Reject"),
    ANSWERED: gettext_lazy("Answer"),
    CANCELLED: gettext_lazy("Cancel"),
}
BRIEFS = {
    APPROVED: gettext_lazy("lets it run"),
    REJECTED: gettext_lazy("it does not run"),
    ANSWERED: gettext_lazy("goes back"),
    CANCELLED: gettext_lazy("no answer"),
}
# What a yes and a no say where no call waits for them.
WITHOUT_TOOL = {APPROVED: gettext_lazy("says yes"), REJECTED: gettext_lazy("says no")}
MOST_ARGUMENTS = 500  # laid out by name; all of them are in the whole text
DOES = {APPROVED: "approve", REJECTED: "reject", ANSWERED: "answer", CANCELLED: "cancel"}
ICONS = {APPROVED: "check", REJECTED: "cross", ANSWERED: "form", CANCELLED: "slash"}


@dataclass(frozen=True, kw_only=True)
class Button:
    """One answer that can be given, or why it cannot. All weigh the same."""

    value: str
    label: str
    icon: str
    line: str
    brief: str = ""  # the same where there is little room
    is_offered: bool = True
    waits: str = ""  # for what it waits, where it is offered after that

    @property
    def is_yes(self) -> bool:
        """Whether something may happen after it."""
        return self.value in (APPROVED, ANSWERED)

    @property
    def does(self) -> str:
        """The action of `approvals.desk.shortcuts` whose key leads here."""
        return DOES[self.value]


@dataclass(frozen=True, kw_only=True)
class Notice:
    """Where a case stands when it is not simply open, and what that means for all of its tasks."""

    slug: str
    icon: str
    tone: str
    said: str
    means: str


@dataclass(frozen=True, kw_only=True)
class Argument:
    """One argument of a proposal that is only shown."""

    name: str
    type: str
    source: str  # exact JSON text
    text: str | None  # what a string says; None for other types


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message of the conversation around the pause."""

    role: str
    text: str | None  # None: not plain text; `raw` is shown
    calls: list[tuple[str, str]]
    raw: str


def buttons(panel: Panel) -> list[Button]:
    """In the order of the kit: what is offered, and what is not with its reason."""
    offered = [
        Button(value=verdict, label=str(LABELS[verdict]), icon=ICONS[verdict], line=line_under(panel, verdict),
               brief=_brief(panel, verdict), **_waiting(panel, verdict))
        for verdict in panel.verdicts
    ]
    refused = [
        Button(value=verdict, label=str(LABELS[verdict]), icon=ICONS[verdict], line=why, is_offered=False)
        for verdict, why in panel.why_not.items()
    ]
    order = list(LABELS)
    return sorted(offered + refused, key=lambda button: order.index(button.value))


def _waiting(panel: Panel, verdict: str) -> dict[str, Any]:
    """A yes is no button before all is opened that its queue wants opened (`verbs.opening`)."""
    waits = bool(panel.unread) and verdict in (APPROVED, ANSWERED)
    return {"is_offered": False, "waits": _("after the whole text")} if waits else {}


def _brief(panel: Panel, verdict: str) -> str:
    """`line_under` where there is no room for a sentence."""
    return str(BRIEFS[verdict] if _tool_name(panel) else WITHOUT_TOOL.get(verdict, BRIEFS[verdict]))


def line_under(panel: Panel, verdict: str) -> str:
    """What the button does; a kit that knows better about the other side is heard first."""
    form = panel.kit.forms[verdict]
    if verdict == APPROVED and panel.may_edit and (name := _tool_name(panel)):
        return _("lets %(tool)s run with what the fields hold now") % {"tool": name}
    if verdict == CANCELLED and panel.kit.cancel != "safe":
        return _(form.note) if form.note else _what_cancel_does(panel.kit.cancel)
    return _(form.note) if form.note and not _is_plain(form) else _plain_line(panel, verdict)


def _is_plain(form: AnswerForm) -> bool:
    return form.answer is None


def _plain_line(panel: Panel, verdict: str) -> str:
    lines = {
        APPROVED: (_("lets %(tool)s run as proposed"), _("the agent is told yes")),
        REJECTED: (_("the agent is told no: %(tool)s does not run"), _("the agent is told no")),
        ANSWERED: (_("your answer goes back"),) * 2,
        CANCELLED: (_("no answer at all: the agent takes it as not done"),) * 2,
    }
    with_tool, without = lines[verdict]
    name = _tool_name(panel)
    return with_tool.replace("%(tool)s", name) if name else without


def _tool_name(panel: Panel) -> str:
    """Empty without a call, and where the stream never said what is called."""
    return panel.exhibit.tool.name if panel.exhibit.tool else ""


def _what_cancel_does(cancel: str) -> str:
    return _("this agent goes on and runs it") if cancel == "runs" else _("this agent may not take it as a no")


def room(panel: Panel) -> str:
    """The template in which it is decided: another one where the risk is high."""
    return "approvals/_room_high.html" if panel.is_high else "approvals/_room_open.html"


def carried(panel: Panel) -> list[tuple[str, str]]:
    """What was posted, to be posted again from the second look."""
    own = (*drafts.NOT_KEPT, "draft")
    if panel.sheet is None or panel.sheet.second_look is None:
        return []
    return [(name, text) for name, text in panel.sheet.fields.items() if name not in own]


def why_read_only(panel: Panel) -> str:
    """Why the arguments are not fields here; "" where there is nothing to say."""
    if panel.exhibit.tool is None or panel.may_edit or not panel.is_open:
        return ""
    if panel.kit.no_edits:
        return _(panel.kit.no_edits)
    return "" if panel.kit.can_edit else _("The arguments cannot be edited here.")


def arguments_note(panel: Panel) -> str:
    """What is unusual about the arguments as they came; "" for whole ones."""
    state = panel.exhibit.tool.state if panel.exhibit.tool else "complete"
    return {
        "missing": _("no arguments were sent"),
        "empty": _("an empty text, read as no arguments"),
        "invalid": _("not valid JSON: shown as received"),
        "incomplete": _("the stream broke off inside them: shown as received"),
    }.get(state, "")


def reason_words(panel: Panel) -> str:
    """Why it was decided so, in the queue's words."""
    return reasons.words(panel.task.queue, panel.decision.reason_code) if panel.decision else ""


def proposal(panel: Panel) -> str:
    """The arguments as they came, or those that the decision was made on."""
    tool = panel.decided_on.tool
    return tool.args_text if tool else ""


def arguments(panel: Panel) -> list[Argument]:
    """The proposal laid out by name; empty where it is no object."""
    proposed = panel.decided_on.proposal
    text = None if proposed is None else masking.masked(proposed)
    root = jsontext.parse(text).root if text is not None else None
    if text is None or root is None or root.kind != "object":
        return []
    return [
        Argument(
            name=name,
            type=_("boolean") if node.kind in ("true", "false") else _(node.kind),
            source=text[node.start : node.end],
            text=node.text if node.kind == "string" else None,
        )
        for name, node in root.members
    ]


def notices(file: CaseFile) -> list[Notice]:
    """The most final one first. Blocked may stand beside expired: both are true."""
    found = []
    if any(panel.exhibit.erased for panel in file.panels):
        said = _("The content of this case was erased.")
        means = _("Who decided it, when and how stays on record, and so does who had it erased and why.")
        found.append(Notice(slug="erased", icon="trash", tone="flags-plain", said=said, means=means))
    if file.state == State.WITHDRAWN:
        said = _("Nobody asks this any more: %s.") % file.case.get_ended_because_display()
        means = _("Nothing is sent for any of its tasks. What was decided stays on record.")
        found.append(Notice(slug="withdrawn", icon="slash", tone="flags-plain", said=said, means=means))
    if file.state == EXPIRED:
        said = _("Time ran out before an answer could be sent.")
        found.append(Notice(slug="expired", icon="clock", tone="", said=said, means=_expired_means(file)))
    if file.state == State.QUARANTINED:
        said = _("This came after an error in the agent’s stream.")
        means = _("It can be read, and not answered until an operator accepts it.")
        found.append(Notice(slug="quarantined", icon="stop", tone="flags-stop", said=said, means=means))
    if file.case.blocked and file.state in (State.OPEN, State.SETTLED, EXPIRED):
        means = _("Nothing is sent for any of its tasks until an operator settles this.")
        said = sentences.told(file.case.blocked)
        found.append(Notice(slug="blocked", icon="stop", tone="flags-stop", said=said, means=means))
    return found


def _expired_means(file: CaseFile) -> str:
    if file.total > 1:
        return _(
            "All answers go out together and none may be late, so one expired task expires all. "
            "Decisions stay on record and are not sent; an operator closes the case."
        )
    return _("It can no longer be decided. A decision made before stays on record; an operator closes the case.")


def chain(file: CaseFile, *, now: datetime) -> list[dict[str, Any]]:
    """The cases before and after this one in its conversation."""
    around = [(file.previous, "up", _("the case before"))] if file.previous else []
    around += [(case, "down", _("the agent paused again")) for case in file.nexts]
    return [{"case": case, "icon": icon, "said": said, "state": case.state_at(now)} for case, icon, said in around]


def messages(panel: Panel) -> list[Message]:
    return [_message(text) for text in panel.exhibit.messages]


def _message(text: str) -> Message:
    value = jsontext.loads(text)
    told = value if isinstance(value, dict) else {}
    content = told.get("content")
    is_text = isinstance(content, str) and not isinstance(content, jsontext.Number)
    listed = told.get("toolCalls")
    calls = [_call(one) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    said = "" if content is None and calls else content if is_text else None
    return Message(role=str(told.get("role", "?")), text=said, calls=calls, raw=text)


def _call(call: dict[str, Any]) -> tuple[str, str]:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    return str(function.get("name", "?")), str(function.get("arguments", ""))
