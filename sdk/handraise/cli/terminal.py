"""The terminal: prints others' words safely. Agents, people, mail senders and the service itself wrote them.

A terminal obeys what it is sent: an escape sequence rewrites the lines above, a bidi override turns an amount round, a
line end forges a line. So commands print only by these functions; ruff's T201 enforces it.

Source: docs/decisions/0044.
"""

from __future__ import annotations

import json
import sys
import unicodedata

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str) -> str:
    """``text`` on one line, in which nothing moves, hides or turns round anything: an unprintable character becomes
    its JSON escape, so that a line of JSON stays the same. Blanks of every width stay."""
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


def is_attended() -> bool:
    """Whether somebody is there to be asked: who types, and sees what is asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def prompt(text: str) -> str:
    """What is typed after ``text``, which stands on standard error. Raises :class:`EOFError` at Ctrl-D."""
    print(visible(text), end="", file=sys.stderr, flush=True)
    typed = sys.stdin.readline()
    if not typed:
        raise EOFError
    return typed.rstrip("\r\n")


def give(text: str) -> None:
    """Output for a program, on standard output: unchanged, except at a terminal."""
    if sys.stdout.isatty():
        say_lines(text)
    else:
        print(text)


def give_json(value: object) -> None:
    """JSON on standard output, indented; a terminal obeys nothing in it, and it stays the same JSON."""
    say_lines(json.dumps(value, ensure_ascii=False, indent=2))


def give_bytes(raw: bytes) -> None:
    """:func:`give` for bytes that need not be text."""
    if sys.stdout.isatty():
        say_lines(raw.decode("utf-8", "replace"))
    else:
        sys.stdout.buffer.write(raw)


def _written(sign: str) -> str:
    if ord(sign) < 0x10000:  # DEL too, which JSON would leave as it is
        return _SHORT.get(sign) or f"\\u{ord(sign):04x}"
    return json.dumps(sign)[1:-1]
