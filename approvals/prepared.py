"""Questions, changes and new rows that are put together once per process and sent again with other values.

Django puts a statement together anew each time, which takes ten times as long as the database takes for a row that it
finds by its key. A deed sends a dozen of them, always the same ones. Everything else stays Django's: the query is a
queryset, and locks, joins, routers, and whoever listens to statements see what they always see. Signals are not sent:
nobody here listens to any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from django.db import connections, router, transaction
from django.db.models import Field, Model, QuerySet, Value
from django.db.models.query import get_related_populators
from django.db.models.sql import InsertQuery, UpdateQuery
from django.db.models.sql.compiler import SQLCompiler
from django.db.transaction import TransactionManagementError

Row = TypeVar("Row")
Made = TypeVar("Made", bound=Model)


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

    def filled(self, given: Mapping[str, str | int]) -> tuple[Any, ...]:
        return filled(self.values, given)

    def converted(self, row: Sequence[Any], connection: Any) -> list[Any]:
        values = list(row)
        for place, converters, column in self.converters:
            for convert in converters:
                values[place] = convert(values[place], column, connection)
        return values


def filled(values: Sequence[Any], given: Mapping[str, str | int]) -> tuple[Any, ...]:
    return tuple(given[value.name] if isinstance(value, Slot) else value for value in values)


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


class Change:
    """`build` makes a queryset with a `slot` for each value; `columns` are those of its rows that are set."""

    def __init__(self, build: Callable[[], QuerySet[Any, Any]], *columns: str) -> None:
        self._build = build
        self._columns = columns
        self._statements: dict[tuple[str, str], tuple[str, tuple[Any, ...]]] = {}

    @cached_property
    def _queryset(self) -> QuerySet[Any, Any]:
        return self._build()

    @cached_property
    def _fields(self) -> list[Any]:
        return [self._queryset.model._meta.get_field(name) for name in self._columns]

    def set(self, values: Mapping[str, Any], **given: str | int) -> int:
        """As `update(**values)`: how many rows were changed."""
        connection = connections[router.db_for_write(self._queryset.model)]
        sql, condition = self._statement(connection)
        saved = [field.get_db_prep_save(values[field.name], connection) for field in self._fields]
        with transaction.mark_for_rollback_on_error(using=connection.alias), connection.cursor() as cursor:
            cursor.execute(sql, (*saved, *filled(condition, given)))
            return int(cursor.rowcount)

    def _statement(self, connection: Any) -> tuple[str, tuple[Any, ...]]:
        """And what follows the new values in it."""
        key = (connection.alias, connection.vendor)
        if key not in self._statements:
            query: Any = self._queryset.query.chain(UpdateQuery)
            query.add_update_values({name: slot(name) for name in self._columns})
            sql, values = query.get_compiler(connection=connection).as_sql()
            self._statements[key] = sql, values[len(self._columns) :]
        return self._statements[key]


def given_key(key: Field[Any, Any], cursor: Any, connection: Any) -> Any:
    """What the database gave the row that was just added; SQLite before 3.35 does not return it."""
    if connection.features.can_return_columns_from_insert:
        return cursor.fetchone()[0]
    return connection.ops.last_insert_id(cursor, key.model._meta.db_table, key.column)


class Addition(Generic[Made]):
    """New rows of one model."""

    def __init__(self, model: type[Made]) -> None:
        self._model = model
        self._statements: dict[tuple[str, str, bool], str] = {}

    @cached_property
    def _fields(self) -> list[Field[Any, Any]]:
        meta = self._model._meta
        return [field for field in meta.local_concrete_fields if field is not meta.auto_field]

    def add(self, row: Made) -> Made:
        """As `save(force_insert=True)`; a key that the database gives is on the row afterwards."""
        connection = self._connection()
        sql = self._statement(row, connection, alone=True)
        with transaction.mark_for_rollback_on_error(using=connection.alias), connection.cursor() as cursor:
            cursor.execute(sql, self._values(row, connection))
            if (key := self._model._meta.auto_field) is not None:
                row.pk = given_key(key, cursor, connection)
        row._state.adding, row._state.db = False, connection.alias
        return row

    def add_all(self, rows: Sequence[Made]) -> None:
        """As `bulk_create`: as many in one statement as the database takes. Keys that it gives stay unknown."""
        connection = self._connection()
        at_once = max(1, connection.ops.bulk_batch_size(self._fields, rows))  # of no rows PostgreSQL says 0
        with transaction.mark_for_rollback_on_error(using=connection.alias), connection.cursor() as cursor:
            for some in (rows[n : n + at_once] for n in range(0, len(rows), at_once)):
                sql = self._statement(some[0], connection, alone=False)
                place = sql.rpartition(" VALUES ")[2]
                values = [value for row in some for value in self._values(row, connection)]
                cursor.execute(", ".join([sql, *[place] * (len(some) - 1)]), values)

    def _connection(self) -> Any:
        return connections[router.db_for_write(self._model)]

    def _values(self, row: Made, connection: Any) -> list[Any]:
        return [field.get_db_prep_save(field.pre_save(row, add=True), connection) for field in self._fields]

    def _statement(self, row: Made, connection: Any, *, alone: bool) -> str:
        key = (connection.alias, connection.vendor, alone)
        if key not in self._statements:
            query = InsertQuery(self._model)
            query.insert_values(self._fields, [row])
            compiler: Any = query.get_compiler(connection=connection)
            compiler.returning_fields = self._model._meta.db_returning_fields if alone else []
            [(self._statements[key], _values)] = compiler.as_sql()
        return self._statements[key]
