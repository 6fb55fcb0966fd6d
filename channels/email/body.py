"""The text of a mail's body: which part it is, decoded, and in it the person's own words. Pure.

Source: RFC 2046 §5.1 (parts), RFC 3676 (format=flowed); facts on mail §B4.
"""

from __future__ import annotations

import re
from email.message import Message
from email.utils import parseaddr

from channels.email.addressing import header
from channels.email.charset import charset_in_page, decoded
from channels.email.html import html_as_text
from channels.email.quoting import STUB
from channels.email.trim import OwnWords, own_words
from channels.farewell import without_name

_MOST_PARTS = 200
_LONGEST_PART = 500_000
"""Bytes of a text part that are decoded. The person's own words are at its top."""


_CROSSED_OUT = re.compile(r"<(?:s|strike|del)[\s>]|line-through", re.IGNORECASE)
"""A plain part shows no crossing out; the HTML has to be read."""
_LONGEST_STUB = 300
REACTION = "text/vnd.google.email-reaction+json"
"""The mail is a "reaction" with a sign, sent by a slip of the finger; the words in its other parts are Gmail's."""


def body_words(message: Message) -> OwnWords:
    """The person's own words: of the plain text, else of the HTML where the plain text has none. Their name at the
    end is none of them."""
    words = _words(message)
    sender, _ = parseaddr(header(message, "From"))
    return OwnWords(without_name(words.lines, sender), words.below)


def _words(message: Message) -> OwnWords:
    parts = _body_parts(message)
    if REACTION in parts:
        return OwnWords()
    plain, pages = parts.get("text/plain", []), parts.get("text/html", [])
    words = own_words("\n".join(map(_text, plain)))
    if not pages:
        return words
    page = "\n<br>".join(map(_text, pages))
    said = (words.lines or words.below) and not _is_stub(words.lines)
    if said and _CROSSED_OUT.search(page) is None:
        return words
    return own_words(html_as_text(page))


def _is_stub(lines: tuple[str, ...]) -> bool:
    """Whether the text only says that there is HTML."""
    text = " ".join(lines)
    return bool(text) and len(text) <= _LONGEST_STUB and STUB.match(text) is not None


def _body_parts(message: Message) -> dict[str, list[Message]]:
    """The text parts of the body by type, in order; attachments and mails inside the mail are left out.

    All of them: a mail program splits what somebody wrote around a picture, and the condition may stand below it.
    """
    found: dict[str, list[Message]] = {}
    waiting, seen = [message], 0
    while waiting and seen < _MOST_PARTS:
        part = waiting.pop(0)
        seen += 1
        if part.get_content_maintype() == "multipart":
            inner = part.get_payload()
            waiting[:0] = [one for one in inner if isinstance(one, Message)] if isinstance(inner, list) else []
        elif part.get_content_maintype() == "text" and not _is_attached(part):
            found.setdefault(part.get_content_type(), []).append(part)
    return found


def _is_attached(part: Message) -> bool:
    return header(part, "Content-Disposition").strip().casefold().startswith("attachment") or bool(part.get_filename())


def _text(part: Message) -> str:
    payload = part.get_payload(decode=True)
    data = payload[:_LONGEST_PART] if isinstance(payload, bytes) else b""
    charset = part.get_content_charset()
    if charset is None and part.get_content_subtype() == "html":
        charset = charset_in_page(data)
    text = decoded(data, charset)
    if str(part.get_param("format", "")).casefold() != "flowed":
        return text
    return _unflowed(text, "" if str(part.get_param("delsp", "")).casefold() == "yes" else " ")


def _unflowed(text: str, kept: str) -> str:
    """Lines that the mail program wrapped, as they were typed; ``kept`` is what stays of the space they flow on by.

    Source: RFC 3676 §4.1 to §4.4.
    """
    lines: list[str] = []
    flowing = False
    for raw in text.splitlines():
        line = raw[1:] if raw.startswith(" ") else raw
        flows = line.endswith(" ") and line != "-- " and not line.startswith(">")
        shown = line[:-1] + kept if flows else line
        if flowing and line != "-- " and not line.startswith(">"):
            lines[-1] += shown
        else:
            lines.append(shown)
        flowing = flows
    return "\n".join(lines)
