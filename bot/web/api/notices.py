"""The whole of one question for a client that displays it: the notice, each attempt's recipients, and its page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bot.web.api.suspension_replies import NoticeReply, notice_json
from core.domain.notice import NoticeLinks, build_notice
from core.domain.suspension import Suspension
from core.domain.wire import LadderEntry, ladder_json
from core.ports import Responders


class WholeNoticeReply(NoticeReply):
    """What people are shown of a question, redacted, with what a client needs to show it as a card."""

    url: str
    """Its page. Whoever opens it signs in first."""
    ladder: list[LadderEntry]
    """Every attempt as it was planned. The record's `next_attempt_at` counts if times have moved since."""
    people: dict[str, str]
    """The names of the people that the question names, by e-mail, as far as the directory knows them."""


def whole_notice_json(
    suspension: Suspension, redacted: Suspension, responders: Responders, public_url: str
) -> WholeNoticeReply:
    """``redacted`` is ``suspension`` as its page shows it. ``public_url`` is where our pages are."""
    notice = build_notice(redacted, suspension.attempt, NoticeLinks(""))
    return {
        **notice_json(notice),
        "url": f"{public_url}/q/{suspension.ask.ref}",
        "ladder": ladder_json(suspension.ask),
        "people": _names(map(responders.identity_of, _named(redacted)), responders),
    }


def _named(suspension: Suspension) -> Iterator[str]:
    """Everybody whom the question names: who asked, is asked, has answered or is on it."""
    ask, ended, claim = suspension.ask, suspension.ended, suspension.claim
    yield from (ask.created_by, *ask.responders, *suspension.asked)
    yield from (one for step in ask.attempts for one in step.recipients)
    single = (ask.on_behalf_of, suspension.assigned_to, claim and claim.by, ended and ended.by)
    yield from (one for one in single if one)
    yield from (one.by for one in suspension.answers)
    yield from (one.by for one in suspension.clarifications)
    yield from (one.by for one in suspension.earlier)


def _names(identities: Iterable[str], responders: Responders) -> dict[str, str]:
    wanted = set(identities)
    return {one.email: one.name for one in responders.everybody() if one.email in wanted}
