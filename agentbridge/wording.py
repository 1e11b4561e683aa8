"""States of the bridge in words, each with its icon: colour only repeats what both say."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from agentbridge.delivery import ledger, standing
from agentbridge.models import DeliveryState as S
from agentbridge.models import Run
from agentbridge.models.agents import ReplayClass
from approvals.desk import states

Words = str | Promise


@dataclass(frozen=True)
class Sign:
    """An icon of the sprite, a tone class of the tag, the word, and what it means in a sentence."""

    icon: str
    tone: str
    word: Words
    meaning: Words = ""


DELIVERY: dict[str, Sign] = {
    ledger.HELD: Sign("clock", "", _("held"), _("Its authors can still recall it.")),
    S.READY: Sign("clock", "", _("ready"), _("The worker sends it next.")),
    S.LEASED: Sign("send", "tag-act", _("connecting"), _("A worker connects to the agent. Nothing has left yet.")),
    S.ARMED: Sign("send", "tag-act", _("armed"), _("Bytes are leaving now.")),
    S.ACCEPTED: Sign("play", "tag-act", _("running"), _("The agent began the run.")),
    S.FINISHED: Sign("check", "tag-yes", _("finished"), _("The agent took the answers and ended its run.")),
    S.INTERRUPTED_AGAIN: Sign("link", "tag-act", _("paused again"), _("The agent took the answers and asks again.")),
    S.AGENT_ERROR: Sign("warn", "tag-no", _("agent error"), _("The agent answered with an error.")),
    S.REJECTED: Sign("cross", "tag-no", _("refused"), _("The agent refused the request.")),
    S.EXPIRED_UNSENT: Sign(
        "clock", "tag-warn", _("expired, not sent"), _("The deadline passed before anything left us.")
    ),
    S.IN_DOUBT: Sign("doubt", "tag-warn", _("in doubt"), _("Bytes may have reached the agent and may have run.")),
    S.OUTCOME_UNKNOWN: Sign("doubt", "tag-warn", _("outcome unknown"), _("The run began; how it ended is not known.")),
    S.DEAD: Sign("stop", "tag-no", _("given up"), _("Every attempt failed before anything left us.")),
    S.MARKED_DONE: Sign("pen", "tag-yes", _("marked done"), _("A person found that it was done.")),
    S.ABANDONED: Sign("slash", "", _("abandoned"), _("A person gave it up.")),
}


def of_case(state: str, meaning: Words = "") -> Sign:
    """Where a case stands looks the same on its own page and among the deliveries."""
    look = states.look(state)
    return Sign(look.icon, look.tone, look.word, meaning)


EXPIRED = of_case("expired", _("Its time ran out. Nothing was sent, and nothing will be by itself."))
BLOCKED = of_case("blocked")
QUARANTINED = of_case("quarantined", _("It came from a stream that broke the protocol."))

RUN: dict[str, Sign] = {
    Run.Status.QUEUED: Sign("clock", "", _("queued")),
    Run.Status.RUNNING: Sign("play", "tag-act", _("running")),
    Run.Status.SUCCEEDED: Sign("check", "tag-yes", _("succeeded")),
    Run.Status.INTERRUPTED: Sign("pause", "tag-act", _("paused")),
    Run.Status.CANCELLED: Sign("slash", "", _("cancelled")),
    Run.Status.FAILED: Sign("warn", "tag-no", _("failed"), _("The agent said so.")),
    Run.Status.REJECTED: Sign("cross", "tag-no", _("rejected"), _("We refused the stream: it broke the protocol.")),
    Run.Status.TRUNCATED: Sign("doubt", "tag-warn", _("no ending"), _("The stream ended before the run did.")),
    Run.Status.REFUSED: Sign("cross", "tag-no", _("refused"), _("The agent answered with an HTTP error.")),
    Run.Status.UNSENT: Sign("off", "", _("not sent"), _("Given up before anything left us.")),
    Run.Status.UNKNOWN: Sign("doubt", "tag-warn", _("unknown"), _("What became of it is not known.")),
}
SEVERITY = {
    "info": Sign("info", "", _("note")),
    "warning": Sign("warn", "tag-warn", _("warning")),
    "error": Sign("cross", "tag-no", _("error")),
}
REPLAY: dict[str, Words] = {
    ReplayClass.UNKNOWN: _("At most one send by itself. After that a person settles what is in doubt."),
    ReplayClass.VERIFIED: _("Proven to take the same answers twice without running twice: sent again by itself."),
    ReplayClass.GUARDED: _("Behind a guard that runs every answer once: sent again by itself."),
}
RESEND: dict[str, Words] = {
    ReplayClass.UNKNOWN: _("This agent may act twice, or apply the answers to a later question of its own."),
    ReplayClass.VERIFIED: _("This agent was proven to take the same answers twice without acting twice."),
    ReplayClass.GUARDED: _("The guard in front of this agent lets the same answers act once."),
}
PROBE_RESULTS = {
    "passed": Sign("check", "tag-yes", _("passed")),
    "failed": Sign("cross", "tag-no", _("failed")),
    "not made": Sign("doubt", "tag-warn", _("not made"), _("It counts as not passed.")),
}
PROBE_CHECKS: dict[str, Words] = {
    "P1": _("The same answers again, after the end"),
    "P2": _("The same answers again, when there is a new question"),
    "P3": _("An answer to a question that nobody asked"),
    "P4": _("An answer after its time"),
    "P5": _("An answer against the schema"),
    "P6": _("An answer to a part of the questions"),
    "P7": _("The same answers twice at once"),
    "P8": _("Another answer, after the end"),
}
LAPSED: dict[str, Words] = {
    standing.OLD: _("The proof is older than 90 days, so it counts as unknown until an operator renews it."),
    standing.CHANGED: _("Another server answers since the proof, so it counts as unknown until an operator renews it."),
}
ANSWER_CLASS: dict[str, Words] = {
    "A": _("refused by HTTP"),
    "B": _("refused in the stream, the run never began"),
    "C": _("refused after the start"),
    "D": _("failed while running"),
    "E": _("success"),
    "F": _("asks again"),
    "G": _("cancelled by the agent"),
    "H": _("no ending"),
    "I": _("we refused the stream"),
    "J": _("an error after the end"),
}
ACTIONS: dict[str, Sign] = {
    "mark_done": Sign("check", "", _("Mark as done"), _("You have evidence that the agent did it.")),
    "resend": Sign("send", "", _("Send again"), _("The same sealed answers go out once more. It can run twice.")),
    "answer_again": Sign("retry", "", _("Answer again"), _("A new case opens with the old answers filled in.")),
    "send_cancelled": Sign("slash", "", _("Tell the agent"), _("Answers in time go out; every other is cancelled.")),
    "rebind": Sign("link", "", _("Send to the new address"), _("The agent's address changed after sealing.")),
    "unblock": Sign("retry", "", _("Try again"), _("What was in the way is mended. Every check is made once more.")),
    "accept": Sign("eye", "", _("Open for review"), _("You looked at the deviation and accept it.")),
    "abandon": Sign("trash", "", _("Abandon"), _("Nothing more is sent.")),
}
ASK_TO_RESEND = Sign(
    "send", "", _("Ask to send again"), _("A queue of high risk: it is sent when another operator agrees.")
)
AGREE_TO_RESEND = Sign(
    "send", "", _("Agree and send again"), _("Another operator asked. The same answers go out; it can run twice.")
)
CHECK: dict[str, Sign] = {
    "fine": Sign("check", "tag-yes", _("fine"), _("An AG-UI agent answers, and it refused the input as it should.")),
    "began": Sign(
        "check", "tag-warn", _("an agent, and careless"),
        _("An AG-UI agent answers. It began a run without looking at its input; we hung up at its first event."),
    ),
    "unsure": Sign(
        "doubt", "tag-warn", _("not certain"),
        _("Something here refuses our input, as an agent would. Nothing in its answer shows that it speaks AG-UI."),
    ),
    "not_allowed": Sign("shield", "tag-no", _("not allowed"), _("This desk may not connect there.")),
    "dns": Sign("cross", "tag-no", _("unknown name"), _("The address's host name is not known to DNS.")),
    "refused": Sign("cross", "tag-no", _("refused"), _("Nothing listens at this address and port.")),
    "tls": Sign("shield", "tag-no", _("TLS"), _("The connection could not be made safe: look at the certificate.")),
    "slow": Sign("clock", "tag-warn", _("slow"), _("There was no answer within a few seconds.")),
    "reset": Sign("cross", "tag-no", _("broke off"), _("The connection was cut before there was an answer.")),
    "credentials": Sign("key", "tag-no", _("not let in"), _("It wants other credentials: look at the headers.")),
    "not_found": Sign("cross", "tag-no", _("no such path"), _("A server is there, this path is not. A final slash?")),
    "redirect": Sign("link", "tag-no", _("redirects"), _("It sends us elsewhere, and we do not follow.")),
    "html": Sign("doc", "tag-no", _("a web page"), _("This is a page for browsers, not an agent.")),
    "wrong_type": Sign("doc", "tag-no", _("another type"), _("It answers, but not with an event stream.")),
    "not_agui": Sign("cross", "tag-no", _("not AG-UI"), _("It answers, but what it says is not AG-UI.")),
    "busy": Sign("clock", "tag-warn", _("busy"), _("It is there and takes no requests now.")),
    "failing": Sign(
        "warn", "tag-warn", _("server error"),
        _("It answers with an error of its own. Some agents do so for input like ours; others are broken."),
    ),
}  # fmt: skip
DIALECT: dict[str, Words] = {
    "auto": _("By what each pause carries. What is not recognised is plain AG-UI."),
    "plain": _("Interrupts and answers as the protocol has them."),
    "adk": _("Google ADK: answers are exactly confirmed or not; also its older confirmation calls."),
    "msaf": _("Microsoft Agent Framework: edits in editedArgs; yes and no to calls of one turn are not mixed."),
    "mastra": _("Mastra: what a cancel does there is unclear, so only operators cancel."),
    "crewai": _("CrewAI: one of the flow's labels; a cancel can approve, so it is never offered as a no."),
    "strands": _("Strands: edits are not honoured; cancel is a no for its own approvals."),
    "langgraph": _("LangGraph: several questions are answered by one map; older on_interrupt events too."),
    "pydantic_ai": _("pydantic-ai and django-ag-ui: every resume needs the whole history."),
    "ts_langgraph": _("LangGraph's TypeScript adapter: as LangGraph, and never recognised by itself."),
    "agno": _("agno: pauses are calls without a result; answers go back as tool messages."),
}
TOLERANCES: dict[str, Words] = {
    "first-event": _("A stream may open with something else than RUN_STARTED or RUN_ERROR."),
    "nested-run": _("A run may start inside another one; both are read as one run."),
    "events-after-error": _("Events after RUN_ERROR still count."),
}
