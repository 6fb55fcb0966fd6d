"""Own words: the lines of a reply that its writer wrote, above the first quote, signature or disclaimer. Pure.

Source: facts on mail §B4.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from channels.email.banners import without_banners
from channels.email.quoting import (
    ADDRESS,
    ADDS,
    AMOUNT,
    ATTRIBUTION_OPENS,
    DASHED,
    DATED,
    DISCLAIMER,
    FOOTER,
    HEAD_FIRST,
    HEAD_NEXT,
    HEAD_SENDER,
    HOLDS,
    MARKER,
    NOTES_HEAD,
    OPENERS,
    RULED,
    SEPARATOR,
    SIGNATURE,
    WROTE,
)

_LONGEST_TEXT = 100_000
"""Characters that are looked at. A longer text than may be an answer stays longer than that."""
_LONGEST_MARK = 400
"""Longer lines are prose, whatever they begin with."""
_SHORTEST_DISCLAIMER = 100
_FEW_QUOTED = 2
"""Lines. Our own mail, quoted, has more."""
_HEAD_LINES = 3
_MOST_BESIDE = 40
_MOST_INTRODUCING = 3
_MOST_QUOTED = 14
"""The head of a quote, and the line by which a mail of ours is known."""
_MOST_DISCLAIMED = 60
_NAME_AND_VERB = 6
"""Words of "Some One wrote:", in any language."""
_WRAPPED_OVER = 4
_WRAPPED_AT = 60
"""A quoted line at least this long may have been wrapped again, and the rest of it lost its ``>``."""


@dataclass(frozen=True, slots=True)
class OwnWords:
    """``lines`` are the person's own, from the top to the first quote.

    ``below``: they wrote under the quote or between its lines. Then there are no ``lines``: the words there may be the
    answer, or take back the one above. ``named`` are the lines from the name of the ``writer`` on, ``signed`` those
    between a signature mark and the quote, ``beside`` those below it: none of them decides. ``disclaimed`` are the
    lines of a legal disclaimer, ``quoted`` the first ones of the quote. ``doubt`` is a stable code if the mail says
    more than these words, or something else. ``unreadable`` is the kind of a mail without words: ``reaction``,
    ``winmail`` or ``encrypted``.
    """

    lines: tuple[str, ...] = ()
    below: bool = False
    named: tuple[str, ...] = ()
    signed: tuple[str, ...] = ()
    writer: str = ""
    beside: tuple[str, ...] = ()
    disclaimed: tuple[str, ...] = ()
    quoted: tuple[str, ...] = ()
    doubt: str | None = None
    unreadable: str | None = None


def own_words(text: str, gateway_lines: Sequence[re.Pattern[str]] = ()) -> OwnWords:
    """The person's words above everything that is quoted, signed or legal, and below a gateway's banner."""
    lines = without_banners(_visible(text[:_LONGEST_TEXT]), gateway_lines)
    near, held = _near_quotes(lines), _held("\n".join(lines))
    for position, line in enumerate(lines):
        if not line:
            continue
        if position in near and _quote_begins(lines, position):
            words = _below(lines) if _wrote_below(lines[position:]) else _above(lines, position)
            may_be_amount = AMOUNT.match(line) is not None and sum(map(_is_quoted, lines[position:])) <= _FEW_QUOTED
            return replace(words, doubt="amount_or_quote") if may_be_amount else words
        if _says_nothing_special(line, held):
            continue
        if _is_mark(line):
            return _signed(lines, position)
        if _disclaims(lines, position) or FOOTER.match(line[:_LONGEST_MARK]):
            return replace(_own(lines[:position]), disclaimed=_disclaimed(lines[position:]))
        if _everything_after_is_quoted(lines, position):
            return _above(lines, position)
    return _own(lines)


def _above(lines: Sequence[str], position: int) -> OwnWords:
    """The lines above the quote that begins there. A line that says who wrote the quote belongs to it, if it stands
    right above and can be nothing else; if it may be the writer's, that is a doubt."""
    own = _without_introduction(lines[:position])
    words = replace(_own(own), quoted=tuple(filter(None, lines[len(own) :]))[:_MOST_QUOTED])
    return words if words.doubt or not _may_introduce(own) else replace(words, doubt="quoted_head")


