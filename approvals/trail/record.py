"""The record of a case for whoever was not there: what was asked, under which rules, who saw it, what was decided.

Everything with the entry that tells of it, so that each part can be checked by itself. What is missing is None or
empty, and pages say so. Reads only; what was sent and what really ran, the bridge adds.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from approvals import exhibits, jsontext, permissions
from approvals.desk import states
from approvals.exhibits import Content
from approvals.foreign import diff
from approvals.models import AuditEntry, Case, Decision, Erasure, Exhibit, Queue, Task, User
from approvals.models.cases import State
from approvals.trail import chain, informing, trailsearch

ON_A_PAGE = 25  # questions of a case; the page of the whole record has all of them
Known = dict[str, User]  # people by pseudonym


@dataclass(frozen=True, kw_only=True)
class Version:
    """What was asked, frozen; `entry` is the one that tells of it."""

    number: int
    digest: str
    content: Content
    frozen_at: Any
    entry: AuditEntry | None

    @property
    def arguments(self) -> str:
        return self.content.tool.args_text if self.content.tool else ""

    @property
    def digests(self) -> list[tuple[str, str]]:
        """Of what came with the question: names of the parts are data for the page."""
        parts = (("schema", self.content.response_schema), ("definition", self.content.tool_definition))
        return [(name, sha256(text)) for name, text in parts if text]


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What held at the pause, as the opening entry kept it."""

    queue: str
    risk: str
    reason_required: bool
    whole_text_first: bool
    kit_digest: str
    eligible: list[str]  # names; a pseudonym where the name is known no more


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A person had a version on screen."""

    who: User | None
    entry: AuditEntry
    version: int | None
    digest: str
    is_newest: bool


@dataclass(frozen=True, kw_only=True)
class Given:
    """One decision, whatever became of it."""

    decision: Decision
    on: Version | None
    entry: AuditEntry | None
    seen: bool  # its author had that version on screen before

    @cached_property
    def changes(self) -> list[diff.Change]:
        if self.decision.edits is None or self.on is None or self.on.content.erased:
            return []
        return diff.argument_diff(self.on.content.proposal or "{}", self.decision.edits)

    @property
    def state(self) -> str:
        return "edited" if self.decision.edits is not None else self.decision.verdict

    @property
    def icon(self) -> str:
        return states.look(self.state).icon

    @property
    def answer_digest(self) -> str:
        return "" if self.decision.answer is None else sha256(self.decision.answer)


@dataclass(frozen=True, kw_only=True)
class Question:
    """One task of the case, whole."""

    task: Task
    versions: list[Version]
    rules: Rules | None
    seen: list[Seen]
    given: list[Given]
    results: list[dict[str, Any]] | None
    told: list[AuditEntry]  # of results and conclusions
    informed: list[informing.Told]

    @property
    def newest(self) -> Version:
        return self.versions[-1]


@dataclass(frozen=True, kw_only=True)
class Record:
    """A case; tasks of other queues stand in `hidden`, as code, queue and state."""

    case: Case
    questions: list[Question]
    hidden: list[Task]
    entries: list[AuditEntry]
    read: list[AuditEntry]  # by whom it was only read
    erasure: Erasure | None
    problems: list[str] = field(default_factory=list)  # of entries that are not what they were

    @property
    def is_whole(self) -> bool:
        """Whether this person sees every task of it, and so what was sent for all of them."""
        return not self.hidden

    def number_of(self, seq: int) -> int:
        """Which question an entry tells of, as people count; 1 for the case as a whole."""
        tasks = [question.task.pk for question in self.questions]
        told = next((entry.task_id for entry in self.entries if entry.seq == seq), None)
        return tasks.index(told) + 1 if told in tasks else 1

    def part(self, start: int) -> list[Question]:
        """As many questions as a page holds, from the one at this place on."""
        return self.questions[start : start + ON_A_PAGE]

    def entries_of(self, questions: list[Question]) -> list[AuditEntry]:
        """Those that tell of these questions, and of the case as a whole."""
        near = {None, *(question.task.pk for question in questions)}
        return [entry for entry in self.entries if entry.task_id in near]

    def of_verbs(self, *verbs: str) -> list[AuditEntry]:
        return [entry for entry in self.entries if entry.verb in verbs]

    @property
    def title_counts(self) -> list[tuple[str, int]]:
        counts: dict[str, int] = defaultdict(int)
        for question in self.questions:
            live = next((g for g in question.given if not g.decision.recalled_at and not g.decision.voided_at), None)
            counts[live.state if live else State.OPEN] += 1
        return list(counts.items())


def read(user: User, case: Case) -> Record:
    """Everything of a case that this person may see; the caller found the case among theirs."""
    entries = list(
        trailsearch.visible(user).filter(case=case).select_related("actor", "task", "case").order_by("seq")
    )
    tasks = list(case.tasks.select_related("queue").order_by("position"))
    own = set(permissions.visible_tasks(user).filter(case=case).values_list("pk", flat=True))
    reader = _Reader(case, [task for task in tasks if task.pk in own], entries)
    return Record(
        case=case,
        questions=[reader.question(task) for task in reader.tasks],
        hidden=[task for task in tasks if task.pk not in own],
        entries=entries,
        read=[entry for entry in entries if entry.verb == "case.viewed"],
        erasure=case.erasures.filter(done_at__isnull=False).select_related("asked_by", "done_by").first(),
        problems=[problem for entry in entries if (problem := wrong(entry))],
    )


def chain_of(user: User, case: Case) -> list[Case]:
    """All cases of the conversation that hang together with this one and that the person may see, oldest first."""
    seen = permissions.visible_cases(user).filter(agent=case.agent, thread_key=case.thread_key)
    return list(seen.order_by("pk")) if case.thread_key else [case]


def wrong(entry: AuditEntry) -> str:
    """Which part of an entry is not what it was; "" for a good one. The links between entries `verify_audit` checks."""
    if chain.leaf_hash(bytes(entry.body)) != entry.leaf_hash:
        return f"entry {entry.seq}: body"
    try:
        commit = chain.read_body(bytes(entry.body))["commit"]
    except chain.NotCanonical:
        return f"entry {entry.seq}: form"
    for name in chain.COMMITTED:
        text, salt = getattr(entry, name), getattr(entry, f"{name}_salt")
        if text is not None and chain.commitment(name, bytes(salt or b""), chain.stored_bytes(text)) != commit[name]:
            return f"entry {entry.seq}: {name}"
    return ""


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class _Reader:
    """Puts rows and entries of one case together."""

    def __init__(self, case: Case, tasks: list[Task], entries: list[AuditEntry]) -> None:
        self.case, self.tasks = case, tasks
        self.told: dict[tuple[int | None, str], list[AuditEntry]] = defaultdict(list)
        for entry in entries:
            self.told[entry.task_id, entry.verb].append(entry)
        self.bodies: dict[int, list[Exhibit]] = defaultdict(list)
        for shown in Exhibit.objects.filter(task__in=tasks).order_by("task", "version"):
            self.bodies[shown.task_id].append(shown)
        self.decisions: dict[int, list[Decision]] = defaultdict(list)
        for decision in Decision.objects.filter(task__in=tasks).select_related("by").order_by("pk"):
            self.decisions[decision.task_id].append(decision)
        self.looks: dict[str, list[tuple[AuditEntry, dict[str, Any]]]] = defaultdict(list)
        for entry in self.told[None, "case.shown"]:
            for one in data(entry).get("shown", []):
                self.looks[one["task"]].append((entry, one))
        self.names = names_in(entries)

    def question(self, task: Task) -> Question:
        versions = [self._version(shown) for shown in self.bodies[task.pk]]
        seen = self._seen(task, versions)
        return Question(
            task=task,
            versions=versions,
            rules=rules(self.told[task.pk, "task.opened"], self.names),
            seen=seen,
            given=[self._given(decision, versions, seen) for decision in self.decisions[task.pk]],
            results=None if task.results is None else jsontext.loads(task.results),
            told=[*self.told[task.pk, "task.result"], *self.told[task.pk, "task.concluded"]],
            informed=informing.told(self.told[task.pk, "note.added"], self.told[task.pk, "task.taken_over"]),
        )

    def _version(self, shown: Exhibit) -> Version:
        tellers = (*self.told[shown.task_id, "task.opened"], *self.told[shown.task_id, "exhibit.changed"])
        return Version(
            number=shown.version,
            digest=shown.digest,
            content=exhibits.load(shown.body),
            frozen_at=shown.frozen_at,
            entry=tellers[shown.version - 1] if shown.version <= len(tellers) else None,
        )

    def _seen(self, task: Task, versions: list[Version]) -> list[Seen]:
        newest = versions[-1].digest if versions else ""
        return [
            Seen(who=entry.actor, entry=entry, version=one.get("version") and int(one["version"]),
                 digest=one["shownDigest"], is_newest=one["shownDigest"] == newest)
            for entry, one in self.looks[task.code]
        ]  # fmt: skip

    def _given(self, decision: Decision, versions: list[Version], seen: Iterable[Seen]) -> Given:
        told = (entry for entry in self.told[decision.task_id, "task.decided"] if entry.at == decision.at)
        looked = any(
            one.digest == decision.shown_digest and one.entry.actor_id == decision.by_id and one.entry.at <= decision.at
            for one in seen
        )
        on = next((version for version in versions if version.digest == decision.shown_digest), None)
        return Given(decision=decision, on=on, entry=next(told, None), seen=looked)


def data(entry: AuditEntry) -> dict[str, Any]:
    """What an entry keeps; nothing where that was erased."""
    return {} if entry.data is None else dict(jsontext.loads(entry.data))


def names_in(entries: list[AuditEntry]) -> dict[str, str]:
    """Of everybody who could have decided, by pseudonym: looked up once for all tasks of a case."""
    opened = (data(entry).get("rules") for entry in entries if entry.verb == "task.opened")
    eligible = {pseudonym for told in opened if told for pseudonym in told["eligible"]}
    return {one.pseudonym: one.display_name for one in User.objects.filter(pseudonym__in=eligible)}


def rules(opened: list[AuditEntry], names: Mapping[str, str]) -> Rules | None:
    """None where the opening entry kept none: cases from before they were kept, or erased."""
    told = data(opened[0]).get("rules") if opened else None
    if not told:
        return None
    return Rules(
        queue=told["queue"],
        risk=dict(Queue.Risk.choices).get(told["risk"], told["risk"]),
        reason_required=told["reasonRequired"],
        whole_text_first=told.get("wholeTextFirst", False),  # not on record before there was such a rule
        kit_digest=told["kitDigest"],
        eligible=sorted(names.get(one, one) for one in told["eligible"]),
    )
