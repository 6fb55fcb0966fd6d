"""Echoes: mails to a person whose reply recorded nothing. Pure.

An echo says what was read, that nothing was recorded and why, and asks again: the whole list, what silence does, and
which action it is about. Nothing is guessed. At most one option is proposed: the one that the first line of the reply
names by itself. It is written in the language of the reply, else of the question (``channels.email.reply_words``).

Source: API.md §6 ("What a reply means"); docs/decisions/0103.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo

from channels.email.reply_words import ReplyWords, reply_words
from channels.grammar.reader import way_to_write
from core.domain.action import shown_action
from core.domain.notice import (
    DEFAULT_LANGUAGE,
    LinkTarget,
    Message,
    MessageLink,
    NoticeChoice,
    Proposal,
    Purpose,
    shown_choices,
)
from core.domain.short_messages import about
from core.domain.silence import Comes, silence_of
from core.domain.suspension import ResponseType, Suspension
from core.domain.wording import shortened, told_at

QUOTED = 200
"""Characters of a reply that are repeated to its writer."""
_FIRST_LINE = 60
_MOST_NAMED = 3
_MOST_SHOWN = 200
_BY_LIST = {ResponseType.CHOICE, ResponseType.CONFIRM}
_PAGE = MessageLink(LinkTarget.QUESTION)


@dataclass(frozen=True, slots=True)
class Echo:
    """The reading of a reply, as a mail may show it.

    ``reason`` is the reader's stable code, ``unfit`` a sentence about an invalid field. ``own`` are the writer's words
    and ``first`` their line that names the proposed option; ``fields`` are a form's fields or a text as understood.
    ``must_open``: a reply can only give a negative choice. ``offers``: the page asks whether the lines around the reply
    are its writer's signature.
    """

    reason: str
    own: str = ""
    first: str = ""
    proposal: Proposal | None = None
    fields: str | None = None
    unfit: str | None = None
    language: str = DEFAULT_LANGUAGE
    zone: tzinfo | None = None
    must_open: bool = False
    offers: bool = False


def echo_mail(shown: Suspension, echo: Echo) -> Message:
    """``shown`` is the question as a mail may show it."""
    words = reply_words(echo.language)
    blocks = [_nothing(words, echo), shown.ask.question, *_how(shown, echo, words)]
    blocks += [_silence(shown, words, echo.zone), *_action(shown, words), *_wrote(echo, words)]
    if echo.offers:
        blocks.append(words["signature"])
    blocks.append(words["open_first" if echo.must_open else "answer_here"])
    purpose = Purpose.CONFIRMATION if echo.must_open else Purpose.CLARIFICATION
    return _message(purpose, shown, blocks, echo.language, echo.proposal)


def page_mail(shown: Suspension, language: str) -> Message:
    """The page's link, in place of one echo too many."""
    words = reply_words(language)
    blocks = [f"{words['nothing']} {words['too_often']}", shown.ask.question, words["please_here"]]
    return _message(Purpose.CONFIRMATION, shown, blocks, language)


def _nothing(words: ReplyWords, echo: Echo) -> str:
    why = echo.unfit or words.why.get(echo.reason, words["once_more"])
    return f"{words['nothing']} {why}"


def _how(shown: Suspension, echo: Echo, words: ReplyWords) -> Iterator[str]:
    """How to write a reply that decides."""
    kind, choices = shown.ask.response_type, shown_choices(shown.ask)
    if echo.must_open:
        if echo.fields is not None:
            yield f"{words['fields' if kind is ResponseType.FORM else 'wrote']}\n\n{echo.fields}"
        if numbers := _numbers([one for one in choices if one.negative], words):
            yield words["open_negatives"].format(numbers=numbers)
    elif kind in _BY_LIST:
        yield _one_number(choices, echo, words)
        yield "\n".join(f"  {choice.number}) {choice.label}" for choice in choices)
    elif echo.fields is None:
        yield words["once_more"]
    elif kind is ResponseType.FORM:
        yield f"{words['fields']}\n\n{echo.fields}"
        yield words["confirm_fields"]
    else:
        yield f"{words['wrote']}\n\n{echo.fields}"
        yield words["confirm_text"]


def _one_number(choices: Sequence[NoticeChoice], echo: Echo, words: ReplyWords) -> str:
    if echo.proposal is None or echo.proposal.index is None:
        return words["one_number"]
    index = echo.proposal.index
    number = way_to_write(choices, index) or choices[index].label
    return words["first"].format(said=_brief(echo.first, _FIRST_LINE), number=_brief(number, _MOST_SHOWN))


def _numbers(choices: Sequence[NoticeChoice], words: ReplyWords) -> str:
    named = [f"{choice.number} ({_brief(choice.label, _MOST_SHOWN)})" for choice in choices[:_MOST_NAMED]]
    return f" {words['or']} ".join(named)


def _silence(shown: Suspension, words: ReplyWords, zone: tzinfo | None) -> str:
    """What happens if nobody answers."""
    silence = silence_of(shown)
    until = "" if silence.until is None else told_at(silence.until, zone)
    return words[_SILENCE[silence.comes]].format(until=until, value=_brief(silence.value, _MOST_SHOWN))


_SILENCE = {
    Comes.WAITS: "silence_waits",
    Comes.ASKED_BACK: "asked_back",
    Comes.AHEAD: "silence_ahead",
    Comes.VALUE: "silence_value",
    Comes.STOPS: "silence_stops",
}


def _action(shown: Suspension, words: ReplyWords) -> Iterator[str]:
    action = shown_action(shown.ask.action, shown.ask.action_digest)
    if action is not None:
        yield words["action"].format(digest=action.digest)


def _wrote(echo: Echo, words: ReplyWords) -> Iterator[str]:
    own = echo.own.strip()
    if own and echo.fields is None:  # these say all of it
        lines = shortened(own, QUOTED).splitlines()
        yield "\n".join([words["wrote"], *(f"> {line}" for line in lines if line.strip())])


def _brief(text: str, most: int) -> str:
    return shortened(" ".join(text.split()), most)


def _message(
    purpose: Purpose, shown: Suspension, blocks: Sequence[str], language: str, proposal: Proposal | None = None
) -> Message:
    message = about(shown, purpose, "\n\n".join(blocks))
    return replace(message, link_to=_PAGE, language=language, proposal=proposal)
