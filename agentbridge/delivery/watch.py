"""The outcome watch: what was promised to the agent against what came back (issue 4, S-4, T-73 to T-82).

Every difference is a named incident on the case; every task gets the sentence of what is known, and no more than that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from agentbridge import translation
from agentbridge.delivery import incidents, ledger
from agentbridge.models import Incident, Resume, Run, ToolCall
from agentbridge.models.agents import key_of
from agentbridge.wire.record import ResultView, RunView
from agentbridge.wire.toolcalls import calls_in, same_arguments
from approvals import exhibits, jsontext, reviewing
from approvals.models import Decision, Task
from approvals.models.cases import Verdict

SILENT = frozenset({"crewai"})  # no tool events at all: silence says nothing there
# Denials look like results too (S-4). After a no, any of these words is read as “it did not run”.
DID_NOT = r"not (run|made|sent|done|taken|paid|given|\w+ed)\b"
NOT_RUN = re.compile(
    rf"den(y|ied)|reject|declin|refus|cancel|disapprov|abort|skip|said no|{DID_NOT}|거부|취소|거절", re.I
)
# After a yes they count only where they speak of the call or of who decided: a tool may well cancel or reject things.
CALL_NOT_RUN = re.compile(
    r"\b(tool|call|user|human|person|reviewer|approval|execution)\b.{0,40}\b(denied|rejected|declined|refused)\b"
    r"|\b(denied|rejected|declined|refused|cancelled) by (a |the )?(user|human|person|reviewer)\b"
    r"|\bnot (run|executed|approved|permitted)\b|^\W*(it was )?(denied|rejected|declined|refused)\W*$",
    re.I | re.S,
)
NOTICE = 20_000  # characters: who says that nothing ran says so at the beginning, and the trail waits while we look
OTHER_TOOL = "Executed, as another tool than was approved."
K = Incident.Kind


@dataclass(frozen=True, slots=True)
class Compared:
    """One decided task beside what the resumed run said about its call."""

    task: Task
    verdict: str
    calls: frozenset[str]  # ids under which the call may show up
    proposal: str | None
    expected: str | None  # argument text that was approved
    results: Sequence[ResultView]
    repeated: str | None  # argument text of the call as the resumed run streamed it again
    strange: str | None  # as the resumed run streamed or retold it: neither what was approved nor what was proposed
    renamed: str | None  # the other tool that the resumed run names for this call


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known about one task, and the incident that it is, if it is one."""

    sentence: str
    kind: str = ""
    text: str = ""


def compare(resume: Resume, run: Run, view: RunView, *, letter: str, now: datetime) -> None:
    """Conclude every task of a delivery that ended, and open the incidents; in the caller's transaction."""
    retold = _retold(view)
    tasks = resume.case.tasks.defer("results").order_by("position")  # megabytes, and seldom asked for
    compared = [_compared(task, view, retold) for task in tasks]
    told = [each for each in compared if each is not None]
    for each in told:
        for finding in findings(each, resume, run, view, letter, told):
            if finding.sentence:
                reviewing.conclude(each.task, sentence=finding.sentence, now=now)
            if finding.kind:
                call = next(iter(sorted(each.calls)), None)
                incidents.open_one(
                    resume.case, finding.kind, finding.text, task=each.task, run=run, tool_call_id=call, now=now
                )


def _compared(task: Task, view: RunView, retold: Mapping[str, tuple[str, str]]) -> Compared | None:
    decision = Decision.objects.filter(task=task, recalled_at=None, voided_at=None).first()
    refs = translation.refs_of(task)
    calls = frozenset(refs[name] for name in ("toolCallId", "gatedCallId") if refs.get(name))
    shown = exhibits.load(task.exhibits.order_by("-version")[0].body)
    proposal = shown.proposal
    edits = decision.edits if decision else None
    asked = refs.get("gatedCallId") or refs.get("toolCallId") or ""  # the call whose arguments were proposed
    call = view.calls.get(asked)
    repeated = call.args if call is not None and call.args and call.state != "incomplete" else None
    name, args = retold.get(asked, ("", None))
    return Compared(
        task=task,
        verdict=decision.verdict if decision else Verdict.CANCELLED,
        calls=calls,
        proposal=proposal,
        expected=edits or proposal,
        results=[
            result for result in view.results if result.tool_call_id in calls and not _told_back(result, decision)
        ],
        repeated=repeated,
        strange=_strange([repeated, args], known=[edits or proposal, proposal]),
        renamed=_renamed(shown.tool, [call.name if call is not None else "", name]),
    )


