"""Texts of mails that answer somebody's reply. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo

from bot.inbound.proposals import confirmed, meant
from core.domain.copies import replace
from core.domain.machine import held_until, next_attempt_at
from core.domain.notice import LinkTo, Message, Opens, Proposal, Purpose, build_ending, shown_choices, shown_value
from core.domain.short_messages import about, in_brief, recorded_partly
from core.domain.suspension import ResponseType, Suspension
from core.domain.wording import AgentTold, agent_told, told_at

_PAGE = LinkTo(Opens.QUESTION)

_WHY: Mapping[str, str] = {
    "no_match": "as a whole, it is none of the choices.",
    "no_such_number": "there is no choice with that number.",
    "two_choices": "it names more than one choice.",
    "no_words": "it has no words.",
    "below_name": "something is written below your name that may be about the answer.",
    "question": "it asks something, and a reply can only answer. The page can ask the agent back.",
    "below_signature": "something is written below your signature that may be about the answer.",
    "amount_or_quote": "its line with “>” and a number may be a quote, or an amount.",
    "html_differs": "its HTML says something else than its plain text.",
    "html_alone": "it has no plain text, and its HTML could hide something.",
    "machine": "it reads as if a machine had written it.",
    "not_proposed": "a bare yes or no can mean two things now. Please reply with the number.",
    "claim_or_text": "it begins like “I'm on it” and goes on. Please reply “on it” alone, or write the answer alone.",
    "remark": "a field says more than its value.",
    "beside_fields": "it says more than the fields.",
    "too_long": "it is too long to tell the answer from the rest.",
    "claim_and_choice": "it both says that you are on it and names a choice.",
    "below_quote": "it is written below the quoted text. Please write above it.",
    "empty": "no words of its own could be read above the quoted text. With its attachments a mail may have 5 MiB.",
    "no_field": "it fills in no field. Please write one line for each: name: value.",
    "unknown_field": "it names a field that the form does not have.",
    "field_given_twice": "it fills in a field twice.",
    "two_questions": "it went to two questions at once. Please reply to each of their mails on its own.",
    "link_only": "answers are not taken by mail here. Please use the link.",
}

_SEEM_TO_MEAN = "You seem to mean:\n\n"
_MOST_NAMED = 3


def _open_first(shown: Suspension) -> str:
    """Why no reply can approve it; a denial may be replied all the same."""
    negatives = [choice for choice in shown_choices(shown.ask) if choice.negative][:_MOST_NAMED]
    replied = " or ".join(f"{choice.number} ({choice.label})" for choice in negatives)
    still = f" A reply that says {replied} still counts." if replied else ""
    why = "This can be approved only on its page: the mail does not show all of it."
    return f"{why}{still} Please read it and answer there:"


def confirmation_mail(ended: Suspension, told: AgentTold) -> Message:
    """The answer counts. ``ended`` was answered. What the agent makes of it, once it is ``told``, is the agent's: a
    veto stops it."""
    value = in_brief(shown_value(ended, ended.ended.value)) if ended.ended else ""
    reason = ended.ended.reason if ended.ended else None
    why = f" Your reason goes with it: “{in_brief(reason)}”" if reason else ""
    return _message(Purpose.CONFIRMATION, ended, f"Recorded: “{value}”.{why}\n\n{agent_told(told)} Thank you.")


def partly_mail(suspension: Suspension, identity: str) -> Message:
    """The answer of ``identity`` counts, and more are needed."""
    return _message(Purpose.CONFIRMATION, suspension, recorded_partly(suspension, identity))


def claimed_mail(claimed: Suspension, zone: tzinfo | None = None) -> Message:
    """They are on it, and until when that holds reminders back: not to the claim's own end where the question's is
    near, and not at all if none is left."""
    until = held_until(claimed)
    held = f" Reminders are held back until {told_at(until, zone)}." if until and next_attempt_at(claimed) else ""
    text = f"Recorded: you are on it.{held}\n\nThe question still waits for an answer."
    return _message(Purpose.CONFIRMATION, claimed, text)


def not_held_mail(suspension: Suspension, why: str) -> Message:
    return _message(Purpose.CONFIRMATION, suspension, f"{why} You can still answer.")


def too_late_mail(ended: Suspension, told: AgentTold, zone: tzinfo | None = None) -> Message:
    """The truth: how it had ended before this reply came. ``ended`` must have ended."""
    ending = build_ending(ended, zone=zone, told=told)
    text = f"Too late: your reply was not recorded.\n\n{ending.sentence} {ending.agent}"
    return _message(Purpose.TOO_LATE, ended, text)


def clarification_mail(suspension: Suspension, why: str) -> Message:
    """Nothing was recorded, why, and the choices again. ``why`` is the grammar's code, or a sentence."""
    ask = suspension.ask
    reason = _WHY.get(why)
    lines = [f"Your reply was not recorded: {reason}" if reason else f"Your reply was not recorded. {why}", ""]
    lines += [ask.question, ""]
    if why == "link_only":
        lines += ["Please answer here:"]
    elif ask.response_type in {ResponseType.CHOICE, ResponseType.CONFIRM}:
        lines += [f"  {choice.number}) {choice.label}" for choice in shown_choices(ask)]
        lines += ["", "Please reply with one number on the first line, or answer here:"]
    else:
        lines += ["Please reply once more, or answer here:"]
    return _message(Purpose.CLARIFICATION, suspension, "\n".join(lines), _PAGE)


