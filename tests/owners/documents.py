"""The code and the commands of a document, as a reader would copy them, at addresses of this test."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
OWNERS = ROOT / "docs" / "owners"


class Document:
    """`places`: what stands in the document → what this test has instead (ports, files, the desk)."""

    def __init__(self, name: str, places: Mapping[str, str]) -> None:
        text = (OWNERS / name).read_text()
        for said in places:
            assert said in text, f"{name} does not mention {said}"
        # All at once: a port of ours may hold the digits of the next one to be replaced.
        self.text = re.sub("|".join(map(re.escape, places)), lambda found: places[found[0]], text) if places else text

    def code(self) -> str:
        (found,) = re.findall(r"```python\n(.*?)```", self.text, re.DOTALL)
        return found

    def commands(self, start: str) -> list[list[str]]:
        """The words of every command that begins like this, in order; without the first ones that name the program."""
        lines = "\n".join(re.findall(r"```sh\n(.*?)```", self.text, re.DOTALL)).replace("\\\n", " ").splitlines()
        return [shlex.split(line.removeprefix(start), comments=True) for line in lines if line.startswith(start)]


@contextmanager
def program(words: list[str], *, answers: str, log: Path) -> Iterator[None]:
    """A server of the document, from its first answer to the end of the test."""
    with log.open("ab") as out:
        process = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        end = time.monotonic() + 4 * PATIENCE
        while not is_there(answers):
            assert process.poll() is None and time.monotonic() < end, log.read_text()[-2000:]
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


def is_there(url: str) -> bool:
    try:
        return httpx.get(url, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def guard(words: list[str], *, port: int, log: Path):
    """`python -m agentbridge.guard` with these words."""
    return program(
        [sys.executable, "-m", "agentbridge.guard", *words], answers=f"http://127.0.0.1:{port}/healthz", log=log
    )