def _renamed(tool: exhibits.Tool | None, names: Sequence[str]) -> str | None:
    known = tool.name if tool is not None else ""
    return next((name for name in names if name and known and name != known), None)


def _told_back(result: ResultView, decision: Decision | None) -> bool:
    """Whether a result is only what was answered: frameworks keep an answer, or the comment to a no, as the call's."""
    if decision is None:
        return False
    is_answer = decision.answer is not None and same_arguments(result.text, decision.answer)
    if decision.verdict == Verdict.APPROVED:
        return is_answer and result.retold
    return is_answer or result.text.strip() == decision.comment.strip() != ""


def _retold(view: RunView) -> dict[str, tuple[str, str]]:
    """Name and argument text by call, as the resumed run's own snapshot of the messages has them."""
    return {id_: (name, args) for id_, name, args in calls_in(view.messages)} if view.snapshot_seen else {}


def _strange(said: Sequence[str | None], *, known: Sequence[str | None]) -> str | None:
    """The first argument text that is none of those a person has seen; None where they have seen none."""
    seen = [text for text in known if text is not None]
    others = (text for text in said if text and not any(same_arguments(text, each) for each in seen))
    return next(others, None) if seen else None


def findings(each: Compared, resume: Resume, run: Run, view: RunView, letter: str,
             told: Sequence[Compared]) -> list[Finding]:
    """The conclusion first, then whatever else is wrong about this task."""
    extra = [
        _asked_again(each, view), _ran_twice(each, run), _other_arguments(each), _other_tool(each),
        _other_call(each, view, told),
    ]  # fmt: skip
    return [_conclusion(each, resume, view, letter), *(finding for finding in extra if finding is not None)]


def _conclusion(each: Compared, resume: Resume, view: RunView, letter: str) -> Finding:
    if letter in ledger.NOT_RUN and ledger.may_have_run(resume):
        return Finding("This attempt was refused; what an earlier one did is not known.")
    if letter == "A":
        return Finding("The agent refused the answers; nothing ran.")
    if letter in "BC":
        return Finding(f"The agent refused the answers: {view.error or 'no reason given'}")
    if letter in "HI":
        return Finding("What happened is not known.")
    if letter == "D" and each.results and each.verdict == Verdict.APPROVED:
        text = f"The call was executed although the run failed: {view.error or ''}"
        return Finding(_failed_after(each), K.FAILED_AFTER_RESULT, text)
    if letter == "D":
        return Finding(f"The run failed on its way; whether anything ran is not known: {view.error or ''}")
    if each.verdict == Verdict.APPROVED:
        return _approved(each, resume, letter)
    if each.verdict in (Verdict.REJECTED, Verdict.CANCELLED):
        return _refused(each)
    return Finding("Answered; the agent took the answer.")


def _failed_after(each: Compared) -> str:
    if each.renamed is not None:
        return OTHER_TOOL
    if each.strange is not None:
        return "Executed, with other arguments than were approved; then the run failed."
    return "Executed as approved; then the run failed."


