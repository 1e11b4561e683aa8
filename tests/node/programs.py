"""The programs of `docs/owners/chat-ui.md`, run as they stand there, with the official TypeScript client."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests.waiting import PATIENCE

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "owners" / "chat-ui.md"
RUN, WAIT, DECIDE = re.findall(r"```js\n(.*?)```", PAGE.read_text(), re.DOTALL)
Program = subprocess.Popen[str]


def begin(code: str, *, desk: str, token: str) -> Program:
    """`desk`: the agent's address there; `token`: its caller's."""
    words = ["node", "--input-type=module", "--eval", code]
    given = {"PATH": os.environ["PATH"], "DESK": desk, "TOKEN": token}
    return subprocess.Popen(
        words, cwd=HERE, env=given, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def told(program: Program) -> list[str]:
    """What it prints; it must end by itself."""
    try:
        out, err = program.communicate(timeout=2 * PATIENCE)
    finally:
        program.kill()
    assert program.returncode == 0, err
    return out.splitlines()
