"""Words for a model: how a question stands, as the result of the tool that asked it.

Each is one to three sentences. None names a person, the ``suspension_id`` or the receipt; the ``ref`` is public. What a
person wrote stands word for word at the end. Silence is never told as a denial: nobody has decided then.

Source: ``docs/decisions/0110-the-pieces-that-adapters-stand-on.md``.
"""

from __future__ import annotations

import json

from pydantic import JsonValue

_WHY_SILENT = {
    "notice_undelivered": "No message about this could be delivered",
    "portfolio_deadline_exceeded": "The deadline of the work around this came before an answer",
}


_DO_NOT = "Do not do it, and do not try it again unless you are told to."


def answered(ref: str | None, value: JsonValue, label: str | None, reason: str | None, *, is_yes: bool) -> str:
    """A person has answered, and it is no denial. ``label`` is that of the choice, ``None`` for a text or a form."""
    because = f". Their reason: {reason}" if reason else ""
    return f"A person has {'said yes' if is_yes else 'answered'}{_in(ref)}: {_shown(value, label)}{because}"


def denied(ref: str | None, value: JsonValue, label: str | None, reason: str | None) -> str:
    """A person has said no."""
    return f"A person has said no{_in(ref)}: {_shown(value, label)}. {_DO_NOT} {_their(reason)}"


def already_denied(ref: str | None, reason: str | None) -> str:
    """People have said no to the same action lately, and this server does not ask again so soon."""
    said = f"A person has said no to this within the last hour{_in(ref)}, so nobody was asked again."
    return f"{said} {_DO_NOT} {_their(reason)}"


def silent(ref: str | None, error: str | None) -> str:
    """Nobody has answered, and nothing was agreed for that case. ``error`` is the server's code."""
    why = _WHY_SILENT.get(error or "", "Nobody has answered in time")
    return f"{why}{_in(ref)}. This is neither an approval nor a denial. Do not go ahead; say that nobody has decided."


def silence_means(ref: str | None, value: JsonValue, label: str | None) -> str:
    """Nobody has answered, and it was agreed what to go on with."""
    said = f"Nobody has answered in time{_in(ref)}, so no person has decided."
    return f"{said} What was agreed for this case applies: {_shown(value, label)}"


def cancelled(ref: str | None, reason: str | None) -> str:
    """The question was taken back."""
    because = f" The reason: {reason}" if reason else ""
    return f"The question was taken back{_in(ref)}. Nobody has decided. Do not go ahead; say so.{because}"


def asked_back(ref: str | None, question: str) -> str:
    """A person wants to know more before they answer."""
    said = f"A person asks back before they decide{_in(ref)}. Nothing is decided yet: do not go ahead."
    return f"{said} They ask: {question}"


def still_open(ref: str | None) -> str:
    """Nothing has happened so far."""
    return f"Nobody has decided yet{_in(ref)}; the question is still open. Do not go ahead, and do not ask it again."


def ended_otherwise(ref: str | None, resolution: str) -> str:
    """It has ended in a way that this version does not know."""
    return f"The question has ended as {resolution}{_in(ref)}. Do not go ahead; say so."


def _in(ref: str | None) -> str:
    return f" ({ref})" if ref else ""


def _their(reason: str | None) -> str:
    return f"Their reason: {reason}" if reason else "They gave no reason."


def _shown(value: JsonValue, label: str | None) -> str:
    """A text as it was written, anything else as JSON; a choice with what the person read on it."""
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return written if label in {None, written} else f"{written} ({label})"
