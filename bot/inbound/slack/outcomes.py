"""Outcomes: the results of an interaction in Slack, as values. ``listeners`` turns them into responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SaidPrivately:
    """It did not count, or needs no more; ``text`` tells only the person. ``link`` is the link in it."""

    text: str
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """It is done, and the messages show it."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """The answer can be corrected: the errors, by the block of the input."""

    errors: Mapping[str, str]

    @property
    def text(self) -> str:
        return " ".join(self.errors.values())


@dataclass(frozen=True, slots=True)
class Modal:
    """The view to open. ``link`` leads to the same question on the page."""

    view: dict[str, Any]
    link: str
