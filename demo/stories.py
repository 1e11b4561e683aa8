"""What the demo agents ask: the examples of AG-UI's Interrupts page, with changing people and amounts."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

YES_NO: Json = {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}
PEOPLE = (
    "a.varga@example.test", "j.moreau@example.test", "mina.park@example.test", "t.okafor@example.test",
    "y.sato@example.test", "b.lindqvist@example.test", "press@example.test", "r.diaz@example.test",
)  # fmt: skip
SERVICES = ("checkout-eu-2", "search-api", "ledger-sync", "mail-relay", "image-resizer")


@dataclass(frozen=True)
class Ask:
    """One question: about a tool call (`tool`, `args`) or, without a tool, for input."""

    reason: str
    message: str
    schema: Json | None = None
    tool: str = ""
    args: Json | None = None
    expires_in: int | None = None  # seconds


@dataclass(frozen=True)
class Story:
    """One conversation: what the user wanted, and the questions, round by round."""

    wish: str
    rounds: tuple[tuple[Ask, ...], ...]


def approval_with_edits(**properties: Json) -> Json:
    """The page's pattern: `editedArgs` is the full replacement of the arguments, never merged."""
    edited = {
        "type": "object",
        "description": "Full replacement of the tool arguments. Not merged.",
        "properties": properties,
        "required": list(properties),
    }
    return {
        "type": "object",
        "properties": {"approved": {"type": "boolean"}, "editedArgs": edited, "reason": {"type": "string"}},
        "required": ["approved"],
    }


def minimal(pick: random.Random) -> Story:
    to, parcel = pick.choice(PEOPLE), pick.randint(10_000, 99_999)
    args = {"to": to, "subject": f"Your parcel {parcel} is late", "body": "It will arrive tomorrow before noon."}
    message = f"Send an e-mail to {to} about parcel {parcel}?"
    ask = Ask("tool_call", message, YES_NO, "send_email", args)
    return Story(f"Tell {to} that parcel {parcel} is late.", ((ask,),))


def edit(pick: random.Random) -> Story:
    amount, invoice = pick.randint(900, 249_000) / 100, f"INV-{pick.randint(20_000, 29_999)}"
    args = {"invoice": invoice, "currency": "EUR", "amount": amount, "to": pick.choice(PEOPLE), "notify": True}
    schema = approval_with_edits(
        invoice={"type": "string"}, currency={"type": "string", "enum": ["EUR", "USD", "KRW"]},
        amount={"type": "number", "minimum": 0}, to={"type": "string", "format": "email"}, notify={"type": "boolean"},
    )  # fmt: skip
    message = f"Create a credit note over {amount:.2f} EUR? You can correct it before approving."
    ask = Ask("tool_call", message, schema, "create_credit_note", args, expires_in=pick.choice((900, 3_600, 14_400)))
    return Story(f"The customer returned part of {invoice}; credit the difference.", ((ask,),))


def parallel(pick: random.Random) -> Story:
    order = pick.randint(61_000, 61_999)
    asks = tuple(
        Ask("tool_call", f"Approve the e-mail to {to}?", None, "send_email",
            {"to": to, "subject": f"Re: order #{order}", "body": "Your refund is on its way."})
        for to in pick.sample(PEOPLE, 3)
    )  # fmt: skip
    return Story(f"Write to everybody who ordered #{order}.", (asks,))


def form(pick: random.Random) -> Story:
    schema: Json = {
        "type": "object",
        "properties": {
            "quarter": {"type": "string", "enum": ["Q1", "Q2", "Q3", "Q4"]},
            "year": {"type": "integer", "minimum": 2000},
            "revenue": {"type": "number", "description": "In EUR, before tax."},
            "audited": {"type": "boolean"},
            "contact": {"type": "object", "properties": {"name": {"type": "string"}, "phone": {"type": "string"}}},
        },
        "required": ["quarter", "year", "revenue"],
    }
    seconds = pick.choice((600, 7_200))
    ask = Ask("input_required", "Please provide the quarterly filing details.", schema, expires_in=seconds)
    return Story("File the quarterly report.", ((ask,),))


def chain(pick: random.Random) -> Story:
    service = pick.choice(SERVICES)
    first = Ask("tool_call", f"Stop {service}?", YES_NO, "stop_service", {"service": service, "drain": True})
    second = Ask("tool_call", f"Delete the old data of {service}? This cannot be undone.", YES_NO, "delete_data",
                 {"service": service, "older_than_days": 90, "dry_run": False})  # fmt: skip
    return Story(f"Clean up {service}.", ((first,), (second,)))


def confirmation(pick: random.Random) -> Story:
    city = pick.choice(("Lyon", "Busan", "Oslo", "Porto"))
    ask = Ask("confirmation", f"Shall I close the {city} pick-up point for the holidays?", {"type": "boolean"})
    return Story(f"Check whether {city} can close over the holidays.", ((ask,),))


STORIES: dict[str, Callable[[random.Random], Story]] = {
    "minimal": minimal, "edit": edit, "parallel": parallel, "form": form, "chain": chain, "confirmation": confirmation,
}  # fmt: skip


def tell(name: str, seed: int) -> Story:
    """The same name and seed tell the same story: an agent without memory can find its place again.

    Raises KeyError for a name that nobody knows.
    """
    return STORIES[name](random.Random(f"{name}/{seed}"))  # noqa: S311 - a story, not a secret
