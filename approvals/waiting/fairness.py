"""When one agent asks so much that nobody else's tasks would be seen, it takes turns with the others. Pure.

The order within the agent's tasks and within those of the others stays; only how they share a page is different, and
the page says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from approvals.models import Task

FLOOD = 200  # open tasks of one agent, from which on it may be one
DOMINATES = 0.6  # of a page
SHARE = 0.2  # of a page that it keeps


def flooding(shown: Sequence[Task], numbers: Mapping[str, int]) -> str:
    """The agent that leaves no room on this page, or "". `numbers`: open tasks by agent, as far as they are counted."""
    if not shown or len(numbers) < 2:
        return ""
    agent, rows = Counter(task.agent for task in shown).most_common(1)[0]
    return agent if rows >= DOMINATES * len(shown) and numbers.get(agent, 0) > FLOOD else ""


def take_turns(found: Sequence[Task], agent: str, *, size: int) -> tuple[list[Task], Task | None, Task | None]:
    """The rows of a page in their order, and the last one shown of the others and of the agent."""
    others = [task for task in found if task.agent != agent]
    flood = [task for task in found if task.agent == agent]
    kept = min(len(others), size - min(len(flood), int(SHARE * size) or 1))
    some, few = others[:kept], flood[: size - kept]
    chosen = {task.pk for task in (*some, *few)}
    rows = [task for task in found if task.pk in chosen]
    return rows, some[-1] if some else None, few[-1] if few else None
