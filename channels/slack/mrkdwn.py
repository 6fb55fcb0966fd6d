"""Slack's markup: others' words cleaned, escaped and cut to size, and an action as a code block. Pure.

Only ``&``, ``<`` and ``>`` mean anything to Slack's parser beyond looks. Escaping them keeps an agent's text from
mentioning people, linking or posing as a command. ``verbatim`` keeps Slack from linking names by itself.

Source: https://docs.slack.dev/messaging/formatting-message-text (escaping, "Multi-line code blocks"),
https://docs.slack.dev/reference/block-kit/composition-objects/text-object.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from itertools import accumulate, takewhile
from typing import Any

from pydantic import JsonValue

from channels.slack import limits
from core.domain.action import HEADING, HIDDEN, ShownAction, hides
from core.domain.notice import Notice

Block = dict[str, Any]

ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
ESCAPE = re.compile(r"&(?:amp|lt|gt);|.", re.DOTALL)
CONTROLS = [*range(0x20), *range(0x7F, 0xA0)]
DIRECTIONS = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]
"""Signs that turn the reading direction, with which a label could be shown backwards."""
BLANK = frozenset({0x115F, 0x1160, 0x3164, 0xFFA0, 0x2800})
"""Hangul's fillers and the empty Braille pattern: letters and symbols by their category that show nothing."""
SURROGATES = range(0xD800, 0xE000)
REMOVED = dict.fromkeys({*CONTROLS, *DIRECTIONS, *SURROGATES} - {ord("\n"), ord("\t")})


def width(text: str) -> int:
    """UTF-16 units."""
    if text.isascii():
        return len(text)
    return len(text) + sum(1 for sign in text if ord(sign) > 0xFFFF)


def clean(text: str) -> str:
    """Without control signs, direction overrides and lone surrogates."""
    return text.translate(REMOVED)


def one_line(text: str) -> str:
    return " ".join(clean(text).split())


def is_visible(text: str) -> bool:
    """Whether it has a visible sign: not only spaces, joiners, marks on nothing and blank fillers."""
    return any(unicodedata.category(sign)[0] not in "CZM" and ord(sign) not in BLANK for sign in text)


def clipped(text: str, most: int, tail: str = "…") -> str:
    """For ``plain_text``, which has no markup and is not escaped."""
    return _fitted(clean(text), most, tail)


def escaped(text: str, most: int | None = None, tail: str = "…") -> str:
    """For ``mrkdwn`` and for the ``text`` of a message; whole if ``most`` is not given."""
    signs = [ESCAPES.get(sign, sign) for sign in clean(text)]
    return "".join(signs) if most is None else _fitted(signs, most, tail)


def pieces(text: str, most: int) -> list[str]:
    """``text``, which is escaped already, in parts of at most ``most``, never parted inside an escape."""
    parts: list[str] = []
    room = 0
    for sign in ESCAPE.findall(text):
        if width(sign) > room:
            parts.append("")
            room = most
        parts[-1] += sign
        room -= width(sign)
    return parts


def in_bytes(text: str, most: int, tail: str = "…") -> str:
    """``text``, which is escaped already, in at most ``most`` bytes of UTF-8, never cut inside an escape."""
    if len(text.encode()) <= most:
        return text
    kept = text.encode()[: most - len(tail.encode())].decode(errors="ignore")
    start = kept.rfind("&")
    return (kept[:start] if start >= 0 and ";" not in kept[start:] else kept) + tail


def shown(value: JsonValue) -> str:
    """A value of the context as a person reads it."""
    if isinstance(value, str):
        return value
    return "—" if value is None else json.dumps(value, ensure_ascii=False)


def mrkdwn(text: str) -> Block:
    """``text`` is escaped already. Slack refuses an empty one."""
    return {"type": "mrkdwn", "text": text if text.strip() else "—", "verbatim": True}


def plain_text(text: str, most: int, otherwise: str) -> Block:
    """``otherwise`` if nothing visible is left of ``text``: Slack refuses an empty text."""
    words = next((one for one in map(one_line, (text, otherwise)) if is_visible(one)), "—")
    return {"type": "plain_text", "text": clipped(words, most), "emoji": False}


def _fitted(pieces: Sequence[str], most: int, tail: str) -> str:
    """As many whole pieces as fit; ``tail`` stands for the rest."""
    whole = "".join(pieces)
    if width(whole) <= most:
        return whole
    room = most - width(tail)
    kept = sum(1 for _ in takewhile(lambda used: used <= room, accumulate(map(width, pieces))))
    return "".join(pieces[:kept]).rstrip() + tail


_FENCE = re.compile("`{3,}")
_AROUND = "```\n{}\n```"


def action_block(notice: Notice) -> list[Block]:
    """As much of the action as a message has room for."""
    if notice.action is None:
        return []
    said = "\n".join(action_texts(notice, limits.ACTION))
    return [{"type": "section", "block_id": "action", "text": mrkdwn(said), "expand": True}]


def action_texts(notice: Notice, most: int) -> list[str]:
    """The heading, the code block and, if it is cut, a line that says so; escaped. Nothing if nothing will run."""
    if notice.action is None:
        return []
    text = escaped(code(notice.action, most), most)
    more = [limits.MORE] if action_is_cut(notice, most) else []
    return [_heading(notice.action, text), _AROUND.format(text), *more]


def ended_action(action: ShownAction) -> list[str]:
    """The action of a question that has ended: what was asked about."""
    most = limits.ENDED_ACTION
    text = escaped(code(action, most), most)
    more = [limits.MORE] if width(escaped(code(action, most))) > most else []
    return [f"*The action* (sha256 {escaped(action.digest)})", _AROUND.format(text), *more]


def whole_action(action: ShownAction) -> list[str]:
    """The whole action, escaped: the heading and as many code blocks as needed, each for its own section."""
    text = escaped(code(action))
    parts = pieces(text, limits.SECTION_TEXT - len(_AROUND))
    return [_heading(action, text), *(_AROUND.format(part) for part in parts)]


def action_is_cut(notice: Notice, most: int) -> bool:
    return notice.action is not None and width(escaped(code(notice.action, most))) > most


def code(action: ShownAction, most: int | None = None) -> str:
    """The action, written so that it can't end its code block: a run of backticks, which only JSON strings can have,
    becomes its JSON escape. Longer than ``most`` if there is more. Not escaped yet."""
    text = action.text(None if most is None else most + 1)
    return _FENCE.sub(lambda run: "\\u0060" * len(run[0]), text)


def _heading(action: ShownAction, text: str) -> str:
    hidden = f"\n_{HIDDEN}_" if hides(text) else ""
    return f"*{HEADING}* (sha256 {escaped(action.digest)}){hidden}"
