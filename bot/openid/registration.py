"""A registration at a provider, the expected claims of an ID token, and the errors of a sign-in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Claims = Mapping[str, Any]


class ProviderFailure(Exception):
    """A provider did not say who a person is, or not validly. ``reason`` is a stable code for the log; ``is_away``:
    it may work in a minute."""

    def __init__(self, reason: str, *, is_away: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_away = is_away


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected claims of an ID token. ``access_token`` came with it."""

    issuer: str
    client_id: str
    nonce: str = field(repr=False)
    access_token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Registration:
    """Our registration at a provider. ``key`` is its name in our URLs, ``name`` the one for people; ``team`` is the
    Slack workspace, only for Slack. ``says_verified`` is the claim by which it vouches for an e-mail address."""

    key: str
    name: str
    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    team: str | None = None
    says_verified: str = "email_verified"
