"""The form of a queue's rules: what was posted, read as rules, and who is offered as a member."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q
from django.http import QueryDict
from django.utils.translation import gettext as _

from approvals.models import Queue, User
from approvals.models.people import Role
from approvals.verbs.queuerules import RISKS, Rules


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody who decides in the queue, or might."""

    name: str
    display_name: str
    remark: str  # what keeps them from deciding, or what they are


def posted(post: QueryDict) -> Rules:
    """As typed: what cannot be is told by the verb that is given it."""
    length = post.get("reason_length", "").strip()
    lines = [line for line in post.get("reason_codes", "").splitlines() if line.strip()]
    return Rules(
        risk=post.get("risk", ""), reason_required="reason_required" in post,
        reason_length=int(length) if length.isascii() and length.isdigit() and len(length) < 10 else 0,
        whole_text_first="whole_text_first" in post,
        reason_codes=[[part.strip() for part in line.partition("=")[::2]] for line in lines],
        members=sorted(set(post.getlist("member"))),
    )  # fmt: skip


def code_lines(rules: Rules) -> str:
    return "\n".join(" = ".join(pair) for pair in rules.reason_codes)


def risks() -> list[tuple[str, str, str]]:
    """Each with its name and what it asks of people."""
    says = {
        Queue.Risk.LOW: _("decided at once, also several side by side; a comment is folded away"),
        Queue.Risk.MEDIUM: _("decided at once, also several side by side"),
        Queue.Risk.HIGH: _(
            "a yes is shown once more and a value of it typed; decided one by one; two operators send again what is in "
            "doubt"
        ),
    }
    return [(risk, str(Queue.Risk(risk).label), says[Queue.Risk(risk)]) for risk in RISKS]


def candidates(rules: Rules) -> list[Member]:
    """Every reviewer who is not disabled, and whoever is a member all the same."""
    asked = Q(is_active=True, groups__name=Role.REVIEWER) | Q(username__in=rules.members)
    found = User.objects.filter(asked).distinct().prefetch_related("groups").order_by("username", "pk")
    return [Member(person.username, person.display_name, _remark(person)) for person in found]


def overview() -> list[Queue]:
    """By name, with how many people decide there."""
    deciding = Q(members__is_active=True, members__groups__name=Role.REVIEWER)
    return list(Queue.objects.annotate(deciding=Count("members", filter=deciding, distinct=True)).order_by("name"))


def _remark(person: User) -> str:
    if not person.is_active:
        return _("disabled")
    names = {group.name for group in person.groups.all()}
    if Role.REVIEWER in names:
        return _("program") if person.is_service else ""
    return next((str(role.label) for role in Role if role in names), "")
