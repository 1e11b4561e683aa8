"""What an agent remembers between the run that pauses and the run that resumes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from ag_ui.core import AssistantMessage, RunAgentInput

Json = dict[str, Any]


@dataclass
class Pause:
    """Where a story stands: `asks` = [{"interruptId", "toolCallId", "args", "sent"}] in the order of the round."""

    story: str
    seed: int
    round: int
    asks: list[Json]
    run: str = ""  # that asked; an agent without memory does not know

    @property
    def ids(self) -> list[str]:
        return [ask["interruptId"] for ask in self.asks]


class Memory(Protocol):
    """Finds the open pause of a thread, keeps a new one, and says what goes into the state snapshot."""

    def load(self, given: RunAgentInput) -> Pause | None: ...
    def keep(self, given: RunAgentInput, pause: Pause) -> Json: ...
    def clear(self, given: RunAgentInput) -> Json: ...


class Checkpoints:
    """Keeps every pause on the server: history that is sent back is not believed. With a file, over restarts too."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        kept = json.loads(file.read_text("utf-8")) if file and file.exists() else {}
        self.pauses = {thread: Pause(**pause) for thread, pause in kept.items()}

    def load(self, given: RunAgentInput) -> Pause | None:
        return self.pauses.get(given.thread_id)

    def keep(self, given: RunAgentInput, pause: Pause) -> Json:
        self.pauses[given.thread_id] = pause
        self.save()
        return {"story": pause.story, "round": pause.round}

    def clear(self, given: RunAgentInput) -> Json:
        pause = self.pauses.pop(given.thread_id, None)
        self.save()
        return {"story": pause.story if pause else "", "round": -1}

    def save(self) -> None:
        if self.file:
            kept = {thread: asdict(pause) for thread, pause in self.pauses.items()}
            self.file.write_text(json.dumps(kept), "utf-8")


class Replay:
    """Keeps nothing: the place in the story comes from the state, the arguments from the messages that are sent."""

    def load(self, given: RunAgentInput) -> Pause | None:
        state = given.state if isinstance(given.state, dict) else {}
        if not state.get("asks"):
            return None
        arguments = {
            call.id: json.loads(call.function.arguments)
            for message in given.messages
            if isinstance(message, AssistantMessage)
            for call in message.tool_calls or []
        }
        asks = [{**ask, "args": arguments.get(ask["toolCallId"])} for ask in state["asks"]]
        return Pause(state["story"], state["seed"], state["round"], asks)

    def keep(self, given: RunAgentInput, pause: Pause) -> Json:
        asks = [{name: ask[name] for name in ("interruptId", "toolCallId")} for ask in pause.asks]
        return {"story": pause.story, "seed": pause.seed, "round": pause.round, "asks": asks}

    def clear(self, given: RunAgentInput) -> Json:
        return {"story": "", "asks": []}
