"""Executions: an approved action while it runs. The people who decided see its result.

Generated from ``execution.py`` by ``python sdk/generate_sync.py``: change that file.
"""

from __future__ import annotations

import json
import logging
import uuid
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from handraise.environment import segment
from handraise.errors import RequestRefused

if TYPE_CHECKING:
    from handraise.sync_transport import SyncTransport

log = logging.getLogger("handraise")

REPORT_SECONDS = 5.0
"""How long an action that has ended waits for its report, while the server can't be reached."""
LONGEST_TEXT = 3_000
_REPORTED = "already_reported"


class ExecutionSync:
    """One run of the action that a receipt allows (:meth:`Handraise.execute_once`), as a context manager.

    At the end of its block people are told "done", or "failed" with the name of the exception's class: its message may
    hold secrets. The exception goes on. A report that does not arrive is logged, and raises nothing. A cancelled task
    and a program that exits report nothing: nobody knows then how far the action has come.
    """

    def __init__(self, transport: SyncTransport, suspension_id: str | None) -> None:
        self._transport = transport
        self._suspension_id = suspension_id
        self._text: str | None = None
        self._url: str | None = None

    def note(self, text: str | None = None, *, url: str | None = None) -> None:
        """Text that people read beside "done" or "failed", as plain text, and a link to more (HTTP or HTTPS)."""
        self._text, self._url = text, url

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._report("done", self._text)
        elif issubclass(kind, Exception):
            self._report("failed", f"{self._text} ({kind.__name__})" if self._text else kind.__name__)

    def _report(self, status: Literal["done", "failed"], text: str | None) -> None:
        if self._suspension_id is None:
            log.info("What came of it is not reported: the receipt does not say which question it is about.")
            return
        said = {"status": status, "text": text and text[:LONGEST_TEXT], "url": self._url}
        path, key = f"suspensions/{segment(self._suspension_id)}/outcome", str(uuid.uuid4())
        try:
            self._transport.call("POST", path, json.dumps(said).encode(), key, within=REPORT_SECONDS)
        except RequestRefused as refusal:
            if refusal.code != _REPORTED:  # the agent has said it in its own words
                log.warning("What came of it was not reported: %s.", refusal.code)
        except Exception as failure:  # noqa: BLE001 (whatever it is, the action has ended as it has)
            log.warning("What came of it was not reported: %s.", type(failure).__name__)
