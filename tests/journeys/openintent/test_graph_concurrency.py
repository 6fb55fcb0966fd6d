"""Fifty agents at once in a graph of two hundred intents, on each database: what must be true whenever they pause.

They suspend, answer, complete, block, and add and remove dependencies at random. Hypothesis chooses the crowds; each
step is one crowd of requests, all under way at the same time.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvloop
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tests.world import KEYS, World, running

pytestmark = pytest.mark.slow

AGENTS, NODES = 50, 200
_DEEDS = ("suspend", "answer", "complete", "add", "remove", "block", "unblock", "cancel")


def key(agent: int) -> str:
    return f"key-of-agent-{agent}"


@dataclass
class Office:
    """A service, fifty agents and their intents; ``blocked`` are those that their agents have blocked themselves."""

    world: World
    nodes: list[str] = field(default_factory=list)
    open: dict[str, str] = field(default_factory=dict)
    blocked: set[str] = field(default_factory=set)
    outcomes: Counter[tuple[str, int]] = field(default_factory=Counter)

    async def call(self, method: str, path: str, with_key: str, **options: Any) -> httpx.Response:
        headers = {"X-API-Key": with_key, **options.pop("headers", {})}
        return await self.world.http.request(method, f"{self.world.url}/v1{path}", headers=headers, **options)

    async def change(self, method: str, path: str, node: str, with_key: str, body: Any = None) -> httpx.Response:
        """With the version that the intent has just then; somebody else may be faster."""
        version = (await self.call("GET", f"/intents/{node}", with_key)).json()["version"]
        headers = {"If-Match": str(version)}
        return await self.call(method, f"/intents/{node}{path}", with_key, json=body, headers=headers)

    async def all(self) -> list[dict[str, Any]]:
        found = [await self.call("GET", f"/intents?limit=100&offset={n}", KEYS["admin"]) for n in range(0, NODES, 100)]
        return [intent for page in found for intent in page.json()["intents"]]

    async def asked(self) -> set[str]:
        """The intents that have an open question."""
        found: set[str] = set()
        cursor = ""
        while True:
            page = (await self.call("GET", f"/suspensions?status=open&limit=100{cursor}", KEYS["admin"])).json()
            found |= {one["intent_id"] for one in page["items"]}
            if not page["next_cursor"]:
                return found
            cursor = f"&cursor={page['next_cursor']}"

    async def settle(self, seed: int) -> None:
        """The graph to begin with: each intent depends on up to three that were made before it."""
        made = await asyncio.gather(
            *(self.call("POST", "/intents", key(n % AGENTS), json={"title": f"{n}"}) for n in range(NODES))
        )
        self.nodes = [one.json()["id"] for one in made]
        await asyncio.gather(
            *(self.change("POST", "/status", node, KEYS["admin"], {"status": "active"}) for node in self.nodes)
        )
        chance = random.Random(seed)
        edges = [(n, chance.randrange(n)) for n in range(1, NODES) for _ in range(chance.randrange(3))]
        await asyncio.gather(*(self.add(key(n % AGENTS), self.nodes[n], self.nodes[on]) for n, on in edges))

    async def do(self, deed: str, agent: int, first: int, second: int) -> None:
        node, other = self.nodes[first], self.nodes[second]
        does: dict[str, Callable[[], Awaitable[httpx.Response | None]]] = {
            "suspend": lambda: self.suspend(key(first % AGENTS), node),
            "answer": lambda: self.end(node, KEYS["operator"], "suspend/respond"),
            "cancel": lambda: self.end(node, key(first % AGENTS), "cancel"),
            "complete": lambda: self.change("POST", "/status", node, key(agent), {"status": "completed"}),
            "add": lambda: self.add(key(agent), node, other),
            "remove": lambda: self.remove(key(agent), node),
            "block": lambda: self.block(key(agent), node),
            "unblock": lambda: self.unblock(key(agent), node),
        }
        response = await does[deed]()
        if response is not None:
            assert response.status_code in {200, 201, 400, 404, 409}, (deed, response.text)
            self.outcomes[deed, response.status_code] += 1

    async def suspend(self, with_key: str, node: str) -> httpx.Response:
        choices = [{"value": "yes", "label": "Yes"}, {"value": "no", "label": "No"}]
        body = {"question": "Go on?", "choices": choices, "notify_to": "alice@example.com", "channel_hint": "email"}
        response = await self.call("POST", f"/intents/{node}/suspend", with_key, json=body)
        if response.status_code == 201:
            self.open[node] = response.json()["suspension_id"]
        return response

    async def end(self, node: str, with_key: str, how: str) -> httpx.Response | None:
        suspension_id = self.open.pop(node, None)
        if suspension_id is None:
            return None
        if how == "cancel":
            return await self.call("POST", f"/suspensions/{suspension_id}/cancel", with_key, json={})
        body = {"suspension_id": suspension_id, "value": "yes"}
        return await self.call("POST", f"/intents/{node}/{how}", with_key, json=body)

    async def add(self, with_key: str, node: str, on: str) -> httpx.Response:
        return await self.change("POST", "/dependencies", node, with_key, {"dependency_id": on})

    async def remove(self, with_key: str, node: str) -> httpx.Response | None:
        on = (await self.call("GET", f"/intents/{node}", with_key)).json()["depends_on"]
        return await self.change("DELETE", f"/dependencies/{on[0]}", node, with_key) if on else None

    async def block(self, with_key: str, node: str) -> httpx.Response:
        response = await self.change("POST", "/status", node, with_key, {"status": "blocked"})
        if response.status_code == 200:
            self.blocked.add(node)
        return response

    async def unblock(self, with_key: str, node: str) -> httpx.Response | None:
        if node not in self.blocked:
            return None
        response = await self.change("POST", "/status", node, with_key, {"status": "active"})
        if response.status_code == 200:
            self.blocked.discard(node)
        return response


class Crowd(RuleBasedStateMachine):
    """``begin`` opens an office on a database of its own."""

    begin: Callable[[AsyncExitStack], Coroutine[Any, Any, Office]]

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
        self.stack = AsyncExitStack()
        self.office: Office | None = None

    def teardown(self) -> None:
        self.runner.run(self.stack.aclose())
        self.runner.close()

    @initialize(seed=st.integers(0, 2**32))
    def settle(self, seed: int) -> None:
        self.office = self.runner.run(type(self).begin(self.stack))
        self.runner.run(self.office.settle(seed))

    @rule(seed=st.integers(0, 2**32), size=st.integers(AGENTS, 4 * AGENTS))
    def all_at_once(self, seed: int, size: int) -> None:
        office, chance = self.office, random.Random(seed)
        assert office is not None
        crowd = [
            (chance.choice(_DEEDS), chance.randrange(AGENTS), some_node(chance), some_node(chance)) for _ in range(size)
        ]

        async def together() -> None:
            await asyncio.gather(*(office.do(*deed) for deed in crowd))

        self.runner.run(together())

    @invariant()
    def holds(self) -> None:
        if self.office is None:
            return
        intents = {one["id"]: one for one in self.runner.run(self.office.all())}
        assert len(intents) == NODES
        for one in intents.values():
            upstream = [intents[other]["status"] for other in one["depends_on"]]
            if one["status"] == "active":
                assert "suspended_awaiting_input" not in upstream, "active under a suspended upstream"
            if one["status"] == "blocked" and one["id"] not in self.office.blocked:
                assert set(upstream) != {"completed"} and upstream, "blocked by us, and nothing is left to wait for"
            if one["id"] in self.office.blocked:
                assert one["status"] in {"blocked", "abandoned"}, "an agent's own block was undone"
            if one["status"] == "completed":
                assert set(upstream) <= {"completed"}, "completed before what it depends on"
        waiting = {one["id"] for one in intents.values() if one["status"] == "suspended_awaiting_input"}
        assert waiting == self.runner.run(self.office.asked()), "suspended without an open question, or the reverse"
        assert not _has_cycle({one["id"]: one["depends_on"] for one in intents.values()})


def some_node(chance: random.Random) -> int:
    """Every other time one of twenty, so that agents meet."""
    return chance.randrange(NODES if chance.random() < 0.5 else 20)


def _has_cycle(upstreams: dict[str, list[str]]) -> bool:
    left = {node: set(those) for node, those in upstreams.items()}
    while free := [node for node, those in left.items() if not those & left.keys()]:
        for node in free:
            del left[node]
    return bool(left)


def keys() -> list[dict[str, Any]]:
    agents = [{"name": f"agent-{n}", "key": key(n), "roles": ["agent", "admin"]} for n in range(AGENTS)]
    people = [
        {"name": "alice@example.com", "key": KEYS["operator"], "roles": ["operator"]},
        {"name": "root", "key": KEYS["admin"], "roles": ["agent", "admin"]},
    ]
    return agents + people


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_what_must_be_true_whatever_fifty_agents_do_at_once(
    dialect: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    make = _urls(dialect, tmp_path, request)

    async def begin(stack: AsyncExitStack) -> Office:
        folder, url = make()
        return Office(await stack.enter_async_context(running(folder, url, api_keys=keys())))

    machine = type("Crowd", (Crowd,), {"begin": staticmethod(begin)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=2,
            stateful_step_count=8,
            deadline=None,
            phases=[Phase.generate],  # to shrink a failure would take hundreds of services
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )


def _urls(dialect: str, tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[], tuple[Path, str]]:
    """Makes a folder and the URL of a database, for each example others."""
    make_postgres = request.getfixturevalue("make_postgres_url") if dialect == "postgresql" else None
    numbers = itertools.count()

    def make() -> tuple[Path, str]:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        return folder, make_postgres() if make_postgres else f"sqlite+aiosqlite:///{folder}/handraise.db"

    return make
