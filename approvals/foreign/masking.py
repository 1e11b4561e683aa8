"""Hides secrets in foreign values: by the name of their place, by what they look like, by what a schema says of them.

For pages and lists only: what is recorded, proven and sent is never touched. A hidden value is replaced by a token that
nobody outside can forge, so that a form can be filled in, posted and read over values that its page never held.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache

import regex
from django.conf import settings

from approvals import jsontext
from approvals.foreign import secretnames
from approvals.jsontext import JSONTextError, Node

NAMES: tuple[str, ...] = (
    "*password*", "*passwd*", "pwd", "passphrase", "passcode", "*비밀번호*", "secret", "token", "api_key", "apikey",
    "access_key", "secret_key", "private_key", "authorization", "credential", "credentials", "cookie", "set_cookie",
    "otp", "totp", "cvv", "cvc",
)  # fmt: skip
VALUES: tuple[str, ...] = (
    r"\b(?:sk|pk|rk)[-_](?:[a-z]+[-_])?[A-Za-z0-9_-]{16,}",
    r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,})",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{35}",
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:(?!-----END)[\s\S])*(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?",
    r"\b[Bb]earer ([A-Za-z0-9._~+/=-]{16,})",
    r"://[^/\s:@]{0,64}:([^/\s@]{1,200})@",
)
SIGNED_BY_US = "countersign+jws"
SECONDS = 0.5  # for one pattern and text; what takes longer is hidden whole
_TOKEN = regex.compile(r"⟦hidden ([0-9a-f]{8})([0-9a-f]{8}): ([0-9]{1,9}) characters⟧")
_REFERS = regex.compile(r"\\[1-9gkK]|\(\?(?:P[=>&]|[0-9R&+-]|\()|\(\*|#")


@dataclass(frozen=True)
class Rules:
    """What is hidden. `names`: words at the end of a name, or with `*`; `values`: patterns, or their first group."""

    names: tuple[str, ...] = ()
    values: tuple[str, ...] = ()

    def __add__(self, other: Rules) -> Rules:
        return Rules((*self.names, *other.names), (*self.values, *other.values))

    def hides(self, name: str) -> bool:
        """Whether values of this name are hidden: `stripeApiKey` is an `api_key`, `max_tokens` is no `token`."""
        return secretnames.hides(self.names, name)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Which parts of a text are secrets by their looks."""
        if not text or not self.values:
            return []
        try:
            if not _may_hold(self.values, text):
                return []
            found = {place for one in self.values for place in _places(one, text)}
        except TimeoutError:
            return [(0, len(text))]
        return _joined(sorted(place for place in found if not self._is_open(text[slice(*place)])))

    def _is_open(self, token: str) -> bool:
        """A statement that the desk signed: what it says may be a secret, what it looks like is none."""
        if not token.startswith("eyJ"):
            return False
        try:
            header, said, _signature = (base64.urlsafe_b64decode(part + "==") for part in token.split("."))
            ours = jsontext.loads(header.decode()).get("typ") == SIGNED_BY_US
            return ours and not hide(said.decode(), self).places
        except (ValueError, AttributeError):  # also what is no JSON
            return False


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, those that touch made one."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern, regex.VERSION1)


def _may_hold(patterns: tuple[str, ...], text: str) -> bool:
    """One look for all of them: a state of megabytes has ten thousands of texts, and hardly a secret."""
    together = _together(patterns)
    return together is None or together.search(text, timeout=SECONDS * len(patterns)) is not None


@lru_cache(maxsize=256)
def _together(patterns: tuple[str, ...]) -> regex.Pattern[str] | None:
    """What finds whatever one of them finds; None where they cannot stand in one pattern, as with groups by number."""
    if any(_REFERS.search(one) for one in patterns):
        return None
    try:
        return regex.compile("|".join(f"(?:{one})" for one in patterns), regex.VERSION1)
    except regex.error:
        return None


def _places(pattern: str, text: str) -> Iterator[tuple[int, int]]:
    compiled = _compiled(pattern)
    group = 1 if compiled.groups else 0
    return (found.span(group) for found in compiled.finditer(text, timeout=SECONDS) if found[group])


def installed() -> Rules:
    """The rules of this installation, whatever queue or agent."""
    return Rules(tuple(settings.MASK_NAMES), tuple(settings.MASK_VALUES))


_drawing: ContextVar[tuple[Rules, bool] | None] = ContextVar("masking_rules", default=None)


def scope() -> Rules:
    """The rules of what is being drawn now, whoever looks."""
    here = _drawing.get()
    return installed() if here is None else here[0]


def in_force() -> Rules:
    """The same, unless this person is being shown what they hide."""
    return Rules() if is_lifted() else scope()


def is_lifted() -> bool:
    here = _drawing.get()
    return here is not None and here[1]


@contextmanager
def applying(rules: Rules, *, lifted: bool = False) -> Iterator[None]:
    """Draw by these rules; `lifted`: for somebody who is shown what they hide."""
    before = _drawing.set((rules, lifted))
    try:
        yield
    finally:
        _drawing.reset(before)


