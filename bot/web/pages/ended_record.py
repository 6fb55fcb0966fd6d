"""An ended question as a record: who said what and how, what the agent was told and did, and what proves it. Pure.

Source: API.md §4, "Several answers"; §5, callbacks and receipts; docs/decisions/0085, 0096, 0097.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot.web.pages.forms import shown
from bot.web.pages.moments import Moment, Reader
from bot.web.pages.person_names import PersonName
from bot.web.pages.reasons import told_reason
from core.domain import quorum
from core.domain.channels import called
from core.domain.notice import Ending, build_ending
from core.domain.suspension import Ended, PartialAnswer, Status, Suspension, Via
from core.domain.wording import AgentTold, shown_value, told_host, told_status, told_via
from core.engine.notice_progress import NoticeProgress
from core.store.outbox import RowKind, RowStatus
from core.store.sent_rows import SentRow


@dataclass(frozen=True, slots=True)
class GivenView:
    """One person's answer. ``value`` and ``reason`` are ``None`` while others are still to make up their minds;
    ``counts``: it is the one that the agent got."""

    by: PersonName
    way: str
    at: Moment
    value: str | None
    reason: str | None
    counts: bool


@dataclass(frozen=True, slots=True)
class ReportView:
    """The agent's report of its action. ``url`` is shown by its ``host``."""

    status: str
    heading: str
    text: str | None
    url: str | None
    host: str | None
    at: Moment


@dataclass(frozen=True, slots=True)
class RecordLine:
    """A line of the record. ``code`` is shown monospaced."""

    name: str
    text: str = ""
    at: Moment | None = None
    code: str | None = None
    by: PersonName | None = None


@dataclass(frozen=True, slots=True)
class EndView:
    """``is_mine``: the reader is the one who answered."""

    ending: Ending
    at: Moment
    is_mine: bool
    reason: str | None
    value: str
    """The answer itself, in full."""
    given: tuple[GivenView, ...]
    """What each person has said, if several were needed."""
    record: tuple[RecordLine, ...]
    report: ReportView | None

    @property
    def is_done(self) -> bool:
        """Whether the agent knows, as far as we can ensure it."""
        return self.ending.told in {AgentTold.TOLD, AgentTold.ASKS}

    @property
    def is_lost(self) -> bool:
        """Whether the agent does not know, and will not by itself."""
        return self.ending.told is not None and self.ending.told.never


def given_answers(suspension: Suspension, reader: Reader) -> tuple[GivenView, ...]:
    """Each person's answer to a question that needs several; until the end, not what it is."""
    return tuple(_given(suspension, one, reader) for one in suspension.answers)


def _given(suspension: Suspension, one: PartialAnswer, reader: Reader) -> GivenView:
    is_told = not suspension.is_open
    ended = suspension.ended
    answered = suspension.status is Status.RESPONDED and ended is not None
    return GivenView(
        reader.names.of(one.by),
        called(one.channel),
        reader.moment(one.at),
        shown_value(suspension, one.value) if is_told else None,
        one.reason if is_told else None,
        counts=answered and ended is not None and quorum.same_value(one.value, ended.value),
    )


def end_view(
    suspension: Suspension,
    named: Suspension,
    progress: NoticeProgress,
    reader: Reader,
    told: AgentTold | None,
    *,
    shows_accounts: bool,
) -> EndView | None:
    """``named`` is ``suspension`` with people's names; ``shows_accounts``: also by which account each has answered."""
    ended, shown_end = suspension.ended, named.ended
    if ended is None or shown_end is None:
        return None
    ending = build_ending(named, zone=reader.zone, told=told)
    is_mine = (
        suspension.status is Status.RESPONDED and ended.by == reader.names.reader and not quorum.is_shared(suspension)
    )
    in_full = shown(ended.value) if isinstance(ended.value, dict | list) else ending.answer
    return EndView(
        ending,
        reader.moment(ended.at),
        is_mine,
        ended.reason,
        in_full or "",
        given_answers(suspension, reader),
        tuple(_record(suspension, progress, reader, shows_accounts=shows_accounts)),
        _report(ended, reader),
    )


