"""One HTTP answer of an agent, read to its meaning: which runs it holds, how each ended, and what may be believed.

Pure, and never raises on content. C-29b decides between rejecting and deviating; the first terminal event gives a run
its status; the run that counts is the one we asked for (C-15, H-1 to H-6).
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from agentbridge.wire import boundaries, outcomes, sse
from agentbridge.wire.history import History
from agentbridge.wire.openrun import OpenRun
from agentbridge.wire.protocol import Event, Note, Problem, ProtocolError, excerpt, parse_event, read_input
from agentbridge.wire.record import (
    CallView,
    Cut,
    Echo,
    Fact,
    LateError,
    Limits,
    Rejected,
    RunInput,
    RunView,
    Started,
    Truncated,
)

# Named deviations that an operator may tolerate for one agent (C-29a); without them the stream is rejected.
TOLERANCES = ("first-event", "nested-run", "events-after-error")


class Reader:
    """Bytes in, facts out, in order of arrival. What was read stands in `runs`."""

    def __init__(
        self,
        *,
        thread_id: str,
        run_id: str,
        run_input: RunInput | None,
        tolerances: Container[str] = (),
        limits: Limits | None = None,
        earlier_calls: Mapping[str, CallView] | None = None,
        known_runs: Container[str] = (),
    ) -> None:
        self.thread_id = thread_id
        self.run_id = run_id
        self.run_input = run_input
        self.tolerances = tolerances
        self.limits = limits or Limits()
        self.earlier_calls = earlier_calls or {}
        self.known_runs = known_runs
        self.runs: list[RunView] = []
        self.events = 0
        self.bytes = 0
        self.stopped: str | None = None  # why there is no point in reading on: a limit was met
        self._sse = sse.Parser(limit=self.limits.frame)
        self._history = History(run_input.messages, run_input.state) if run_input is not None else History()
        self._run: OpenRun | None = None  # the newest, open or ended
        self._ours: OpenRun | None = None
        self._out: list[Fact] = []
        self._held: list[Fact] | None = None  # facts of a run under another id, until it is clear whether it is ours
        self._early: list[tuple[int | str, str, Note]] = []  # noted before there was a run
        self._errored = False  # a RUN_ERROR was last: only RUN_STARTED may follow
        self._rejected = False
        self._thinking = 0
        self._reasoning_id = f"thinking-{run_id}-0"  # stands in for the id that 0.x events lack

    @property
    def comments(self) -> int:
        """Comment lines so far: no events, but signs of life."""
        return self._sse.comments

    @property
    def ended(self) -> bool:
        """The newest run has its terminal event: whatever comes now is late news."""
        return self._run is not None and self._run.view.ended

    def feed(self, data: bytes) -> list[Fact]:
        """What these bytes say."""
        if self.stopped is not None:
            return []
        self.bytes += len(data)
        try:
            self._frames(self._sse.feed(data))
        except sse.FrameTooLarge as error:
            self._frames(error.frames)
            self._finally(str(error))
        if self.bytes > self.limits.stream:
            self._finally(f"The stream is larger than the limit of {self.limits.stream} bytes.")
        return self._told()

    def _told(self) -> list[Fact]:
        facts, self._out = self._out, []
        return facts

    def close(self, *, cut: str | None = None) -> list[Fact]:
        """The end of the body; `cut` says why when it was us who stopped reading."""
        if self.stopped is None:
            if cut is None:
                self._frames(self._sse.close())
            self._finally(cut)
        return self._told()

    def _finally(self, cut: str | None) -> None:
        """Decide, once, what is undecided: which run is ours, and that an open one has no ending."""
        if self.stopped is not None:
            return
        self.stopped = cut or "The body has ended."
        if self._run is None:
            self._run = self._new(self.run_id, self.thread_id, started=False)
        run = self._run
        if not run.view.ended:
            run.view.status, run.view.cut = "truncated", cut
            self._say([*run.finish(quiet=True), Truncated(run.view) if cut is None else Cut(run.view, cut)])
        if self._ours is None:
            self._claim(run)
        for each in {run, self._ours or run}:
            each.notes.close()

    def _frames(self, frames: list[sse.Frame]) -> None:
        for frame in frames:
            if self.stopped is None and (facts := self._frame(frame)):
                self._say(facts)

    def _frame(self, frame: sse.Frame) -> list[Fact]:
        parsed = parse_event(frame.data, reasoning_id=self._reasoning_id)
        if not frame.terminated:
            self._loose(Note("A.3", "info", "", "The last frame was not terminated by a blank line."))
        if frame.bad_utf8:
            self._loose(Note("A.3", "error", "", "A frame holds bytes that are not UTF-8."))
        if isinstance(parsed, Problem):
            return self._unread(parsed)
        self.events += 1
        if parsed.older and parsed.type == "REASONING_MESSAGE_END":
            self._thinking += 1
            self._reasoning_id = f"thinking-{self.run_id}-{self._thinking}"
        return self._event(parsed)

    def _unread(self, problem: Problem) -> list[Fact]:
        self.events += problem.type != ""
        self._loose(problem.note, problem.type)
        if self._run is not None and not self._run.view.ended:
            self._run.view.acted = True  # nobody knows what it said
        return []

    def _loose(self, note: Note, kind: str = "") -> None:
        """Something noted about a frame that has no effect."""
        place = self.events if kind else f"after {self.events}"
        if self._run is None:
            self._early.append((place, kind, note))
            return
        self._run.view.events += kind != ""
        self._run.notes.place, self._run.notes.kind = place, kind
        self._run.notes.take(note)

    def _event(self, event: Event) -> list[Fact]:
        run = self._run
        if event.type == "RUN_STARTED" and not self._rejected:
            return self._start(event)
        if run is None:
            return self._first(event)
        run.view.events += 1
        run.notes.reading(event, self.events)
        if self._rejected:
            return boundaries.quarantine(run, event)
        if run.view.ended and not (run.view.status == "failed" and "events-after-error" in self.tolerances):
            return self._after(run, event)
        return self._inside(run, event)

    def _new(self, run_id: str, thread_id: str, *, started: bool = True) -> OpenRun:
        ours = run_id == self.run_id and self._ours is None
        view = RunView(run_id=run_id, thread_id=thread_id, ours=ours, started=started)
        view.known = not ours and (run_id == self.run_id or run_id in self.known_runs)
        run = OpenRun(view, self._history, self.earlier_calls)
        if ours:
            self._ours, view.input = run, self.run_input
        for run.notes.place, run.notes.kind, note in self._early:
            run.notes.take(note)
        self._early.clear()
        self.runs.append(view)
        return run

    def _first(self, event: Event) -> list[Fact]:
        """The first event of the body is no RUN_STARTED (C-8)."""
        self._run = run = self._new(self.run_id, self.thread_id, started=False)
        run.view.events += 1
        run.notes.reading(event, self.events)
        if event.type == "RUN_ERROR":
            return self._inside(run, event)
        if "first-event" not in self.tolerances:
            return self._reject(run, "C-8", f"The stream opens with {event.type}.")
        run.notes.add("C-8", "warning", f"The stream opens with {event.type}; tolerated for this agent.")
        run.view.started = True
        return [Started(run.view), *self._inside(run, event)]

    def _start(self, event: Event) -> list[Fact]:
        """RUN_STARTED: a new run, or a deviation."""
        run_id, last = event.body.get("runId", self.run_id), self._run
        if last is not None and not last.view.ended:
            return self._nested(last, event, run_id)
        if self._history.carried > self.limits.stream:
            self._finally(f"The runs of this stream carry more than the limit of {self.limits.stream} characters.")
            return []
        self._release(ours=False)
        self._run = run = self._new(run_id, event.body.get("threadId", self.thread_id))
        self._errored = False
        if self._ours is None:
            self._held = []
        elif not run.view.ours:
            text = f"The answer holds another run, {excerpt(run_id)}, that nobody here asked for."
            self._ours.notes.add("H-1", "warning", text)
        run.view.events += 1
        run.notes.reading(event, self.events)
        boundaries.describe(run, event, thread_id=self.thread_id)
        return [Started(run.view), *self._echo(run, event)]

    def _nested(self, run: OpenRun, event: Event, run_id: str) -> list[Fact]:
        run.view.events += 1
        run.notes.reading(event, self.events)
        if run_id == run.view.run_id:
            run.notes.add("C-29b", "warning", "The run is started twice; the repeat has no effect.")
            return []
        text = f"A run {excerpt(run_id)} starts inside the run {excerpt(run.view.run_id)}."
        if "nested-run" not in self.tolerances:
            return self._reject(run, "C-9", text)
        run.notes.add("C-9", "warning", f"{text} Tolerated for this agent: read as one run.")
        return []

    def _echo(self, run: OpenRun, event: Event) -> list[Fact]:
        """RUN_STARTED.input: who asked what (H-5). It is our history only where we have none."""
        text = event.source("input")
        if text is None:
            return []
        try:
            echo = read_input(text)
        except ProtocolError as error:
            run.notes.add("C-3", "warning", str(error), f"/input/{error.field}")
            return []
        run.view.input = run.view.input or echo
        if self.run_input is None and not self._history.texts():
            self._history = run.history = run.calls.history = History(echo.messages, echo.state)
        return [Echo(run.view, echo.resume)] if echo.resume is not None else []

    def _inside(self, run: OpenRun, event: Event) -> list[Fact]:
        """An event of an open run."""
        if event.type == "RUN_FINISHED":
            self._errored = False
            try:
                return boundaries.finish(run, event)
            except outcomes.Unreadable as error:
                return self._reject(run, "C-29b", str(error))
        if event.type == "RUN_ERROR":
            self._errored = True
            return boundaries.fail(run, event)
        return run.handle(event)

    def _after(self, run: OpenRun, event: Event) -> list[Fact]:
        """Something after the end of a run (C-9, C-12): one late error is legal, the rest is not."""
        if self._errored:
            refused = self._reject(run, "C-9", f"{event.type} comes after a RUN_ERROR.")
            return [*refused, *boundaries.quarantine(run, event)]  # what breaks the rule may itself ask questions
        if event.type != "RUN_ERROR":
            run.notes.add("C-9", "warning", f"{event.type} comes after the end of the run and has no effect.")
            return []
        self._errored = True
        run.view.late_error = message = event.body.get("message", "")
        run.notes.add("C-12", "error", f"After its end the run reports an error: {excerpt(message)}")
        return [LateError(run.view, message, event.body.get("code"))]

    def _reject(self, run: OpenRun, rule: str, text: str) -> list[Fact]:
        """We refuse the stream from here on; runs that ended before keep their end (H-6)."""
        self._rejected = True
        run.view.rejected = text
        run.notes.add(rule, "error", f"The stream is rejected: {text}")
        if run.view.ended:
            return [Rejected(run.view, rule, text)]
        run.view.status = "rejected"
        return [*run.finish(quiet=True), Rejected(run.view, rule, text)]

    def _say(self, facts: list[Fact]) -> None:
        """Pass facts on, or hold them until it is clear whose run this is."""
        (self._out if self._held is None else self._held).extend(facts)

    def _release(self, *, ours: bool) -> None:
        held, self._held = self._held or [], None
        for fact in held:
            fact.run.ours = ours
        self._out += held

    def _claim(self, run: OpenRun) -> None:
        """The answer is over and no run carried our id: the last one is what we asked for (C-15)."""
        view = run.view
        run.notes.place, run.notes.kind = "", "RUN_STARTED"
        text = f"The agent calls this run {excerpt(view.run_id)}; we asked for {excerpt(self.run_id)}."
        run.notes.add("C-15", "warning", text, "/runId")
        view.ours, view.known, view.input = True, False, self.run_input or view.input
        self._ours = run
        self._release(ours=True)
