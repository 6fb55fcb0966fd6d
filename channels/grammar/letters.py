"""Letters: where the text ends and its farewell and signature begin. Used by the grammar and for mail. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from channels.grammar.phrases import APPROVE, DENY, FAREWELL, NO, SOFT, TITLE, YES, Line, Phrases, plain, questions_in

_LONGEST_BLOCK = 10
"""Lines of a signature; one has at most so many characters:"""
_LONGEST_LINE = 200
_SHORTEST_START = 3
"""Letters of a name that may stand for it: "Tobi"."""
_CONTACT = re.compile(
    r"(?:\[cid:\S+\]|(?:e-?mail|mail|web|[ew])?:? ?<?(?:[\w.+-]+@[\w.-]+|(?:https?://|www\.)[\w./~#=-]+)>?"
    r"|(?:(?:tel|phone|telefon|téléphone|tél|telefoon|móvil|mobile?|fax)[.:]?|[tmpf][.:]) ?\+?[\d ()./-]{7,24}"
    r"|\+[\d ()./-]{8,24}|0(?:[ ()./-]?\d){8,14}|\(\d{3}\)[\d -]{7,9})",
    re.IGNORECASE,
)
"""An address, a site, a telephone number or a picture, and nothing else. Fewer digits may be an amount, or a date."""
_OFFICE = re.compile(r"(?:Niederlassung|Kantoor|Kontor|Oficina de|Bureau de|Sede di) [A-Z][a-zà-ž]+")
_PARTS = re.compile(r"\s[–—-]\s|[|·•&,/]")
_DECIDING = YES | NO | APPROVE | DENY
_WORD = re.compile(r"[^\W\d_]+")


def without_farewell(text: str) -> str:
    """``text`` without the farewells that it ends in."""
    lines = text.rstrip().split("\n")
    while len(lines) > 1 and (not lines[-1].strip() or _bids_farewell(lines[-1])):
        lines.pop()
    return "" if len(lines) == 1 and _bids_farewell(lines[0]) else "\n".join(lines).strip("\n").rstrip()


def unsigned(lines: Sequence[str], sender: str) -> tuple[str, ...]:
    """``lines`` without the name of ``sender`` ("Alice Doe <alice@example.com>") at their end, and without the title
    and address below it. If anything below the name says more than such lines do, all of them stay.
    """
    found = _name_at(lines, sender)
    if (
        found is None
        or not any(map(str.strip, lines[:found]))
        or not all(_signs(one, sender) for one in lines[found + 1 :])
    ):
        return tuple(lines)
    farewell, _ = _parted(lines[found])
    kept = [*lines[:found], farewell]
    while kept and not kept[-1].strip():
        kept.pop()
    return tuple(kept)


def goes_on_below_name(lines: Sequence[str], sender: str) -> bool:
    """Whether anything stands below the name of ``sender``, in ``lines`` that :func:`unsigned` has left."""
    found = _name_at(lines, sender)
    return found is not None and any(line.strip() for line in lines[found + 1 :])


def _name_at(lines: Sequence[str], sender: str) -> int | None:
    """The last line that is the name of ``sender``, alone or behind a farewell."""
    earliest = max(len(lines) - _LONGEST_BLOCK, 0)
    signed = (at for at in range(len(lines) - 1, earliest - 1, -1) if _is_name(_parted(lines[at])[1], sender))
    return next(signed, None)


def is_signature(lines: Sequence[str], sender: str) -> bool:
    """Whether ``lines``, from below a signature mark, are a signature alone: nobody takes an answer back there."""
    return all(_signs(line, sender) for line in lines)


def _parted(line: str) -> tuple[str, str]:
    """The farewell that the line begins with, and the name behind it. A dash before a name is part of neither."""
    read = Line.of(line[:200])
    size = FAREWELL.at(read.words, 0)
    if not size or size == len(read.words):
        return "", re.sub(r"\A\s*(?:[-–—~]{1,2}|/)\s?", "", line)
    return read.between(0, size), read.text[read.spans[size - 1][1] :].lstrip(" ,")


def _bids_farewell(line: str) -> bool:
    words = Line.of(line[:200]).words
    return FAREWELL.make_up(words) and not SOFT.issuperset(words)


def _is_name(line: str, sender: str) -> bool:
    """Whether the line is nothing but names of ``sender``, whole, begun or as initials, and no word that decides."""
    known, words = _names(sender.partition("@")[0]), [word.casefold() for word in _WORD.findall(plain(line[:200]))]
    if re.sub(r"[\s.,*_]", "", plain(line)).casefold() != "".join(words) or tuple(words) in _DECIDING:
        return False
    called = [word in known or (len(word) != 2 and any(one.startswith(word) for one in known)) for word in words]
    return all(called) and any(word in known or len(word) >= _SHORTEST_START for word in words)


def _names(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(plain(text[:200]))}


def _signs(line: str, sender: str) -> bool:
    """Whether the line may stand in a signature: it is empty, or each part of it is a name or the domain of ``sender``,
    a title, or a way to reach somebody. Whatever else it is may be about the answer."""
    text, (name, _, domain) = plain(line), sender.rpartition("@")
    known = TITLE | Phrases((word,) for word in _names(name) | _names(domain.rpartition(".")[0]))
    parts = [text] if _CONTACT.fullmatch(text) else _PARTS.split(text)
    return len(line) <= _LONGEST_LINE and not questions_in(line) and all(_is_part(one.strip(), known) for one in parts)


def _is_part(text: str, known: Phrases) -> bool:
    words = Line.of(text).words
    contact = _CONTACT.fullmatch(text) or _OFFICE.fullmatch(text)
    return contact is not None or (known.make_up(words) and words not in _DECIDING)