def _without_introduction(lines: Sequence[str]) -> Sequence[str]:
    own = list(lines)
    for _ in range(_MOST_INTRODUCING):
        at = next((at for at in range(len(own) - 1, -1, -1) if own[at]), -1)
        if at >= 0 and _only_introduces(own[at]):
            own = own[:at]
        elif at > 0 and _ENDS_IN_ADDRESS.search(own[at - 1]) and _only_introduces(" ".join(own[at - 1 : at + 1])):
            own = own[: at - 1]
    return own


_ENDS_IN_ADDRESS = re.compile(r"<[^\s<>]*>?\Z")
_BESIDE_VERB = r"(?:(?:a|ha|hat|has|heeft|har|het|volgende|the|following|tarihinde|şunu|nous)\s+){0,4}"
_UNDATED = re.compile(
    rf"(?P<before>[^<>@]{{0,80}})<?{ADDRESS.pattern}>?,?\s*(?P<after>{_BESIDE_VERB}[^\s<>@]{{0,20}}?)\s*[:：]"
)


def _only_introduces(line: str) -> bool:
    """Whether it says that a quote follows and nothing else: nothing but the verb stands behind the address, or it
    begins with the verb."""
    if not _introduces(line) or (found := _UNDATED.fullmatch(line.strip())) is None:
        return DASHED.fullmatch(line[:_LONGEST_MARK]) is not None
    after = found["after"]
    return WROTE.search(after) is not None or (not after and WROTE.match(found["before"].strip()) is not None)


def _may_introduce(lines: Sequence[str]) -> bool:
    """ "Handraise wrote:" without an address, or a sentence of the writer's own."""
    last = next((line for line in reversed(lines) if line), "")
    return last.endswith((":", "：")) and len(last.split()) <= _NAME_AND_VERB and WROTE.search(last) is not None


def _introduces(line: str) -> bool:
    """Whether a line says that a quote follows, by words between two rules or "Some One <someone@example.com> wrote:"
    without a date."""
    if len(line) > _LONGEST_MARK:
        return False
    if DASHED.fullmatch(line):
        return True
    return line.endswith((":", "：")) and WROTE.search(line) is not None and ADDRESS.search(line) is not None


def _own(lines: Sequence[str]) -> OwnWords:
    """All of these are the writer's, unless one of them begins a quote that can't be told from their words."""
    return OwnWords(_stripped(lines), doubt="quoted_head" if any(map(_introduces, lines)) else None)


def quoted_from(text: str) -> int | None:
    """The first line of ``text`` that is quoted, or says that all below is: nothing from there on is read. ``None``
    if there is none."""
    lines = _visible(text[:_LONGEST_TEXT])
    near, held = _near_quotes(lines), _held("\n".join(lines))
    for position, line in enumerate(lines):
        if position in near and line and _quote_begins(lines, position):
            return position
        if line and not _says_nothing_special(line, held) and _everything_after_is_quoted(lines, position):
            return position
    return None


_FIRST_WORD = re.compile(r"[ \t]*([A-Za-z\u00c0-\u024f]+(?:[-'][A-Za-z]+)?)")


def _held(text: str) -> tuple[str, ...]:
    """Which of ``HOLDS`` and the marker occur anywhere in the text: mostly none, and then no line has to be
    searched."""
    marker = (MARKER[:5],) if MARKER[:5] in text.lower() else ()
    return (*marker, *(part for part in HOLDS if part in text))


def _says_nothing_special(line: str, held: Sequence[str]) -> bool:
    """Whether the line can't be a mark, by its first word: nearly every line, at a tenth of the cost."""
    found = _FIRST_WORD.match(line)
    if found is None or found[1].lower() in OPENERS:
        return False
    return not held or (MARKER[:5] not in line.lower() and not any(part in line for part in held))


def _signed(lines: Sequence[str], position: int) -> OwnWords:
    """The lines above the signature mark, with the lines below it."""
    rest = lines[position + 1 :]
    if any(map(_is_quoted, rest)) and _wrote_below(rest):
        return _below(lines)
    ends = (at for at in range(len(rest)) if rest[at] and (_quote_begins(rest, at) or _ends_mail(rest, at)))
    end = next(ends, len(rest))
    signed = [
        *_without_introduction(rest[:end]),
        *(_signed(rest, end).signed if end < len(rest) and _is_mark(rest[end]) else ()),
    ]
    disclaimed = _disclaimed(rest[end:]) if end < len(rest) and not _is_mark(rest[end]) else ()
    return replace(_own(lines[:position]), signed=_stripped(signed), disclaimed=disclaimed)


