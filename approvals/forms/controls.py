"""What a single control holds, as rendered and as posted."""

from __future__ import annotations

from django.utils.translation import gettext as _

from approvals import jsontext, schemas
from approvals.foreign import glyphs
from approvals.forms import texts, ticks
from approvals.forms.fields import Field, Option
from approvals.forms.posted import Posted

NOT_A_CHOICE = "#"  # posted for a value that is there but is none of the choices


def fill(made: Field, posted: Posted) -> None:
    """Give a field that is no object or array its text, options and looks."""
    {
        "text": _text,
        "number": _number,
        "raw": _raw,
        "hidden": _hidden,
        "boolean": _boolean,
        "choice": _choice,
        "constant": _constant,
        "ticks": ticks.fill,
    }[made.kind](made, posted)


def say(made: Field, posted: Posted) -> None:
    """What can be said about a place beside its value: null, an empty text or list, or that it is left out."""
    if made.kind not in ("text", "number", "object", "array", "ticks"):
        return
    absent = made.source is None
    states = [("", _("as filled in"))]
    states += [("empty", _("an empty text"))] if made.kind == "text" and absent else []
    if absent and not made.required and made.pointer and made.kind in ("object", "array", "ticks"):
        states += [("empty", _("an empty object") if made.kind == "object" else _("an empty list"))]
    states += [("null", "null")] if made.nullable else []
    states += [("out", _("left out"))] if not absent and not made.required and not made.is_item and made.pointer else []
    made.rendered_state = "null" if made.source == "null" and made.nullable else ""
    takes_null = made.nullable and made.default == "null" and posted.action("use", made.pointer)
    shown = "null" if takes_null else posted.about("state", made.pointer)
    chosen = made.rendered_state if shown is None else shown
    made.states = [Option(value, label, value == chosen) for value, label in states] if len(states) > 1 else []


def _show(made: Field, posted: Posted, rendered: str) -> None:
    typed = posted.value(made.pointer)
    made.rendered = rendered
    made.shown = rendered if typed is None else typed
    if made.default is not None:
        made.default_name = made.name
        if posted.action("use", made.pointer):
            made.shown = _held(made, made.default)


def _held(made: Field, source: str) -> str:
    """What a control holds for a value."""
    if source == "null" and made.nullable:
        return texts.NULL_VALUE if made.kind in ("boolean", "choice") else ""
    if made.kind == "text":
        return texts.normal(jsontext.loads(source)) if source.startswith('"') else ""
    if made.kind == "raw":
        return _raw_text(source)
    return _chosen(made, source) if made.kind == "choice" else source


def _text(made: Field, posted: Posted) -> None:
    there = made.source is not None and made.source.startswith('"')
    _show(made, posted, texts.normal(jsontext.loads(made.source or "")) if there else "")
    form = made.schema.get("format")
    made.secret = form == "password" or made.schema.get("writeOnly") is True
    lines = texts.has_lines(made.rendered + made.shown) or texts.runs(made.shown)
    made.multiline = lines or len(made.shown) > texts.LONG or form in ("textarea", "multi-line")


def _number(made: Field, posted: Posted) -> None:
    _show(made, posted, made.source if made.source is not None and made.source != "null" else "")


def _raw(made: Field, posted: Posted) -> None:
    _show(made, posted, _raw_text(made.source) if made.source is not None else "")


def _raw_text(source: str) -> str:
    return glyphs.escaped(jsontext.printable(jsontext.pretty(source)))


def _hidden(made: Field, posted: Posted) -> None:
    """Nothing, which stands for the value that is there: what is typed takes its place."""
    _show(made, posted, "")
    made.secret = True


def _boolean(made: Field, posted: Posted) -> None:
    """Three answers, none of them chosen for anybody (security.md T34)."""
    null = made.source == "null" and made.nullable
    _show(made, posted, texts.NULL_VALUE if null else made.source or "")
    labels = [("true", "true"), ("false", "false")]
    labels += [(texts.NULL_VALUE, "null")] if made.nullable else []
    labels += [("", _without(made))] if _may_be_absent(made) else []
    made.options = [Option(value, label, chosen=made.shown == value) for value, label in labels]


def _choice(made: Field, posted: Posted) -> None:
    """Options are posted by number: 1 and "1" are two choices, and blanks in a text survive."""
    _show(made, posted, "" if made.source is None else _chosen(made, made.source))
    options = [Option("", _("choose one") if made.source is None else _("left out"))] if _may_be_absent(made) else []
    if made.rendered == NOT_A_CHOICE:
        options.append(Option(NOT_A_CHOICE, glyphs.spelled(jsontext.printable(made.source or "")), foreign=True))
    for at, (value, title) in enumerate(made.choices):
        options.append(Option(f"#{at}", glyphs.spelled(title or texts.label(value)), foreign=True))
    options += [Option(texts.NULL_VALUE, "null")] if made.nullable else []
    made.options = [Option(one.value, one.label, one.value == made.shown, one.foreign) for one in options]


def _chosen(made: Field, source: str) -> str:
    values = [jsontext.dumps(value) for value, _title in made.choices]
    found = next((f"#{at}" for at, text in enumerate(values) if schemas.equal(text, source)), NOT_A_CHOICE)
    return texts.NULL_VALUE if found == NOT_A_CHOICE and source == "null" and made.nullable else found


def _constant(made: Field, posted: Posted) -> None:
    """A box to tick; a required one is simply there."""
    ticked = posted.value(made.pointer) is not None
    made.rendered = "1" if made.source is not None else ""
    was_shown = posted.about("ticks", made.pointer) is not None or ticked
    made.shown = ("1" if ticked else "") if was_shown else made.rendered
    made.options = [Option("1", texts.label(made.schema["const"]), chosen=made.shown == "1", foreign=True)]


def _may_be_absent(made: Field) -> bool:
    return made.source is None or not (made.required or made.is_item)


def _without(made: Field) -> str:
    return _("not answered") if made.source is None else _("left out")
