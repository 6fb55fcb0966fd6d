"""IBANs: account numbers of the countries that have them, found in a text by length and checksum. Pure.

Source: ISO 13616 and the SWIFT IBAN registry (mod 97, lengths by country).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_LENGTHS = {
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
_START = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2}(?=[ \u00a0\-]?[A-Za-z0-9])")
_PART = re.compile(r"(?:[ \u00a0\-]?[A-Za-z0-9]){1,31}")
_UUID = re.compile(r"(?<![A-Za-z0-9])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![A-Za-z0-9])")
"""Its last groups may be as long as an IBAN of Andorra, Bosnia, Estonia or Belgium, and one in 97 has the checksum."""


def places(text: str) -> Iterator[tuple[int, int]]:
    """Where each IBAN begins and ends, in one piece or in groups. None is part of a UUID."""
    within = {place for uuid in _UUID.finditer(text) for place in range(*uuid.span())}
    for start in _START.finditer(text):
        end = None if start.start() in within else _end(text, start)
        if end is not None:
            yield start.start(), end


def _end(text: str, start: re.Match[str]) -> int | None:
    length = _LENGTHS.get(start[0][:2].upper())
    rest = _PART.match(text, start.end())
    if length is None or rest is None:
        return None
    places = [place for place in range(*rest.span()) if text[place].isalnum()][: length - 4]
    if len(places) < length - 4 or text[places[-1] + 1 : places[-1] + 2].isalnum():
        return None
    turned = "".join(text[place] for place in places) + start[0]
    return places[-1] + 1 if int("".join(str(int(mark, 36)) for mark in turned)) % 97 == 1 else None
