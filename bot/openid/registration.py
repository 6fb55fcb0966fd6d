"""A registration at a provider, what an ID token has to say for it, and how a sign-in fails."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Claims = Mapping[str, Any]


class ProviderFailure(Exception):
    """A provider did not say who somebody is, or not so that it counts. ``reason`` is a stable code for the log;
    ``is_away``: it may work in a minute."""

    def __init__(self, reason: str, *, is_away: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_away = is_away


@dataclass(frozen=True, slots=True)
class Expected:
    """What an ID token has to say. ``access_token`` came with it."""

    issuer: str
    client_id: str
    nonce: str = field(repr=False)
    access_token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Registration:
    """How we are known to a provider. ``key`` is its name in our addresses, ``name`` what people are shown; ``team`` is
    the Slack workspace, for Slack alone. ``says_verified`` is the claim by which it vouches for an e-mail address."""

    key: str
    name: str
    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    team: str | None = None
    says_verified: str = "email_verified"
