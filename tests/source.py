"""The source of the product as data, for the tests that hold the house rules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
APPS = ("config", "agentbridge", "approvals")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One Python file; `name` is its path from the root."""

    name: str
    text: str

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @property
    def tree(self) -> ast.Module:
        return _parsed(self.text)

    def functions(self) -> Iterator[Function]:
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))

    def imports(self) -> Iterator[str]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from (f"{node.module}.{alias.name}" for alias in node.names)

    def strings(self) -> Iterator[str]:
        constants = (node.value for node in ast.walk(self.tree) if isinstance(node, ast.Constant))
        return (value for value in constants if isinstance(value, str))


@cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


@cache
def modules(*folders: str) -> tuple[Module, ...]:
    """Python files below the folders (default: the product), without migrations, which are written by Django."""
    files = sorted(file for folder in folders or APPS for file in (ROOT / folder).rglob("*.py"))
    return tuple(Module(str(f.relative_to(ROOT)), f.read_text()) for f in files if "migrations" not in f.parts)


@cache
def texts(folder: str, pattern: str) -> tuple[Module, ...]:
    """Other files (templates, scripts, styles) in the same shape."""
    files = sorted((ROOT / folder).rglob(pattern))
    return tuple(Module(str(f.relative_to(ROOT)), f.read_text()) for f in files if "vendor" not in f.parts)


def length(function: Function) -> int:
    """Lines of the body; what the signature and the decorators take is not complexity."""
    first, last = function.body[0], function.body[-1]
    return (last.end_lineno or last.lineno) - first.lineno + 1


def unannotated(function: Function) -> list[str]:
    """Names of arguments without a type, and `return`."""
    rest = [argument for argument in (function.args.vararg, function.args.kwarg) if argument]
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs, *rest]
    missing = [a.arg for a in arguments if a.annotation is None and a.arg not in ("self", "cls")]
    return missing + ([] if function.returns or function.name == "__init__" else ["return"])
