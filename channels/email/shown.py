"""Words of others as a mail shows them: what can't be seen, or turns the direction of writing, is left out. Pure."""

from __future__ import annotations

import json
import re
import unicodedata

from pydantic import JsonValue

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters
    "\u00ad\u200b\u2060-\u2064\ufeff\ufff9-\ufffb"  # blanks of no width; joiners stay, which emoji and Persian need
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"  # what turns the direction of writing
    "\u2028\u2029\ud800-\udfff]"  # line ends that only some know, lone surrogates
)
_SPACES = re.compile(r"\s+")


def clean(text: str) -> str:
    """``text`` with its lines as they were, and nothing in it that can't be seen."""
    return _UNSEEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).strip()


def one_line(text: str, longest: int) -> str:
    return cut(_SPACES.sub(" ", clean(_SPACES.sub(" ", text))), longest)


def cut(text: str, longest: int) -> str:
    """At most ``longest`` characters, the last of them an ellipsis where some are missing."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def as_text(value: JsonValue) -> str:
    """A JSON value as people read it: a flat object a line for each key, a flat list with commas, the rest as JSON."""
    if isinstance(value, dict) and value and all(map(_is_plain, value.values())):
        return "\n".join(f"{one_line(key, _LONGEST_KEY)}: {as_text(one)}" for key, one in value.items())
    if isinstance(value, list) and value and all(map(_is_plain, value)):
        return ", ".join(map(as_text, value))
    return clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def direction(text: str) -> str:
    """``rtl`` or ``ltr``, by the first letter that has one (Unicode Annex 9, P2 and P3)."""
    strong = (kind for kind in map(unicodedata.bidirectional, text) if kind in {"L", "R", "AL"})
    return "ltr" if next(strong, "L") == "L" else "rtl"


_LONGEST_KEY = 80


def _is_plain(value: JsonValue) -> bool:
    return not isinstance(value, dict | list)
