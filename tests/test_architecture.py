"""The house rules, held by tests: a broken one fails the build, not a review."""

from __future__ import annotations

import ast
import hashlib
import re
import statistics
import subprocess
import sys

import pytest
from django.core.management import call_command

from approvals import audit
from tests import source
from tests.source import Module

# Protocol words. In `approvals` they are data at most: names of refs and of API members, which live in its `api`.
PROTOCOL_WORDS = re.compile(
    r"AG-?UI|\bagui\b|\bRUN_(?:STARTED|FINISHED|ERROR)\b|\bTOOL_CALL_|\bMESSAGES_SNAPSHOT\b|\bSTATE_(?:SNAPSHOT|DELTA)\b"
    r"|\bresume\[|\bRunAgentInput\b|\bforwardedProps\b|\bINTERRUPT\b"
)
# Where the API and the exhibit name members that other programs read.
NAMES_ARE_DATA = ("approvals/api/",)
# Programs of their own, which run beside an agent and without Django: they have a way out of their own.
BESIDE_AGENTS = ("agentbridge/connector/", "agentbridge/guard/")
# Pages where the way out, or the clock, is the point.
MAY_OPEN_SOCKETS = {"agentbridge/net/egress.py"}


def offenders(found: list[str]) -> None:
    assert not found, "\n".join(found)


def test_layers_hold():
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    run = subprocess.run(command, cwd=source.ROOT, capture_output=True, text=True)
    assert run.returncode == 0 and "0 broken" in run.stdout, run.stdout + run.stderr


def test_files_are_short():
    offenders([f"{m.name}: {m.lines} lines" for m in source.modules() if m.lines > 300])


def test_functions_are_short():
    found = [(source.length(f), f"{m.name}:{f.lineno} {f.name}") for m in source.modules() for f in m.functions()]
    offenders([f"{place}: {lines} lines" for lines, place in found if lines > 50])
    lengths = [lines for lines, _place in found]
    assert statistics.median(lengths) <= 8
    assert statistics.quantiles(lengths, n=10)[8] <= 25


def test_templates_and_front_end_are_short():
    budgets = [("templates", "*.html", 80), ("static", "*.js", 100), ("static", "*.css", 250)]
    offenders(
        [f"{f.name}: {f.lines}" for folder, kind, most in budgets for f in source.texts(folder, kind) if f.lines > most]
        + [f"{f.name}: {f.lines}" for f in source.texts("templates", "_*.html") if f.lines > 40]
    )


def test_every_function_is_annotated():
    offenders(
        [
            f"{m.name}:{f.lineno} {f.name}: {', '.join(source.unannotated(f))}"
            for m in source.modules()
            for f in m.functions()
            if source.unannotated(f)
        ]
    )


def test_names_say_something():
    names = re.compile(r"(?:^|_)(?:utils?|helpers?|common|misc|manager|handler)(?:_|\.py$)")
    offenders([m.name for m in source.modules() if names.search(m.name.rpartition("/")[2])])


def test_approvals_knows_no_protocol_word():
    offenders(
        [
            f"{m.name}:{n} {line.strip()}"
            for m in source.modules("approvals")
            if not m.name.startswith(NAMES_ARE_DATA)
            for n, line in enumerate(m.text.splitlines(), 1)
            if PROTOCOL_WORDS.search(line)
        ]
    )


def test_approvals_never_imports_the_bridge():
    offenders([m.name for m in source.modules("approvals") if any(i.startswith("agentbridge") for i in m.imports())])


def test_dialects_and_kits_need_only_translation_from_django():
    pure = [m for m in source.modules() if m.name.startswith(("agentbridge/dialects/", "approvals/kit/"))]
    assert pure
    offenders(
        [
            f"{m.name}: {name}"
            for m in pure
            for name in m.imports()
            if name.startswith(("django", "channels")) and not name.startswith("django.utils.translation")
        ]
    )


def test_only_one_file_opens_connections():
    libraries = {"socket", "httpx2", "httpcore2", "h11", "httpx", "requests", "urllib3", "aiohttp", "http", "urllib"}
    harmless = ("urllib.parse", "http.HTTPStatus")
    offenders(
        [
            f"{m.name}: {name}"
            for m in source.modules()
            if m.name not in MAY_OPEN_SOCKETS and "/commands/demo" not in m.name
            if not m.name.startswith(BESIDE_AGENTS)
            for name in m.imports()
            if name.partition(".")[0] in libraries and not name.startswith(harmless)
        ]
    )


def test_programs_beside_agents_need_only_pure_modules():
    pure = {
        "agentbridge/connector/": ("agentbridge.connector", "agentbridge.wire.sse"),
        "agentbridge/guard/": (
            "agentbridge.guard", "agentbridge.net.serving", "agentbridge.wire", "approvals.jsontext",
            "approvals.validation.check", "approvals.validation.worker",
        ),
    }  # fmt: skip
    foreign = ("agentbridge", "approvals", "config", "django", "channels")
    offenders(
        [
            f"{m.name}: {name}"
            for place in BESIDE_AGENTS
            for m in source.modules()
            if m.name.startswith(place)
            for name in m.imports()
            if name.startswith(foreign) and not name.startswith(pure[place])
        ]
    )


