"""Called lines: the lines of a reply that its writer has called their signature, and lines that they may call so. Pure.

A called line above or below the answer is nobody's words. The rest begins with the first own line, whatever it says: a
reply of only called lines is read as it is. A line that is an option by itself is never part of a signature.

Source: API.md §6 ("What a reply means"); docs/decisions/0102.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from channels.email.own_words import OwnWords
from channels.grammar.names import Names
from channels.grammar.reader import UNKNOWN, Circumstances, is_polite, option_alone
from channels.grammar.signatures import could_speak, decides_by_law, has_speaking_word
from core.domain.notice import NoticeChoice
from core.domain.signature_lines import KnownLines, Side, SignatureOffer, signature_offer


def without_called(words: OwnWords, called: KnownLines, choices: Sequence[NoticeChoice]) -> OwnWords:
    """``words`` without the lines that their writer has ``called`` their signature."""
    if not called.digests:
        return words
    names = Names.of(choices)

    def is_called(line: str, side: Side) -> bool:
        return called.is_known(line, side) and option_alone(line, names) is None

    lines = words.lines
    start = next((at for at, one in enumerate(lines) if one.strip() and not is_called(one, Side.ABOVE)), None)
    if start is None:
        return words
    named, signed, disclaimed, below = (
        tuple(one for one in some if not is_called(one, Side.BELOW))
        for some in (words.named, words.signed, words.disclaimed, lines[start + 1 :])
    )
    return replace(words, lines=(lines[start], *below), named=named, signed=signed, disclaimed=disclaimed)


def offer_of(
    words: OwnWords, choices: Sequence[NoticeChoice], first: int | None, known: Circumstances = UNKNOWN
) -> SignatureOffer | None:
    """The lines that could speak, around the only line that is an option by itself; ``None`` without such a line.
    ``first`` is the option that may be confirmed with them."""
    names = Names.of(choices)
    found = [at for at, line in enumerate(words.lines) if option_alone(line, names, known) is not None]
    if len(found) != 1 or words.doubt is not None:
        return None
    at = found[0]
    above = [line for line in words.lines[:at] if not is_polite(line)]
    signed = [line for line in (*words.named, *words.signed) if _speaks(line, names, words.writer)]
    decided = [line for line in words.disclaimed if decides_by_law(line)]
    below = [*(line for line in words.lines[at + 1 :] if not is_polite(line)), *signed, *decided]
    above, below = ([line for line in some if not _is_curt(line)] for some in (above, below))
    options = [form for one in choices for form in (one.value, one.label, str(one.number))]
    return signature_offer(above, below, first=words.lines[at], options=options, choice=first)


def _is_curt(line: str) -> bool:
    """ "Don't", "wait": nobody signs so."""
    return len(line.split()) <= _CURT_WORDS and len(line) <= _CURT and has_speaking_word(line)


_CURT_WORDS, _CURT = 2, 16
"""Words, and characters."""


def _speaks(line: str, names: Names, writer: str) -> bool:
    return could_speak(line, names.phrases, names.numbers, writer)
