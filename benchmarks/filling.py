"""Fills the desk of DATABASE_URL in bulk: `python -m benchmarks.filling --tasks 100000 --entries 1000000`.

One pause is made by the product itself; its rows are then copied with other codes and deadlines, and the trail goes on
from where it is, chained and committed as `approvals.trail.chain` says: `verify_audit` finds nothing wrong with it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import django

BATCH = 5_000
DEADLINES = 14 * 24 * 60  # minutes: half of the tasks are due within two weeks
AGENTS = ("payer", "booker", "mailer", "planner")
TEXTS = (
    "{who} took {task}.", "{who} let {task} go.", "{who} signed in.", "{agent} started run {n}.",
    "{agent} finished run {n}.", "{who} approved {task} with changes at /amount.",
)  # fmt: skip
VERBS = ("task.claimed", "task.released", "login.ok", "run.started", "run.finished", "task.flagged")


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--tasks", type=int, default=100_000)
    asked.add_argument("--entries", type=int, default=1_000_000)
    asked.add_argument("--decided", type=int, default=0, help="so many of the entries tell of decisions of a past year")
    asked.add_argument("--people", type=int, default=0, help="so many reviewers; their tokens are printed")
    given = asked.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    fill(given.tasks, given.entries, given.decided)
    print(json.dumps(list(reviewers(given.people))))


def fill(tasks: int, entries: int, decided: int = 0) -> None:
    from django.db import connection, transaction
    from django.utils import timezone

    from approvals.trail import trailindex
    from benchmarks import past

    with transaction.atomic():
        trailindex.remove(connection)  # made anew at the end: quicker than entry by entry
        pause = Pause(timezone.now())
        told = pause.copies(tasks)
        before = past.decided(pause, decided)
        talk = small_talk(pause, entries - len(told) - 3 * decided)
        chained(itertools.chain(before, told, talk), now=pause.now)
        if not trailindex.install(connection):
            raise SystemExit("This database could not make the index of the trail.")
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":  # as its own autovacuum does sooner or later
            cursor.execute("SET statement_timeout = 0")
            cursor.execute("VACUUM ANALYZE")
        else:
            cursor.execute("ANALYZE")


def reviewers(count: int) -> Iterator[str]:
    from django.utils import timezone

    from approvals import people
    from approvals.models.people import Role

    for n in range(count):
        person = people.set_user(f"reviewer{n}", role=Role.REVIEWER, queues=["payments"], now=timezone.now())
        yield people.give_token(person, now=timezone.now())


class Pause:
    """A pause of an agent as the product stores it, to be copied."""

    def __init__(self, now: datetime) -> None:
        from approvals import exhibits, intake, kit, people

        self.now = now
        self.queue = people.set_queue("payments", now=now)
        args = '{"to": "ops@example.org", "amount": 120.50, "note": "rent"}'
        call = exhibits.Tool(id="call-1", name="send_money", args_text=args, state="complete")
        content = exhibits.Content(reason="tool_call", message="Please confirm.", tool=call, agent_name="Payer")
        refs = {name: f"{name}-0" for name in ("threadId", "runId", "interruptId", "toolCallId")} | {"agent": "payer"}
        form = kit.standard_kit(reason="tool_call", schema=None, has_call=True, proposal=args)
        task = intake.NewTask(refs=refs, queue=self.queue, exhibit=content, kit=form)
        new = intake.NewCase(agent="payer", thread_key="k" * 64, refs=refs, tasks=[task])
        self.case = intake.open_case(new, now=now)
        self.task = self.case.tasks.get()
        self.exhibit = self.task.exhibits.get()

    def copies(self, count: int) -> list[dict[str, Any]]:
        """So many more cases of one task each; what the trail has to tell of them."""
        from approvals.models import Case, Exhibit, Task
        from approvals.models.cases import new_case_code, new_task_code

        cases, tasks = [], []
        for n in range(count):
            deadline = self.now + timedelta(minutes=10 + n % DEADLINES) if n % 2 else None
            refs = json.dumps({"threadId": f"thread-{n}", "runId": f"r{n}"})
            changed = {"agent": AGENTS[n % len(AGENTS)], "refs": refs, "thread_key": f"{n:064x}", "pk": None}
            cases.append(Case(**{**columns(self.case), **changed, "code": new_case_code(), "deadline": deadline}))
            due = {"deadline": deadline, "due_at": deadline, "code": new_task_code()}
            tasks.append(Task(**{**columns(self.task), **changed, **due}))
        for case, task in zip(Case.objects.bulk_create(cases, BATCH), tasks, strict=True):
            task.case = case
        shown = columns(self.exhibit)
        stored = Task.objects.bulk_create(tasks, BATCH)
        Exhibit.objects.bulk_create([Exhibit(**{**shown, "pk": None, "task_id": task.pk}) for task in stored], BATCH)
        return [entry for task in tasks for entry in self.opened(task)]

    def opened(self, task: Any) -> Iterator[dict[str, Any]]:
        about = {"case": task.case, "refs": task.refs, "agent": task.agent, "thread_key": task.thread_key}
        yield {**about, "verb": "case.opened", "sentence": f"{task.agent} paused and asks one question.", "data": {}}
        data = {"shownDigest": task.shown_digest}
        yield {**about, "verb": "task.opened", "task": task, "sentence": "Asks for send_money.", "data": data}


def columns(row: Any) -> dict[str, Any]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields if field.name != "id"}


def small_talk(pause: Pause, count: int) -> Iterator[dict[str, Any]]:
    """Entries without rows. Each text has its number, which stands nowhere else."""
    pick = random.Random(7)
    people = [f"reviewer{n}" for n in range(40)]
    for n in range(max(0, count)):
        kind = n % len(TEXTS)
        agent = pick.choice(AGENTS)
        sentence = TEXTS[kind].format(who=pick.choice(people), agent=agent, n=n, task=pause.task.code)
        refs = json.dumps({"agent": agent, "threadId": f"th-{pick.randrange(10**9):09}", "runId": f"run-{n:07}"})
        yield {"verb": VERBS[kind], "sentence": sentence, "agent": agent, "refs": refs, "data": {}}


def chained(told: Iterator[dict[str, Any]], *, now: datetime) -> None:
    """Append entries as `audit.record` would, a few thousand in one statement."""
    from approvals.models import AuditEntry

    head = AuditEntry.objects.order_by("-seq").first()
    if head is None:
        raise SystemExit("The trail must have begun.")
    made = entries(told, seq=head.seq, prev=head.leaf_hash, log=json.loads(head.body)["log"], now=now)
    while batch := list(itertools.islice(made, BATCH)):
        AuditEntry.objects.bulk_create(batch)


def entries(told: Iterator[dict[str, Any]], *, seq: int, prev: str, log: str, now: datetime) -> Iterator[Any]:
    from approvals.models import AuditEntry
    from approvals.trail import chain

    for number, told_of in enumerate(told, seq + 1):
        row = {"at": now, "case": None, "task": None, "actor": None, "thread_key": "", **told_of,
               "data": json.dumps(told_of["data"])}  # fmt: skip
        actor = row["actor"] and {"kind": "person", "id": row["actor"].pseudonym, "auth": None, "session": None}
        salts = {name: chain.new_salt() for name in chain.COMMITTED}
        commit = {name: chain.commitment(name, salts[name], row[name].encode()) for name in chain.COMMITTED}
        codes: Sequence[str | None] = [row[name] and row[name].code for name in ("case", "task")]
        members = {
            "v": chain.VERSION, "log": log, "seq": number, "prev": prev, "at": chain.moment(row["at"]),
            "type": row["verb"], "actor": actor,
            "case": codes[0], "task": codes[1], "policy": None, "commit": commit,
        }  # fmt: skip
        body = json.dumps(members, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        prev = chain.leaf_hash(body)
        words = " ".join(filter(None, (row["sentence"], row["refs"], *codes))).casefold()
        yield AuditEntry(
            seq=number, body=body, leaf_hash=prev, actor_kind="person" if actor else "system", search_text=words, **row,
            **{f"{name}_salt": salt for name, salt in salts.items()},
        )  # fmt: skip


if __name__ == "__main__":
    main()