def echo_mail(suspension: Suspension, proposal: Proposal) -> Message:
    """Nothing was recorded, and what was probably meant: one more reply decides. ``suspension`` is as it is shown."""
    ask, choices = suspension.ask, shown_choices(suspension.ask)
    seems = f"{meant(choices, proposal)} {confirmed(choices, proposal)}"
    lines = [f"Nothing has been recorded. {seems}", "", ask.question, ""]
    lines += [f"  {choice.number}) {choice.label}" for choice in choices]
    lines += ["", "Or answer here:"]
    return replace(_message(Purpose.CLARIFICATION, suspension, "\n".join(lines), _PAGE), proposal=proposal)


def echo_own_mail(suspension: Suspension, proposal: Proposal, said: str) -> Message:
    """The same for a form or a text; ``said`` is the proposal as it may be shown."""
    is_form = suspension.ask.response_type is ResponseType.FORM
    else_so = "with one line for each field and nothing else" if is_form else "with the text alone"
    text = (
        f"Nothing has been recorded. {_SEEM_TO_MEAN}{said}\n\n"
        f"Reply “ok” to confirm it, or {else_so}.\n\n"
        f"{suspension.ask.question}\n\nOr answer here:"
    )
    return replace(_message(Purpose.CLARIFICATION, suspension, text, _PAGE), proposal=proposal)


def echo_to_open_mail(suspension: Suspension, proposal: Proposal, said: str | None) -> Message:
    """The same if its mail held only a part of what is asked: no reply decides, so none is asked for. ``said`` is a
    form or a text."""
    seems = meant(shown_choices(suspension.ask), proposal) if said is None else _SEEM_TO_MEAN + said
    text = f"Nothing has been recorded. {seems}\n\n{_open_first(suspension)}"
    return replace(_message(Purpose.CONFIRMATION, suspension, text, _PAGE), proposal=proposal)


def link_mail(suspension: Suspension) -> Message:
    """Nothing was recorded again, and what was probably meant has been asked within the hour."""
    text = (
        "Nothing has been recorded: that reply, too, may mean more than one thing.\n\n"
        f"{suspension.ask.question}\n\nPlease answer here:"
    )
    return _message(Purpose.CLARIFICATION, suspension, text, _PAGE)


def open_first_mail(suspension: Suspension) -> Message:
    """Nothing was recorded: the mail does not show enough of it to approve it by a reply."""
    return _message(Purpose.CONFIRMATION, suspension, f"Your reply was not recorded. {_open_first(suspension)}", _PAGE)


def unverified_mail(suspension: Suspension, *, must_open: bool = False, is_shared: bool = False) -> Message:
    """A reply came that nobody can vouch for, to whom it would be from. With ``must_open`` no reply would count. To a
    mailbox that several people read (``is_shared``) it says who may have written it."""
    if is_shared:
        came = "A reply came in that could not be verified, or is from somebody who may not answer"
        own = "your own mailbox"
    else:
        came, own = "A reply in your name came in that could not be verified", "the mailbox that this mail came to"
    return _not_theirs(suspension, came, "" if must_open else f", or reply from {own}", must_open=must_open)


def barred_mail(suspension: Suspension, by: str, *, must_open: bool = False) -> Message:
    """``by`` has sent a reply in the name of whoever reads this, and may not answer."""
    came = f"A reply in your name came in that was sent by {by}, who may not answer this question"
    return _not_theirs(suspension, came, "" if must_open else ", or reply from your own account", must_open=must_open)


def _not_theirs(suspension: Suspension, came: str, ways: str, *, must_open: bool) -> Message:
    text = (
        f"{came}, so nothing was recorded.\n\n"
        f"{suspension.ask.question}\n\n"
        f"If it was yours, please answer here{ways}. If it was not, there is nothing to do:"
    )
    return _message(Purpose.CONFIRMATION if must_open else Purpose.CLARIFICATION, suspension, text, _PAGE)


def _message(purpose: Purpose, suspension: Suspension, text: str, link_to: LinkTo | None = None) -> Message:
    return replace(about(suspension, purpose, text), link_to=link_to)
