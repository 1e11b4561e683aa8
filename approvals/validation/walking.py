"""Where the schemas inside a schema stand, in every draft: the one place that knows. Pure.

Members that no draft knows are walked too: a `$ref` may lead into them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

Schema = dict[str, Any]
CONTAINERS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
DATA = ("const", "enum", "default", "example", "examples")  # values: what looks like a schema there is none
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
INTO_A_LIST = re.compile(r"/(items/\d+|additionalItems)(/|$)")


def subschemas(schema: Any) -> Iterator[Schema]:
    """Every object of a schema that is a schema itself, the outermost first."""
    todo = [schema]
    while todo:
        node = todo.pop()
        if isinstance(node, list):
            todo += node
        if not isinstance(node, dict):
            continue
        yield node
        for keyword, inner in node.items():
            if keyword in CONTAINERS and isinstance(inner, dict):
                todo += inner.values()  # a container's own names are no keywords: a member may be called `default`
            elif keyword not in DATA:
                todo.append(inner)


def rewritten(
    schema: Any, change: Callable[[Schema], Schema], *, but: Callable[[Schema], bool] = lambda _node: False
) -> Any:
    """A copy in which each of them is changed, the innermost first; `but`: those left as they are, with all inside."""
    if isinstance(schema, list):
        return [rewritten(one, change, but=but) for one in schema]
    if not isinstance(schema, dict) or but(schema):
        return schema
    told: Schema = {}
    for keyword, inner in schema.items():
        if keyword in CONTAINERS and isinstance(inner, dict):
            told[keyword] = {name: rewritten(one, change, but=but) for name, one in inner.items()}
        else:
            told[keyword] = inner if keyword in DATA else rewritten(inner, change, but=but)
    return change(told)


def prefix(node: Schema) -> list[Any]:
    """The schemas of a tuple's places, as 2020-12 and the drafts before it write them."""
    found = node.get("prefixItems", node.get("items"))
    return found if isinstance(found, list) else []


def rest(node: Schema) -> Any:
    """The schema of a list's other items; False where there may be none."""
    return node.get("additionalItems", True) if isinstance(node.get("items"), list) else node.get("items", True)


def has_lists(schema: Any) -> bool:
    """Whether tuples in it are written as before 2020-12, and nothing refers to a place of theirs."""
    nodes = list(subschemas(schema))
    led = (node[name] for node in nodes for name in REFERENCES if isinstance(node.get(name), str))
    return any(isinstance(node.get("items"), list) for node in nodes) and not any(map(INTO_A_LIST.search, led))


def as_prefix(node: Schema) -> Schema:
    """A tuple in the words of 2020-12."""
    if not isinstance(node.get("items"), list) or "prefixItems" in node:
        return node
    told = {name: inner for name, inner in node.items() if name not in ("items", "additionalItems")}
    return told | {"prefixItems": prefix(node)} | ({"items": rest(node)} if "additionalItems" in node else {})
