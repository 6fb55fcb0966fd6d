"""Bounces, receipts, out-of-office notes, lists, our own mail: mail that no person wrote. Nothing is ever written back.

What belongs to a question is noted on its timeline. A notice that came back for good is refused. Only a report that
bears the notice's return id proves that: it is made with a key of ours, stands nowhere but in the mail
(``Mailboxes.return_id``), and the report has to be about the notice's own recipient. A delivery id or a Message-ID
proves nothing, because a timeline shows it to the agent that asked. Neither does the bare id in the envelope sender of
a mail that an older version has sent.

Source: API.md §3; facts on mail §B3, §F; docs/decisions/0019, 0029.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from channels.email.addressing import deliverable, is_same_mailbox
from channels.email.classify import MailKind
from channels.email.delivery_reports import ReportVerdict
from channels.email.inbound import Inbound, MailRules
from core.domain.people import Address, small
from core.domain.tokens import TokenPurpose
from core.engine.queries import Holder, Queries
from core.inbound.settle import Correspondence, Returned, TimelineEntry, Understood
from core.store.outbox import Row, RowKind, RowStatus, has_returned

CHANNEL = "email"
MOST_AN_HOUR = 20
"""Mails of one kind that are dealt with in an hour, about one question or (``answers.py``) of one person."""
TOO_MANY = "too_many"
AWAY = "away"
"""The recipient's mail program says that nobody is there."""
_OUT = frozenset({RowStatus.PENDING, RowStatus.SENDING, RowStatus.DELIVERED})
"""How a notice stands that a report can refuse; what it says of any other is noted, so many an hour."""
_MOST_NAMED = 5
"""Tokens or deliveries of one mail that are looked up."""


@dataclass(frozen=True, slots=True)
class _Subject:
    """What a mail is about: a question, whose mail it was, and that mail if it is known which. ``proven``: by its
    return id, and not by what others know of it, nor as the latest to somebody whose token it bears."""

    suspension_id: str
    person: str | None
    row: Row | None
    proven: bool


class Returns:
    """Says what such a mail amounts to."""

    def __init__(self, queries: Queries, mail: Correspondence, rules: MailRules) -> None:
        self._queries = queries
        self._mail = mail
        self._rules = rules

    async def understood(self, mail: Inbound) -> Understood:
        """Writes nothing down. Raises :class:`core.errors.DatabaseUnavailable`."""
        subjects = {one.suspension_id: one for one in await self._subjects(mail)}.values()
        lines: list[TimelineEntry] = []
        returned: list[Returned] = []
        for one in subjects:
            why = self._refusal(mail, one)
            if why is not None and one.row is not None and one.row.status in _OUT:
                returned.append(Returned(one.row.id, mail.kind.value, why))
            else:
                lines += await self._noted(mail, one)
        groups = tuple(_group(one, mail) for one in subjects)
        return Understood(CHANNEL, (mail.digest,), tuple(lines), tuple(returned), groups=groups)

    def _refusal(self, mail: Inbound, about: _Subject) -> str | None:
        """Why the notice counts as refused now, as a code; ``None`` if it does not."""
        row = about.row
        if row is None or row.kind is not RowKind.NOTIFY:
            return None
        if mail.kind is MailKind.BOUNCE and mail.report is not None and about.proven:
            verdict, status = mail.report.about(_addresses(row))
            return status if verdict is ReportVerdict.REFUSED else None
        away = mail.is_away and mail.authentic and _is_from(mail.sender or "", row)
        return AWAY if away and self._rules.away_advances else None

    async def _noted(self, mail: Inbound, about: _Subject) -> list[TimelineEntry]:
        """The line; that there are too many, once; then none."""
        lately = await self._mail.lately(CHANNEL, _group(about, mail))
        if lately > MOST_AN_HOUR:
            return []
        reason, details = _reason(mail, about)
        reason = TOO_MANY if lately == MOST_AN_HOUR else reason
        return [TimelineEntry(about.suspension_id, mail.kind.value, reason, about.person, details=details)]

    # --- What is it about? ----------------------------------------------------------------------------------------

    async def _subjects(self, mail: Inbound) -> list[_Subject]:
        """By the return id that it bears, else by the mail that came with it, else by the reply address that it was
        sent to, else by the mail that it answers."""
        ours = self._rules.ours
        inside = ours.deliveries_named(mail.report.original) if mail.report is not None else []
        if found := await self._of_deliveries(mail.deliveries, proven=True):
            return found
        for deliveries in (mail.mentioned, [*inside, *ours.deliveries_named(mail.message_id)]):
            if found := await self._of_deliveries(deliveries, proven=False):
                return found
        return await self._of_tokens(mail.tokens) or await self._of_deliveries(mail.answers_to, proven=False)

    async def _of_deliveries(self, deliveries: Sequence[str], *, proven: bool) -> list[_Subject]:
        rows = [await self._mail.delivery(one, CHANNEL) for one in deliveries[:_MOST_NAMED]]
        return [_Subject(row.suspension_id, row.person, row, proven) for row in rows if row and row.suspension_id]

    async def _of_tokens(self, tokens: tuple[str, ...]) -> list[_Subject]:
        held = [await self._queries.find_by_token(one, TokenPurpose.MAIL) for one in tokens[:_MOST_NAMED]]
        return [await self._of_holder(one) for one in held if one is not None]

    async def _of_holder(self, holder: Holder) -> _Subject:
        latest = await self._mail.latest_notice(holder.suspension.id, holder.address)
        return _Subject(holder.suspension.id, holder.actor.identity, latest, proven=False)


def _group(about: _Subject, mail: Inbound) -> str:
    return f"{about.suspension_id}:{mail.kind.value}"


def _addresses(row: Row) -> frozenset[str]:
    """Whom the notice went to, as a report may write it."""
    to = Address(row.channel, row.address or "")
    reached = deliverable(to)
    return frozenset({small(to.value)} | ({small(reached.value)} if reached else set()))


def _is_from(sender: str, row: Row) -> bool:
    return any(one is not None and is_same_mailbox(sender, one) for one in (row.address, row.person))


def _reason(mail: Inbound, about: _Subject) -> tuple[str, Mapping[str, JsonValue]]:
    """A stable code for what it is, and numbers that help to look into it."""
    row = about.row
    details: dict[str, JsonValue] = {} if row is None else {"delivery": row.id, "attempt": row.attempt}
    if mail.kind is MailKind.BOUNCE and mail.report is not None and row is not None:
        verdict, status = mail.report.about(_addresses(row))
        if status:
            details["why"] = status
        if row.kind is not RowKind.NOTIFY:
            return "not_a_notice", details
        return (_not_refused(about.proven, row) if verdict is ReportVerdict.REFUSED else verdict.value), details
    if mail.kind is MailKind.AUTO:
        return (AWAY if mail.is_away else "automatic"), details
    return mail.unfit or mail.kind.value, details


def _not_refused(proven: bool, row: Row) -> str:
    """Why a notice is not refused that came back for good."""
    if not proven:
        return "unproven"
    return "refused_before" if has_returned(row) else "not_out"
