"""What is asked and what people do about it: the same for the same seed. Pure."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

CHOICES = (
    {"value": "approve", "label": "Approve refund", "style": "primary"},
    {"value": "deny", "label": "Deny refund", "style": "danger"},
)
LABELS = {str(choice["value"]): str(choice["label"]) for choice in CHOICES}

ALICE, BOB, CAROL = "alice@example.com", "bob@example.com", "carol@example.com"


class Way(StrEnum):
    """How somebody ends a question, or tries to; the last four are what people do with it among themselves."""

    API = "api"
    SLACK = "slack"
    MAIL = "email"
    PAGER = "pagerduty"
    PAGE = "web"
    CANCEL = "cancel"
    ASSIGN = "assign"
    HANDED = "handed"
    CLARIFY = "clarify"
    CLARIFICATION = "clarification"


@dataclass(frozen=True, slots=True)
class Act:
    """Somebody answers ``value``, ``after`` seconds from when they could. ``then_kill``: the process that has just
    said yes dies of it.

    To ``assign`` the value is the person it is handed to, who is ``handed`` it and answers wherever they were asked; to
    ``clarify``, what the agent says to it, or nothing at all."""

    way: Way
    value: str
    who: str
    after: float
    claims_first: bool = False
    then_kill: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """``at`` is in seconds from the beginning; ``lasts`` is how long it waits for an answer."""

    number: int
    at: float
    lasts: float
    body: dict[str, Any]
    acts: tuple[Act, ...]
    then_kill: bool

    @property
    def text(self) -> str:
        return str(self.body["question"])


LADDERS: Sequence[Sequence[tuple[str, str | None]]] = (
    (("slack", None), ("email", None), ("pagerduty", ALICE)),
    (("slack", "slack:C0OPS"), ("email", ALICE), ("pagerduty", ALICE)),
    (("email", None), ("slack", None), ("pagerduty", BOB)),
    (("pagerduty", ALICE), ("email", None), ("slack", None), ("email", ALICE)),
    (("slack", None), ("slack", None)),
    (("email", ALICE),),
)
"""Channel and recipient of each attempt; no recipient means everybody in finance."""

_WAYS = ((Way.API, 3), (Way.SLACK, 4), (Way.MAIL, 4), (Way.PAGER, 3), (Way.PAGE, 2), (Way.CANCEL, 1))
_SILENT, _RACED = 0.22, 0.15
_SHARED, _HANDED_OVER, _ASKED_BACK = 0.15, 0.15, 0.15
"""How often a question needs two people, is handed over, and is asked back."""
_DEADLY = 0.02
"""How often a process is killed the moment it has said yes."""


def plan(seed: int, count: int, seconds: float, pace: float) -> list[Question]:
    """``count`` questions over the first ``seconds``; a slower machine's ladders are longer by ``pace``."""
    return [
        _question(random.Random(f"{seed}/{number}"), seed, number, seconds / count, pace) for number in range(count)
    ]


def _question(chance: random.Random, seed: int, number: int, gap: float, pace: float) -> Question:
    ladder = chance.choice(LADDERS)
    interval = round(chance.choice((2, 3, 4, 5)) * pace)
    body: dict[str, Any] = {
        "question": f"Refund order {seed}-{number}?",
        "choices": list(CHOICES),
        "channel_hint": ladder[0][0],
        "responders": ["group:finance"],
        **_silence(chance),
    }
    if len(ladder) > 1:
        rungs = [
            {"attempt": attempt, "channel_hint": channel, "notify_to": whom}
            for attempt, (channel, whom) in enumerate(ladder, start=1)
        ]
        body["retry_policy"] = {
            "max_attempts": len(ladder),
            "interval_seconds": interval,
            "escalation_ladder": rungs,
        }
    else:
        body |= {"notify_to": ladder[0][1], "timeout_seconds": 2 * interval}
    lasts = interval * max(len(ladder), 2)
    channels = {channel for channel, _ in ladder}
    acts = _acts(chance, channels)
    at, then_kill = number * gap + chance.uniform(0, gap), chance.random() < _DEADLY
    if chance.random() < _SHARED:
        body["answers_required"] = 2
        acts = _acts_of_two(chance, channels)
    if chance.random() < _HANDED_OVER:
        acts += _hand_over(chance)
    if chance.random() < _ASKED_BACK:
        acts.append(Act(Way.CLARIFY, chance.choice(("It is the second one.", "")), BOB, chance.uniform(0, 1)))
    return Question(number, at, lasts, body, tuple(acts), then_kill)


def _silence(chance: random.Random) -> dict[str, str]:
    """What becomes of it where nobody answers."""
    policy = chance.choice(("fail", "complete_with_fallback", "use_default_and_continue"))
    return {"fallback_policy": policy} if policy == "fail" else {"fallback_policy": policy, "fallback_value": "deny"}


def _acts(chance: random.Random, channels: set[str]) -> list[Act]:
    if chance.random() < _SILENT:
        return []
    possible = [(way, weight) for way, weight in _WAYS if _is_possible(way, channels)]
    ways, weights = zip(*possible, strict=True)
    number = 2 if chance.random() < _RACED else 1
    after = chance.uniform(0, 1.5)  # two who race start together
    return [
        Act(
            chance.choices(ways, weights)[0],
            chance.choice(("approve", "deny")),
            chance.choice((ALICE, BOB)),
            after,
            claims_first=chance.random() < 0.4,
            then_kill=chance.random() < _DEADLY,
        )
        for _ in range(number)
    ]


def _acts_of_two(chance: random.Random, channels: set[str]) -> list[Act]:
    """Both answer, mostly alike."""
    ways = [way for way, _ in _WAYS if way is not Way.CANCEL and _is_possible(way, channels)]
    value = chance.choice(("approve", "deny"))
    values = (value, value if chance.random() < 0.8 else chance.choice(("approve", "deny")))
    return [
        Act(chance.choice(ways), answer, who, chance.uniform(0, 1.5), then_kill=chance.random() < _DEADLY)
        for who, answer in zip((ALICE, BOB), values, strict=True)
    ]


def _hand_over(chance: random.Random) -> list[Act]:
    """To somebody outside finance."""
    return [
        Act(Way.ASSIGN, CAROL, ALICE, chance.uniform(0, 1)),
        Act(Way.HANDED, chance.choice(("approve", "deny")), CAROL, chance.uniform(0, 1)),
    ]


def _is_possible(way: Way, channels: set[str]) -> bool:
    needed = {Way.SLACK: "slack", Way.MAIL: "email", Way.PAGE: "email", Way.PAGER: "pagerduty"}.get(way)
    return needed is None or needed in channels
