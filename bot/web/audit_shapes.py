"""What the requests and responses about the audit trail hold. Source: docs/audit.md."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from pydantic import ConfigDict, Field

from bot.web.schemas import Strict
from bot.web.shapes import Open
from core.store.chain import Broken, Fault
from core.trail_check import Count, Mac, MacOrNone, Progress

Line = Annotated[str, Field(description="One line of an export, as it stands there.")]


class ProgressBody(Strict):
    """How far a file has been checked; what one reply says is sent along with the next lines."""

    model_config = ConfigDict(strict=True)

    lines: Count
    begun: bool
    part: bool
    ended: bool
    logs: Count
    events: Count
    intent_id: Annotated[str, Field(max_length=255)] | None
    position: Count
    mac: MacOrNone
    length: Count | None
    head_mac: MacOrNone | None

    def progress(self) -> Progress:
        return Progress(**self.model_dump())


class FileBody(Strict):
    """The next lines of an export. ``sha256`` is the digest of all lines before the last, sent along with that one."""

    model_config = ConfigDict(strict=True)

    lines: Annotated[list[Line], Field(max_length=1000)]
    progress: ProgressBody | None = None
    sha256: Mac | None = None


class BrokenReply(Open):
    """The first broken link. ``id`` is the event's, where there is one; ``line`` the number of a file's line."""

    fault: Fault
    intent_id: str | None
    position: int | None
    id: str | None
    line: int | None


class CheckedReply(Open):
    """How many intents and events were looked at this time, and what is broken, if anything is."""

    intents: int
    events: int
    first_broken: BrokenReply | None
    next_cursor: str | None


class FileReply(Open):
    first_broken: BrokenReply | None
    progress: ProgressBody


def broken_json(broken: Broken | None) -> dict[str, object] | None:
    return None if broken is None else asdict(broken)
