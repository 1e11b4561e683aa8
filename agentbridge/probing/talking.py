"""A conversation of the probe with an agent: through our egress, on a thread that nobody else uses."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from agentbridge import dialects
from agentbridge.delivery.tickets import headers_of
from agentbridge.dialects import Answered, Pause
from agentbridge.models import Agent
from agentbridge.net import client, egress
from agentbridge.wire import protocol
from agentbridge.wire.classify import classify
from agentbridge.wire.reading import Reader
from agentbridge.wire.record import RunInput, RunView
from approvals import jsontext

GUARD = "countersign-guard"
SETTLE_SECONDS = 0.3  # a tool may write its trace just behind its result
EXCERPT = 160


class CannotTell(Exception):
    """This check could not be made; the sentence says why."""


@dataclass(frozen=True, kw_only=True)
class Heard:
    """One answer of the agent."""

    letter: str  # class of C.5
    view: RunView | None
    status: int | None = None
    said: str = ""
    server: str = ""
    guarded: bool = False

    @property
    def refused(self) -> bool:
        return self.letter in ("A", "B", "C")

    @property
    def unclear(self) -> bool:
        """Nobody could say what the agent did."""
        return self.letter in ("H", "I")


@dataclass
class Ledger:
    """Where the tool says how often it really ran: a JSON list, or an object that holds one as `executions`."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()

    async def count(self) -> int:
        """Raises CannotTell."""
        await asyncio.sleep(SETTLE_SECONDS)
        try:
            async with client.fetch(self.url, headers=self.headers) as answer:
                body = b"".join([part async for part in answer.aiter()])
            found = jsontext.loads(body.decode())
        except (egress.EgressError, ValueError) as problem:
            raise CannotTell(f"The ledger cannot be read: {problem}") from problem
        listed = found.get("executions") if isinstance(found, dict) else found
        if answer.status != 200 or not isinstance(listed, list):
            raise CannotTell(f"The ledger is no list of executions (HTTP {answer.status}).")
        return len(listed)


@dataclass
class Talk:
    """One thread. `asked` is the newest pause; `heard` every answer of all threads, in order."""

    agent: Agent
    asking: RunInput
    ledger: Ledger
    heard: list[Heard]
    thread_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    paused: RunView | None = None

    async def pauses(self) -> list[Pause]:
        """Start, and come to a pause. Raises CannotTell."""
        heard = await self._post(self.asking.messages, self.asking.state, resume=None)
        return self.questions(heard)

    def questions(self, heard: Heard) -> list[Pause]:
        """What an answer asks; remembered as the pause to be answered. Raises CannotTell."""
        if heard.view is None or not heard.view.interrupts:
            raise CannotTell(f"The run did not pause with an interrupt outcome: {heard.said}.")
        self.paused = heard.view
        return dialects.recognise(heard.view, self.agent.dialect)[1]

    def entries(self, pauses: Sequence[Pause], verdict: str = "approved") -> list[str]:
        """The members of `resume[]` that say yes (or no) in the agent's dialect. Raises CannotTell."""
        assert self.paused is not None  # noqa: S101 whoever has pauses has paused
        dialect = dialects.recognise(self.paused, self.agent.dialect)[0]
        answers = []
        for pause in pauses:
            form = dialect.kit(pause).forms.get(verdict)
            if pause.interrupt.id is None or form is None or form.answer is None:
                raise CannotTell(f"A question cannot be answered with a plain “{verdict}”.")
            answers.append(Answered(interrupt_id=pause.interrupt.id, verdict=verdict, answer=form.answer))
        found = jsontext.items(dialect.send(answers, self.asking.forwarded_props).entries or "[]")
        if not found:
            raise CannotTell("This agent is not answered by resume[].")
        return found

    async def answer(self, entries: Sequence[str]) -> tuple[Heard, int]:
        """Send these members of `resume[]`; what came back, and how often the tool ran meanwhile."""
        before = await self.ledger.count()
        heard = await self.send(entries)
        return heard, await self.ledger.count() - before

    async def send(self, entries: Sequence[str]) -> Heard:
        view = self.paused
        assert view is not None  # noqa: S101 whoever answers was asked
        dialect = dialects.recognise(view, self.agent.dialect)[0]
        return await self._post(dialect.arrange(view.messages), view.state, resume=f"[{','.join(entries)}]")

    async def _post(self, messages: Sequence[str], state: str | None, *, resume: str | None) -> Heard:
        run_id = str(uuid.uuid4())
        body = protocol.run_input(
            thread_id=self.thread_id, run_id=run_id, messages=messages, state=state, tools=self.asking.tools,
            context=self.asking.context, forwarded_props=self.asking.forwarded_props, resume=resume,
            protocol_version=None if self.agent.pre_1_0 else protocol.PROTOCOL_VERSION,
        )  # fmt: skip
        heard = await exchange(self.agent, body)
        self.heard.append(heard)
        return heard


async def exchange(agent: Agent, body: bytes) -> Heard:
    """One request and all of its answer, told in a sentence. Raises CannotTell when the agent cannot be reached."""
    asked = protocol.read_input(body.decode())
    reader = Reader(thread_id=asked.thread_id, run_id=asked.run_id, run_input=asked, tolerances=agent.tolerances)
    answer: client.Answer | None = None
    try:
        async with client.post(agent.url, headers=headers_of(agent), body=body, arm=client.at_once) as answer:
            async for part in answer.aiter():
                reader.feed(part)
        reader.close()
    except egress.EgressError as trouble:
        if trouble.nothing_sent:
            raise CannotTell(trouble.sentence) from trouble
        reader.close(cut=trouble.sentence)
    if answer is None:
        return Heard(letter="H", view=None, said="no answer")
    view = next((run for run in reader.runs if run.ours), None) if answer.is_stream else None
    letter = classify(http_status=answer.status, run=view)
    return Heard(
        letter=letter, view=view, status=answer.status, said=told(letter, view, answer.status),
        server=answer.header("server"), guarded=bool(answer.header(GUARD)),
    )  # fmt: skip


def told(letter: str, view: RunView | None, status: int | None) -> str:
    """What came back, for the evidence."""
    if view is None:
        return f"HTTP {status}" if letter == "A" else f"HTTP {status}, and no event stream"
    if view.status == "failed":
        said = " ".join(filter(None, ["RUN_ERROR", view.error_code, f"“{(view.error or '')[:EXCERPT]}”"]))
        return said if letter in "BC" else f"{said} after other events"
    words = {"E": "finished", "F": "paused again", "G": "cancelled", "J": "an error after the end"}
    return words.get(letter, "a stream without an end")
