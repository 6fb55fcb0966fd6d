"""Signature lines: lines that a person has called their signature, and the offer to call more of them so. Pure.

A line around a reply that could speak ("never stop innovating") counts as the person's words until they have called it
their signature. Then a keyed digest is kept of the line, its owner and its side. So one person's lines are never
another's, and a line below an answer says nothing of the same line above it.

Source: API.md §6, "What a reply means"; docs/decisions/0102-lines-called-a-signature.md.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from core.domain.root_key import keys_of

KEY = "signature-lines"
"""The purpose of the digests' derived key."""

MOST_OFFERED = 60
LONGEST_LINE = 4_000
"""A disclaimer is often one line of more than a thousand characters."""
MOST_CHARACTERS = 24_000
"""Of all lines that are offered together."""

_AROUND_AN_OPTION = " .,;:!?()[]{}#*\"'“”„«»‹›-–—"


class Side(StrEnum):
    """Where a line stands: above the answer, or below it."""

    ABOVE = "above"
    BELOW = "below"


def normalised(line: str) -> str:
    """The line for comparison: without its case, its blanks and its forms of the same character."""
    folded = unicodedata.normalize("NFKC", line).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def digest(key: bytes, identity: str, side: Side, line: str) -> str:
    """The stored digest of a line: HMAC-SHA-256, as 64 hexadecimal digits."""
    text = json.dumps([identity, side.value, normalised(line)])
    return hmac.new(bytes(key), text.encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class KnownLines:
    """The lines that one person has called their signature."""

    identity: str
    digests: frozenset[str] = frozenset()
    key: bytes = field(default=b"", repr=False)

    def is_known(self, line: str, side: Side) -> bool:
        """Whether ``line`` was called a signature on that side, under this key or an earlier one."""
        if not self.digests or not normalised(line):
            return False
        return any(digest(key, self.identity, side, line) in self.digests for key in keys_of(self.key))


NOTHING_CALLED = KnownLines("")


@dataclass(frozen=True, slots=True)
class SignatureOffer:
    """The lines that a person may call their signature with one press: they stood around an undecided reply of
    theirs. ``choice`` is the index of the likely choice, ``None`` if that is not clear either."""

    above: tuple[str, ...]
    below: tuple[str, ...]
    choice: int | None = None

    @property
    def lines(self) -> tuple[tuple[Side, str], ...]:
        return (*((Side.ABOVE, line) for line in self.above), *((Side.BELOW, line) for line in self.below))

    @property
    def mark(self) -> str:
        """Tells this offer from the next one: the person who presses has seen exactly these lines."""
        text = json.dumps([self.above, self.below, self.choice])
        return hashlib.sha256(text.encode()).hexdigest()

    def digests(self, key: bytes, identity: str) -> frozenset[str]:
        """The digests to store once the lines are called."""
        return frozenset(digest(key, identity, side, line) for side, line in self.lines)


def signature_offer(
    above: Sequence[str],
    below: Sequence[str],
    *,
    first: str,
    options: Iterable[str] = (),
    choice: int | None = None,
) -> SignatureOffer | None:
    """The lines around a reply that may be called a signature; ``None`` if there are none.

    ``first`` is the first own line: always the person's words, so it is never among them. Nor is a line that is one of
    ``options`` by itself: their values, their labels and their numbers. If there are too many lines, the first ones
    count.
    """
    barred = {_bare(one) for one in (first, *options)}
    room = _Room()
    lines_above = tuple(line for line in above if _bare(line) not in barred and room.takes(line))
    lines_below = tuple(line for line in below if _bare(line) not in barred and room.takes(line))
    return SignatureOffer(lines_above, lines_below, choice) if lines_above or lines_below else None


def _bare(line: str) -> str:
    return normalised(line).strip(_AROUND_AN_OPTION)


@dataclass(slots=True)
class _Room:
    lines: int = MOST_OFFERED
    characters: int = MOST_CHARACTERS

    def takes(self, line: str) -> bool:
        if not normalised(line) or len(line) > LONGEST_LINE or len(line) > self.characters or self.lines == 0:
            return False
        self.lines -= 1
        self.characters -= len(line)
        return True
