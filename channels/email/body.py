"""The text of a mail's body: which part it is, decoded, and in it the person's own words. Pure.

Source: RFC 2046 §5.1 (parts), RFC 3676 (format=flowed); facts on mail §B4.
"""

from __future__ import annotations

import codecs
from email.message import Message

from channels.email.addressing import header
from channels.email.html import html_as_text
from channels.email.trim import OwnWords, own_words

_MOST_PARTS = 200
_LONGEST_PART = 500_000
"""Bytes of a text part that are decoded. The person's own words are at its top."""


def body_words(message: Message) -> OwnWords:
    """The person's own words: of the plain text, else of the HTML where the plain text has none."""
    plain, html = _text_parts(message)
    words = own_words(_decoded(plain)) if plain is not None else OwnWords()
    if words.lines or words.below or html is None:
        return words
    return own_words(html_as_text(_decoded(html)))


def _text_parts(message: Message) -> tuple[Message | None, Message | None]:
    """The first plain and the first HTML part of the body; attachments and mails inside the mail are left out."""
    found: dict[str, Message] = {}
    waiting, seen = [message], 0
    while waiting and seen < _MOST_PARTS:
        part = waiting.pop(0)
        seen += 1
        kind = part.get_content_type()
        if part.get_content_maintype() == "multipart":
            inner = part.get_payload()
            waiting[:0] = [one for one in inner if isinstance(one, Message)] if isinstance(inner, list) else []
        elif kind in {"text/plain", "text/html"} and not _is_attached(part):
            found.setdefault(kind, part)
    return found.get("text/plain"), found.get("text/html")


def _is_attached(part: Message) -> bool:
    return header(part, "Content-Disposition").strip().casefold().startswith("attachment") or bool(part.get_filename())


def _decoded(part: Message) -> str:
    payload = part.get_payload(decode=True)
    data = payload[:_LONGEST_PART] if isinstance(payload, bytes) else b""
    text = data.decode(_codec(part.get_content_charset()), "replace")
    return _unflowed(text) if str(part.get_param("format", "")).casefold() == "flowed" else text


def _codec(charset: str | None) -> str:
    """A text codec that Python knows and that takes no more than linear time; UTF-8 for everything else."""
    try:
        name = codecs.lookup(charset or "utf-8").name
        b" ".decode(name, "replace")  # refuses what is no text encoding, such as "zlib"
    except (LookupError, ValueError):
        return "utf-8"
    return "utf-8" if name in {"punycode", "idna", "undefined"} else name


def _unflowed(text: str) -> str:
    """Lines that the mail program wrapped, as they were typed. Source: RFC 3676 §4.1, §4.2."""
    lines: list[str] = []
    flowing = False
    for raw in text.splitlines():
        line = raw[1:] if raw.startswith(" ") else raw
        if flowing and not line.startswith(">"):
            lines[-1] += line
        else:
            lines.append(line)
        flowing = line.endswith(" ") and line != "-- " and not line.startswith(">")
    return "\n".join(lines)
