"""Proposals: what a reply that decides nothing may mean, and what an answer to that proposal means. For mail and notes.

A proposer can be put in front of the built-in one (``answers.proposer``). It sees somebody's own words and the labels,
has three seconds, and can do no more than propose: what it says is never recorded.

Source: API.md §6; docs/decisions/0039.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module

import structlog

from channels.grammar.proposals import FirstNamed, Proposer
from channels.grammar.reader import Matched, Reading, Unclear, agrees, way_to_write
from core.domain.notice import NoticeChoice, Proposal
from core.errors import ConfigError

log = structlog.get_logger(__name__)

PATIENCE = timedelta(seconds=3)
_LONGEST_LABEL = 200
_MOST_OTHERS = 4
"""More choices than these are not spelled out in a sentence."""
_LONGEST = 2_000
"""Characters of somebody's words that a proposer is shown."""


@dataclass(frozen=True, slots=True)
class Proposals:
    """``plugged`` is asked first, the built-in one if that has no answer, fails, or takes longer than ``patience``."""

    plugged: Proposer | None = None
    patience: timedelta = PATIENCE

    async def of(self, words: str, choices: Sequence[NoticeChoice]) -> Proposal | None:
        """The option that ``words`` seem to mean, among ``choices`` as they are shown."""
        labels, values = [one.label for one in choices], [one.value for one in choices]
        built_in = FirstNamed()
        index = await self._asked(words[:_LONGEST], labels)
        if index is None:
            index = await built_in.propose(words, labels)
        if index is None:
            index = await built_in.propose(words, values)
        return None if index is None else Proposal(index, choices[index].value)

    async def _asked(self, words: str, labels: Sequence[str]) -> int | None:
        if self.plugged is None or not labels:
            return None
        try:
            async with asyncio.timeout(self.patience.total_seconds()):
                index = await self.plugged.propose(words, labels)
        except Exception as problem:  # noqa: BLE001 (whatever theirs raises, a reply is dealt with)
            log.warning("proposer.failed", error=type(problem).__name__)
            return None
        is_index = isinstance(index, int) and not isinstance(index, bool) and 0 <= index < len(labels)
        return index if is_index else None


def beside_proposals(reading: Reading, proposals: Sequence[Proposal], lines: Sequence[str]) -> Reading:
    """What a reply means to somebody who was sent ``proposals``. ``lines`` are its own words.

    A number always means the question's own option. A bare yes or no decides only if it goes with the option that was
    proposed, for nobody else can tell which of the two was meant. Fields of a form are confirmed by a bare "ok".
    """
    if not proposals:
        return reading
    if isinstance(reading, Matched) and reading.spoken and any(one.index != reading.index for one in proposals):
        return Unclear("not_proposed")
    if len({repr(one) for one in proposals}) == 1 and proposals[0].index is None and agrees(lines):
        return Matched("\n".join(lines), value=proposals[0].value)
    return reading


def meant(choices: Sequence[NoticeChoice], proposal: Proposal) -> str:
    """What is proposed, in words. ``choices`` are those that are shown."""
    one = _proposed(choices, proposal)
    return f"You seem to mean {one.number}. {_short(one.label)}."


def confirmed(choices: Sequence[NoticeChoice], proposal: Proposal, by: str = "Reply") -> str:
    """How it is confirmed: ``by`` what with the number in it."""
    named = {one.index: way_to_write(choices, one.index) or one.label for one in choices}
    proposed = _proposed(choices, proposal)
    others = [f"{named[one.index]} for {_short(one.label)}" for one in choices if one is not proposed]
    told = ", ".join(others) if len(others) <= _MOST_OTHERS else "or the number of another choice"
    return f"{by} {named[proposed.index]} to confirm it{', ' + told if told else ''}."


def _proposed(choices: Sequence[NoticeChoice], proposal: Proposal) -> NoticeChoice:
    return next(one for one in choices if one.index == proposal.index)


def _short(label: str) -> str:
    flat = " ".join(label.split())
    return flat if len(flat) <= _LONGEST_LABEL else flat[: _LONGEST_LABEL - 1].rstrip() + "…"


def load_proposer(name: str) -> Proposer:
    """The proposer that ``package.module:name`` is or makes. Raises :class:`core.errors.ConfigError`."""
    module, _, attribute = name.partition(":")
    try:
        found = getattr(import_module(module), attribute)
        made = found() if isinstance(found, type) else found
    except Exception as problem:
        raise ConfigError(
            f"answers.proposer: {name!r} can't be loaded: {type(problem).__name__}: {problem}"
        ) from problem
    if not callable(getattr(made, "propose", None)):
        raise ConfigError(f"answers.proposer: {name!r} has no method propose(words, labels)")
    proposer: Proposer = made
    return proposer
