"""One JSON Schema against one value: what fails, where. Pure, no network; may run long, so `schemas` bounds it.

`Failure` carries facts (keyword, place, what was wanted), no sentences: those are made for the reader in `schemas`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import attrs
import regex
from jsonschema import validators
from jsonschema.exceptions import ValidationError
from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]
from referencing.exceptions import Unresolvable
from referencing.jsonschema import specification_with

from approvals import jsontext
from approvals.validation.keywords import FORMATS, KEYWORDS, is_integer, is_number, is_plain, pattern_seconds
from approvals.validation.walking import REFERENCES, as_prefix, has_lists, rewritten, subschemas

MOST_SUBSCHEMAS = 5000
CHEAP_SUBSCHEMAS = 1000
CHEAP_COMBINING = 8 * 1024  # bytes of a schema with choices in it
CHEAP_PRODUCT = 20_000_000  # schema bytes × value bytes
CHEAP_MATCHES = 40  # patterns × quotes in the value
COMBINING = {"allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "dependencies", "contains"}
UNBOUNDED = {"$dynamicRef", "$recursiveRef", "unevaluatedProperties", "unevaluatedItems"}
MOST_FAILURES = 100
SINCE_DRAFT_06 = {"const", "contains", "propertyNames", "if", "prefixItems", "$defs", "dependentRequired"}


class UnusableSchema(Exception):
    """This schema cannot judge an answer. `code` says why (`schemas` has the sentences), `detail` which part."""

    def __init__(self, code: str, detail: str = "") -> None:
        self.code = code
        self.detail = detail
        super().__init__(code, detail)


@dataclass(frozen=True, slots=True)
class Failure:
    """One place where a value does not fit."""

    pointer: str
    keyword: str
    wanted: str  # JSON text of the keyword's value


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much of a schema is read."""

    schema_bytes: int = 64 * 1024
    schema_depth: int = 32
    pattern_seconds: float = 0.1


def _extended(name: str) -> Any:
    plain, extend = getattr(validators, name), cast("Any", validators.extend)
    types = plain.TYPE_CHECKER.redefine("number", is_number)
    if name != "Draft4Validator":
        types = types.redefine("integer", is_integer)
    # `dependencies` is read everywhere: it was taken apart in 2019, and is still written.
    wanted = {*plain.VALIDATORS, "dependencies"}
    known = {keyword: check for keyword, check in KEYWORDS.items() if keyword in wanted}
    made = extend(plain, known, type_checker=types, format_checker=FORMATS)
    made.evolve = _evolved
    return made


def _evolved(validator: Any, **changes: Any) -> Any:
    """The validator for a part of the schema. The library's own takes its plain classes where a part has a `$schema`.

    Tools bring schemas that name their draft, and those end up inside others: no pattern there may run without a limit.
    """
    schema = changes.setdefault("schema", validator.schema)
    cls = spoken(schema) or type(validator)
    kept = {field.alias: getattr(validator, field.name) for field in attrs.fields(cls) if field.init}
    return cls(**kept | changes)


DIALECTS: Mapping[str, Any] = {
    "draft-04": _extended("Draft4Validator"),
    "draft-06": _extended("Draft6Validator"),
    "draft-07": _extended("Draft7Validator"),
    "2019-09": _extended("Draft201909Validator"),
    "2020-12": _extended("Draft202012Validator"),
}


def dialect(schema: Any) -> Any:
    """The validator class that `$schema` means; an unknown one is read as the newest.

    So is a schema that names none, unless it is written in a way that the newest does not have.
    """
    return spoken(schema) or DIALECTS[_by_its_signs(schema)]


def _by_its_signs(schema: Any) -> str:
    if isinstance(schema, dict) and "$schema" in schema:
        return "2020-12"
    nodes = list(subschemas(schema))
    keywords = {keyword for node in nodes for keyword in node}
    limits = [node.get(name) for node in nodes for name in ("exclusiveMinimum", "exclusiveMaximum")]
    if any(isinstance(limit, bool) for limit in limits) and not keywords & SINCE_DRAFT_06:
        return "draft-04"
    is_older = any(isinstance(node.get("items"), list) for node in nodes) and "prefixItems" not in keywords
    return "2019-09" if is_older else "2020-12"


def spoken(schema: Any) -> Any:
    """The validator class that `$schema` names, however it is spelled; None where it names none of ours."""
    if not isinstance(schema, dict) or "$schema" not in schema:
        return None
    found = re.search(r"json-schema\.org/(?:draft/)?(draft-0[467]|2019-09|2020-12)/", str(schema["$schema"]))
    return DIALECTS[found[1]] if found else None


@lru_cache(maxsize=256)
def read(schema_text: str, limits: Limits) -> dict[str, Any] | bool:
    """The schema as a value, if it is small enough and JSON; compiles and follows nothing yet."""
    if len(schema_text.encode("utf-8", "surrogatepass")) > limits.schema_bytes:
        raise UnusableSchema("too_large", str(limits.schema_bytes))
    try:
        jsontext.parse(schema_text, max_depth=limits.schema_depth)
    except jsontext.JSONTextError as error:
        if error.reason.startswith("Nested deeper"):
            raise UnusableSchema("too_deep", str(limits.schema_depth)) from error
        raise UnusableSchema("not_json", str(error)) from error
    schema = jsontext.plain(jsontext.loads(schema_text))
    if not isinstance(schema, dict | bool):
        raise UnusableSchema("not_a_schema")
    if sum(1 for _ in subschemas(schema)) > MOST_SUBSCHEMAS:
        raise UnusableSchema("too_many", str(MOST_SUBSCHEMAS))
    return schema


