"""A database that can't be used when a process begins: one line for its operator, which names the setting.

What the server and the driver say goes into it as far as it tells what to mend; never the URL, whose password would
be half readable where it was written wrongly (``p@ss`` is ``p%40ss`` in a URL).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from core.errors import DatabaseUnavailable


def cannot_be_used(url: sa.URL, failure: BaseException) -> DatabaseUnavailable:
    """``failure`` is the driver's own, or SQLAlchemy's around it."""
    cause = getattr(failure, "orig", None) or failure
    return DatabaseUnavailable(f"database_url: {_place(url)} can't be used: {_reason(cause)}.")


@contextlib.contextmanager
def opening(url: sa.URL) -> Iterator[None]:
    """Whatever goes wrong with the database inside is one :class:`DatabaseUnavailable` that says so."""
    try:
        yield
    except DBAPIError as failure:
        raise cannot_be_used(url, failure) from failure
    except DatabaseUnavailable as failure:
        if failure.__cause__ is None:  # it has said in its own words what is wrong
            raise
        raise cannot_be_used(url, failure.__cause__) from failure


def _place(url: sa.URL) -> str:
    if url.get_backend_name() == "sqlite":
        return f"the file {url.database}"
    host = url.host or url.query.get("host") or "its socket"
    if not isinstance(host, str) or "@" in host:
        return "PostgreSQL"
    return f"PostgreSQL at {host}" + (f":{url.port}" if url.port else "")


def _reason(cause: BaseException) -> str:
    """The server's own words where it was reached, else the last part of what libpq tells: ``… failed: refused``."""
    said = str(cause).strip()
    if "FATAL:" in said:
        return said.split("FATAL:", 1)[1].strip().splitlines()[0]
    first = said.splitlines()[0] if said else type(cause).__name__
    return first.rsplit(": ", 1)[-1].rstrip(".")
