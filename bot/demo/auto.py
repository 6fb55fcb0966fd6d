"""The demo played by itself: four agents, four ways to an end, and whether each ended as it should."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from bot.demo.board import Card
from bot.demo.children import DemoFailed
from bot.demo.person import Player
from bot.demo.samples import CLEANUP, DEPLOY_CLIMBS, INVOICE_CLIMBS, REFUND, RESPONDER, Sample
from bot.demo.show import Show

PATIENT = 15
"""So often is a question asked that somebody will answer: however slow the machine, silence must not come first."""


@dataclass(frozen=True, slots=True)
class Ending:
    """What the agent has to be told in the end."""

    value: JsonValue
    resolution: str
    channel: str | None
    responded_by: str | None


Act = Callable[[Player, str], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Scene:
    """A question, what the person does about it (``None``: nothing), and how it has to end."""

    sample: Sample
    act: Act | None
    ending: Ending

    @property
    def attempts(self) -> int:
        return self.sample.attempts if self.act is None else PATIENT


SCENES = (
    Scene(
        REFUND,
        lambda person, question: person.click_in_slack(question, "Approve refund"),
        Ending("approve", "responded", "slack", RESPONDER),
    ),
    Scene(
        INVOICE_CLIMBS,
        lambda person, question: person.reply_by_mail(question, "2, the sum looks odd to me"),
        Ending("ask_back", "responded", "email", RESPONDER),
    ),
    Scene(
        DEPLOY_CLIMBS,
        lambda person, question: person.note_on_pager(question, "yes"),
        Ending("yes", "responded", "pagerduty", RESPONDER),
    ),
    Scene(CLEANUP, None, Ending("no", "expired", None, None)),
)


@dataclass(slots=True)
class Play:
    """Every scene at once. :meth:`problems` is what is wrong by now, one line for each agent."""

    show: Show
    scenes: tuple[Scene, ...] = SCENES
    _ended: dict[str, Card] = field(default_factory=dict)
    _failed: dict[str, str] = field(default_factory=dict)

    async def run(self) -> None:
        await self.show.connected()
        person = Player(self.show.stage.page)
        await asyncio.gather(*(self._scene(scene, person) for scene in self.scenes))

    async def _scene(self, scene: Scene, person: Player) -> None:
        """Whatever goes wrong in one scene leaves the others alone."""
        name, question = scene.sample.name, scene.sample.question
        try:
            async with asyncio.TaskGroup() as together:
                if scene.act is not None:
                    together.create_task(scene.act(person, question))
                self._ended[name] = await self.show.ask(scene.sample, scene.attempts)
        except* DemoFailed as failures:
            self._failed[name] = str(failures.exceptions[0])

    def problems(self) -> list[str]:
        found = {scene.sample.agent: self._problem(scene) for scene in self.scenes}
        return [f"{agent}: {problem}" for agent, problem in found.items() if problem is not None]

    def _problem(self, scene: Scene) -> str | None:
        name = scene.sample.name
        return self._failed.get(name) or problem(self._ended.get(name), scene.ending)


def problem(card: Card | None, ending: Ending) -> str | None:
    """What is wrong with how the agent of ``card`` was called back; ``None`` where nothing is."""
    if card is None or card.resumed is None:
        return "it was not called back in time"
    got = Ending(**{part: card.resumed[part] for part in ("value", "resolution", "channel", "responded_by")})
    return None if got == ending else f"it was called back with {got}, not with {ending}"
