"""Findings: what auditors note beside the trail. The text stands in its row, its digest in the chain."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from approvals import audit, jsontext, locking, permissions
from approvals.models import AuditEntry, Case, Finding, User
from approvals.models.people import Role
from approvals.refusals import Invalid, NotAllowed, WrongState
from approvals.schemas import Problem
from approvals.trail.verification import Finding as Found
from approvals.verbs.deciding import digest_of

LONGEST = 10_000

audit.register("finding.noted", "finding.closed")


def may_read(user: User) -> bool:
    """Findings are between those who see everything; reviewers see that there is one, in the trail of their case."""
    return permissions.sees_all(user)


def may_write(user: User) -> str | None:
    return None if permissions.role_of(user) == Role.AUDITOR else _("Only auditors note and close findings.")


@transaction.atomic
def note(case: Case, *, text: str, seq: int | None = None, by: User, now: datetime) -> Finding:
    """Raises NotAllowed, Invalid (no text, or an entry that is not of this case)."""
    by = _auditor(by)
    text = text.strip()
    if not text or len(text) > LONGEST:
        raise Invalid([Problem("/text", _("Say what you found, in at most 10,000 characters."))])
    if seq is not None and not AuditEntry.objects.filter(seq=seq, case=case).exists():
        raise Invalid([Problem("/seq", _("Entry %(seq)d is not of this case.") % {"seq": seq})])
    finding = Finding.objects.create(case=case, seq=seq, text=text, by=by, at=now)
    about = f"entry {seq} of {case.code}" if seq is not None else case.code
    data = {"finding": finding.pk, "entry": seq, "textDigest": digest_of(text)}
    audit.record("finding.noted", f"{by.display_name} noted a finding on {about}.", actor=by, case=case, data=data,
                 now=now)  # fmt: skip
    return finding


@transaction.atomic
def close(finding: Finding, *, reason: str, by: User, now: datetime) -> None:
    """Raises NotAllowed, Invalid (no reason), WrongState (closed already)."""
    by = _auditor(by)
    reason = reason.strip()
    if not reason or len(reason) > LONGEST:
        raise Invalid([Problem("/reason", _("Say why it is closed."))])
    open_one = Finding.objects.filter(pk=finding.pk, closed_at__isnull=True)
    if not open_one.update(closed_by=by, closed_at=now, reason=reason):
        raise WrongState(_("This finding is closed."))
    data = {"finding": finding.pk, "reasonDigest": digest_of(reason)}
    sentence = f"{by.display_name} closed a finding on {finding.case.code}."
    audit.record("finding.closed", sentence, actor=by, case=finding.case, data=data, now=now)


def checks() -> Iterator[Found]:
    """For `verify_audit`: every finding is what its entry says, and none came without."""
    told: dict[int, tuple[int, str]] = {}
    for seq, data in AuditEntry.objects.filter(verb="finding.noted").order_by("seq").values_list("seq", "data"):
        if data is not None:
            said = jsontext.loads(data)
            told[int(said["finding"])] = (seq, said["textDigest"])
    for finding in Finding.objects.order_by("pk").iterator():
        seq, digest = told.pop(finding.pk, (0, ""))
        if not seq:
            yield Found("tampered", f"There is a finding on case {finding.case_id} that no entry tells of.")
        elif finding.text and digest_of(finding.text) != digest:
            yield Found("tampered", f"The finding of entry {seq} was changed.", seq)
    for seq, _digest in told.values():
        yield Found("tampered", f"The finding of entry {seq} is gone.", seq)


def _auditor(by: User) -> User:
    by = locking.locked_person(by)
    sentence = may_write(by)
    if sentence:
        raise NotAllowed(sentence)
    return by
