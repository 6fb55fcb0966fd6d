"""Texts of mails that answer a person's reply. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import tzinfo

from core.domain.machine import held_until, next_attempt_at
from core.domain.notice import LinkTarget, Message, MessageLink, Purpose, build_ending, shown_choices
from core.domain.short_messages import about, in_brief, recorded_partly
from core.domain.suspension import Suspension
from core.domain.wording import AgentTold, agent_told, shown_value, told_at

_PAGE = MessageLink(LinkTarget.QUESTION)

_MOST_NAMED = 3


def _open_first(shown: Suspension) -> str:
    """Why no reply can approve the question; a reply may still deny it."""
    negatives = [choice for choice in shown_choices(shown.ask) if choice.negative][:_MOST_NAMED]
    replied = " or ".join(f"{choice.number} ({choice.label})" for choice in negatives)
    still = f" A reply that says {replied} still counts." if replied else ""
    why = "This can be approved only on its page: the mail does not show all of it."
    return f"{why}{still} Please read it and answer there:"


def confirmation_mail(ended: Suspension, told: AgentTold) -> Message:
    """The answer counts: ``ended`` was answered. It promises nothing about the agent's next step: a veto stops it."""
    value = in_brief(shown_value(ended, ended.ended.value)) if ended.ended else ""
    reason = ended.ended.reason if ended.ended else None
    why = f" Your reason goes with it: “{in_brief(reason)}”" if reason else ""
    return _message(Purpose.CONFIRMATION, ended, f"Recorded: “{value}”.{why}\n\n{agent_told(told)} Thank you.")


def partly_mail(suspension: Suspension, identity: str) -> Message:
    """The answer of ``identity`` counts, and more are needed."""
    return _message(Purpose.CONFIRMATION, suspension, recorded_partly(suspension, identity))


def claimed_mail(claimed: Suspension, zone: tzinfo | None = None) -> Message:
    """They are on it, and until when that holds reminders back: not to the claim's own end if the question's is
    near, and not at all if no reminder is left."""
    until = held_until(claimed)
    held = f" Reminders are held back until {told_at(until, zone)}." if until and next_attempt_at(claimed) else ""
    text = f"Recorded: you are on it.{held}\n\nThe question still waits for an answer."
    return _message(Purpose.CONFIRMATION, claimed, text)


def not_held_mail(suspension: Suspension, why: str) -> Message:
    return _message(Purpose.CONFIRMATION, suspension, f"{why} You can still answer.")


def too_late_mail(ended: Suspension, told: AgentTold, zone: tzinfo | None = None) -> Message:
    """How the question had ended before this reply came. ``ended`` must have ended."""
    ending = build_ending(ended, zone=zone, told=told)
    text = f"Too late: your reply was not recorded.\n\n{ending.sentence} {ending.agent}"
    return _message(Purpose.TOO_LATE, ended, text)


def link_only_mail(suspension: Suspension) -> Message:
    """Nothing was recorded, because no answer is taken by mail (``email.sender_auth: link_only``)."""
    text = (
        "Your reply was not recorded: answers are not taken by mail here.\n\n"
        f"{suspension.ask.question}\n\nPlease answer here:"
    )
    return _message(Purpose.CLARIFICATION, suspension, text, _PAGE)


def open_first_mail(suspension: Suspension) -> Message:
    """Nothing was recorded: the mail does not show enough of it to approve it by a reply."""
    return _message(Purpose.CONFIRMATION, suspension, f"Your reply was not recorded. {_open_first(suspension)}", _PAGE)


def unverified_mail(suspension: Suspension, *, must_open: bool = False, is_shared: bool = False) -> Message:
    """To the supposed writer of an unverified reply. With ``must_open`` no reply would count. To a mailbox that
    several people read (``is_shared``) it says who may have written it."""
    if is_shared:
        came = "A reply came in that could not be verified, or is from somebody who may not answer"
        own = "your own mailbox"
    else:
        came, own = "A reply in your name came in that could not be verified", "the mailbox that this mail came to"
    return _not_theirs(suspension, came, "" if must_open else f", or reply from {own}", must_open=must_open)


def barred_mail(suspension: Suspension, by: str, *, must_open: bool = False) -> Message:
    """``by``, who may not answer, has sent a reply in the reader's name."""
    came = f"A reply in your name came in that was sent by {by}, who may not answer this question"
    return _not_theirs(suspension, came, "" if must_open else ", or reply from your own account", must_open=must_open)


def _not_theirs(suspension: Suspension, came: str, ways: str, *, must_open: bool) -> Message:
    text = (
        f"{came}, so nothing was recorded.\n\n"
        f"{suspension.ask.question}\n\n"
        f"If it was yours, please answer here{ways}. If it was not, there is nothing to do:"
    )
    return _message(Purpose.CONFIRMATION if must_open else Purpose.CLARIFICATION, suspension, text, _PAGE)


def _message(purpose: Purpose, suspension: Suspension, text: str, link_to: MessageLink | None = None) -> Message:
    return replace(about(suspension, purpose, text), link_to=link_to)
