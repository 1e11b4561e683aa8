"""The form of an agent: lines of text become routes and headers; what is secret goes in and never comes back out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.utils.translation import gettext as _

from agentbridge import wording
from agentbridge.models import Agent
from agentbridge.models.agents import Receipts, ReplayClass
from agentbridge.net import egress
from agentbridge.registering import BadAgent, Wanted
from agentbridge.wire import reading
from approvals.models import Queue


class AgentForm(forms.Form):
    """`agent` None: a new one, which needs a slug."""

    slug = forms.SlugField(max_length=100)
    name = forms.CharField(max_length=200)
    url = forms.CharField(max_length=2000)
    capabilities_url = forms.CharField(max_length=2000, required=False)
    trace_url = forms.CharField(max_length=2000, required=False)
    queue = forms.CharField()
    routes = forms.CharField(required=False)
    headers = forms.CharField(required=False)
    drop_headers = forms.BooleanField(required=False)
    dialect = forms.ChoiceField(choices=lambda: [(name, name) for name in wording.DIALECT])
    replay = forms.ChoiceField(choices=ReplayClass.choices)
    reason = forms.CharField(max_length=1000, required=False)
    tolerances = forms.MultipleChoiceField(choices=[(name, name) for name in reading.TOLERANCES], required=False)
    pre_1_0 = forms.BooleanField(required=False)
    busy_is_not_taken = forms.BooleanField(required=False)
    caller_decides = forms.BooleanField(required=False)
    receipts = forms.ChoiceField(choices=Receipts.choices, required=False)

    def __init__(self, data: Mapping[str, Any] | None = None, *, agent: Agent | None = None) -> None:
        super().__init__(data, initial=initial(agent) if agent else {"dialect": "auto", "replay": ReplayClass.UNKNOWN})
        self.agent = agent
        self.queues = list(Queue.objects.order_by("name").values_list("name", flat=True))
        if agent is not None:
            del self.fields["slug"]

    def clean_url(self) -> str:
        return self._reachable(self.cleaned_data["url"])

    def clean_capabilities_url(self) -> str:
        url = self.cleaned_data["capabilities_url"]
        return self._reachable(url) if url else ""

    def _reachable(self, url: str) -> str:
        """What the policy refuses is not registered. An unknown name may: the agent may come later."""
        try:
            async_to_sync(egress.look_up)(url)
        except egress.NotAllowed as reason:
            raise forms.ValidationError(reason.sentence) from reason
        except egress.EgressError:
            return url
        return url

    def clean_queue(self) -> str:
        return self._known(self.cleaned_data["queue"])

    def _known(self, queue: str) -> str:
        if queue not in self.queues:
            raise forms.ValidationError(_("There is no queue “%(name)s”.") % {"name": queue})
        return queue

    def clean_routes(self) -> dict[str, str]:
        routes = dict(pairs(self.cleaned_data["routes"], "=", _("tool = queue")))
        return {tool: self._known(queue) for tool, queue in routes.items()}

    def clean_headers(self) -> list[tuple[str, str]]:
        return pairs(self.cleaned_data["headers"], ":", _("Name: value"))

    def wanted(self) -> Wanted:
        """What was asked for; headers None: as they are."""
        given = self.cleaned_data
        headers = given["headers"] or ([] if given["drop_headers"] else None)
        names = (
            "name", "url", "capabilities_url", "queue", "routes", "dialect", "replay", "reason", "tolerances",
            "pre_1_0", "busy_is_not_taken", "caller_decides", "receipts", "trace_url",
        )  # fmt: skip
        slug = self.agent.slug if self.agent else given["slug"]
        return Wanted(slug=slug, headers=headers, **{name: given[name] for name in names})

    def refuse(self, reason: BadAgent) -> None:
        self.add_error(reason.field if reason.field in self.fields else None, str(reason))


def initial(agent: Agent) -> dict[str, object]:
    same = (
        "name", "url", "capabilities_url", "dialect", "tolerances", "pre_1_0", "busy_is_not_taken", "caller_decides",
        "receipts", "trace_url",
    )  # fmt: skip
    return {
        **{name: getattr(agent, name) for name in same},
        "queue": agent.queue.name,
        "replay": agent.replay_class,
        "routes": "\n".join(f"{tool} = {queue}" for tool, queue in sorted(agent.routes.items())),
    }


def pairs(text: str, sign: str, shape: str) -> list[tuple[str, str]]:
    """Lines of two halves. A line is named by its number only: it may hold a secret."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        name, there, value = (part.strip() for part in line.partition(sign))
        if not line.strip():
            continue
        if not (name and there and value):
            raise forms.ValidationError(_("Line %(line)s is not “%(shape)s”.") % {"line": number, "shape": shape})
        found.append((name, value))
    return found
