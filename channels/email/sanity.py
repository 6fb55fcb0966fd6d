"""Is a mail fit to be parsed at all? Looked at as bytes, before the parser sees it. Pure.

The standard library's parser is made for mail, not against it: some of its steps take the square of what they are
given, and every line is held against every multipart that is open. Each limit here is far above any mail that people
write, and keeps the worst that fits below it within a second and 100 MB for 2 MB (``tests/channels/email/
test_email_limits.py`` has the mails that were found to cost more).

The parser ends a line at a CR alone too, and no mail server does: what begins behind one in the head is a field that
our MX has not seen, such as an Authentication-Results that it would have taken away. Such a mail is not read.

Source: facts on mail §B3 ("size/MIME sanity" comes first).
"""

from __future__ import annotations

import re

LONGEST_HEAD = 256 * 1024
MOST_FIELDS = 1_000
"""Fields in a mail's own head. Real ones have fewer than 200, every relay's trace and signature included."""
MOST_NESTED = 40
"""Multipart and message heads in one mail. Real replies have under ten; each costs the parser a recursion."""
MOST_LINES = 400_000
MOST_LINES_NESTED = 4_000_000
"""Lines times multiparts: what the parser compares."""
MOST_DELIMITERS = 20_000
"""Lines that may begin a part."""
MOST_LIKE_FIELDS = 50_000
"""Lines that may be a field of some part's head."""
LONGEST_CONTENT_FIELD = 8_000
MOST_PARAMETERS = 100
"""Of one ``Content-Type`` or ``Content-Disposition``: a long name of a file comes in pieces (RFC 2231)."""

_HEAD_ENDS = re.compile(rb"\r?\n\r?\n")
_BARE_CR = re.compile(rb"\r(?!\n)")
_NESTING = re.compile(rb"^content-type:\s*(?:multipart|message)/", re.IGNORECASE | re.MULTILINE)
_LIKE_FIELD = re.compile(rb"^[!-9;-~]{1,80}:", re.MULTILINE)
_CONTENT_FIELD = re.compile(rb"^content-[a-z-]{1,40}:[^\n]*(?:\n[ \t][^\n]*)*", re.IGNORECASE | re.MULTILINE)


def unfit(raw: bytes) -> str | None:
    """Why ``raw`` is not to be parsed, as a stable code; ``None`` where it is."""
    ends = _HEAD_ENDS.search(raw[: LONGEST_HEAD + 4])
    if ends is None and len(raw) > LONGEST_HEAD:
        return "head_too_long"
    head = raw[: ends.start()] if ends is not None else raw
    if _BARE_CR.search(head):
        return "bare_cr"
    bare = raw.count(b"\r") > raw.count(b"\r\n")
    return _excess(head, _BARE_CR.sub(b"\n", raw) if bare else raw)


def _excess(head: bytes, raw: bytes) -> str | None:
    """What there is too much of, in lines as the parser reads them."""
    lines = raw.count(b"\n")
    nested = len(_NESTING.findall(raw))
    if lines > MOST_LINES:
        return "too_many_lines"
    if nested > MOST_NESTED or lines * nested > MOST_LINES_NESTED:
        return "nested_too_deep"
    if raw.count(b"\n--") > MOST_DELIMITERS:
        return "too_many_parts"
    if _count(_LIKE_FIELD, head, MOST_FIELDS) or _count(_LIKE_FIELD, raw, MOST_LIKE_FIELDS):
        return "too_many_fields"
    return "field_too_long" if any(map(_is_overlong, _CONTENT_FIELD.finditer(raw))) else None


def _count(pattern: re.Pattern[bytes], raw: bytes, most: int) -> bool:
    """Whether there are more than ``most``."""
    return any(number > most for number, _ in enumerate(pattern.finditer(raw), 1))


def _is_overlong(field: re.Match[bytes]) -> bool:
    start, end = field.span()
    return end - start > LONGEST_CONTENT_FIELD or field.string.count(b";", start, end) > MOST_PARAMETERS