def _record(
    suspension: Suspension,
    progress: NoticeProgress,
    reader: Reader,
    *,
    shows_accounts: bool,
) -> Iterator[RecordLine]:
    ask, ended = suspension.ask, suspension.ended
    assert ended is not None  # noqa: S101 (only an ended question has a record)
    yield RecordLine("Asked", "by", reader.moment(ask.suspended_at), by=reader.names.of(ask.created_by))
    if ask.on_behalf_of is not None:
        yield RecordLine("On behalf of", by=reader.names.of(ask.on_behalf_of))
    yield RecordLine("Ended", _HOW[suspension.status], reader.moment(ended.at))
    for by, via in _given_by(suspension):
        if shows_accounts or by == reader.names.reader:
            yield RecordLine("Evidence", f"{reader.names.text(by)}: {told_via(via)}")
    if ask.action_digest is not None:
        yield RecordLine("Action", code=ask.action_digest)
        yield from _receipt(suspension, progress, reader)
    yield from _callbacks(suspension, progress.rows, reader)


def _given_by(suspension: Suspension) -> Iterator[tuple[str, Via]]:
    """Each answer's author, and where it can be found."""
    ended = suspension.ended
    given: Sequence[PartialAnswer | Ended] = suspension.answers or (() if ended is None else (ended,))
    for one in given:
        if one.by is not None and one.via is not None:
            yield one.by, one.via


_HOW = {
    Status.RESPONDED: "by an answer",
    Status.EXPIRED: "by time",
    Status.CANCELLED: "it was taken back",
}


def _receipt(suspension: Suspension, progress: NoticeProgress, reader: Reader) -> Iterator[RecordLine]:
    """Whether the proof of the answer was used: the agent does so before it acts."""
    if suspension.status is Status.CANCELLED or (suspension.ended and suspension.ended.error is not None):
        yield RecordLine("Receipt", "there is none: nothing was decided")
    elif progress.receipt.used_at is not None:
        yield RecordLine("Receipt", "used", reader.moment(progress.receipt.used_at))
    elif progress.receipt.delivered_at is not None:
        yield RecordLine(
            "Receipt", "not used; the agent has had it since", reader.moment(progress.receipt.delivered_at)
        )
    else:
        yield RecordLine("Receipt", "not used; the agent has not got it yet")


def _callbacks(suspension: Suspension, rows: Sequence[SentRow], reader: Reader) -> Iterator[RecordLine]:
    ended = suspension.ended
    if ended is None:
        return
    calls = [row for row in rows if row.kind is RowKind.RESUME and row.created_at >= ended.at]
    if not calls:
        yield RecordLine("Callback", "none: the agent waits for the answer, or asks for it")
    for row in calls:
        why = "" if row.reason is None else f": {told_reason(row.reason)}"
        match row.status:
            case RowStatus.DELIVERED:
                yield RecordLine("Callback", "delivered", _settled(row, reader))
            case RowStatus.REFUSED:
                yield RecordLine("Callback", "refused by the agent, which takes none any more", _settled(row, reader))
            case RowStatus.DEAD:
                yield RecordLine("Callback", f"lost: given up after {row.tries} tries{why}", _settled(row, reader))
            case RowStatus.DROPPED:
                yield RecordLine("Callback", "not sent", _settled(row, reader))
            case _ if row.tries:
                yield RecordLine(
                    "Callback", f"not taken yet, after {row.tries} tries{why}; again", reader.moment(row.due_at)
                )
            case _:
                yield RecordLine("Callback", "on its way")


def _settled(row: SentRow, reader: Reader) -> Moment | None:
    return None if row.settled_at is None else reader.moment(row.settled_at)


def _report(ended: Ended, reader: Reader) -> ReportView | None:
    report = ended.reported
    if report is None:
        return None
    host = None if report.url is None else told_host(report.url)
    at = reader.moment(report.at)
    return ReportView(report.status.value, told_status(report), report.text, report.url, host, at)
