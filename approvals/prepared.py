"""Questions to the database that are put together once per process and asked again with other values.

Django puts a query together anew each time, which takes ten times as long as the database takes for a row that it finds
by its key. A deed asks a dozen such questions, always the same ones. Everything else stays Django's: the query is a
queryset, and locks, joins, routers, and whoever listens to statements see what they always see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from django.db import connections
from django.db.models import QuerySet, Value
from django.db.models.query import get_related_populators
from django.db.models.sql.compiler import SQLCompiler
from django.db.transaction import TransactionManagementError

Row = TypeVar("Row")


@dataclass(frozen=True)
class Slot:
    name: str


def slot(name: str) -> Value:
    """Where a value of this name goes. Texts and whole numbers only: they are compared as they come."""
    return Value(Slot(name))


@dataclass(frozen=True)
class Statement:
    """The query as one vendor's SQL, with its slots still open, and how a row of it is read."""

    sql: str
    values: tuple[Any, ...]
    locks: bool
    converters: list[tuple[int, Any, Any]]  # place in the row, what converts it there, the column
    read: Callable[[Sequence[Any]], Any]

    def filled(self, given: dict[str, str | int]) -> tuple[Any, ...]:
        return tuple(given[value.name] if isinstance(value, Slot) else value for value in self.values)

    def converted(self, row: Sequence[Any], connection: Any) -> list[Any]:
        values = list(row)
        for place, converters, column in self.converters:
            for convert in converters:
                values[place] = convert(values[place], column, connection)
        return values


class Prepared(Generic[Row]):
    """`build` makes a queryset with a `slot` for each value: model rows, `select_related` too, or a `values_list`."""

    def __init__(self, build: Callable[[], QuerySet[Any, Row]]) -> None:
        self._build = build
        self._statements: dict[tuple[str, str], Statement] = {}

    @cached_property
    def _queryset(self) -> QuerySet[Any, Row]:
        return self._build()

    def rows(self, **given: str | int) -> list[Row]:
        """What the queryset would give now. Raises TransactionManagementError for a lock outside a transaction."""
        connection = connections[self._queryset.db]
        statement = self._statement(connection)
        if statement.locks and connection.get_autocommit():
            raise TransactionManagementError("select_for_update cannot be used outside of a transaction.")
        with connection.cursor() as cursor:
            cursor.execute(statement.sql, statement.filled(given))
            found = cursor.fetchall()
        return [statement.read(statement.converted(row, connection)) for row in found]

    def first(self, **given: str | int) -> Row | None:
        return next(iter(self.rows(**given)), None)

    def one(self, **given: str | int) -> Row:
        """The first row. Raises the model's DoesNotExist where there is none."""
        for row in self.rows(**given):
            return row
        raise self._queryset.model.DoesNotExist

    def _statement(self, connection: Any) -> Statement:
        key = (connection.alias, connection.vendor)
        if key not in self._statements:
            self._statements[key] = put_together(self._queryset.all(), connection)
        return self._statements[key]


def put_together(queryset: QuerySet[Any, Any], connection: Any) -> Statement:
    compiler = queryset.query.get_compiler(connection=connection)
    sql, values = compiler.as_sql()
    locks = queryset.query.select_for_update and connection.features.has_select_for_update
    found = compiler.get_converters([column for column, *_rest in compiler.select])
    converters = [(place, converters, column) for place, (converters, column) in found.items()]
    return Statement(sql, tuple(values), locks, converters, reader(queryset, compiler, connection.alias))


def reader(queryset: QuerySet[Any, Any], compiler: SQLCompiler, alias: str) -> Callable[[Sequence[Any]], Any]:
    """As Django's own iteration over a queryset makes its rows."""
    if not queryset.query.default_cols:
        return tuple
    told: Any = compiler.klass_info
    columns = slice(told["select_fields"][0], told["select_fields"][-1] + 1)
    names = [column.target.attname for column, *_rest in compiler.select[columns]]
    related = get_related_populators(told, compiler.select, alias)  # type: ignore[call-arg]  # the stubs are Django 6's

    def read(row: Sequence[Any]) -> Any:
        found = told["model"].from_db(alias, names, row[columns])
        for populator in related:
            populator.populate(row, found)
        return found

    return read
