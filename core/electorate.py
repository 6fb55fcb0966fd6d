"""Several people for one answer: can there ever be enough of them, and does this person's answer count?

Source: API.md §2, §4, ``answers_required``; docs/decisions/0009.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from core.domain import quorum
from core.domain.asking import AskRequest
from core.domain.notice import shown_value
from core.domain.people import canonical
from core.domain.suspension import PlannedAttempt, Suspension
from core.domain.wire import instant
from core.errors import AlreadyAnswered, AnswersDisagree
from core.ports import Responders

_LONGEST_SHOWN = 200


def who_could_answer(
    request: AskRequest,
    attempts: Sequence[PlannedAttempt],
    created_by: str,
    responders: Responders,
    *,
    allow_self: bool,
) -> frozenset[str]:
    """Everybody who may answer once every attempt has gone out, by the directory and the keys of this moment.

    A group counts as its members; a Slack channel or a PagerDuty service by itself is nobody. With no ``responders``,
    every operator's key counts too.
    """
    references = (*request.responders, *(one for step in attempts for one in step.recipients))
    people = {identity for reference in references for identity in responders.people(reference)}
    if not request.responders:
        people.update(responders.operators())
    behind = {canonical(name) for name in (created_by, request.on_behalf_of) if name is not None}
    return frozenset(people if allow_self else people - behind)


def check_counts(suspension: Suspension, identity: str, value: JsonValue) -> None:
    """Nobody counts twice, and only equal answers count together.

    Raises :class:`AlreadyAnswered` or :class:`AnswersDisagree`; both say ``received`` and ``required``.
    """
    own = quorum.answer_of(suspension, identity)
    progress = {"received": quorum.received(suspension), "required": suspension.ask.answers_required}
    if own is not None:
        raise AlreadyAnswered(
            f"You have already answered “{_shown(suspension, own.value)}”; an answer counts once and stays.",
            same_answer=quorum.same_value(own.value, value),
            responded_by=own.by,
            responded_at=instant(own.at),
            channel=own.channel,
            **progress,
        )
    if quorum.differs(suspension, value):
        given = suspension.answers[0].value
        raise AnswersDisagree(
            f"{_names(suspension)} answered “{_shown(suspension, given)}”; only equal answers count together.",
            given=given,
            responders=quorum.responders(suspension),
            **progress,
        )


def _names(suspension: Suspension) -> str:
    first, *others = (one.by for one in suspension.answers)
    return f"{first} and {len(others)} more" if others else first


def _shown(suspension: Suspension, value: JsonValue) -> str:
    text = shown_value(suspension, value)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