def _disclaimed(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines of a disclaimer, down to the quote."""
    ends = (at for at in range(len(lines)) if lines[at] and _quote_or_head_begins(lines, at))
    return tuple(filter(None, lines[: next(ends, len(lines))]))[:_MOST_DISCLAIMED]


def _quote_or_head_begins(lines: Sequence[str], position: int) -> bool:
    return _quote_begins(lines, position) or _everything_after_is_quoted(lines, position)


def _is_mark(line: str) -> bool:
    """Whether a signature begins there. "Sent from my iPhone, but wait" is the writer's own."""
    return len(line) <= _LONGEST_MARK and SIGNATURE.fullmatch(line) is not None and not ADDS.search(line)


def _disclaims(lines: Sequence[str], position: int) -> bool:
    """Whether a disclaimer begins there: disclaimers are long. "Confidential: only if Bob agrees" is the writer's
    own."""
    rest = (line for line in lines[position : position + 20] if not _is_quoted(line))
    return DISCLAIMER.match(lines[position][:_LONGEST_MARK]) is not None and len(" ".join(rest)) >= _SHORTEST_DISCLAIMER


def _below(lines: Sequence[str]) -> OwnWords:
    unquoted = [line for at, line in enumerate(lines) if line and not _quote_begins(lines, at)]
    return OwnWords(below=True, beside=tuple(unquoted[:_MOST_BESIDE]))


_SPACES = re.compile("[\u00a0\u2007\u202f]")
_UNSEEN = re.compile("[\0\u200b-\u200f\u202a-\u202e\u2060\ufeff]")


def _visible(text: str) -> list[str]:
    """Its lines, without invisible signs."""
    lines = text.splitlines()
    if not text.isascii():
        lines = [line if line.isascii() else _UNSEEN.sub("", _SPACES.sub(" ", line)) for line in lines]
    if "\0" in text:
        lines = [line.replace("\0", "") for line in lines]
    return list(map(str.rstrip, lines))


def _near_quotes(lines: Sequence[str]) -> set[int]:
    """The positions down to the first quoted line where :func:`_quote_begins` may hold: that line and the two above it,
    and every line that ends as an attribution does, with those that it may be wrapped over."""
    near: set[int] = set()
    until = len(lines)
    for at, line in enumerate(lines):
        if at > until:
            break
        if not line:
            continue
        if line[-1] in ":：":
            near.update(range(at - _WRAPPED_OVER + 1, at + 1))
        if line.lstrip()[0] in ">＞|":
            near.update(range(at - 2, at + 1))
            if _is_quoted(line):
                until = min(until, at + _WRAPPED_OVER)  # an attribution above may end below the ">" of its address
    return near


def _quote_begins(lines: Sequence[str], position: int) -> bool:
    return _is_quoted(lines[position]) or _attribution_begins(lines, position)


def _is_quoted(line: str) -> bool:
    return line.lstrip().startswith((">", "＞", "|  "))


def _attribution_begins(lines: Sequence[str], position: int) -> bool:
    """Whether "On … wrote:" starts here. Its last line is found first, then the latest line that it can start at:
    "On it" above "On Saturday, 21 November Bob wrote:" is the person's own.
    """
    if _attributes_undated(lines, position):
        return True
    for last in range(position, min(position + _WRAPPED_OVER, len(lines))):
        if not lines[last] or (_is_quoted(lines[last]) and not _ends_address(lines, last)):
            return False
        if not lines[last].endswith((":", "：")) or len(lines[last]) > _LONGEST_MARK:
            continue
        whole = ""
        for first in range(last, max(last - _WRAPPED_OVER, -1), -1):
            whole = f"{lines[first].strip()} {whole}".strip()
            if _attributes(whole):
                return first == position
            if not lines[first]:
                return False
    return False


def _attributes_undated(lines: Sequence[str], position: int) -> bool:
    """``Name <address> wrote:`` without a date, or the whole of it without a colon, right above a quote."""
    line = lines[position]
    below = next((one for one in lines[position + 1 : position + 3] if one), "")
    if len(line) > _LONGEST_MARK or not below.lstrip().startswith((">", "|")) or not WROTE.search(line[-40:]):
        return False
    closed = line if line.endswith((":", "：")) else f"{line}:"
    return _only_introduces(closed) or bool(DATED.search(line) and ATTRIBUTION_OPENS.match(line))


def _ends_address(lines: Sequence[str], last: int) -> bool:
    """Whether the line is the ``>:`` of an address that began above, and no quote."""
    return last > 0 and re.fullmatch(r"\s*>\s?[:：]?", lines[last]) is not None and "<" in lines[last - 1]


def _attributes(text: str) -> bool:
    """Whether the text says who wrote what follows, and when."""
    if len(text) > _LONGEST_MARK or not DATED.search(text):
        return False
    if WROTE.search(text):
        return bool(ATTRIBUTION_OPENS.match(text) or ADDRESS.search(text) or _ends_in_verb(text))
    return _names_sender(text)


def _ends_in_verb(text: str) -> bool:
    return WROTE.search(text[-40:]) is not None or text.rstrip(" :：").endswith(")")


def _names_sender(text: str) -> bool:
    """The same in any language: a date, a name, an address in angle brackets, and a colon soon after."""
    found = text.rfind(">")
    return found >= 0 and len(text) - found < 40 and bool(ADDRESS.search(text[:found]))


def _everything_after_is_quoted(lines: Sequence[str], position: int) -> bool:
    line = lines[position]
    if len(line) > _LONGEST_MARK:
        return False
    if MARKER in line.casefold() or (MARKER[:5] in line.casefold() and MARKER in _joined(lines, position)):
        return True
    if SEPARATOR.fullmatch(line) or NOTES_HEAD.fullmatch(line):
        return True
    if RULED.fullmatch(line) and DATED.search(line) and WROTE.search(line):
        return True
    return HEAD_FIRST.fullmatch(line) is not None and _head_begins(lines, position)


def _joined(lines: Sequence[str], position: int) -> str:
    """The line and the next, for a marker that was wrapped."""
    return " ".join(" ".join(lines[position : position + 2]).casefold().split())


def _head_begins(lines: Sequence[str], position: int) -> bool:
    """Three lines of a head with a sender among them; two if the first one is the sender's."""
    following = [one for one in lines[position + 1 : position + 6] if one][: _HEAD_LINES + 1]
    heads = [lines[position]]
    for one in following:
        if len(one) <= _LONGEST_MARK and HEAD_NEXT.fullmatch(one):
            heads.append(one)
    if HEAD_SENDER.fullmatch(lines[position]):
        return len(heads) >= 2 and (bool(ADDRESS.search(" ".join(heads))) or len(heads) >= 3)
    return len(heads) >= 3 and any(HEAD_SENDER.fullmatch(one) for one in heads)


def _wrote_below(lines: Sequence[str]) -> bool:
    """Whether words of the person's own come after the quoted block."""
    quoted = False
    for position, line in enumerate(lines):
        if _is_quoted(line):
            quoted = True
        elif quoted and line.strip() and not _is_rest_of_quote(lines, position):
            return not _ends_mail(lines, position)
    return False


def _ends_mail(lines: Sequence[str], position: int) -> bool:
    line = lines[position][:_LONGEST_MARK]
    if _is_mark(line) or _disclaims(lines, position) or FOOTER.match(line):
        return True
    return _everything_after_is_quoted(lines, position)


def _is_rest_of_quote(lines: Sequence[str], position: int) -> bool:
    """Whether a quoted line was wrapped once more, and this is the rest of it, between two quoted ones."""
    above = lines[position - 1]
    below = lines[position + 1] if position + 1 < len(lines) else ""
    return _is_quoted(above) and _is_quoted(below) and len(above) >= _WRAPPED_AT and len(lines[position]) < _WRAPPED_AT


def _stripped(lines: Sequence[str]) -> tuple[str, ...]:
    """Without the empty lines around it."""
    first = next((at for at, line in enumerate(lines) if line.strip()), len(lines))
    last = next((at for at in range(len(lines), first, -1) if lines[at - 1].strip()), first)
    return tuple(lines[first:last])
