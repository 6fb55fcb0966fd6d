"""Print docs/reference/errors.md from the errors of ``core.errors`` and the statuses of ``bot.web.errors``.

``python docs/internals/draw_errors.py > docs/reference/errors.md``

What a code means is the docstring of its class.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from bot.config.losses import ReloadLosesAccess
from bot.config.problems import InvalidConfiguration
from bot.web.errors import status_of
from core.errors import CallerError, DatabaseReplaced, DatabaseUnavailable, HandraiseError, SuspensionError

_OTHERS = (
    (405, "method_not_allowed", "The path does not take this method. `Allow` names those that it takes."),
    (413, "too_large", "The body is larger than 1 MiB; a mail or a part of an export may have more."),
    (500, "internal", "Something went wrong here, and it has been logged. Tell whoever runs the service."),
    (503, "not_ready", "`/readyz`: this process can't do its work. The message says what is missing."),
    (503, "stalled", "`/healthz`: something in this process has stopped. `stalled` names it."),
)
"""What no class stands for."""

HEAD = """\
# Errors

Every code of the API, drawn from the code by `python docs/internals/draw_errors.py`. A test compares them.

Every error is `{"detail": {"error": "<code>", "message": "<one sentence>"}}`. Go by the code: the message is for
people, and its wording may change. Fields that a meaning names stand beside the code.

A 422 about fields of the request has `fields`, a list of `path` and `message`. 409s under `/v1` and `/api/v1` repeat
`message` and `current_version` at the top, for the published client.

| Status | Code | Meaning |
|---|---|---|
"""


def page() -> str:
    rows = sorted({*_of_classes(), *_OTHERS})
    return HEAD + "".join(f"| {status} | `{code}` | {text} |\n" for status, code, text in rows)


def _of_classes() -> Iterator[tuple[int, str, str]]:
    named = [
        *_below(CallerError),
        *_below(SuspensionError),
        DatabaseUnavailable,
        DatabaseReplaced,
        InvalidConfiguration,
        ReloadLosesAccess,
    ]
    for error in named:
        if "code" in vars(error):
            yield status_of(error.__new__(error)), error.code, _meaning(error)


def _below(error: type[HandraiseError]) -> Iterator[type[HandraiseError]]:
    for inner in error.__subclasses__():
        if inner.__module__ == "core.errors":
            yield from (inner, *_below(inner))


def _meaning(error: type[HandraiseError]) -> str:
    """The docstring's first paragraph in one line of Markdown, without what only readers of the code know."""
    if not error.__doc__:
        raise ValueError(f"{error.__name__} has no docstring")
    text = " ".join(inspect.cleandoc(error.__doc__).partition("\n\n")[0].split())
    text = re.sub(r" \((API\.md [^)]*|[^()]*; API\.md [^)]*)\)", "", text)
    return text.replace("``", "`").replace("|", "\\|")


if __name__ == "__main__":
    print(page(), end="")
