"""`manage.py add_agent SLUG URL …`: registers an agent or updates it, and prints JSON."""

from __future__ import annotations

import json
import shlex
from argparse import BooleanOptionalAction
from ipaddress import ip_address
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.validators import validate_slug
from django.utils import timezone

from agentbridge import dialects, registering
from agentbridge.models import Agent
from agentbridge.models.agents import Receipts, ReplayClass
from agentbridge.net import egress
from approvals.models import Queue


class Command(BaseCommand):
    help = "Registers an agent, or updates it. Prints its slug, and tokens when they were made: once."
    requires_system_checks = ()  # they load every page and the API; the servers run them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("url")
        parser.add_argument("--name")
        parser.add_argument("--queue", help="where its questions go; made when missing")
        parser.add_argument("--route", action="append", metavar="TOOL=QUEUE", help="where calls of one tool go")
        parser.add_argument("--header", action="append", metavar="'K: V'", help="sent with every request, never shown")
        parser.add_argument("--dialect", choices=[dialects.AUTO, *dialects.NAMES])
        parser.add_argument("--replay", choices=ReplayClass.values, help="may the same answers be sent again?")
        parser.add_argument(
            "--receipts", choices=["off", *filter(None, Receipts.values)], help="do signed decisions go along?"
        )
        parser.add_argument(
            "--caller-decides", action=BooleanOptionalAction, help="do answers that come through the relay count?"
        )
        parser.add_argument(
            "--trace-url", metavar="URL", help="its own trace of a run, with {thread_id} and {run_id}; '' takes it away"
        )
        parser.add_argument("--new-token", action="store_true", help="replace the host's and the caller's token")

    def handle(self, *args: Any, **options: Any) -> None:
        wanted = registering.Wanted(
            slug=slug_of(options["slug"]), url=options["url"], name=options["name"], queue=options["queue"],
            routes=None if options["route"] is None else dict(pair(text, "=", "--route") for text in options["route"]),
            headers=None if options["header"] is None else [pair(text, ":", "--header") for text in options["header"]],
            dialect=options["dialect"], replay=options["replay"],
            caller_decides=options["caller_decides"], trace_url=options["trace_url"],
            receipts="" if options["receipts"] == "off" else options["receipts"],
        )  # fmt: skip
        before = Agent.objects.filter(slug=wanted.slug).first()
        try:
            agent, tokens = registering.register(wanted, new_token=options["new_token"], now=timezone.now())
        except registering.BadAgent as reason:
            raise CommandError(str(reason)) from reason
        if before is not None:
            self.say_what_was_lost(before, agent, wanted)
        self.say_what_is_missing(agent)
        told = {"slug": agent.slug}
        if tokens is not None:
            told |= {"hostToken": tokens.host, "callerToken": tokens.caller}
        self.stdout.write(json.dumps(told))

    def say_what_was_lost(self, before: Agent, agent: Agent, wanted: registering.Wanted) -> None:
        """What belonged to the old address and nobody gave anew."""
        if before.headers and not agent.headers and wanted.headers is None:
            self.stderr.write("The address changed, so the headers that belonged to the old one are no longer sent.")
        if before.replay_class != agent.replay_class and wanted.replay is None:
            told = f"The address changed, so the replay class is {agent.replay_class}: it was proven for the old one."
            self.stderr.write(told)

    def say_what_is_missing(self, agent: Agent) -> None:
        """What would keep its first question from being asked, or from being seen by anybody."""
        if refusal := not_allowed(agent.url):
            self.stderr.write(f"{refusal} As it is, nothing is sent there.")
        for queue in Queue.objects.filter(name__in={agent.queue.name, *agent.routes.values()}, members=None):
            told = f"manage.py add_user NAME --role reviewer --queue {shlex.quote(queue.name)} --password-stdin"
            self.stderr.write(f"Nobody is in queue “{queue.name}” yet: {told}")


def not_allowed(url: str) -> str:
    """Why the settings of this shell let nobody there; empty for a name, which is looked up when it is needed."""
    parsed = egress.check_url(url)
    try:
        address = ip_address(parsed.host)
        egress.Policy.from_settings().check(
            parsed.host, parsed.port or (443 if parsed.scheme == "https" else 80), parsed.scheme, address
        )
    except egress.NotAllowed as refused:
        return refused.sentence
    except ValueError:
        return ""
    return ""


def slug_of(text: str) -> str:
    try:
        validate_slug(text)
    except ValidationError as reason:
        raise CommandError(f"“{text}” cannot be a slug: letters, digits, - and _ only.") from reason
    return text


def pair(text: str, sign: str, option: str) -> tuple[str, str]:
    """The two halves of `TOOL=QUEUE` or `K: V`. The text is not repeated in errors: it may be a secret."""
    name, found, value = text.partition(sign)
    if not found or not name.strip() or not value.strip():
        raise CommandError(f"{option} needs a name, “{sign}” and a value.")
    return name.strip(), value.strip()
