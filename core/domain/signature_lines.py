"""Signature lines: what a person has called their signature, and what they are asked about. Pure.

A line around a reply that could speak ("never stop innovating") is the person's word until they have said that it is
none. What is kept then is a keyed digest of the line, of whose it is and of the side that it stands on. So one person's
lines are never another's, and a line below an answer says nothing of the same one above it.

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

from core.domain.renewed_key import keys_of

KEY = "signature-lines"
"""What the key of the digests is derived for."""

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
    """The line as it is compared: whatever its case, its blanks and its forms of the same character."""
    folded = unicodedata.normalize("NFKC", line).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def digest(key: bytes, identity: str, side: Side, line: str) -> str:
    """What is kept of a line: HMAC-SHA-256, as 64 hexadecimal digits."""
    text = json.dumps([identity, side.value, normalised(line)])
    return hmac.new(bytes(key), text.encode(), hashlib.sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class KnownLines:
    """What one person has called their signature."""

    identity: str
    digests: frozenset[str] = frozenset()
    key: bytes = field(default=b"", repr=False)

    def is_known(self, line: str, side: Side) -> bool:
        """Whether ``line`` is nobody's words on that side. Under an earlier key of ours it may have been called."""
        if not self.digests or not normalised(line):
            return False
        return any(digest(key, self.identity, side, line) in self.digests for key in keys_of(self.key))


NOTHING_CALLED = KnownLines("")


@dataclass(frozen=True, slots=True)
class SignatureOffer:
    """The lines that a person may call their signature with one press: they stood around a reply of theirs, which
    decided nothing. ``choice`` is the index of what they seem to have chosen, ``None`` if that is not clear either."""

    above: tuple[str, ...]
    below: tuple[str, ...]
    choice: int | None = None

    @property
    def lines(self) -> tuple[tuple[Side, str], ...]:
        return (*((Side.ABOVE, line) for line in self.above), *((Side.BELOW, line) for line in self.below))

    @property
    def mark(self) -> str:
        """Tells this offer from the next one: whoever presses has seen these lines, and no others."""
        text = json.dumps([self.above, self.below, self.choice])
        return hashlib.sha256(text.encode()).hexdigest()

    def digests(self, key: bytes, identity: str) -> frozenset[str]:
        """What is kept once they are called."""
        return frozenset(digest(key, identity, side, line) for side, line in self.lines)


def signature_offer(
    above: Sequence[str],
    below: Sequence[str],
    *,
    first: str,
    options: Iterable[str] = (),
    choice: int | None = None,
) -> SignatureOffer | None:
    """What may be called of the lines around a reply; ``None`` if nothing may.

    ``first`` is the first own line: always the person's words, so it is never among them. Nor is a line that is one of
    ``options`` by itself: their values, their labels and their numbers. Of more than is kept the first lines count.
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
