"""Kinds of values that a setting may have. Each refusal says what is allowed, and never what was given.

Everything that is wrong ends in a ``ValueError`` whose text follows the key's name: ``must be a whole number …``.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import re
from collections.abc import Callable
from datetime import date, datetime
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import sqlalchemy as sa
from pydantic import AfterValidator, BeforeValidator

from core.domain.channels import recipient_forms
from core.domain.hours import parse_week
from core.domain.people import key_name, named_mailbox, parse_recipient, spelled
from core.domain.redaction.patterns import compile_pattern
from core.errors import InvalidRecipient

SHORTEST_SECRET_KEY = 32
FEWEST_CHARACTERS = 8
_MAKE_ONE = (
    "make one with `openssl rand -hex 32`, and if this database was made with the old one, put that into "
    "secret_key_previous"
)

A_YEAR = 31_536_000
"""The longest duration, in seconds (API.md §1)."""


class FromVariable(str):
    """A value from the environment, where numbers and booleans are text too. In the file they may not be."""

    __slots__ = ()


def between(low: int, high: int) -> BeforeValidator:
    """A strict whole number: no text in the file, no fraction, no boolean."""

    def check(value: object) -> int:
        if isinstance(value, FromVariable) and re.fullmatch(r"\s*[0-9]{1,12}\s*", value):
            value = int(value)
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return value

    check.__doc__ = f"whole number from {low:,} to {high:,}"  # for the reference of the configuration
    return BeforeValidator(check)


def _share(value: object) -> float:
    if isinstance(value, FromVariable) and re.fullmatch(r"\s*[01]?(\.[0-9]{1,17})?\s*", value):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("must be a number from 0 to 1")
    return float(value)


def _flag(value: object) -> bool:
    if isinstance(value, FromVariable):
        value = {"true": True, "false": False}.get(value.strip().lower(), value)
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("must be text (in quotes, if YAML reads it as something else)")
    text = str(value).strip()
    if not text:
        raise ValueError("must not be empty")
    if not text.isprintable():
        raise ValueError("must be one line of printable text")
    return text


def _word(value: object) -> str:
    return _text(value).lower()


def _split(value: object) -> object:
    """A list may be written as one comma-separated text; in variables it always is."""
    if isinstance(value, str):
        made = FromVariable if isinstance(value, FromVariable) else str
        return [made(part) for part in (part.strip() for part in value.split(",")) if part]
    return value


def _one_or_more(value: object) -> object:
    """One secret, or a list; in a variable always a list. A secret in the file may have commas in it."""
    if isinstance(value, str) and not isinstance(value, FromVariable):
        return [value]
    return _split(value)


def _secret_key(value: str) -> str:
    """Long enough, and not one short word again and again. That it is random nobody can see."""
    if len(value) < SHORTEST_SECRET_KEY:
        raise ValueError(f"must have at least {SHORTEST_SECRET_KEY} characters; {_MAKE_ONE}")
    if len(set(value)) < FEWEST_CHARACTERS:
        raise ValueError(f"must have at least {FEWEST_CHARACTERS} different characters; {_MAKE_ONE}")
    return value


def _pattern(text: str) -> str:
    compile_pattern(text)
    return text


def one_or_several(value: object) -> object:
    """A pattern may hold commas, so a text is one pattern, in the file as in a variable."""
    return [value] if isinstance(value, str) else value


def matching(pattern: str, must: str) -> AfterValidator:
    """Text of one shape; ``must`` completes the sentence "must …"."""
    compiled = re.compile(pattern)

    def check(value: str) -> str:
        if compiled.fullmatch(value) is None:
            raise ValueError(f"must {must}")
        return value

    return AfterValidator(check)


_MAILBOX = re.compile(r"[^@\s<>()\[\]\\,;:\"]+@[^@\s<>()\[\]\\,;:\"]+")


def _mail(value: str) -> str:
    if _MAILBOX.fullmatch(value) is None:
        raise ValueError("must be an e-mail address")
    return spelled(value)


def mailbox_of(sender: str) -> str:
    """The bare address of ``Handraise <handraise@example.com>``."""
    return named_mailbox(sender)[1]


def _sender(value: str) -> str:
    if _MAILBOX.fullmatch(mailbox_of(value)) is None:
        raise ValueError("must be an e-mail address, with or without a name before it")
    return value


def _recipient(value: str) -> str:
    try:
        return str(parse_recipient(value))
    except InvalidRecipient:
        raise ValueError(f"must be a recipient: {recipient_forms()}") from None


def url_like(schemes: tuple[str, ...], example: str) -> AfterValidator:
    """A URL of one of these schemes, without a query."""

    def check(value: str) -> str:
        try:
            parts = urlsplit(value)
            good = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
        except ValueError:  # a port that is no number, brackets that don't close
            good = False
        if not good or parts.query or parts.fragment or (parts.scheme.startswith("smtp") and parts.path.strip("/")):
            raise ValueError(f"must look like {example}")
        return value.rstrip("/")

    return AfterValidator(check)


def read_by(parse: Callable[[str], object]) -> AfterValidator:
    """A URL that ``parse`` can read; its ``ValueError`` says what the URL must look like."""

    def check(value: str) -> str:
        parse(value)
        return value

    return AfterValidator(check)


def _network(value: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(value, strict=False)
    except ValueError:
        raise ValueError("must be a network such as 10.0.0.0/8 or 192.0.2.7/32") from None


def _time_zone(value: str) -> str:
    try:
        return ZoneInfo(value).key
    except (ZoneInfoNotFoundError, ValueError, OSError):  # OSError: a folder of the database, such as Europe
        raise ValueError("must be an IANA time zone, such as Europe/Berlin") from None


def _week(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError('must hold days and times, such as {mon-fri: "09:00-17:30"}')
    week = {str(days): times for days, times in value.items()}
    if not all(isinstance(times, str) for times in week.values()):
        raise ValueError('must have times such as "09:00-17:30" or "09:00-12:00, 13:00-17:30", in quotes')
    parse_week(week)
    return week


def _holiday(value: object) -> date:
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            value = date.fromisoformat(value.strip())
    if not isinstance(value, date) or isinstance(value, datetime):
        raise ValueError("must be a date, such as 2026-12-25")
    return value


def _database_url(*begins: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        try:
            driver = sa.make_url(value).drivername
        except (sa.exc.ArgumentError, ValueError):
            driver = ""
        if not any(begin.startswith(f"{driver}://") for begin in begins):
            raise ValueError(f"must begin with {' or '.join(begins)}")
        return value

    return check


def _webhook_secret(value: str) -> str:
    """Standard Webhooks: ``whsec_`` and the base64 of 24 to 64 bytes.

    Source: github.com/standard-webhooks/standard-webhooks, spec, "Signature scheme".
    """
    prefix, _, encoded = value.partition("_")
    try:
        size = len(base64.b64decode(encoded, validate=True))
    except (binascii.Error, ValueError):
        size = 0
    if prefix != "whsec" or not 24 <= size <= 64:
        raise ValueError("must be whsec_ followed by the base64 of 24 to 64 bytes")
    return value


Share = Annotated[float, BeforeValidator(_share)]
Flag = Annotated[bool, BeforeValidator(_flag)]
Text = Annotated[str, BeforeValidator(_text)]
Word = BeforeValidator(_word)
Listed = BeforeValidator(_split)

OneOrMore = BeforeValidator(_one_or_more)

OwnPattern = Annotated[Text, AfterValidator(_pattern)]
SecretKey = Annotated[Text, AfterValidator(_secret_key)]
HeaderKey = Annotated[Text, matching(r"[!-~]+", "be printable ASCII without blanks, since it travels in a header")]
Mail = Annotated[Text, AfterValidator(_mail)]
Sender = Annotated[Text, AfterValidator(_sender)]
RecipientRef = Annotated[Text, AfterValidator(_recipient)]
HttpUrl = Annotated[Text, url_like(("http", "https"), "https://host or http://host:port")]
PostgresUrl = Annotated[Text, AfterValidator(_database_url("postgresql+psycopg://"))]
DatabaseUrl = Annotated[Text, AfterValidator(_database_url("sqlite+aiosqlite:///", "postgresql+psycopg://"))]
Network = Annotated[IPv4Network | IPv6Network, BeforeValidator(lambda value: _network(_text(value)))]
WebhookSecret = Annotated[Text, AfterValidator(_webhook_secret)]
KeyName = Annotated[Text, AfterValidator(key_name)]
KeyHash = Annotated[Text, Word, matching(r"[0-9a-f]{64}", "be 64 hexadecimal digits")]
TimeZone = Annotated[Text, AfterValidator(_time_zone)]
WeekHours = Annotated[dict[str, str], BeforeValidator(_week)]
Holiday = Annotated[date, BeforeValidator(_holiday)]
GroupName = Annotated[Text, matching(r"[^\s,:]+", "be a group's name without blanks, commas and colons")]
SlackTeam = Annotated[Text, matching(r"[TE][A-Z0-9]+", "be a Slack workspace id, such as T0123456789")]
"""Of Slack as a channel, and of Sign in with Slack."""
