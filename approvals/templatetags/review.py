"""How pages say things: foreign text made harmless and visible, times, hashes, icons, states. Every page loads it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django import template
from django.templatetags.static import static
from django.utils.formats import date_format
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.timezone import localtime, now
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals import headlines, jsontext, sentences
from approvals.desk import casefile, remaining, states
from approvals.foreign import folding, masking
from approvals.foreign import glyphs as marking
from approvals.models import Task

register = template.Library()


@register.filter
def glyphs(text: Any) -> SafeString:
    """Foreign text, escaped; what has no picture or poses as something else becomes a boxed code point."""
    return _marked("" if text is None else str(text), indented=False)


@register.filter
def has_hidden(text: Any) -> bool:
    return text is not None and marking.has_hidden(str(text))


@register.filter
def turns(text: Any) -> bool:
    return text is not None and marking.turns(str(text))


@register.filter
def pretty_json(text: str) -> SafeString:
    """JSON text indented, every value as it was received but secrets; what is no JSON is shown as it is."""
    try:
        return _marked(jsontext.pretty(masking.masked_inside(text)), indented=True)
    except jsontext.JSONTextError:
        return _marked(text, indented=False)


@register.filter
def beginning(text: str) -> SafeString:
    """The first of a JSON text that is too long for a page, without secrets; what follows is said beside it."""
    return _marked(masking.masked_inside(text)[: folding.LENGTH], indented=False)


@register.filter
def shown_at(text: str | None, pointer: str) -> str | None:
    """A part of a JSON text without the secrets that its place, or its looks, tell."""
    return None if text is None else masking.masked_at(text, pointer)


def _marked(text: str, *, indented: bool) -> SafeString:
    """Secrets first: what they hide is not looked at, so that no mark of it tells of them."""
    pieces: list[str] = []
    position = 0
    for start, end, length in masking.spans(text):
        if start >= position:
            pieces += [_with_glyphs(text[position:start], indented=indented), _hidden(length)]
            position = end
    pieces.append(_with_glyphs(text[position:], indented=indented))
    return mark_safe("".join(pieces))  # every piece was escaped on its own


def _hidden(length: int) -> SafeString:
    said = ngettext("hidden, %(count)d character", "hidden, %(count)d characters", length) % {"count": length}
    return format_html('<span class="glyph glyph-secret" data-hidden>{}</span>', said)


def _with_glyphs(text: str, *, indented: bool) -> SafeString:
    pieces: list[str] = []
    position = 0
    for mark in marking.marks(text, indented=indented):
        pieces += [conditional_escape(text[position : mark.start]), _drawn(mark)]
        position = mark.end
    pieces.append(conditional_escape(text[position:]))
    return mark_safe("".join(pieces))  # every piece was escaped on its own


def _drawn(mark: marking.Mark) -> SafeString:
    if mark.kind != "run":
        return format_html_join(
            "", '<span class="glyph" title="{}">{}</span>', ((mark.name, code) for code in mark.codes)
        )
    breaks = mark.text.count("\n")
    if breaks:
        said = ngettext("%(count)d line break", "%(count)d line breaks", breaks) % {"count": breaks}
        return format_html('\n<span class="glyph glyph-space">{}</span>\n', said)
    said = ngettext("%(count)d space", "%(count)d spaces", len(mark.text)) % {"count": len(mark.text)}
    return format_html(' <span class="glyph glyph-space">{}</span> ', said)


@register.filter
def is_long(text: Any) -> bool:
    """Whether a text, or a list of messages, is more than a page should hold."""
    size = len(text) if isinstance(text, str) else sum(len(one.raw) for one in text)
    return size > folding.LONGEST_ON_PAGE


@register.inclusion_tag("approvals/_foreign.html")
def foreign(
    text: Any, who: str, label: str = "", face: str = "", whole: str = "", *, must_open: bool = False
) -> dict[str, Any]:
    """Words that are not ours, in a frame that says whose they are; the long rest is one click away.

    `label`: what is after the name ("says", "asks"); `face`: "val" for data, else the agent's serif; `whole`: the
    address of the whole text, from where it comes on demand when it is too long for a page; `must_open`: whatever is
    folded comes from there, so that it is known who opened it.
    """
    said = "" if text is None else str(text)
    cut = folding.fold_at(said)
    return {
        "who": who,
        "label": label or _("says"),
        "face": face,
        "shown": said[:cut],
        "rest": said[cut:],
        "rest_lines": said[cut:].count("\n") + 1,
        "on_demand": bool(whole) and (folding.is_long(said) or (must_open and cut < len(said))),
        "whole": whole,
        "all": said,
    }


@register.inclusion_tag("approvals/_deadline.html", takes_context=True)
def deadline(context: template.Context, at: datetime | None, text: str = "") -> dict[str, Any]:
    """Time left in words, ticking in the browser; without a readable deadline the text as received."""
    moment = context.get("now") or now()
    left = remaining.until(at, now=moment)
    return {"at": at, "text": text, "left": left, "until": short_time(at, moment) if at else ""}


@register.filter
def short_time(at: datetime | None, today: datetime | None = None) -> str:
    """Time of day in the reader's zone, with the day when it is not today."""
    if at is None:
        return ""
    local, here = localtime(at), localtime(today or now())
    clock = f"{date_format(local, 'H:i')} {local.tzname()}"
    day = _("j M") if local.year == here.year else _("j M Y")  # makemessages does not look into f-strings
    return clock if local.date() == here.date() else f"{date_format(local, day)}, {clock}"