@dataclass(frozen=True)
class Hidden:
    """A JSON text without its secrets, and what stands for each of them."""

    text: str
    secrets: Mapping[str, str] = field(default_factory=dict)  # token → exact JSON text
    places: tuple[str, ...] = ()  # pointers of what is hidden

    def shown(self, text: str) -> str:
        """Another text over the same secrets, with every token turned back. `LookupError` for one of other secrets."""
        if not _TOKEN.search(text):
            return text
        splices = []
        for node, _place, _under in _leaves(text):
            if node.kind == "string" and node.text in self.secrets:
                splices.append((node.start, node.end, self.secrets[node.text]))
            elif node.kind == "string" and _TOKEN.search(node.text) and node.text not in self.text:
                raise LookupError(node.text)  # of other secrets, or made with an older key: it must not leave as a text
        return _spliced(text, splices)


def hide(
    text: str, rules: Rules | None = None, *, secret_places: Iterable[str] = (), is_secret: bool = False
) -> Hidden:
    """A JSON text with a token for every secret; what is no JSON comes back as it is. `is_secret`: all of it is."""
    rules = in_force() if rules is None else rules
    always = set(secret_places)
    try:
        leaves = list(_leaves(text, rules, is_secret))
    except JSONTextError:
        return Hidden(text)
    secrets: dict[str, str] = {}
    splices: list[tuple[int, int, str]] = []
    places: list[str] = []
    for node, place, under in leaves:
        if node.kind not in ("string", "number") or not (under or place in always or rules.spans(node.text)):
            continue
        source = text[node.start : node.end]
        if source == '""' or tokens(node.text):
            continue
        token = _token(place, source, len(node.text) or len(source))
        secrets[token] = source
        splices.append((node.start, node.end, jsontext.dumps(token)))
        places.append(place)
    return Hidden(_spliced(text, splices), secrets, tuple(places))


def masked(text: str) -> str:
    """A JSON text as pages show it."""
    return hide(text).text


def masked_inside(text: str) -> str:
    """The same where texts in it are JSON again, like the arguments of a call in what an entry keeps."""
    shown = masked(text)
    if '"{' not in shown and '"[' not in shown:
        return shown
    try:
        texts = [node for node, _place, _under in _leaves(shown) if node.kind == "string"]
    except JSONTextError:
        return shown
    inner = [(node, masked(node.text)) for node in texts if node.text.startswith(("{", "["))]
    return _spliced(shown, [(one.start, one.end, jsontext.dumps(new)) for one, new in inner if new != one.text])


def masked_at(text: str, pointer: str) -> str:
    """A part of a JSON text as pages show it: what stands above it may hide it whole."""
    rules = in_force()
    return hide(text, rules, is_secret=any(rules.hides(part) for part in jsontext.parts(pointer))).text


def masked_value(name: str, text: str) -> str:
    """The text of one argument as lists show it."""
    return _token(name, text, len(text)) if text and in_force().hides(name) and not tokens(text) else masked_text(text)


def leaves(text: str) -> list[str]:
    """The places of all values without members. Raises JSONTextError."""
    return [place for _node, place, _under in _leaves(text)]


def tokens(text: str) -> list[tuple[int, int, int]]:
    """Where tokens of ours stand in a text, and how many characters each hides."""
    if "⟦" not in text:
        return []
    found = _TOKEN.finditer(text)
    return [(*one.span(), int(one[3])) for one in found if hmac.compare_digest(one[2], _proof(one[1], one[3]))]


def spans(text: str) -> list[tuple[int, int, int]]:
    """What is hidden in a plain text: from, to, and how many characters that are."""
    by_looks = [(start, end, end - start) for start, end in in_force().spans(text)]
    return sorted([*by_looks, *tokens(text)])


def masked_text(text: str) -> str:
    """A plain text with a token for every secret in it: for lists and search, which keep no secrets."""
    splices = [(start, end, _token("", text[start:end], end - start)) for start, end in in_force().spans(text)]
    return _spliced(text, splices)


def _token(place: str, source: str, length: int) -> str:
    what = _mac(f"{place}\0{source}")
    return f"⟦hidden {what}{_proof(what, str(length))}: {length} characters⟧"


def _proof(what: str, length: str) -> str:
    return _mac(f"token\0{what}\0{length}")


def _mac(said: str) -> str:
    key = b"countersign/mask/v1" + settings.SECRET_KEY.encode()
    return hmac.new(key, said.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:8]


def _leaves(text: str, rules: Rules | None = None, under: bool = False) -> Iterator[tuple[Node, str, bool]]:
    """Every value without members, its pointer, and whether a name above it hides it."""
    todo: list[tuple[Node, str, bool]] = [(jsontext.parse(text).root, "", under)]
    while todo:
        node, place, under = todo.pop()
        if not node.members and not node.items:
            yield node, place, under
            continue
        named = [(child, jsontext.pointer(name), rules.hides(name) if rules else False) for name, child in node.members]
        named += [(child, f"/{at}", False) for at, child in enumerate(node.items)]
        todo += [(child, place + part, under or hidden) for child, part, hidden in reversed(named)]


def _spliced(text: str, splices: Iterable[tuple[int, int, str]]) -> str:
    out, here = [], 0
    for start, end, new in sorted(splices):
        out += [text[here:start], new]
        here = end
    return "".join([*out, text[here:]])
