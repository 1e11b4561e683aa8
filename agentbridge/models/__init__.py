"""What is stored about agents, their runs and what is owed to them."""

from agentbridge.models.agents import Agent, Thread
from agentbridge.models.delivery import DeliveryState, Incident, Resume
from agentbridge.models.notes import ProtocolNote
from agentbridge.models.runs import Interrupt, Run, StreamChunk, ToolCall

__all__ = [
    "Agent", "DeliveryState", "Incident", "Interrupt", "ProtocolNote", "Resume", "Run", "StreamChunk", "Thread",
    "ToolCall",
]  # fmt: skip
