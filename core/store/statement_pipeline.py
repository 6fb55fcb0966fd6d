"""Statements on their way to PostgreSQL and back: sent together, answered together. Loaded if PostgreSQL is used.

psycopg's cursors look at the socket before each statement of a pipeline. Each look lets the event loop's thread have
the interpreter, and costs two switches between threads. Here all statements are handed to libpq, go out in one piece,
and their answers are waited for once. The server plans a statement once for each connection. psycopg puts values into
words, and words into values.

Source: https://www.postgresql.org/docs/current/libpq-pipeline-mode.html; https://www.psycopg.org/psycopg3/docs/api/pq.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import Connection, OperationalError, abc, adapt
from psycopg.adapt import PyFormat
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult
from psycopg.waiting import Ready, Wait

_DONE = {ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK}


@dataclass(frozen=True, slots=True)
class StatementResult:
    """What the server has said to one statement, read as a driver's cursor is."""

    _result: PGresult
    _adapted: abc.Transformer

    @property
    def rowcount(self) -> int:
        """How many rows were read or changed."""
        return self._result.command_tuples or 0

    @property
    def description(self) -> Sequence[tuple[bytes | None, int]]:
        """The name and PostgreSQL's type of each column."""
        result = self._result
        return [(result.fname(place), result.ftype(place)) for place in range(result.nfields)]

    def fetchall(self) -> Sequence[Sequence[Any]]:
        self._adapted.set_pgresult(self._result)
        return self._adapted.load_rows(0, self._result.ntuples, tuple)

    @property
    def failure(self) -> BaseException | None:
        """The driver's error, if the statement has failed. One behind it says so too: it was not executed."""
        return None if self._result.status in _DONE else error_from_result(self._result, self._adapted.encoding)


@dataclass(slots=True, eq=False)
class Asked:
    """A statement with its values in words, and what came of it, if it was sent. ``otherwise`` makes the error for one
    that changes no row."""

    text: str
    values: Sequence[Any]
    otherwise: Callable[[], Exception] | None = None
    answer: StatementResult | None = None


class StatementPipeline:
    """One connection's way to the server. Its transaction begins with the first statement, if it has one."""

    def __init__(self, driver: Connection[Any]) -> None:
        self.waiting: list[Asked] = []
        """What goes out next."""
        self.is_refused = False
        """Whether a statement has changed no row that had to."""
        self._driver = driver
        self._pgconn = driver.pgconn
        self._adapted: abc.Transformer = adapt.Transformer(driver)
        self._names: dict[str, bytes] = {}
        self._named = 0

    @property
    def has_failed(self) -> bool:
        """Whether the transaction can only be rolled back."""
        return self.is_refused or self._pgconn.transaction_status == TransactionStatus.INERROR

    def forget(self) -> None:
        """The transaction is undone: what waits in it is never sent."""
        self.waiting.clear()
        self.is_refused = False

    def later(self, text: str, values: Sequence[Any]) -> Asked:
        """It waits. ``text`` has its places numbered (``$1``). Raises the driver's error for a value that can't be put
        into words; it does not wait then."""
        asked = Asked(text, self._adapted.dump_sequence(values, [PyFormat.TEXT] * len(values)))
        self.waiting.append(asked)
        return asked

    def send(self) -> Sequence[Asked]:
        """Everything that waits, answered. Nothing behind a statement that has failed was executed. Raises the driver's
        error if the connection fails."""
        asked, self.waiting = self.waiting, []
        if asked:
            results = self._driver.wait(self._exchange(asked))
            for one, result in zip(asked, results, strict=True):
                one.answer = StatementResult(result, self._adapted)
        return asked

    def _exchange(self, asked: Sequence[Asked]) -> abc.PQGen[list[PGresult]]:
        """All answers are read before any is judged: nothing else can be asked before that."""
        pgconn = self._pgconn
        begins = not self._driver.autocommit and pgconn.transaction_status == TransactionStatus.IDLE
        pgconn.enter_pipeline_mode()
        if begins:
            pgconn.send_query_params(self._beginning(), None)
        fresh = dict[Asked, bytes]()
        self._write(asked, fresh)
        pgconn.pipeline_sync()
        while pgconn.flush():
            if (yield Wait.RW) & Ready.R:  # the server does not read on if nobody reads what it says
                pgconn.consume_input()
        results = yield from self._results()
        pgconn.exit_pipeline_mode()
        return self._judged(iter(results), asked, begins, fresh)

    def _beginning(self) -> bytes:
        level = self._driver.isolation_level
        return b"BEGIN" if level is None else f"BEGIN ISOLATION LEVEL {level.name.replace('_', ' ')}".encode()

    def _write(self, asked: Sequence[Asked], fresh: dict[Asked, bytes]) -> None:
        """To libpq, which keeps it until all is flushed. ``fresh`` are those that are planned first, and so named."""
        names = self._names.copy() if any(one.text not in self._names for one in asked) else self._names
        for one in asked:
            if one.text not in names:
                self._named += 1
                fresh[one] = names[one.text] = f"handraise-{self._named}".encode()
                self._pgconn.send_prepare(fresh[one], one.text.encode())
            self._pgconn.send_query_prepared(names[one.text], one.values)

    def _results(self) -> abc.PQGen[list[PGresult]]:
        """One for everything that was sent. Two ends in a row are the connection's."""
        pgconn, results, ended = self._pgconn, list[PGresult](), False
        while True:
            while pgconn.is_busy():
                if (yield Wait.R):
                    pgconn.consume_input()
            result = pgconn.get_result()
            if result is None and ended:
                raise OperationalError("the server has closed the connection")
            if result is not None and result.status == ExecStatus.PIPELINE_SYNC:
                return results
            ended = result is None
            if result is not None:
                results.append(result)

    def _judged(
        self, results: Iterator[PGresult], asked: Sequence[Asked], begins: bool, fresh: dict[Asked, bytes]
    ) -> list[PGresult]:
        """The word on each statement: why it could not be planned, else what came of it. A name counts if the server
        has taken it."""
        judged = list[PGresult]()
        begun = next(results) if begins else None
        for one in asked:
            planned = next(results) if one in fresh else None
            done = next(results)
            if planned is not None and planned.status == ExecStatus.COMMAND_OK:
                self._names[one.text] = fresh[one]
            words = [word for word in (begun, planned) if word is not None and word.status not in _DONE]
            judged.append(words[0] if words else done)
        return judged
