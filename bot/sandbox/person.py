"""Somebody as all three vendors know them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SandboxPerson:
    name: str
    email: str
    slack_user_id: str
    pagerduty_user_id: str


YOU = SandboxPerson("you", "you@example.com", "U0YOU", "PYOU")
"""Whoever sits in front of the sandbox's page."""
