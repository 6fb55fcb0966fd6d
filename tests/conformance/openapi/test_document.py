"""The document itself: what is in it, and that it and the service agree on what a question may be."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from tests.world import World

pytestmark = pytest.mark.asyncio(loop_scope="module")

APPROVE = {"value": "approve", "label": "Approve"}
DENY = {"value": "deny", "label": "Deny"}
YES, NO = {"value": "yes", "label": "Ship it"}, {"value": "no", "label": "Wait"}
VETO = {"value": "stop", "label": "Stop", "metadata": {"veto": True}}
FORM = {"type": "object", "properties": {"city": {"type": "string"}}}


async def document(room: World) -> dict[str, Any]:
    served: dict[str, Any] = (await room.call("GET", "/openapi.json", None)).json()
    return served


def fits(document: dict[str, Any], schema: str, value: Any) -> bool:
    whole = {"$ref": f"#/components/schemas/{schema}", "components": document["components"]}
    return bool(jsonschema_rs.Draft202012Validator(whole).is_valid(value))


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {f"{verb} {path}": said for path, verbs in document["paths"].items() for verb, said in verbs.items()}


async def test_both_prefixes_are_described_alike(room: World) -> None:
    paths = (await document(room))["paths"]

    def under(prefix: str) -> dict[str, Any]:
        mine = {path.removeprefix(prefix): verbs for path, verbs in paths.items() if path.startswith(prefix + "/")}
        return {
            path: {
                verb: {name: part for name, part in said.items() if name not in ("operationId", "description", "tags")}
                for verb, said in verbs.items()
            }
            for path, verbs in mine.items()
        }

    assert under("/v1") == under("/api/v1")
    assert len(under("/v1")) > 20


async def test_vendors_hooks_and_health_are_in_it_and_pages_and_slack_are_not(room: World) -> None:
    paths = (await document(room))["paths"]
    rest = {path for path in paths if not path.startswith(("/v1/", "/api/v1/"))}
    assert rest == {"/pagerduty/webhooks", "/email/inbound", "/healthz", "/readyz", "/metrics"}


async def test_every_operation_names_what_can_go_wrong(room: World) -> None:
    for label, said in operations(await document(room)).items():
        needed = set()
        if said.get("security"):
            needed |= {"401", "503"}
        if "application/json" in said.get("requestBody", {}).get("content", {}) and said.get("security"):
            needed |= {"400", "413", "422"}
        if "{" in label:
            needed |= {"422"}
        if any(one["name"] == "If-Match" and one["required"] for one in said.get("parameters", [])):
            needed |= {"428", "409"}
        if any(one["name"] == "Idempotency-Key" for one in said.get("parameters", [])):
            needed |= {"409"}
        assert needed <= said["responses"].keys(), label


async def test_its_examples_fit_what_they_are_examples_of(room: World) -> None:
    described = await document(room)
    schemas = described["components"]["schemas"]
    tried = [(name, example) for name, schema in schemas.items() for example in schema.get("examples", ())]
    assert len(tried) > 10
    assert [name for name, example in tried if not fits(described, name, example)] == []


ACCEPTED: dict[str, dict[str, Any]] = {
    "a choice": {"choices": [APPROVE, DENY]},
    "a choice of one": {"choices": [APPROVE]},
    "a choice with a fallback": {
        "choices": [APPROVE, DENY],
        "timeout_seconds": 60,
        "fallback_policy": "complete_with_fallback",
        "fallback_value": "deny",
    },
    "nulls, which mean absent": {"choices": [APPROVE], "kind": None, "response_type": None, "retry_policy": None},
    "a confirm": {"response_type": "confirm"},
    "a confirm without its choices": {"response_type": "confirm", "choices": []},
    "a confirm with its own labels": {"response_type": "confirm", "choices": [NO, YES]},
    "a text": {"response_type": "text"},
    "a form": {"response_type": "form"},
    "a form with a schema": {"response_type": "form", "form_schema": FORM},
    "a veto": {"kind": "veto", "timeout_seconds": 60},
    "a veto with its own choices": {"kind": "veto", "timeout_seconds": 60, "choices": [APPROVE, VETO]},
    "two answers": {"response_type": "confirm", "answers_required": 2},
    "a policy that overrides the fallback": {
        "response_type": "confirm",
        "fallback_policy": "use_default_and_continue",
        "retry_policy": {"final_fallback_policy": "fail"},
    },
}
REFUSED: dict[str, dict[str, Any]] = {
    "a choice without choices": {},
    "a choice with no choices": {"choices": []},
    "a choice between equals": {"choices": [APPROVE, APPROVE]},
    "a choice with a number to fall back on": {"choices": [APPROVE], "fallback_value": 5},
    "a confirm with other choices": {"response_type": "confirm", "choices": [APPROVE, DENY]},
    "a confirm with half its choices": {"response_type": "confirm", "choices": [YES]},
    "a confirm with yes twice": {"response_type": "confirm", "choices": [YES, YES]},
    "a confirm that falls back on maybe": {"response_type": "confirm", "fallback_value": "maybe"},
    "a text with choices": {"response_type": "text", "choices": [APPROVE]},
    "a form with choices": {"response_type": "form", "choices": [APPROVE]},
    "a text with a form": {"response_type": "text", "form_schema": FORM},
    "a form of no object": {"response_type": "form", "form_schema": {"type": "string"}},
    "a form without fields": {"response_type": "form", "form_schema": {"type": "object", "properties": {}}},
    "a form in a form": {"response_type": "form", "form_schema": {"type": "object", "properties": {"a": FORM}}},
    "going on with nothing": {"response_type": "text", "fallback_policy": "complete_with_fallback"},
    "going on with null": {
        "response_type": "text",
        "fallback_value": None,
        "timeout_seconds": 60,
        "retry_policy": {"final_fallback_policy": "use_default_and_continue"},
    },
    "a veto by text": {"kind": "veto", "timeout_seconds": 60, "response_type": "text"},
    "a veto without a veto": {"kind": "veto", "timeout_seconds": 60, "choices": [APPROVE, DENY]},
    "a veto with two vetoes": {
        "kind": "veto",
        "timeout_seconds": 60,
        "choices": [APPROVE, VETO, {**VETO, "value": "v"}],
    },
    "a veto with nothing else": {"kind": "veto", "timeout_seconds": 60, "choices": [VETO]},
    "a veto with a fallback": {"kind": "veto", "timeout_seconds": 60, "fallback_value": "authorize"},
    "a veto with a fallback policy": {"kind": "veto", "timeout_seconds": 60, "fallback_policy": "fail"},
    "a veto whose ladder falls back": {
        "kind": "veto",
        "timeout_seconds": 60,
        "retry_policy": {"final_fallback_policy": "fail"},
    },
    "two answers to a veto": {"kind": "veto", "timeout_seconds": 60, "answers_required": 2},
    "NUL": {"response_type": "confirm", "context": {"a": ["\0"]}},
    "NUL in a key": {"response_type": "confirm", "context": {"a": {"\0": 1}}},
    "blanks for a question": {"response_type": "confirm", "question": " \u0085\u001f"},
    "a recipient of no form": {"response_type": "confirm", "notify_to": "somebody"},
    "a callback that is no web address": {"response_type": "confirm", "resume": {"callback_url": "ftp://a.example/"}},
    "a number as a text": {"response_type": "confirm", "confidence": "0.5"},
    "a truth as a number": {"response_type": "confirm", "confidence": True},
    "an unknown field": {"response_type": "confirm", "urgency": 5},
}


@pytest.mark.parametrize("what", ACCEPTED)
async def test_what_fits_the_document_is_accepted(room: World, what: str) -> None:
    body = {"question": "Deploy?", **ACCEPTED[what]}
    assert fits(await document(room), "SuspendBody", body)
    assert (await room.call("POST", "/v1/suspensions/preview", json=body)).status_code == 200


@pytest.mark.parametrize("what", REFUSED)
async def test_what_does_not_fit_the_document_is_refused(room: World, what: str) -> None:
    body = {"question": "Deploy?", **REFUSED[what]}
    assert not fits(await document(room), "SuspendBody", body)
    assert (await room.call("POST", "/v1/suspensions/preview", json=body)).status_code == 422


@pytest.mark.parametrize("key", ["\x1d", "", "a\x00b"])
async def test_a_key_that_is_refused_does_not_fit_the_document_either(room: World, key: str) -> None:
    phase = {"name": "fetch", "outputs": {key: "string"}}
    refused = await room.call("POST", "/v1/workflows", "agent", json={"name": "Compliance", "phases": [phase]})
    assert refused.status_code == 422
    described = await document(room)
    assert not fits(described, "PhaseBody", phase)
    assert fits(described, "PhaseBody", {"name": "fetch", "outputs": {"rows": "string"}})


@pytest.mark.parametrize("governance", [{"a\x00b": 1}, {"rules": {"a": ["\x00"]}}])
async def test_what_a_portfolio_may_not_be_governed_by_does_not_fit_the_document(
    room: World, governance: dict[str, Any]
) -> None:
    refused = await room.call("POST", "/v1/portfolios", json={"name": "Release 7", "governance": governance})
    assert refused.status_code == 422
    described = await document(room)
    assert not fits(described, "PortfolioBody", {"name": "Release 7", "governance": governance})
    assert fits(described, "PortfolioBody", {"name": "Release 7", "governance": {"rules": {"a": ["b"]}}})
