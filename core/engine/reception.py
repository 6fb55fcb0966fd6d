"""Reception: whether an answer is taken. Pure; decided in the transaction that would record it.

Has the question ended, may this person answer it, is the value an answer to it, have they given it already?
The order of these questions is that of API.md §4.

Source: API.md §4, ``answers_required``; docs/decisions/0009.
"""

from __future__ import annotations

from pydantic import JsonValue

from core.domain import quorum, undo
from core.domain.answers import GivenAnswer, check_answer, check_resume_payload, chosen
from core.domain.people import Actor
from core.domain.reception import AlreadyYours, NotAnAnswer, NotYours, TooLate, Unrecorded
from core.domain.record import continued_with
from core.domain.suspension import Status, Suspension, UndoableAnswer
from core.domain.vocabulary import AnswerGiven
from core.domain.wire import instant
from core.domain.wording import answered_for_now
from core.engine.permissions import Permissions
from core.errors import (
    AlreadyAnswered,
    IdentityMismatch,
    InvalidAnswer,
    NotAResponder,
    ResumePayloadInvalid,
    SelfResponseForbidden,
    SuspensionEnded,
)


def received(suspension: Suspension, answer: GivenAnswer, permissions: Permissions) -> AnswerGiven | Unrecorded:
    """The signal that records ``answer``, or why nothing does."""
    if not suspension.is_open:
        return _after_the_end(suspension, answer)
    if suspension.undoable is not None:
        return _about_to_end(suspension, suspension.undoable, answer)
    ask = suspension.ask
    try:
        permissions.check_answer(suspension, answer)
        value = check_answer(ask, answer.value if answer.choice is None else chosen(ask, answer.choice))
        check_resume_payload(ask, value, answer.reason)
    except (SelfResponseForbidden, IdentityMismatch, NotAResponder) as refusal:
        return NotYours(suspension, refusal)
    except (InvalidAnswer, ResumePayloadInvalid) as wrong:
        return NotAnAnswer(suspension, wrong)
    silent = permissions.silent_beside(suspension, answer.by.identity) if quorum.is_shared(suspension) else None
    given = AnswerGiven(value, answer.by.identity, answer.channel, answer.reason, answer.metadata, answer.via, silent)
    return _again(suspension, given) or given


def would_refuse(suspension: Suspension, actor: Actor, permissions: Permissions) -> TooLate | NotYours | None:
    """Why nothing that ``actor`` answers would be taken, as ``suspension`` stands."""
    if not suspension.is_open or suspension.undoable is not None:
        return TooLate(suspension, truth(suspension))
    try:
        permissions.check(suspension, actor)
    except (NotAResponder, SelfResponseForbidden) as refusal:
        return NotYours(suspension, refusal)
    return None


def check_unanswered(suspension: Suspension) -> None:
    """Raises :class:`AlreadyAnswered` if an answer is about to end the question."""
    if suspension.undoable is not None:
        raise truth(suspension)


def truth(suspension: Suspension, *, same_answer: bool = False) -> AlreadyAnswered | SuspensionEnded:
    """Why an answer is too late: who answered before, or how the question ended. ``suspension`` has ended, or is about
    to by an answer that can be undone."""
    ended, undoable = suspension.ended, suspension.undoable
    if undoable is not None:
        return AlreadyAnswered(
            answered_for_now(undoable.by),
            same_answer=same_answer,
            responded_by=undoable.by,
            responded_at=instant(undoable.at),
            channel=undoable.channel,
        )
    assert ended is not None  # noqa: S101 (a closed suspension has an end)
    if suspension.status is Status.RESPONDED:
        return AlreadyAnswered(
            f"{ended.by} has already answered.",
            same_answer=same_answer,
            responded_by=ended.by,
            responded_at=instant(ended.at),
            channel=ended.channel,
        )
    return SuspensionEnded(
        f"The question has {'expired' if suspension.status is Status.EXPIRED else 'been cancelled'}.",
        resolution=suspension.status.value,
        ended_at=instant(ended.at),
        continued_with=continued_with(suspension),
    )


def _after_the_end(suspension: Suspension, answer: GivenAnswer) -> AlreadyYours | TooLate:
    same = _same_answer(suspension, answer)
    error = truth(suspension, same_answer=same)
    if same and isinstance(error, AlreadyAnswered):
        return AlreadyYours(suspension, error)
    return TooLate(suspension, error)


def _about_to_end(suspension: Suspension, undoable: UndoableAnswer, answer: GivenAnswer) -> AlreadyYours | TooLate:
    is_same = undo.is_theirs(suspension, answer.by.identity) and quorum.same_value(
        undoable.value, value_of(suspension, answer)
    )
    error = truth(suspension, same_answer=is_same)
    return (
        AlreadyYours(suspension, error)
        if is_same and isinstance(error, AlreadyAnswered)
        else TooLate(suspension, error)
    )


def value_of(suspension: Suspension, answer: GivenAnswer) -> JsonValue:
    """The value of ``answer``, as far as it is one of the choices."""
    choices, index = suspension.ask.choices, answer.choice
    if index is None:
        return answer.value
    return choices[index].value if 0 <= index < len(choices) else None


def _same_answer(suspension: Suspension, answer: GivenAnswer) -> bool:
    ended, value = suspension.ended, value_of(suspension, answer)
    if ended is None:
        return False
    own = quorum.answer_of(suspension, answer.by.identity)
    if own is not None:
        return quorum.same_value(own.value, value)
    return ended.value == value and ended.by == answer.by.identity


def _again(suspension: Suspension, given: AnswerGiven) -> AlreadyYours | None:
    """The answer that this person has given already, once more; another one takes its place."""
    own = quorum.answer_of(suspension, given.by)
    if own is None or not quorum.same_value(own.value, given.value):
        return None
    so_far = quorum.count(suspension, own.value)
    answered = AlreadyAnswered(
        "You have already given this answer.",
        same_answer=True,
        responded_by=own.by,
        responded_at=instant(own.at),
        channel=own.channel,
        received=so_far.received,
        required=so_far.required,
    )
    return AlreadyYours(suspension, answered)
