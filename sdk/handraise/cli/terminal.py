"""The terminal: writing to it what others have written. Agents, people, whoever sent a mail, the service itself.

A terminal obeys what it is sent: an escape sequence rewrites the lines above, a bidi override turns an amount round, a
line end forges a line. Commands therefore print by these functions alone; ruff's T201 holds them to it.

Source: docs/decisions/0044.
"""

from __future__ import annotations

import json
import sys
import unicodedata

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str) -> str:
    """``text`` on one line, none of which moves, hides or turns round anything: what does not print is written as
    JSON's escape, so that a line of JSON stays what it is. Blanks of every width stay."""
    if text.isprintable():
        return text
    harmless = (sign.isprintable() or unicodedata.category(sign) == "Zs" for sign in text)
    return "".join(sign if is_so else _written(sign) for sign, is_so in zip(text, harmless, strict=True))


def one_line(text: str, longest: int) -> str:
    """:func:`visible`, with every run of blanks and line ends as one blank, and no longer than that."""
    clean = visible(" ".join(text.split()))
    return clean if len(clean) <= longest else clean[: longest - 1] + "…"


def say(text: str) -> None:
    """One line on standard output."""
    print(visible(text))


def say_lines(text: str, indent: str = "") -> None:
    """A text of several lines on standard output, each after ``indent``; its line ends and tabs stay."""
    for line in text.replace("\r\n", "\n").split("\n"):
        print(indent + "\t".join(map(visible, line.split("\t"))))


def warn(text: str) -> None:
    """One line on standard error."""
    print(visible(text), file=sys.stderr)


def give(text: str) -> None:
    """What a program reads, on standard output: exactly as it is, but for somebody at a terminal."""
    if sys.stdout.isatty():
        say_lines(text)
    else:
        print(text)


def give_json(value: object) -> None:
    """JSON on standard output, indented; nothing in it is obeyed by a terminal, and it stays the same JSON."""
    say_lines(json.dumps(value, ensure_ascii=False, indent=2))


def give_bytes(raw: bytes) -> None:
    """As :func:`give`, for what need not be text."""
    if sys.stdout.isatty():
        say_lines(raw.decode("utf-8", "replace"))
    else:
        sys.stdout.buffer.write(raw)


def _written(sign: str) -> str:
    if ord(sign) < 0x10000:  # DEL too, which JSON would leave as it is
        return _SHORT.get(sign) or f"\\u{ord(sign):04x}"
    return json.dumps(sign)[1:-1]
