"""Links of a message, made when it is sent: the database, and so a copy of it, has nothing that opens a page.

Source: DESIGN.md, "The outbox"; docs/decisions/0045.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from core.domain.notice import LinkTarget, MessageLink, NoticeLinks
from core.domain.people import Address
from core.domain.suspension import Suspension
from core.domain.tokens import TokenMaker, TokenPurpose
from core.store.outbox import Row

SignInLink = Callable[[str, str, datetime, str], str]
"""The link of one delivery, the same at every try: who it signs in, where it leads after that, when it was asked for,
and the delivery's id."""


@dataclass(frozen=True, slots=True)
class LinkMaker:
    """``public_url`` is where links lead. ``replied`` are the channels that take replies."""

    public_url: str
    tokens: TokenMaker
    sign_in: SignInLink
    replied: Collection[str] = frozenset()

    def question(self, suspension: Suspension, to: Address) -> NoticeLinks:
        """The link and reply address by which whoever is at ``to`` answers. A shared place gets no personal link; only
        mail can be replied to."""
        shared = f"{self.public_url}/q/{suspension.ask.ref}"
        if to.person is None:
            return NoticeLinks(shared)
        page = self.tokens.token(TokenPurpose.PAGE, suspension.id, to.channel, to.value)
        mail = self.tokens.token(TokenPurpose.MAIL, suspension.id, to.channel, to.value)
        return NoticeLinks(shared, f"{self.public_url}/a/{page}", mail if to.channel in self.replied else None)

    def message(self, row: Row, question: NoticeLinks | None) -> str | None:
        """The link of the short message ``row``; ``question`` are those of what it is about. A row of an older version
        holds the link itself."""
        body = row.body or {}
        wanted, written = MessageLink.of(body), body.get("link")
        if wanted is None:
            return written if isinstance(written, str) else None
        match wanted.opens:
            case LinkTarget.QUESTION:
                return question.best if question is not None else None
            case LinkTarget.SIGN_IN:
                person = row.person
                return None if person is None else self.sign_in(person, wanted.onward, row.created_at, row.id)
            case _ as unknown:
                assert_never(unknown)
