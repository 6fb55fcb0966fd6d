"""Channels as core knows them: their names, the words for them, and what their recipients look like.

Core knows no vendor. The composition root says which channels there are (``bot/config/catalogue.py``), once and before
any reference is read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class RecipientKind(StrEnum):
    """What a reference to a recipient stands for."""

    PERSON = "person"
    GROUP = "group"
    MAILBOX = "mailbox"
    """Somebody's address, for one channel alone."""
    PLACE = "place"
    """A place or an account of a channel, by the channel's own id."""
    SCHEDULE = "schedule"
    """Whoever is on call when the question is sent."""


ANYTHING = r"(?s:.+)"


@dataclass(frozen=True, slots=True)
class RecipientForm:
    """``PREFIX:VALUE``, a reference that ``channel`` understands. ``value`` is a regular expression for the whole of
    VALUE, which the OpenAPI document repeats; a mailbox is read by core.
    ``shown`` is how the form is told to people: ``slack:C…``."""

    prefix: str
    shown: str
    channel: str
    kind: RecipientKind = RecipientKind.PLACE
    value: str = ANYTHING


@dataclass(frozen=True, slots=True)
class KnownChannel:
    """One channel. ``display`` is how people call it: ``Slack``. ``how`` says in a sentence by which way somebody is
    asked: ``on Slack``."""

    name: str
    display: str
    how: str
    forms: tuple[RecipientForm, ...] = ()


_known: dict[str, KnownChannel] = {}
_forms: dict[str, RecipientForm] = {}


def know(channels: Iterable[KnownChannel]) -> None:
    """From now on there are these channels, and no others."""
    _known.clear()
    _forms.clear()
    for channel in channels:
        _known[channel.name] = channel
        _forms.update({form.prefix: form for form in channel.forms})


def form_of(prefix: str) -> RecipientForm | None:
    """The form that begins with ``prefix``, if any channel has one."""
    return _forms.get(prefix)


def prefixes_of(kind: RecipientKind) -> tuple[str, ...]:
    """What references of ``kind`` begin with: ``NAME:``."""
    return tuple(f"{form.prefix}:" for form in _forms.values() if form.kind is kind)


def forms() -> tuple[RecipientForm, ...]:
    """Those of all channels."""
    return tuple(_forms.values())


def recipient_forms() -> str:
    """Every form that a reference may have, for people."""
    *most, last = ("a person's e-mail", "group:NAME", *(form.shown for form in _forms.values()))
    return f"{', '.join(most)} or {last}"


def names() -> dict[str, str]:
    """How people call each channel."""
    return {one.name: one.display for one in _known.values()}


def called(channel: str) -> str:
    """``Slack``: how people call a channel, or another way to answer."""
    known = _known.get(channel)
    return channel if known is None else known.display


def told_how(channel: str) -> str:
    """``on Slack``: by which way somebody is asked."""
    known = _known.get(channel)
    return known.how if known is not None else f"on {channel}"
