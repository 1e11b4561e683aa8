"""Everything that people read can be read in Korean: no string without a translation, none out of date."""

from __future__ import annotations

import ast
import gettext
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils.translation.template import templatize

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "locale" / "ko" / "LC_MESSAGES"
NAMES = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy"}
IN_TEMPLATES = re.compile(r"""(?:_|gettext|ngettext)\(\s*(u?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))""")
PLACES = re.compile(r"%\(\w+\)[sd]|%[sd]|</?\w+>")


def called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


def in_python(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and called(node) in NAMES and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value


def in_template(text: str) -> Iterator[str]:
    for found in IN_TEMPLATES.finditer(templatize(text)):
        yield ast.literal_eval(found[1].removeprefix("u"))


@pytest.fixture(scope="module")
def korean() -> gettext.GNUTranslations:
    with (FOLDER / "django.mo").open("rb") as compiled:
        return gettext.GNUTranslations(compiled)


@pytest.fixture(scope="module")
def used() -> set[str]:
    code = [file for app in ("approvals", "agentbridge", "config") for file in (ROOT / app).rglob("*.py")]
    pages = (ROOT / "templates").rglob("*.html")
    return {
        *(said for file in code for said in in_python(file.read_text())),
        *(said for file in pages for said in in_template(file.read_text())),
    } - {""}


def translated(korean: gettext.GNUTranslations) -> dict[str, str]:
    """By the singular; Korean has one form for any number."""
    return {(key[0] if isinstance(key, tuple) else key): text for key, text in korean._catalog.items()}  # type: ignore[attr-defined]


def test_every_string_is_translated(korean, used):
    known = translated(korean)
    assert sorted(said for said in used if not known.get(said)) == []


def test_a_translation_has_the_places_of_its_original(korean):
    wrong = [
        said
        for said, text in translated(korean).items()
        if said and not set(PLACES.findall(text)) <= set(PLACES.findall(said))
    ]
    assert wrong == []


def test_nothing_is_fuzzy_and_the_compiled_file_is_the_newest():
    source = (FOLDER / "django.po").read_text()
    assert "fuzzy" not in source
    with (FOLDER / "django.mo").open("rb") as compiled:
        known = translated(gettext.GNUTranslations(compiled))
    written = {
        ast.literal_eval(line.removeprefix("msgid ")) for line in source.splitlines() if line.startswith("msgid ")
    }
    assert written - {""} == set(known) - {""}


def test_the_queue_speaks_korean_to_who_asks_for_it(client, alice, task):
    client.force_login(alice)
    page = client.get(f"/cases/{task.case.code}/", headers={"accept-language": "ko"}).content.decode()
    assert '<html lang="ko">' in page and "제안" in page and "Proposal" not in page
