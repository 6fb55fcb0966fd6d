"""Patterns of sensitive text: tokens, keys, headers, addresses; card numbers and IBANs; the installation's own. Pure.

Every expression of ours takes time in proportion to the text. Nothing is guessed by how random it looks: hashes, UUIDs
and order numbers are what questions are about. Card numbers and IBANs count only if their checksum holds.

An operator's own pattern is compiled once and refused if it could take for ever. Python's ``re`` backtracks without a
time limit, so such a pattern has a bound on the ways to match it, and is matched in windows.

Source: the issuers' descriptions of their tokens (docs.github.com/authentication "token formats",
docs.slack.dev/authentication/tokens, docs.stripe.com/keys, docs.aws.amazon.com/IAM "unique identifiers",
docs.gitlab.com/security/tokens "prefixes", standard-webhooks); RFC 7519 §3 (JWT), RFC 7468 §10 (PEM), RFC 6750 §2.1;
ISO/IEC 7812-1 (Luhn).
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from core.domain import iban
from core.domain.redaction.kinds import FindingKind, Span


class Shape(NamedTuple):
    """A secret is group 1 of ``pattern`` (else the whole match), provided that ``holds``.

    If none of ``hints`` is in the text in lower case, the pattern can't match, and costs nothing.
    """

    kind: FindingKind
    pattern: re.Pattern[str]
    hints: tuple[str, ...]
    holds: Callable[[str], object] = bool


_DIGIT = re.compile(r"[0-9]")

_TOKENS = re.compile(
    r"(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"
    r"|gh[opusr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{20,}"
    r"|xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,}"
    r"|hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/]{20,}"
    r"|[rs]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{16,}"
    r"|AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}"
    r"|SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"
    r"|npm_[A-Za-z0-9]{36}|pypi-AgEI[A-Za-z0-9_-]{50,}|hf_[A-Za-z0-9]{30,}|do[opr]_v1_[a-f0-9]{64}"
    r"|shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}|hvs\.[A-Za-z0-9_-]{20,}|AGE-SECRET-KEY-1[A-Z0-9]{58}"
)
_PREFIXED = re.compile(r"(?<![A-Za-z0-9])(?:sk-|hr_)[A-Za-z0-9_-]{20,}")
"""Prefixes so short that words hold them ("task-force-…"); a key among these has a digit."""

_JWT = re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)*")
_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:.*?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|.*)",
    re.DOTALL,
)
_HEADER = re.compile(r"(?i:\b(?:bearer|basic))[ \t]{1,3}([A-Za-z0-9._~+/=-]{8,})")
_USERINFO = re.compile(r"://[^\s/@:?#]{0,100}:([^\s/]{1,200})@")

_QUOTED = r"""(?:"([^"\n]+)|'([^'\n]+)|"""
_BARE = r"""([^\s"'][^\s"']*))"""
_BARE_WITH_SCHEME = r"""((?:(?i:bearer|basic|digest|token)[ \t]{1,3})?[^\s"'][^\s"']*))"""
_IS = r"""["']?[ \t]{0,3}(?:=>|:=|[:=])[ \t]{0,3}""" + _QUOTED
_ASSIGNED = r"""(?:["'][ \t]{0,3}(?:=>|:=|[:=])|[ \t]{0,3}(?:=>|:=|=))[ \t]{0,3}""" + _QUOTED
_SECRET_WORDS = r"(?i:secret|token|(?:api|access|private|signing)[ _-]?key|authorization|(?<![a-z])cookie)"
_PASSWORD_IS = re.compile(r"(?i:password|passwd|passphrase|passwort|kennwort|(?<![a-z])pwd)" + _IS + _BARE)
_PIN_IS = re.compile(r"(?i:(?<![a-z])(?:pin|otp|cvv2?|cvc2?))" + _IS + _BARE)
_SECRET_ASSIGNED = re.compile(_SECRET_WORDS + _ASSIGNED + _BARE)
_SECRET_SAID = re.compile(_SECRET_WORDS + _IS + _BARE_WITH_SCHEME)

_MAIL = re.compile(
    r"""(?<![^\s@<>()\[\]{},;:"'=/|\\])(?<!//)(?!git@)([^\s@<>()\[\]{},;:"'=/|\\]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24})(?![\w-])"""
)
_SSN = re.compile(r"[0-8](?<![\w-][0-8])[0-9]{2}(?<!000|666)-(?!00)[0-9]{2}-(?!0000)[0-9]{4}(?![\w-])")
_SSN_SAID = re.compile(r"(?i:\b(?:ssn|social security)\b)\D{0,20}([0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{4})(?![0-9])")
_PHONE = re.compile(
    r"(?<![\w+])(?:\+[0-9]{10,15}|\+[0-9]{1,3}(?:[ .()/\-\u00a0]{1,2}[0-9]{1,8}){2,6}"
    r"|\([0-9]{3}\) ?[0-9]{3}-[0-9]{4})(?!\w)"
)


def _has_digit(text: str) -> object:
    return _DIGIT.search(text)


def _is_no_word(text: str) -> bool:
    """A value after "token:" or "secret:", unless it is one more ordinary word of the sentence."""
    return _DIGIT.search(text) is not None or len(text) >= 16


def _is_short_number(text: str) -> bool:
    return text.strip(".,;").isdigit()


def _is_international(text: str) -> bool:
    return 8 <= len(_DIGIT.findall(text)) <= 15


_TOKEN_HINTS = (
    *("a3t", "akia", "asia", "abia", "acca", "gho_", "ghp_", "ghr_", "ghs_", "ghu_", "github_pat_", "glpat-", "xox"),
    *("xapp-", "hooks.slack.com/", "k_live_", "k_test_", "whsec_", "aiza", "ya29.", "gocspx-", "sg.", "npm_"),
    *("pypi-agei", "hf_", "_v1_", "shp", "hvs.", "age-secret-key-"),
)
_SECRET_HINTS = ("secret", "token", "key", "authorization", "cookie")

SHAPES = (
    Shape(FindingKind.PRIVATE_KEY, _PEM, ("-----begin ",)),
    Shape(FindingKind.TOKEN, _TOKENS, _TOKEN_HINTS),
    Shape(FindingKind.TOKEN, _PREFIXED, ("sk-", "hr_"), _has_digit),
    Shape(FindingKind.TOKEN, _JWT, ("eyj",)),
    Shape(FindingKind.TOKEN, _HEADER, ("bearer", "basic"), _has_digit),
    Shape(FindingKind.PASSWORD, _USERINFO, ("://",)),
    Shape(FindingKind.PASSWORD, _PASSWORD_IS, ("pass", "pwd", "kennwort")),
    Shape(FindingKind.PASSWORD, _PIN_IS, ("pin", "otp", "cvv", "cvc"), _is_short_number),
    Shape(FindingKind.SECRET, _SECRET_ASSIGNED, _SECRET_HINTS),
    Shape(FindingKind.SECRET, _SECRET_SAID, _SECRET_HINTS, _is_no_word),
    Shape(FindingKind.EMAIL, _MAIL, ("@",)),
    Shape(FindingKind.SSN, _SSN, ("-",)),
    Shape(FindingKind.SSN, _SSN_SAID, ("ssn", "social security")),
    Shape(FindingKind.PHONE, _PHONE, ("+", "("), _is_international),
)

_WORDS = re.compile(r"[A-Za-z ,?!]*")
_CAPITALS = re.compile(r"[A-Z]{20}")
_SHORT = 11
_TELLING = re.compile(r"[@:=+(]")


def is_plain(text: str) -> bool:
    """Whether ``text`` surely holds none of the shapes and numbers; most shown text does not.

    Words alone hold none, unless they are an AWS key without digits; nor does a text shorter than a social security
    number, unless it has a sign that they need.
    """
    if len(text) < _SHORT:
        return _TELLING.search(text) is None
    return _WORDS.fullmatch(text) is not None and _CAPITALS.search(text) is None


_QUOTES = ('"', "'")


def shaped(text: str) -> Iterator[Span]:
    """Everything in ``text`` that has one of the shapes."""
    lower = text.lower()
    for shape in SHAPES:
        for hint in shape.hints:
            if hint in lower:
                break
        else:
            continue
        for found in shape.pattern.finditer(text):
            start, end = found.span(found.lastindex or 0)
            if text[end : end + 1] not in _QUOTES:
                end = start + len(text[start:end].rstrip(".,;)}]"))  # of the sentence, not of the secret
            if start < end and shape.holds(text[start:end]):
                yield Span(start, end, shape.kind)


_BETWEEN_DIGITS = r"[ \t\u00a0\u2007\u2009\u202f.\-\u2010-\u2013/_]{1,3}"
_GROUP = re.compile(r"[0-9]+")
_DIGITS = re.compile(rf"[0-9]+(?:{_BETWEEN_DIGITS}[0-9]+)*")
_MANY_DIGITS = re.compile(r"[0-9]{4}")
"""Every card number holds four digits in a row, however it is written."""
_SHORTEST_CARD, _LONGEST_CARD = 14, 19

_ISSUERS = re.compile(r"4|5[0-8]|6|3[04-9]|2[2-7]")
"""Beginnings of payment cards' numbers. Those of 13 digits are out of use, and every barcode has as many."""
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
            yield Span(groups[index][0], groups[index + size - 1][1], FindingKind.CARD)
        index += size or 1


def _card_at(groups: list[tuple[int, int]], index: int, text: str) -> int:
    """The number of groups from ``index`` on that make a card number; 0 if they don't."""
    for size in _SIZES:
        window = groups[index : index + size]
        lengths = tuple([end - start for start, end in window])
        if len(window) < size or not (lengths in _GROUPINGS or _is_single(lengths, text, window[0][0])):
            continue
        if luhn("".join([text[start:end] for start, end in window])):
            return size
    return 0


_SIZES = (*sorted({len(grouping) for grouping in _GROUPINGS}, reverse=True), 1)


def _is_single(lengths: tuple[int, ...], text: str, start: int) -> bool:
    one_group = len(lengths) == 1 and _SHORTEST_CARD <= lengths[0] <= _LONGEST_CARD
    return one_group and _ISSUERS.match(text, start) is not None


_DOUBLED = bytes.maketrans(b"0123456789", bytes((0, 2, 4, 6, 8, 1, 3, 5, 7, 9)))
_SINGLE = bytes.maketrans(b"0123456789", bytes(range(10)))


def luhn(number: str) -> bool:
    """Whether the last digit is the right check digit of the others. Zeros alone prove nothing."""
    digits = number.encode()
    total = sum(digits[-1::-2].translate(_SINGLE)) + sum(digits[-2::-2].translate(_DOUBLED))
    return total % 10 == 0 and total > 0


def ibans(text: str) -> Iterator[Span]:
    """Account numbers of the countries that have IBANs."""
    return (Span(start, end, FindingKind.IBAN) for start, end in iban.places(text))


LONGEST_PATTERN = 500
LONGEST_MATCH = 128
"""A match of up to so many characters is found wherever it stands; a longer one may be found in part."""
_WINDOW = 2 * LONGEST_MATCH

MOST_UNBOUNDED = 2
MOST_WAYS = 1_000
_TOO_MANY = MOST_WAYS + 1

# The parser behind ``re.compile``. Only what it calls the parts of a pattern is relied on, and a test holds that.
_parser: Any = importlib.import_module("re._parser")
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_ONE_CHARACTER = frozenset({"LITERAL", "NOT_LITERAL", "IN", "ANY", "RANGE", "CATEGORY"})
_LOOKS = frozenset({"ASSERT", "ASSERT_NOT"})


def compile_pattern(text: str) -> re.Pattern[str]:
    """Raises ``ValueError``, whose text ends a sentence that begins with the setting's name."""
    if len(text) > LONGEST_PATTERN:
        raise ValueError(f"must have at most {LONGEST_PATTERN} characters")
    try:
        compiled, tree = re.compile(text), _parser.parse(text)
    except (re.error, OverflowError, RecursionError):
        raise ValueError("must be a regular expression as Python's re has them") from None
    if compiled.search("") is not None or tree.getwidth()[0] == 0:
        raise ValueError("must not match the empty text")
    ways, unbounded = _ways(tree)
    if unbounded > MOST_UNBOUNDED:
        raise ValueError(
            f"must have at most {MOST_UNBOUNDED} of *, + and {{n,}}; give the others a bound such as {{1,40}}"
        )
    if ways > MOST_WAYS:
        message = "must not repeat what can itself match in several ways, and give its repeats smaller bounds"
        raise ValueError(f"{message}: it could be tried in more than {MOST_WAYS} ways")
    return compiled


def _ways(parts: Any) -> tuple[int, int]:
    """In how many ways a sequence can be tried from one place, and how many unbounded repeats it has.

    An unbounded repeat of one character counts as one way here: it is the windows that bound it.
    """
    ways, unbounded = 1, 0
    for operator, argument in parts:
        more, open_ended = _ways_of(str(operator), argument)
        ways, unbounded = min(ways * more, _TOO_MANY), unbounded + open_ended
    return ways, unbounded


def _ways_of(operator: str, argument: Any) -> tuple[int, int]:
    if operator in _REPEATS:
        return _repeated(*argument)
    if operator == "BRANCH":
        branches = [_ways(branch) for branch in argument[1]]
        return sum(ways for ways, _ in branches), sum(unbounded for _, unbounded in branches)
    if operator == "SUBPATTERN":
        return _ways(argument[-1])
    if operator in _LOOKS:
        return _ways(argument[1])
    if operator == "ATOMIC_GROUP":
        return _ways(argument)
    return (1, 0) if operator in _ONE_CHARACTER | {"AT"} else (_TOO_MANY, 0)


def _repeated(least: int, most: Any, body: Any) -> tuple[int, int]:
    ways, unbounded = _ways(body)
    single = len(body) == 1 and str(body[0][0]) in _ONE_CHARACTER
    if not isinstance(most, int) or most is _parser.MAXREPEAT or most >= LONGEST_PATTERN:
        return (1, 1) if single else (_TOO_MANY, 1)
    if unbounded:
        return (ways, unbounded) if most == 1 else (_TOO_MANY, unbounded)
    return min(sum(ways ** min(count, 12) for count in range(least, most + 1)), _TOO_MANY), 0


def matched(patterns: tuple[re.Pattern[str], ...], text: str) -> Iterator[Span]:
    """The matches of the installation's own patterns, window by window; each counts in the window in which it
    begins."""
    for pattern in patterns:
        for start in range(0, len(text), LONGEST_MATCH):
            for found in pattern.finditer(text, start, start + _WINDOW):
                if found.start() < start + LONGEST_MATCH and found.end() > found.start():
                    yield Span(found.start(), found.end(), FindingKind.PRIVATE)
