"""The document explains itself: whatever it has says what it is, in words of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from bot.callbacks.agents import sign
from core.domain.callback import asked_back_body, callback_body
from core.domain.intent import Intent, IntentStatus
from core.domain.machine import decide
from core.domain.suspension import Kind
from core.domain.vocabulary import AskedBack, Cancelled, Outcome, ResumeAgent
from core.domain.wire import JsonObject
from core.openintent.domain.intent_lease import IntentLease, LeaseStatus
from core.openintent.domain.retry import FALLBACK_TRIGGERED, IntentFailure, TakeoverReason
from core.openintent.intents.follower import event_body
from core.openintent.intents.retrying import takeover_data
from core.store.event_log import Logged
from tests.conformance.openapi.test_document import document, fits, operations
from tests.core.examples import HOUR, a_question, after, an_answer, answered, hourly, look, opened
from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

CONDITIONS = {"allOf", "if", "then", "else", "not", "contains", "examples", "prefixItems"}
"""What only restricts what is described elsewhere."""
LONGEST_SENTENCE = 25


def said(what: str, name: str, text: object) -> list[str]:
    """What is wrong with ``text``, as the description of ``name``."""
    if not isinstance(text, str) or not text.strip():
        return [f"{what} has no description"]
    bare = re.sub(r"\bthe\b|[^a-z0-9]", "", text.lower())
    if bare in ("", re.sub(r"[^a-z0-9]", "", name.lower()), "successfulresponse"):
        return [f"{what} has a copy of its name as its description"]
    longest = max(len(sentence.split()) for sentence in re.split(r"(?<=[.:;!?])\s|\n\n", text))
    return [f"{what} has a sentence of {longest} words"] if longest > LONGEST_SENTENCE else []


def properties(schema: Any, where: str) -> Iterator[tuple[str, str, object]]:
    """Every property below ``schema``: where it stands, its name, its description."""
    if isinstance(schema, list):
        for inner in schema:
            yield from properties(inner, where)
    if not isinstance(schema, dict):
        return
    for name, inner in schema.items():
        if name == "properties":
            for field, part in inner.items():
                yield f"{where}.{field}", field, part.get("description")
                yield from properties(part, f"{where}.{field}")
        elif name not in CONDITIONS:
            yield from properties(inner, where)


async def test_every_operation_parameter_and_response_is_described(room: World) -> None:
    told = await document(room)
    wrong = []
    sent = {name: verbs["post"] for name, verbs in told["webhooks"].items()}
    for label, operation in {**operations(told), **sent}.items():
        wrong += [] if operation.get("summary") else [f"{label} has no summary"]
        wrong += said(label, operation.get("summary", ""), operation.get("description"))
        for parameter in operation.get("parameters", ()):
            wrong += said(f"{label} {parameter['name']}", parameter["name"], parameter.get("description"))
        for status, response in operation["responses"].items():
            wrong += said(f"{label} {status}", status, response.get("description"))
            for name, header in response.get("headers", {}).items():
                wrong += said(f"{label} {status} {name}", name, header.get("description"))
    assert wrong == []


async def test_every_schema_and_every_property_is_described(room: World) -> None:
    schemas = (await document(room))["components"]["schemas"]
    wrong = []
    for name, schema in schemas.items():
        wrong += said(name, name, schema.get("description"))
        for where, field, text in properties(schema, name):
            wrong += said(where, field, text)
    assert wrong == []
    assert sum(len(list(properties(schema, name))) for name, schema in schemas.items()) > 700


async def test_the_words_are_for_readers_of_the_api(room: World) -> None:
    """They name RFCs, which are published, and nothing that only this project's own sources know."""
    served = (await room.call("GET", "/openapi.json", None)).text
    assert re.findall(r"API\.md|issue \d+|:class:|:meth:|:data:|core/|bot/", served) == []


async def test_tags_stand_in_order_and_each_operation_has_one(room: World) -> None:
    told = await document(room)
    names = [tag["name"] for tag in told["tags"]]
    assert [said(tag["name"], tag["name"], tag["description"]) for tag in told["tags"]] == [[]] * len(names)
    used = [operation["tags"] for operation in operations(told).values()]
    assert {len(tags) for tags in used} == {1}
    assert {tags[0] for tags in used} | {"webhooks"} == set(names)


async def test_the_other_prefix_says_that_it_is_the_same(room: World) -> None:
    for label, operation in operations(await document(room)).items():
        verb, path = label.split(" ", 1)
        if path.startswith("/api/v1/"):
            assert operation["description"] == f"The same as `{verb.upper()} {path.removeprefix('/api')}`."
            assert operation["tags"] == ["openintent SDK"]


def told_of(outcome: Outcome) -> JsonObject:
    effect = next(one for one in outcome.effects if isinstance(one, ResumeAgent))
    return callback_body(outcome.suspension, effect, after(minutes=1))


def sent() -> list[JsonObject]:
    """One of each body that an agent is sent, as production writes it."""
    asked, veto, soon = hourly(1), opened(a_question(kind=Kind.VETO, timeout=HOUR)), after(minutes=1)
    intent = Intent("i-1", "Refund", "", IntentStatus.ACTIVE, 1, {}, {}, 0.0, "owner", soon, soon)
    failure = IntentFailure("f-1", "i-1", None, "worker", 3, "TIMEOUT", None, None, None, {}, soon, "backup")
    lease = IntentLease("l-1", "i-1", "backup", "refunds", LeaseStatus.ACTIVE, soon, after(hours=1))
    takeover = takeover_data(intent, failure, "backup", TakeoverReason.RETRIES_EXHAUSTED, [lease])
    line = Logged("e-1", "i-1", 1, "intent.resumed", "alice@example.com", {}, soon, "", (1, 1))
    return [
        told_of(answered(asked, soon)),
        told_of(look(asked, after(hours=2))),
        told_of(decide(asked, Cancelled("refund-agent"), soon)),
        told_of(decide(veto, an_answer("authorize"), soon)),
        told_of(decide(veto, an_answer("veto"), soon)),
        asked_back_body(decide(asked, AskedBack("Which?", "alice@example.com"), soon).suspension, soon),
        {"type": FALLBACK_TRIGGERED, "timestamp": "2026-03-24T11:00:00Z", "data": takeover},
        event_body(line, "s-1"),
    ]


def unlike(told: dict[str, Any], value: Any, schema: dict[str, Any], where: str) -> list[str]:
    """Fields that are sent and not described, or the other way round."""
    schema = told["components"]["schemas"].get(schema.get("$ref", "").rpartition("/")[2], schema)
    if "properties" not in schema or not isinstance(value, dict):
        return []
    wrong = [f"{where}.{field}" for field in value.keys() ^ schema["properties"].keys()]
    for field in value.keys() & schema["properties"].keys():
        wrong += unlike(told, value[field], schema["properties"][field], f"{where}.{field}")
    return wrong


async def test_what_agents_are_sent_is_as_the_webhooks_say(room: World) -> None:
    told = await document(room)
    webhooks, bodies = told["webhooks"], sent()
    assert {str(body["type"]) if "data" in body else "event" for body in bodies} == webhooks.keys()
    for body in bodies:
        operation = webhooks[str(body["type"]) if "data" in body else "event"]["post"]
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        assert fits(told, schema["$ref"].rpartition("/")[2], body), body
        assert unlike(told, body, schema, str(body["type"])) == []
        headers = {parameter["name"] for parameter in operation["parameters"]}
        assert headers == sign([b"k"], "id", 0, b"").keys()
