"""Numbers that prove themselves by a checksum: card numbers (Luhn) and IBANs (mod 97).

Source: ISO/IEC 7812-1 (numbers and their check digit); ISO 13616 and the SWIFT IBAN registry (lengths by country).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from core.domain.sensitive.kinds import Kind, Span

_BETWEEN_DIGITS = r"[ \t\u00a0\u2007\u2009\u202f.\-\u2010-\u2013/_]{1,3}"
_GROUP = re.compile(r"[0-9]+")
_DIGITS = re.compile(rf"[0-9]+(?:{_BETWEEN_DIGITS}[0-9]+)*")
_MANY_DIGITS = re.compile(r"[0-9]{4}")
"""Every card number holds four digits in a row, however it is written."""
_SHORTEST_CARD, _LONGEST_CARD = 14, 19

_ISSUERS = re.compile(r"4|5[0-8]|6|3[04-9]|2[2-7]")
"""What numbers of payment cards begin with. Those of 13 digits are out of use, and every barcode has as many."""
_GROUPINGS = frozenset({(4, 4, 4, 4), (4, 4, 4, 4, 3), (4, 6, 5), (4, 6, 4), (4, 4, 4, 4, 2), (4, 4, 4, 4, 1)})
"""How they are written on cards. A number grouped so needs no known beginning."""


def cards(text: str) -> Iterator[Span]:
    """Card numbers, in one piece or grouped with any of the usual separators."""
    if _MANY_DIGITS.search(text) is None:
        return
    for run in _DIGITS.finditer(text):
        if run.end() - run.start() >= _SHORTEST_CARD:
            yield from _cards_in([(group.start(), group.end()) for group in _GROUP.finditer(text, *run.span())], text)


def _cards_in(groups: list[tuple[int, int]], text: str) -> Iterator[Span]:
    """``groups`` are runs of digits, one after another with only separators between."""
    index = 0
    while index < len(groups):
        size = _card_at(groups, index, text)
        if size:
            yield Span(groups[index][0], groups[index + size - 1][1], Kind.CARD)
        index += size or 1


def _card_at(groups: list[tuple[int, int]], index: int, text: str) -> int:
    """How many groups from ``index`` on make a card number; none where they make none."""
    for size in (5, 4, 3, 1):
        window = groups[index : index + size]
        lengths = tuple(end - start for start, end in window)
        number = "".join(text[start:end] for start, end in window)
        if len(window) < size:
            continue
        single = size == 1 and _SHORTEST_CARD <= len(number) <= _LONGEST_CARD and _ISSUERS.match(number) is not None
        if (single or lengths in _GROUPINGS) and luhn(number):
            return size
    return 0


def luhn(number: str) -> bool:
    """Whether the last digit is the right check digit of the others. Zeros alone prove nothing."""
    total = 0
    for place, digit in enumerate(reversed(number)):
        doubled = int(digit) * (1 + place % 2)
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0 and total > 0


_IBAN_LENGTHS = {
    country: int(length)
    for length, countries in {
        "15": "NO",
        "16": "BE",
        "18": "DK FI FO GL NL SD FK",
        "19": "MK SI",
        "20": "AT BA EE KZ LT LU XK MN",
        "21": "CH HR LI LV",
        "22": "BG BH CR DE GB GE IE ME RS VA",
        "23": "AE GI IL IQ OM TL SO",
        "24": "AD CZ ES MD PK RO SA SE SK TN VG",
        "25": "LY PT ST",
        "26": "IS TR",
        "27": "BI DJ FR GR IT MC MR SM",
        "28": "AL AZ BY CY DO GT HN HU LB NI PL SV",
        "29": "BR EG PS QA UA",
        "30": "JO KW MU YE",
        "31": "MT SC",
        "32": "LC",
        "33": "RU",
    }.items()
    for country in countries.split()
}
_IBAN_START = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2}(?=[ \u00a0\-]?[A-Za-z0-9])")
_IBAN_PART = re.compile(r"(?:[ \u00a0\-]?[A-Za-z0-9]){1,31}")


def ibans(text: str) -> Iterator[Span]:
    """Account numbers of the countries that have IBANs, in one piece or in groups."""
    for start in _IBAN_START.finditer(text):
        end = _end_of_iban(text, start)
        if end is not None:
            yield Span(start.start(), end, Kind.IBAN)


def _end_of_iban(text: str, start: re.Match[str]) -> int | None:
    length = _IBAN_LENGTHS.get(start[0][:2].upper())
    rest = _IBAN_PART.match(text, start.end())
    if length is None or rest is None:
        return None
    places = [place for place in range(*rest.span()) if text[place].isalnum()][: length - 4]
    if len(places) < length - 4 or text[places[-1] + 1 : places[-1] + 2].isalnum():
        return None
    turned = "".join(text[place] for place in places) + start[0]
    return places[-1] + 1 if int("".join(str(int(mark, 36)) for mark in turned)) % 97 == 1 else None