def test_the_clock_is_handed_in():
    asks = re.compile(r"datetime\.(?:now|utcnow|today)\(|date\.today\(|time\.time\(")
    offenders([f"{m.name}" for m in source.modules() if asks.search(m.text)])


def test_entries_are_written_by_audit_alone():
    writes = re.compile(r"AuditEntry(?:\.objects\.(?:bulk_)?create|\()")
    homes = {"approvals/audit.py", "approvals/models/trail.py"}
    offenders([m.name for m in source.modules() if m.name not in homes and writes.search(m.text)])


def test_nothing_is_swallowed():
    def swallows(node: ast.AST) -> bool:
        wide = isinstance(node, ast.ExceptHandler) and (
            node.type is None or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException"))
        )
        return wide and all(isinstance(step, ast.Pass | ast.Continue) for step in node.body)

    offenders([m.name for m in source.modules() if any(swallows(node) for node in ast.walk(m.tree))])


def test_no_marks_are_left_behind():
    marks = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")
    everything = [*source.modules(), *source.modules("tests"), *source.texts("templates", "*.html")]
    offenders([m.name for m in everything if m.name != "tests/test_architecture.py" and marks.search(m.text)])


def test_every_verb_is_used():
    """A verb that no code writes is a promise nobody keeps."""
    homes = ("approvals/audit.py", "agentbridge/trail.py")
    said = [text for m in source.modules() if not m.name.startswith(homes) for text in m.strings()]
    built = {prefix for prefix in ("run.", "delivery.") if any(text == prefix for text in said)}  # f"run.{status}"
    unused = [verb for verb in audit.verbs() if verb not in said and verb.partition(".")[0] + "." not in built]
    offenders(unused)


@pytest.mark.django_db
def test_no_migration_is_missing():
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def markup(pattern: str) -> list[str]:
    found = re.compile(pattern, re.IGNORECASE)
    return [
        f"{t.name}:{n} {line.strip()[:100]}"
        for t in source.texts("templates", "*.html")
        for n, line in enumerate(t.text.splitlines(), 1)
        if found.search(line)
    ]


def test_templates_hold_no_inline_code():
    offenders(markup(r"<style|\sstyle=|\son[a-z]+\s*=|<script(?![^>]*\bsrc=)|javascript:"))


def test_templates_hold_nothing_that_htmx_evaluates():
    offenders(markup(r"hx-on|\bjs:|hx-vars|hx-trigger=\"[^\"]*\["))


def test_templates_trust_nothing():
    offenders(markup(r"\|\s*safe\b|\{%\s*autoescape\s+off|\|\s*safeseq"))
    home = "approvals/templatetags/"
    offenders([m.name for m in source.modules() if "mark_safe" in m.text and not m.name.startswith(home)])


VOID = {"br", "hr", "img", "input", "link", "meta", "wbr", "col"}
PIECES = re.compile(
    r"\{%\s*(?P<branch>if|elif|else|endif)\b.*?%\}"
    r"|<(?P<end>/?)(?P<tag>[a-z][a-z0-9-]*)\b(?P<rest>(?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>"
)


def roots(template: Module) -> tuple[int, bool]:
    """Elements at the outermost level (of the branches of an `if` the fullest counts), and whether one has an id."""
    text = re.sub(r"\{#.*?#\}|<!--.*?-->|\{% comment.*?endcomment %\}", "", template.text, flags=re.DOTALL)
    depth, count, named = 0, 0, False
    branches: list[list[int]] = []  # per open `if`: the count before it, and after each branch so far
    for piece in PIECES.finditer(text):
        if piece["branch"] == "if":
            branches.append([count])
        elif piece["branch"]:
            branches[-1].append(count)
            count = branches[-1][0] if piece["branch"] != "endif" else max(branches.pop())
        elif piece["end"]:
            depth -= 1
        else:
            named |= depth == 0 and " id=" in piece["rest"]
            count += depth == 0
            depth += piece["tag"] not in VOID and not piece["rest"].rstrip().endswith("/")
    return count, named


def test_a_partial_that_can_be_swapped_is_one_element():
    found = {p.name: roots(p) for p in source.texts("templates", "_*.html")}
    assert any(named for _count, named in found.values())
    offenders([f"{name}: {count} roots" for name, (count, named) in found.items() if named and count != 1])


def test_vendored_files_are_what_they_were():
    lists = sorted((source.ROOT / "static" / "vendor").rglob("SHA256SUMS"))
    assert lists
    for sums in lists:
        named = {}
        for line in sums.read_text().splitlines():
            digest, _, name = line.partition("  ")
            named[name] = hashlib.sha256((sums.parent / name).read_bytes()).hexdigest() == digest
        assert all(named.values()), named
        here = {str(f.relative_to(sums.parent)) for f in sums.parent.rglob("*") if f.is_file()}
        assert here - {"SHA256SUMS"} == set(named)
