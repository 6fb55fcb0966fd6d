"""Refreshes: which sent messages are outdated, and when they are changed.

A row that changes a message shows the record at the time of sending. So one waiting row covers everything that happens
meanwhile.

Source: docs/decisions/0017.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from pydantic import JsonValue

from core.database.database import Tx
from core.domain.suspension import Suspension
from core.domain.vocabulary import (
    ANSWER_CHANGED,
    ANSWER_PENDING,
    ANSWER_RECORDED,
    ANSWER_UNDONE,
    ASSIGNED,
    CLAIMED,
    CLARIFICATION_LAPSED,
    CLARIFICATION_REQUESTED,
    CLARIFIED,
    RELEASED,
    Outcome,
)
from core.ports import Channel, Receipt, Refreshing
from core.store import outbox
from core.store.outbox import Row, RowKind, RowStatus

SHOWN = frozenset(
    {
        CLAIMED,
        RELEASED,
        ANSWER_CHANGED,
        ANSWER_PENDING,
        ANSWER_RECORDED,
        ANSWER_UNDONE,
        ASSIGNED,
        CLARIFICATION_REQUESTED,
        CLARIFICATION_LAPSED,
        CLARIFIED,
    }
)
"""What everybody who was asked should see at once. Moved times are not among them: after an outage these are
everybody's, and thousands of edits would come before the questions."""

JUST_NOW = timedelta(minutes=1)
"""Whoever pressed a message that was edited so short a time ago has only not seen the edit yet."""


def changes_messages(outcome: Outcome) -> bool:
    """Whether messages that are out should show what has happened to a question that stays open."""
    return outcome.suspension.is_open and any(event.type in SHOWN for event in outcome.events)


def refreshes(tx: Tx, suspension: Suspension, channels: Mapping[str, Channel], now: datetime) -> list[Row]:
    """A row for each delivered notice that can be changed, but where one waits already."""
    return [
        replace(
            outbox.withdrawal(notice, {"receipt": dict(notice.receipt or {}), "notice": notice.id}, now),
            address=notice.address,
            person=notice.person,
        )
        for notice in _changeable(tx, suspension, channels, {RowStatus.DELIVERED})
    ]


def endings(tx: Tx, suspension: Suspension, channels: Mapping[str, Channel]) -> list[Row]:
    """The notices of an ended question whose messages can show more of the end: those that are there or may be, but
    where a change waits already."""
    return _changeable(tx, suspension, channels, {RowStatus.DELIVERED, RowStatus.DROPPED})


def _changeable(
    tx: Tx, suspension: Suspension, channels: Mapping[str, Channel], statuses: Collection[RowStatus]
) -> list[Row]:
    rows = outbox.of_suspension(tx.conn, suspension.id)
    waiting = [_receipt(row) for row in rows if row.kind is RowKind.WITHDRAW and row.status is RowStatus.PENDING]
    return [
        notice
        for notice in rows
        if notice.kind is RowKind.NOTIFY
        and notice.status in statuses
        and notice.receipt
        and isinstance(channels.get(notice.channel), Refreshing)
        and dict(notice.receipt) not in waiting
    ]


def is_refresh(row: Row) -> bool:
    """Whether ``row`` was written while its question was open."""
    return row.kind is RowKind.WITHDRAW and "notice" in (row.body or {})


@dataclass(frozen=True, slots=True)
class Stale:
    """A message that somebody has pressed although its question has ended. ``delivery`` is the notice it is of;
    ``receipt`` holds what names the message, and maybe not all that the channel keeps."""

    delivery: str
    channel: str
    receipt: Receipt


def stale_notice(tx: Tx, suspension: Suspension, stale: Stale, now: datetime) -> list[Row]:
    """The notice to withdraw once more: one of this question's, and not being changed already."""
    notice = outbox.get(tx.conn, stale.delivery)
    if notice is None or notice.suspension_id != suspension.id or notice.kind is not RowKind.NOTIFY:
        return []
    rows = outbox.of_suspension(tx.conn, suspension.id)
    same = [row for row in rows if row.kind is RowKind.WITHDRAW and stale.receipt.items() <= _receipt(row).items()]
    return [] if _under_way(same, now) else [replace(notice, receipt=stale.receipt)]


def _under_way(withdrawals: Iterable[Row], now: datetime) -> bool:
    return any(
        row.status in {RowStatus.PENDING, RowStatus.SENDING}
        or (row.settled_at is not None and now - row.settled_at < JUST_NOW)
        for row in withdrawals
    )


def _receipt(row: Row) -> Mapping[str, JsonValue]:
    receipt = (row.body or {}).get("receipt")
    return receipt if isinstance(receipt, dict) else {}
