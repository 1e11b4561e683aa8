"""How each framework says that it pauses, and what it takes for an answer (one file each). Pure: no Django.

`recognise(run, wanted)` names the dialect of a run and its pauses; the dialect's `kit(pause)` says what each verdict
means there, and its `send(answers, props)` puts the answers into `resume[]`, `forwardedProps` or messages.
"""

from __future__ import annotations

from agentbridge.dialects.adk import ADK, ASKING_TOOL
from agentbridge.dialects.agno import Agno
from agentbridge.dialects.contract import Answered, Dialect, Pause, Sending
from agentbridge.dialects.crewai import CrewAI
from agentbridge.dialects.langgraph import LangGraph, announced, unwrapped
from agentbridge.dialects.mastra import Mastra
from agentbridge.dialects.msaf import MicrosoftAgentFramework
from agentbridge.dialects.plain import Plain
from agentbridge.dialects.pydantic_ai import PydanticAI
from agentbridge.dialects.strands import Strands
from agentbridge.dialects.unanswered import offered_tools, unanswered
from agentbridge.wire.record import CallView, RunView, Warning

__all__ = ["AUTO", "NAMES", "Answered", "Dialect", "Pause", "Sending", "get", "recognise", "unanswered"]

AUTO = "auto"
SHOWN = 300  # characters of an event's value in a warning; the stream has all of it

# In this order by evidence; agno and the TypeScript adapter leave none and are named by the agent's setting.
_SIGNED: list[Dialect] = [
    ADK(), MicrosoftAgentFramework(), Mastra(), CrewAI(), Strands(), LangGraph(), PydanticAI()
]  # fmt: skip
_ALL: dict[str, Dialect] = {d.name: d for d in [Plain(), *_SIGNED, LangGraph("ts_langgraph"), Agno()]}
NAMES = tuple(_ALL)


def get(name: str) -> Dialect:
    """The dialect of that name, `plain` for "" (a run that never paused); `KeyError` for an unknown one."""
    return _ALL[name or "plain"]


def recognise(run: RunView, wanted: str = AUTO) -> tuple[Dialect, list[Pause], list[Warning]]:
    """Who speaks here, what is asked, and what looks like a question and is not treated as one."""
    dialect = next((d for d in _SIGNED if d.evident(run)), get("plain")) if wanted == AUTO else get(wanted)
    pauses = dialect.recognise(run)
    if wanted == AUTO and any(pause.legacy and pause.interrupt.id is None for pause in pauses):
        pauses = []
    if wanted == AUTO and any(pause.legacy for pause in pauses) and not isinstance(dialect, LangGraph):
        pauses = []  # L-5: only the agent's setting can say that such an event is a question
    return dialect, pauses, _warnings(run, pauses)


def _warnings(run: RunView, pauses: list[Pause]) -> list[Warning]:
    if any(pause.legacy for pause in pauses):
        text = "Legacy interrupt: the run finished without an outcome and waits for a person."
        return [Warning("L-6", "info", "RUN_FINISHED", text)]
    if pauses or run.status != "succeeded":
        return []
    return [*_silent_pauses(run), *_open_calls(run)]


def _silent_pauses(run: RunView) -> list[Warning]:
    """Pauses that nobody may answer until the agent's dialect is set."""
    found = [
        Warning("L-5", "warning", "CUSTOM on_interrupt", f"{LEGACY_EVENT} Its value: “{_cut(unwrapped(custom.value))}”")
        for custom in announced(run)
    ]
    asked = [call for call in unanswered(run, offered_tools(run)) if call.name == ASKING_TOOL]
    return found + [Warning("L-4", "warning", f"TOOL_CALL_START {ASKING_TOOL}", LEGACY_CALL) for _ in asked]


LEGACY_EVENT = (
    "Legacy interrupt (on_interrupt): the agent waits for a person and says so outside the protocol, so resume[] "
    "cannot answer it. Let the adapter send interrupt outcomes (ag-ui-langgraph: emit_interrupt_outcome=True), "
    "or set this agent's dialect."
)
LEGACY_CALL = (
    "Legacy interrupt: the agent waits for a confirmation and says so by a tool call only. "
    "Let the adapter send interrupt outcomes, or set this agent's dialect to adk."
)


def _open_calls(run: RunView) -> list[Warning]:
    """L-3a: shown on every finished run, so that nobody takes it for all done."""
    return [
        Warning("L-3a", "warning", f"TOOL_CALL_START {call.name or '?'}", f"Tool call without result: {_named(call)}")
        for call in unanswered(run, offered_tools(run))
        if call.name != ASKING_TOOL
    ]


def _named(call: CallView) -> str:
    """Its name and id; hostile agents leave either out."""
    return ", ".join(filter(None, (call.name, call.id))) or "?"


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"
