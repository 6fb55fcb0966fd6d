"""Payloads of our buttons and modals: the public ref, the index of a choice, and the delivery id.

A choice's value (unbounded) and the ``suspension_id`` (it authorises, RFC-0025 §11) are never in Slack. A modal's
``private_metadata`` is sealed, because a modal outlives the message that it came from.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, unquote

Sign = Callable[[bytes], str]
"""A keyed digest of these bytes, as lower-case hex."""

SEAL = b"slack.modal:"
"""Keeps these digests apart from any other that is made with the same key."""
VALUE = re.compile(r"q=(?P<ref>[A-Za-z0-9-]{1,64})(;c=(?P<index>[0-9]{1,4}))?;m=(?P<delivery>[A-Za-z0-9_.~:%-]{1,256})")
SEALED = re.compile(r"(?P<body>[^;]*;([^;]*;)?[^;]*);s=(?P<seal>[0-9a-f]{1,128})")
OPTION = re.compile(r"c=([0-9]{1,4})")


@dataclass(frozen=True, slots=True)
class Carried:
    """``index`` is the choice's index, ``None`` if the button is not a choice."""

    ref: str
    delivery: str
    index: int | None = None


def signer(key: bytes) -> Sign:
    """Signs with HMAC-SHA-256 under ``key``."""
    return lambda data: hmac.new(key, data, hashlib.sha256).hexdigest()


def written(carried: Carried) -> str:
    """``q=<ref>;c=<index>;m=<delivery id>``."""
    choice = "" if carried.index is None else f";c={carried.index}"
    return f"q={carried.ref}{choice};m={quote(carried.delivery, safe=':')}"


def read(value: str) -> Carried | None:
    """``None`` if we did not write it."""
    match = VALUE.fullmatch(value)
    if match is None:
        return None
    index = match["index"]
    return Carried(match["ref"], unquote(match["delivery"]), None if index is None else int(index))


def sealed(carried: Carried, sign: Sign) -> str:
    body = written(carried)
    return f"{body};s={sign(SEAL + body.encode())}"


def unsealed(text: str, sign: Sign) -> Carried | None:
    """``None`` if the seal is not ours."""
    match = SEALED.fullmatch(text)
    if match is None or not hmac.compare_digest(match["seal"], sign(SEAL + match["body"].encode())):
        return None
    return read(match["body"])


def option(index: int) -> str:
    """An option's value, which may be much shorter than a button's."""
    return f"c={index}"


def read_option(value: str) -> int | None:
    match = OPTION.fullmatch(value)
    return None if match is None else int(match[1])
