"""What can be told by its shape alone: tokens of known issuers, keys, headers, assignments, addresses, numbers.

Every expression here takes time in proportion to the text: what repeats is bounded, or can't be begun again inside
itself. Nothing is guessed by how random it looks: hashes, UUIDs and order numbers are what questions are about.

Source: the issuers' own descriptions of their tokens (docs.github.com/authentication "token formats",
docs.slack.dev/authentication/tokens, docs.stripe.com/keys, docs.aws.amazon.com/IAM "unique identifiers",
docs.gitlab.com/security/tokens "prefixes", standard-webhooks); RFC 7519 §3 (JWT), RFC 7468 §10 (PEM), RFC 6750 §2.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from core.domain.sensitive.kinds import Kind, Span


class Shape(NamedTuple):
    """What group 1 of ``pattern`` (else all of it) shows, provided that ``holds``.

    Where none of ``hints`` is in the text in lower case the pattern can't match, and costs nothing.
    """

    kind: Kind
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
    Shape(Kind.PRIVATE_KEY, _PEM, ("-----begin ",)),
    Shape(Kind.TOKEN, _TOKENS, _TOKEN_HINTS),
    Shape(Kind.TOKEN, _PREFIXED, ("sk-", "hr_"), _has_digit),
    Shape(Kind.TOKEN, _JWT, ("eyj",)),
    Shape(Kind.TOKEN, _HEADER, ("bearer", "basic"), _has_digit),
    Shape(Kind.PASSWORD, _USERINFO, ("://",)),
    Shape(Kind.PASSWORD, _PASSWORD_IS, ("pass", "pwd", "kennwort")),
    Shape(Kind.PASSWORD, _PIN_IS, ("pin", "otp", "cvv", "cvc"), _is_short_number),
    Shape(Kind.SECRET, _SECRET_ASSIGNED, _SECRET_HINTS),
    Shape(Kind.SECRET, _SECRET_SAID, _SECRET_HINTS, _is_no_word),
    Shape(Kind.EMAIL, _MAIL, ("@",)),
    Shape(Kind.SSN, _SSN, ("-",)),
    Shape(Kind.SSN, _SSN_SAID, ("ssn", "social security")),
    Shape(Kind.PHONE, _PHONE, ("+", "("), _is_international),
)

_WORDS = re.compile(r"[A-Za-z ,?!]*")
_CAPITALS = re.compile(r"[A-Z]{20}")
_SHORT = 11
_TELLING = re.compile(r"[@:=+(]")


def is_plain(text: str) -> bool:
    """Whether ``text`` surely holds none of the shapes and numbers; most of what is shown does not.

    Words alone hold none, unless they are an AWS key without digits; nor does what is shorter than a social security
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