def _approved(each: Compared, resume: Resume, letter: str) -> Finding:
    if not each.calls:
        return Finding("Approved; the agent took the answer.")
    if not each.results:
        if letter == "G":
            return Finding("Accepted; then the agent cancelled its run. No evidence of execution.")
        said = "Accepted, no evidence of execution."
        if resume.interrupted_run.dialect in SILENT:
            return Finding(said)
        text = "Approved, but no result came back: nothing shows that the call was executed."
        return Finding(said, K.APPROVED_NOT_RUN, text)
    if all(CALL_NOT_RUN.search(result.text, 0, NOTICE) for result in each.results):
        text = f"Approved, but the result says otherwise: {excerpt(each.results[-1].text)}"
        return Finding("Approved, but the agent says that it did not run.", K.APPROVED_NOT_RUN, text)
    if each.renamed is not None:
        return Finding(OTHER_TOOL)
    if each.strange is not None:
        return Finding("Executed, with other arguments than were approved.")
    if is_edited(each) and each.repeated is not None and same_arguments(each.repeated, each.proposal or ""):
        return Finding("Executed; the agent repeats the arguments from before the edit, so which ran is not shown.")
    return Finding("Executed as approved, with the edits." if is_edited(each) else "Executed as approved.")


def is_edited(each: Compared) -> bool:
    return each.expected is not None and each.expected != each.proposal


def _refused(each: Compared) -> Finding:
    word = "Denied" if each.verdict == Verdict.REJECTED else "Cancelled"
    if not each.results:
        return Finding(f"{word}; nothing ran as far as the stream shows.")
    last = each.results[-1].text
    if NOT_RUN.search(last, 0, NOTICE):
        return Finding(f"{word}; the agent says: {excerpt(last)}")
    text = f"{word}, and yet a result came back: {excerpt(last)}"
    return Finding(f"{word}, but a result came back without an approval.", K.DENIED_BUT_RAN, text)


def _other_arguments(each: Compared) -> Finding | None:
    """T-79: what the resumed run tells of the call is neither what was approved nor what was proposed."""
    if each.strange is None or each.verdict != Verdict.APPROVED:
        return None
    text = f"Other arguments than approved: the resumed run shows {excerpt(each.strange)}"
    return Finding("", K.OTHER_ARGUMENTS, text)


def _other_tool(each: Compared) -> Finding | None:
    """The id is that of the approved call, the tool is not."""
    if each.renamed is None or each.verdict != Verdict.APPROVED:
        return None
    return Finding("", K.OTHER_CALL_RAN, f"Another tool than approved: the resumed run shows {excerpt(each.renamed)}")


def _ran_twice(each: Compared, run: Run) -> Finding | None:
    """T-74: the same result again is no second execution; another one in another attempt is."""
    mine = {result.text for result in each.results}
    if run.attempt < 2 or not mine:
        return None
    before = [row for row in jsontext.loads(each.task.results or "[]") if row["runId"] != run.run_id]
    if not before or mine <= {row["text"] for row in before}:
        return None
    return Finding("", K.RAN_TWICE, "Another attempt had a result already: the call may have run twice.")


def _other_call(each: Compared, view: RunView, told: Sequence[Compared]) -> Finding | None:
    """No result for the approved call, but one for a call that nobody was asked about and this run did not start."""
    if each.verdict != Verdict.APPROVED or each.results or not each.calls:
        return None
    ours = {id_ for other in told for id_ in other.calls}
    streamed = (result for result in view.results if not result.retold)
    strange = [result for result in streamed if result.tool_call_id not in ours | view.calls.keys()]
    if not strange:
        return None
    named = strange[0].tool_call_id
    known = ToolCall.objects.filter(run__thread=each_thread(each), key=key_of(named)).first()
    what = f"the call {known.name}" if known else "a call that matches no call we know"
    return Finding("", K.OTHER_CALL_RAN, f"The result belongs to {what} ({named}), not to the approved one.")


def each_thread(each: Compared) -> int:
    """The thread of a task, by the run that asked."""
    return Run.objects.filter(interrupts__task=each.task).values_list("thread", flat=True)[0]


def _asked_again(each: Compared, view: RunView) -> Finding | None:
    ids = {interrupt.id for interrupt in view.interrupts} | {interrupt.tool_call_id for interrupt in view.interrupts}
    refs = translation.refs_of(each.task)
    same = [id_ for id_ in (refs.get("interruptId"), *each.calls) if id_ is not None and id_ in ids]
    if not same or each.results:
        return None
    return Finding("", K.ASKED_AGAIN, "The agent took the answer and asks the same again; it is a new question.")


def excerpt(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:300]}… ({len(text)} characters)"