@register.filter
def full_time(at: datetime | None) -> str:
    """Date and time to the millisecond in UTC, for the record."""
    return "" if at is None else f"{localtime(at, UTC):%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03d} UTC"


@register.filter
def hash_short(digest: str) -> SafeString:
    """The first 16 hex digits in fours, the whole as title."""
    groups = " ".join(digest[place : place + 4] for place in range(0, 16, 4))
    return format_html('<code class="hash" title="{}">{}</code>', digest, groups + (" …" if len(digest) > 16 else ""))


@register.filter
def bytes_size(size: int) -> str:
    if size < 1_000:
        return ngettext("%(count)d byte", "%(count)d bytes", size) % {"count": size}
    unit, scale = ("MB", 1_000_000) if size >= 1_000_000 else ("kB", 1_000)
    return f"{size / scale:.1f} {unit}"


@register.filter
def page_of(task: Task) -> str:
    """The address of a task on the page of its case."""
    return casefile.address(task.case, task.code)


@register.filter
def initials(name: str) -> str:
    words = name.replace(".", " ").split() or ["?"]
    return (words[0][0] + (words[-1][0] if len(words) > 1 else "")).upper()


@register.simple_tag
def icon(name: str, label: str = "") -> SafeString:
    """A drawing of the sprite. With a label it speaks; without one it only repeats the word beside it."""
    href = f"{static('img/icons.svg')}#{name}"
    if label:
        return format_html('<svg class="icon" role="img" aria-label="{}"><use href="{}"/></svg>', label, href)
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}"/></svg>', href)


@register.simple_tag
def state(name: str) -> SafeString:
    """A state of a task or case as icon and word."""
    look = states.look(name)
    return format_html('<span class="tag {}">{} {}</span>', look.tone, icon(look.icon), look.word)


@register.filter
def state_word(name: str) -> str:
    return str(states.look(name).word)


@register.filter
def flag_word(flag: Mapping[str, str]) -> str:
    """A flag in a few words for a row; the case page says the whole sentence."""
    return _(flag["slug"].replace("-", " "))


@register.filter
def type_words(text: str) -> str:
    """The type of a change, "number → string" where it has two, in the reader's language."""
    return " → ".join(_(one) for one in text.split(" → "))


@register.filter
def ours(text: Any) -> str:
    """A sentence that a row keeps in English, in the reader's language; what others said in it stays."""
    return sentences.told("" if text is None else str(text))


@register.filter
def since(at: datetime | None, moment: datetime) -> str:
    """How long ago, in whole minutes."""
    seconds = int((moment - at).total_seconds()) if at else 0
    return remaining.words(seconds) if seconds >= 60 else _("just now")


@register.filter
def headline_parts(headline: str) -> list[headlines.Part]:
    """The values of a row with their names."""
    return [part._replace(value=masking.masked_value(part.name, part.value)) for part in headlines.parts(headline)]


@register.filter
def headline_says(headline: str) -> str:
    """The agent's words about the call of a row."""
    return headlines.says(headline)
