"""What a row keeps in English is said in the reader's language: every such sentence has its template."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils.translation import override

from agentbridge import stored
from agentbridge.dialects.contract import flag
from approvals import sentences
from approvals.templatetags import review

ROOT = Path(__file__).parent.parent / "agentbridge"
# Where sentences are made that rows keep. What else is in these files is for the trail, or raised to somebody.
MADE = (
    "flagging.py", "translation.py", "dialects/evidence.py", "dialects/hitl.py", "delivery/proof.py",
    "delivery/resuming.py", "delivery/sealing.py", "delivery/settling.py", "delivery/watch.py", "runs/opening.py",
    "runs/noticing.py", "work/sweeping.py", "work/delivering.py", "ways/comparing.py", "wire/classify.py",
    "wire/expiry.py",
)  # fmt: skip
ELSEWHERE = {  # calls whose texts are not kept in a row: said by gettext at once, or for the trail alone
    "_", "of_run", "of_resume", "record", "audit_record", "warn",
}  # fmt: skip


def words(node: ast.expr) -> str | None:
    """A text with something in each of its places; None for what is no sentence."""
    if isinstance(node, ast.JoinedStr):
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else "x7" for part in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = re.sub(r"\{\w+\}", "x7", node.value)
    else:
        return None
    is_sentence = text[:1].isupper() or text.startswith("x7 ")
    return text if is_sentence and " " in text and len(text) > 15 and text.endswith((".", ": x7")) else None


def made(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        called = child.func if isinstance(child, ast.Call) else None
        if isinstance(called, ast.Name | ast.Attribute):
            name = called.id if isinstance(called, ast.Name) else called.attr
            if name in ELSEWHERE or name.endswith(("Error", "State")):
                continue
        is_docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        text = words(child) if isinstance(child, ast.expr) else None
        if text is not None:
            yield text
        elif not is_docstring and not isinstance(child, ast.JoinedStr):
            yield from made(child)


@pytest.mark.parametrize("name", MADE)
def test_every_sentence_that_a_row_keeps_has_a_template(name: str) -> None:
    found = list(made(ast.parse((ROOT / name).read_text())))
    assert found
    # A place right behind a word may hold nothing.
    assert [text for text in found if not sentences.is_known(re.sub(r"(?<=\w)x7", "", text))] == []


def test_a_stored_sentence_is_said_in_the_reader_s_language() -> None:
    text = "Asked again: this was a question before, see T-K7M2Q9WX."
    with override("ko"):
        said = review.ours(text)
        assert said != text and "T-K7M2Q9WX" in said
        assert review.flag_word(flag("asked-again", text)) != "asked again"
    assert review.ours(text) == text


def test_what_somebody_wrote_in_a_sentence_stays_as_it_is() -> None:
    with override("ko"):
        for theirs in ("failed", "100 % sure. (twice)", "line\nbreak", "open"):
            said = review.ours(f"Approved, but the result says otherwise: {theirs}")
            assert said.endswith(theirs) and not said.startswith("Approved")
        assert review.ours("failed") == "failed" and review.ours(None) == ""


def test_two_sentences_of_ours_are_both_said() -> None:
    refused = "The agent refused the answers: no reason given"
    both = f"The agent took the answers and finished. {refused}"
    with override("ko"):
        said = review.ours(both)
    assert "The agent" not in said and "no reason" not in said


RAISED = ("net/client.py", "net/policy.py", "net/egress.py", "../approvals/schemas.py")


def raised(name: str) -> set[str]:
    """What gettext says in a file, something in each place; of `schemas` only why a schema is of no use."""
    tree: ast.AST = ast.parse((ROOT / name).read_text())
    if name.endswith("schemas.py"):
        tree = next(one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef) and one.name == "_reason")
    calls = [node.args[0] for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    named = [node for node in calls if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return {re.sub(r"%\(\w+\)s", "x7", str(node.value)) for node in named if " " in str(node.value)}


@pytest.mark.parametrize("name", RAISED)
def test_an_error_inside_another_sentence_is_said_too(name: str) -> None:
    found = raised(name)
    assert found
    with override("ko"):
        for text in found:
            for whole in (f"The agent refused the answers: {text}", unknown(text)):
                said = review.ours(whole)
                assert text.rstrip(".") not in said and ("x7" in said) == ("x7" in text)


def unknown(text: str) -> str:
    return f"Whether the agent took the answers is unknown ({text.rstrip('.')})."


def test_a_long_text_is_not_looked_through() -> None:
    text = "Approved, but the result says otherwise: " + "x. " * 2_000
    with override("ko"):
        assert review.ours(text) == text


def test_every_flag_has_its_words() -> None:
    slugs = {node.args[0].value for file in ROOT.rglob("*.py") for node in ast.walk(ast.parse(file.read_text()))
             if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "flag" and node.args
             and isinstance(node.args[0], ast.Constant)}  # fmt: skip
    assert slugs and {str(slug).replace("-", " ") for slug in slugs} - set(stored.WORDS) == set()
