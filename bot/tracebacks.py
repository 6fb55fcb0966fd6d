"""How an exception is written in the log: where it happened and of what kind it was, causes included.

Never what it said: a message is made of values, and those are what people asked and answered, where they are reached
and what opens doors (pydantic's has the whole input, a driver's the parameters).
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator

from structlog.typing import ExcInfo

_CAUSE = "The direct cause of the following was:"
_CONTEXT = "While that was handled, this happened:"


def without_messages(exc_info: ExcInfo) -> str:
    """Python's own traceback, oldest cause first, with nothing behind the names of the exceptions."""
    return "\n".join(_lines(exc_info[1], set()))


def _lines(error: BaseException, told: set[int]) -> Iterator[str]:
    told.add(id(error))
    if error.__cause__ is not None and id(error.__cause__) not in told:
        yield from (*_lines(error.__cause__, told), _CAUSE)
    elif error.__context__ is not None and not error.__suppress_context__ and id(error.__context__) not in told:
        yield from (*_lines(error.__context__, told), _CONTEXT)
    yield "Traceback (most recent call last):"
    yield "".join(traceback.format_tb(error.__traceback__)).rstrip("\n")
    kind = type(error)
    yield f"{kind.__module__}.{kind.__qualname__}" if kind.__module__ != "builtins" else kind.__qualname__
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _lines(inner, told)