@lru_cache(maxsize=256)
def prepared(schema_text: str, limits: Limits) -> Any:
    """The validator for a schema, once it is known to be usable; `UnusableSchema` if not."""
    return _checked(read(schema_text, limits))


def is_cheap(schema: dict[str, Any] | bool, schema_size: int, value_text: str) -> bool:
    """Whether checking costs no more than the sizes say, so that it needs no process that can be killed.

    Not so: choices that repeat through references, patterns that are costly to compile or tried on many texts.
    """
    nodes = list(subschemas(schema))
    keywords = {keyword for node in nodes for keyword in node}
    combines = bool(keywords & COMBINING)
    if schema_size * len(value_text) > CHEAP_PRODUCT or len(nodes) > CHEAP_SUBSCHEMAS or keywords & UNBOUNDED:
        return False
    if combines and ("$ref" in keywords or schema_size > CHEAP_COMBINING):
        return False
    patterns = [node["pattern"] for node in nodes if "pattern" in node]
    patterns += [
        name for node in nodes if isinstance(node.get("patternProperties"), dict) for name in node["patternProperties"]
    ]
    return len(patterns) * value_text.count('"') <= CHEAP_MATCHES and all(is_plain(one) for one in patterns)


def _checked(schema: Any) -> Any:
    cls = dialect(schema)
    meta = cls.META_SCHEMA
    if isinstance(schema, dict) and "$schema" in schema:
        schema = {**schema, "$schema": meta.get("$schema")}
    shaped = schema
    if cls is DIALECTS["2020-12"] and has_lists(schema):
        shaped = rewritten(schema, as_prefix)
        schema = rewritten(schema, as_prefix, but=lambda node: spoken(node) not in (None, cls))
    try:
        wrong = next(iter(cls(meta, registry=REGISTRY, format_checker=FORMATS).iter_errors(shaped)), None)
    except (regex.error, TimeoutError, RecursionError) as error:
        raise UnusableSchema("invalid") from error
    if wrong is not None:
        raise UnusableSchema("invalid", jsontext.pointer(*wrong.absolute_path))
    _check_references(cls, schema)
    return cls(schema, registry=REGISTRY, format_checker=FORMATS)


def _check_references(cls: Any, schema: Any) -> None:
    """Every reference must lead somewhere inside this document: nothing is ever fetched (T-30)."""
    resource = specification_with(cls.META_SCHEMA["$schema"]).create_resource(schema)
    base = resource.id() or ""
    resolver = REGISTRY.with_resource(base, resource).crawl().resolver(base)
    nodes = list(subschemas(schema))
    own_names = any("$id" in node or "id" in node for node in nodes[1:])
    for node in nodes:
        for reference in (node[name] for name in REFERENCES if isinstance(node.get(name), str)):
            try:
                resolver.lookup(reference)
            except (Unresolvable, ValueError) as error:
                if not reference.startswith("#"):
                    raise UnusableSchema("remote", reference[:200]) from error
                if not own_names:
                    raise UnusableSchema("dangling", reference[:200]) from error


def failures(schema_text: str, value_text: str, limits: Limits) -> list[Failure]:
    """Where the value does not fit, in the order of the schema; `UnusableSchema` if that cannot be said."""
    validator = prepared(schema_text, limits)
    value = jsontext.plain(jsontext.loads(value_text))
    token = pattern_seconds.set(limits.pattern_seconds)
    try:
        found = _told(validator.iter_errors(value))
    except RecursionError as error:
        raise UnusableSchema("endless") from error
    except TimeoutError as error:
        raise UnusableSchema("slow_pattern") from error
    except Unresolvable as error:
        raise UnusableSchema("dangling", str(error)[:200]) from error
    except regex.error as error:
        raise UnusableSchema("invalid", str(error)[:200]) from error
    finally:
        pattern_seconds.reset(token)
    return found


def _told(errors: Iterator[ValidationError]) -> list[Failure]:
    told: dict[Failure, None] = {}
    for error in errors:
        for plain in _nearest(error):
            told[_failure(plain)] = None
        if len(told) >= MOST_FAILURES:
            break
    return list(told)


def _nearest(error: ValidationError) -> Iterator[ValidationError]:
    """Of a choice that failed, what is wrong in the branch that was most likely meant."""
    branches: dict[Any, list[ValidationError]] = {}
    for inner in error.context or []:
        if inner.schema_path:  # of the branch `false` nobody says which it was: nothing was meant by it
            branches.setdefault(inner.schema_path[0], []).append(inner)
    depth = len(error.absolute_path)
    meant = [group for group in branches.values() if not any(_wrong_kind(inner, depth) for inner in group)]
    sizes = Counter(len(group) for group in meant)
    if not meant or sizes[min(sizes)] > 1:
        yield error
        return
    for inner in min(meant, key=len):
        yield from _nearest(inner)


def _wrong_kind(error: ValidationError, depth: int) -> bool:
    """The value is not of this branch at all: another type, or another constant in the member that tells them apart."""
    return (error.validator == "type" and len(error.absolute_path) == depth) or (
        error.validator in ("const", "enum") and len(error.absolute_path) == depth + 1
    )


def _failure(error: ValidationError) -> Failure:
    keyword = str(error.validator or "false")  # the schema `false` has no keyword
    wanted = jsontext.dumps(error.validator_value) if error.validator and _is_short(error.validator_value) else "null"
    return Failure(jsontext.pointer(*error.absolute_path), keyword, wanted)


def _is_short(value: Any) -> bool:
    return isinstance(value, int | str) or not isinstance(value, dict | list) or len(value) <= 50
