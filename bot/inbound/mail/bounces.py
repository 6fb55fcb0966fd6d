"""Bounces, receipts, out-of-office notes, lists, our own mail: mail that no person wrote. Nothing is ever written back.

A mail that belongs to a question is noted on its timeline. A notice that bounced for good is refused. Only a report
with the notice's return id proves that: the id is made with a key of ours and stands only in the mail
(``Mailboxes.return_id``), and the report has to be about the notice's own recipient. A delivery id or a Message-ID
proves nothing, because a timeline shows it to the agent that asked. Neither does the bare id in the envelope sender of
an older version's mail.

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
from core.inbound.correspondence import Correspondence, Returned, TimelineEntry, Understood
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
    """The subject of a mail: a question, the recipient of our mail, and that mail if it is known. ``proven``: found
    by its return id, not by an id that others know, and not as the latest mail to a token's owner."""

    suspension_id: str
    person: str | None
    row: Row | None
    proven: bool


class MailBounces:
    """Understands such a mail."""

    def __init__(self, queries: Queries, mail: Correspondence, rules: MailRules) -> None:
        self._queries = queries
        self._mail = mail
        self._rules = rules

    async def understood(self, mail: Inbound) -> Understood:
        """Records nothing. Raises :class:`core.errors.DatabaseUnavailable`."""
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
        """The code of why the notice counts as refused now; ``None`` if it does not."""
        row = about.row
        if row is None or row.kind is not RowKind.NOTIFY:
            return None
        if mail.kind is MailKind.BOUNCE and mail.report is not None and about.proven:
            verdict, status = mail.report.about(_addresses(row))
            return status if verdict is ReportVerdict.REFUSED else None
        away = mail.is_away and mail.authentic and _is_from(mail.sender or "", row)
        return AWAY if away and self._rules.away_advances else None

    async def _noted(self, mail: Inbound, about: _Subject) -> list[TimelineEntry]:
        """The timeline entry; at the limit one that says so; then none."""
        lately = await self._mail.lately(CHANNEL, _group(about, mail))
        if lately > MOST_AN_HOUR:
            return []
        reason, details = _reason(mail, about)
        reason = TOO_MANY if lately == MOST_AN_HOUR else reason
        return [TimelineEntry(about.suspension_id, mail.kind.value, reason, about.person, details=details)]

    # --- What is it about? ----------------------------------------------------------------------------------------

    async def _subjects(self, mail: Inbound) -> list[_Subject]:
        """By its return id, else by the returned mail in it, else by its reply address, else by the mail that it
        answers."""
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
    """The recipient's addresses, as a report may write them."""
    to = Address(row.channel, row.address or "")
    reached = deliverable(to)
    return frozenset({small(to.value)} | ({small(reached.value)} if reached else set()))


def _is_from(sender: str, row: Row) -> bool:
    return any(one is not None and is_same_mailbox(sender, one) for one in (row.address, row.person))


def _reason(mail: Inbound, about: _Subject) -> tuple[str, Mapping[str, JsonValue]]:
    """The stable code of the mail's kind, and numbers for an investigation."""
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
    """Why a notice that bounced for good is not refused."""
    if not proven:
        return "unproven"
    return "refused_before" if has_returned(row) else "not_out"
