"""The demo played by itself: four agents, four ways to an end, and whether each ended as it should.

The simulated person only sees and presses what is on the sandbox's page, and knows nothing of the API.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

import httpx
from pydantic import JsonValue

from bot.demo.board import Card
from bot.demo.samples import CLEANUP, DEPLOY_CLIMBS, INVOICE_CLIMBS, REFUND, RESPONDER, Sample
from bot.demo.show import Show
from bot.demo.stage import DemoFailed

Found = TypeVar("Found")
World = Mapping[str, Any]

_LOOK_AGAIN = 0.1


@dataclass(frozen=True, slots=True)
class Player:
    """``page`` is signed in."""

    page: httpx.AsyncClient

    async def click_in_slack(self, question: str, label: str) -> None:
        """Press the button ``label`` below ``question``, once it is there."""
        await self._do("/slack/click", await self._seen(lambda world: _button(world, question, label)))

    async def reply_by_mail(self, question: str, text: str) -> None:
        """Reply to the mail that asks ``question``, once it has come."""
        mail = await self._seen(lambda world: _with(world["mail"], "subject", question))
        await self._do(f"/mail/{mail['id']}/reply", {"text": text})

    async def note_on_pager(self, question: str, text: str) -> None:
        """Add a note to the incident that asks ``question``, once the pager goes off."""
        incident = await self._seen(lambda world: _with(world["pager"], "title", question))
        await self._do(f"/pager/{incident['id']}/note", {"text": text})

    async def _seen(self, look: Callable[[World], Found | None]) -> Found:
        while True:
            with contextlib.suppress(httpx.TransportError):  # the stage sees whether the sandbox is still alive
                response = await self.page.get("/world")
                response.raise_for_status()
                found = look(response.json())
                if found is not None:
                    return found
            await asyncio.sleep(_LOOK_AGAIN)

    async def _do(self, path: str, what: Mapping[str, Any]) -> None:
        try:
            response = await self.page.post(path, json=what)
        except httpx.TransportError as trouble:
            raise DemoFailed(f"the sandbox did not answer at {path}: {type(trouble).__name__}") from trouble
        if response.is_error:
            raise DemoFailed(f"the sandbox refused {path}: {response.json()['message']}")


def _with(things: list[dict[str, Any]], key: str, text: str) -> dict[str, Any] | None:
    return next((one for one in things if text in one[key]), None)


def _button(world: World, question: str, label: str) -> dict[str, Any] | None:
    for conversation in world["slack"]["conversations"]:
        for message in conversation["items"]:
            if question in message["text"]:
                actions = (block["elements"] for block in message["blocks"] if block["type"] == "actions")
                for element in chain.from_iterable(actions):
                    if element.get("text", {}).get("text") == label:
                        return {"channel": conversation["id"], "ts": message["key"], "action_id": element["action_id"]}
    return None


PATIENT = 15
"""So often is a question asked that somebody will answer: however slow the machine, silence must not come first."""


@dataclass(frozen=True, slots=True)
class ExpectedEnding:
    """The expected content of the agent's callback."""

    value: JsonValue
    resolution: str
    channel: str | None
    responded_by: str | None


Act = Callable[[Player, str], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Scene:
    """A question, the person's reaction (``None``: nothing), and the expected ending."""

    sample: Sample
    act: Act | None
    ending: ExpectedEnding

    @property
    def attempts(self) -> int:
        return self.sample.attempts if self.act is None else PATIENT


SCENES = (
    Scene(
        REFUND,
        lambda person, question: person.click_in_slack(question, "Approve refund"),
        ExpectedEnding("approve", "responded", "slack", RESPONDER),
    ),
    Scene(
        INVOICE_CLIMBS,
        lambda person, question: person.reply_by_mail(question, "2\n\nReason: the sum looks odd to me"),
        ExpectedEnding("ask_back", "responded", "email", RESPONDER),
    ),
    Scene(
        DEPLOY_CLIMBS,
        lambda person, question: person.note_on_pager(question, "yes"),
        ExpectedEnding("yes", "responded", "pagerduty", RESPONDER),
    ),
    Scene(CLEANUP, None, ExpectedEnding("no", "expired", None, None)),
)


@dataclass(slots=True)
class Play:
    """All scenes at once. :meth:`problems` are the current problems, one line for each agent."""

    show: Show
    scenes: tuple[Scene, ...] = SCENES
    _ended: dict[str, Card] = field(default_factory=dict)
    _failed: dict[str, str] = field(default_factory=dict)

    async def run(self) -> None:
        await self.show.connected()
        person = Player(self.show.stage.page)
        await asyncio.gather(*(self._scene(scene, person) for scene in self.scenes))

    async def _scene(self, scene: Scene, person: Player) -> None:
        """A failure in one scene leaves the others alone."""
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


def problem(card: Card | None, ending: ExpectedEnding) -> str | None:
    """The problem with the callback to the agent of ``card``; ``None`` if there is none."""
    if card is None or card.resumed is None:
        return "it was not called back in time"
    got = ExpectedEnding(**{part: card.resumed[part] for part in ("value", "resolution", "channel", "responded_by")})
    return None if got == ending else f"it was called back with {got}, not with {ending}"
