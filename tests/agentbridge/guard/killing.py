"""The guard, killed at any moment, between an agent that pays and clients that insist.

The agent pays on every resume that reaches it. A client sends its answers again until it hears an end, as a desk does
with an agent that it takes for guarded.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx

from tests.agentbridge.guard.conftest import NO, answer, asked
from tests.agentbridge.guard.programs import Bank, GuardProcess
from tests.scripted_agent import Json
from tests.waiting import PATIENCE

ENDS = {"RUN_FINISHED", "RUN_ERROR"}
LANES = 4  # conversations at once


class Client:
    """One thread of conversation, carried through whatever happens to the guard."""

    def __init__(self, guard: GuardProcess, thread: str) -> None:
        self.guard, self.thread = guard, thread
        self.http = httpx.Client(trust_env=False, timeout=PATIENCE)
        self.tries = 0

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_error: object) -> None:
        self.http.close()

    def send(self, resume: list[Json] | None = None) -> list[Json]:
        """The events that came, as far as they came; [] while the guard is away."""
        self.tries += 1
        body = json.dumps(asked(f"{self.thread}-{self.tries}", resume, thread=self.thread))
        heard = b""
        try:
            with self.http.stream("POST", self.guard.url, content=body) as stream:
                for part in stream.iter_raw():
                    heard += part
        except httpx.TransportError:
            time.sleep(0.05)
        whole = heard[: heard.rfind(b"\n\n")].split(b"\n\n") if b"\n\n" in heard else []
        return [json.loads(frame.removeprefix(b"data: ")) for frame in whole if frame.startswith(b"data: {")]

    def until_an_end(self, resume: list[Json] | None = None) -> Json:
        """Send until the last event is an end; a first run that broke off is started anew."""
        while True:
            told = self.send(resume)
            if told and told[-1]["type"] in ENDS:
                return told[-1]

    def plays(self) -> Json:
        """A pause and the answer to it; the pause that was seen must be answerable."""
        pause = self.until_an_end()
        if pause.get("code") == "RESUME_REQUIRED":  # the run before this one was recorded, and we did not hear it
            return self.until_an_end([answer(id_=f"int-{self.thread}")])
        (interrupt,) = pause["outcome"]["interrupts"]
        return self.until_an_end([answer(id_=interrupt["id"])])


def killing(guard: GuardProcess, bank: Bank, luck: random.Random, stop: threading.Event) -> None:
    """Kill it somewhere behind every second request or so: by what happens, so that a busy machine changes nothing."""
    while not stop.is_set():
        due = len(bank.posts) + luck.randint(1, 4)
        while len(bank.posts) < due and not stop.wait(0.002):
            pass
        stop.wait(luck.uniform(0, 0.08))
        guard.kill()
        guard.start()


def killed_at_random(folder: Path, *, seed: int, rounds: int) -> None:
    """No answer is lost, none runs twice, and an altered one is refused, whatever happened to the guard."""
    luck, stop, ends = random.Random(seed), threading.Event(), {}
    with Bank(seed) as bank:
        guard = GuardProcess(bank.url, folder / "state")
        guard.start()
        threads = [threading.Thread(target=_carry, args=(guard, lane, rounds, ends)) for lane in range(LANES)]
        killer = threading.Thread(target=killing, args=(guard, bank, luck, stop))
        for thread in (killer, *threads):
            thread.start()
        for thread in threads:
            thread.join(60 + 10 * rounds)
        stop.set()
        killer.join(60)
        altered = {thread: _contradict(guard, thread) for thread in ends}
        guard.kill()
        assert len(ends) == rounds
        judge(bank, ends, altered)
        sys.stdout.write(f"{dict(Counter(end.get('code', 'finished') for end in ends.values()))}\n")


def _carry(guard: GuardProcess, lane: int, rounds: int, ends: dict[str, Json]) -> None:
    for n in range(lane, rounds, LANES):
        with Client(guard, f"t{n}") as client:
            ends[client.thread] = client.plays()


def _contradict(guard: GuardProcess, thread: str) -> Json:
    with Client(guard, thread) as client:
        return client.until_an_end([answer(NO, f"int-{thread}")])


def judge(bank: Bank, ends: dict[str, Json], altered: dict[str, Json]) -> None:
    """The oracle: what the agent received and did, against what the clients were told."""
    paid, sent = Counter(bank.paid), Counter(post.json["threadId"] for post in bank.posts if post.resume is not None)
    assert max(sent.values()) == 1, f"I4: {sent.most_common(3)}"
    for post in bank.posts:
        if post.resume is not None:  # I3, I5
            assert post.resume == [answer(id_=f"int-{post.json['threadId']}")]
    for thread, end in ends.items():
        if end["type"] == "RUN_FINISHED":  # I6
            assert end["outcome"] == {"type": "success"} and paid[thread] == 1
        else:  # I1: what was seen to be asked can be answered, and what became of it has a name
            assert end["code"] == "RESUME_IN_DOUBT", end
        expected = "INTERRUPT_ALREADY_ANSWERED" if end["type"] == "RUN_FINISHED" else "RESUME_IN_DOUBT"
        assert altered[thread]["code"] == expected  # I2


def test_nothing_arrives_after_its_time_however_often_the_guard_died(tmp_path: Path) -> None:
    """I7, over a kill between the question and the answer."""
    soon = (datetime.now(UTC) + timedelta(seconds=2)).isoformat()
    with Bank(expiresAt=soon) as bank:
        guard = GuardProcess(bank.url, tmp_path / "state")
        guard.start()
        with Client(guard, "t1") as client:
            client.until_an_end()
            guard.kill()
            time.sleep(2)
            guard.start()
            assert client.until_an_end([answer(id_="int-t1")])["code"] == "INTERRUPT_EXPIRED"
        guard.kill()
        assert bank.paid == []
