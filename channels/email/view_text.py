"""View text: others' words, cleaned for a template and shortened to the room there is. Pure.

Cleaning removes invisible signs and signs that turn the writing direction. It does not escape: the template does.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass, replace

from pydantic import JsonValue

from core.domain.wording import shortened

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters
    "\u00ad\u200b\u2060-\u2064\ufeff\ufff9-\ufffb"  # blanks of no width; joiners stay, which emoji and Persian need
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # what turns the direction of writing
    "\u2028\u2029\ud800-\udfff]"  # line ends that only some know, lone surrogates
)
_SPACES = re.compile(r"\s+")


def clean(text: str) -> str:
    """``text`` with its lines kept and invisible signs removed."""
    if text.isascii() and text.isprintable():
        return text.strip()
    return _UNSEEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def one_line(text: str, longest: int) -> str:
    if text.isascii() and text.isprintable() and "  " not in text:
        return shortened(text.strip(), longest)
    return shortened(_SPACES.sub(" ", clean(_SPACES.sub(" ", text))), longest)


def as_text(value: JsonValue) -> str:
    """A JSON value as people read it: a flat object a line for each key, a flat list with commas, the rest as JSON."""
    if isinstance(value, dict) and value and all(map(_is_plain, value.values())):
        return "\n".join(f"{one_line(key, _LONGEST_KEY)}: {as_text(one)}" for key, one in value.items())
    if isinstance(value, list) and value and all(map(_is_plain, value)):
        return ", ".join(map(as_text, value))
    return clean(value if isinstance(value, str) else _as_json(value))


_as_json = json.JSONEncoder(ensure_ascii=False).encode


def direction(text: str) -> str:
    """``rtl`` or ``ltr``, by the first letter that has one (Unicode Annex 9, P2 and P3)."""
    strong = (kind for kind in map(unicodedata.bidirectional, text) if kind in {"L", "R", "AL"})
    return "ltr" if next(strong, "L") == "L" else "rtl"


_LONGEST_KEY = 80


def _is_plain(value: JsonValue) -> bool:
    return not isinstance(value, dict | list)


LONGEST_MAILTO = 1_900
"""Characters. Some mail programs cut longer links."""


@dataclass(frozen=True)
class MailBudget:
    """How much of each part a mail has room for: characters, and how many rows, notes and choices.

    ``note``, ``notes`` and ``mailto`` are for our own words; the rest is what the agent wrote.
    """

    question: int
    value: int
    rows: int
    action: int
    note: int
    notes: int
    label: int
    description: int
    choices: int
    mailto: int = LONGEST_MAILTO


ROOMS = (
    MailBudget(10_000, 2_000, 50, 20_000, 10_000, 50, 1_000, 3_000, 100),
    MailBudget(6_000, 500, 50, 6_000, 1_000, 10, 300, 300, 60, mailto=600),
    MailBudget(3_000, 200, 50, 3_000, 500, 5, 150, 100, 40, mailto=0),
    MailBudget(1_000, 80, 30, 1_000, 200, 3, 80, 40, 40, mailto=0),
)
"""Tried one after another until the mail is small enough; the last always is."""


def of_both(agents: MailBudget, own: MailBudget) -> MailBudget:
    """The budget of ``agents`` for the agent's words, and of ``own`` for ours."""
    return replace(agents, note=own.note, notes=own.notes, mailto=own.mailto)
