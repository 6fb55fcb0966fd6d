"""Whatever is wrong with a field of a request is said in people's words (API.md §1)."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from pydantic_core._pydantic_core import list_all_errors

from bot.app import _api
from bot.web.errors import FALLBACK, SENTENCES, sentence
from tests.world import KEYS, World

BAD: list[Any] = [
    *(None, True, 0, -1, 10**12, 10**400, 1.5, float("nan"), "", " ", "x", "\x00", "\ud800", "x" * 50_000, b"\xff"),
    *("2026-02-30T00:00:00Z", "0001-01-01T00:00:00+23:59", "now", object()),
    *([], [None], [[]], ["x"] * 1000, [{"no": 1}], {}, {"no": 1}, {"x": object()}),
]
WORDS_OF_PYDANTIC = (
    "Input should",
    "Value error",
    "String should",
    "Field required",
    "Extra inputs",
    "valid",
    "Unable",
)


def routes() -> list[APIRoute]:
    rooms: list[Any] = [included.original_router for included in _api().routes]  # type: ignore[attr-defined]
    found = [route for room in rooms for route in room.routes if isinstance(route, APIRoute)]
    assert len(found) > 30
    return found


def models(of: Any) -> Iterator[type[BaseModel]]:
    """``of`` and every model within it."""
    if isinstance(of, type) and issubclass(of, BaseModel):
        yield of
        for field in of.model_fields.values():
            yield from models(field.annotation)
    for inner in typing.get_args(of):
        yield from models(inner)


def problems_of(model: type[BaseModel]) -> Iterator[dict[str, Any]]:
    given = [{name: bad} for name, field in model.model_fields.items() for bad in BAD for name in {field.alias or name}]
    for values in [*given, *BAD]:
        try:
            model.model_validate(values)
        except ValidationError as failure:
            yield from failure.errors()  # type: ignore[misc]


def all_problems() -> Iterator[dict[str, Any]]:
    for route in routes():
        if route.body_field is not None:
            for model in models(route.body_field.field_info.annotation):
                yield from problems_of(model)
        of = route.dependant
        for field in (*of.query_params, *of.header_params, *of.path_params):
            for bad in (one for one in BAD if isinstance(one, str)):
                _, errors = field.validate(bad, {}, loc=("query", field.name))
                yield from errors or ()


def test_every_field_of_every_request_is_told_in_our_own_words() -> None:
    seen: dict[str, str] = {}
    for problem in all_problems():
        said = sentence(problem)
        seen[problem["type"]] = said
        assert problem["type"] in SENTENCES, problem["type"]
        assert said != FALLBACK and said[0].isupper() and said.endswith("."), said
        assert not any(words in said for words in WORDS_OF_PYDANTIC), (problem["type"], said)
    assert {"missing", "extra_forbidden", "string_too_long", "int_type", "literal_error", "value_error"} <= seen.keys()


def test_no_error_of_pydantics_is_ever_shown_as_it_stands() -> None:
    for error in list_all_errors():
        kind, context = error["type"], error.get("example_context") or {}
        said = sentence({"type": kind, "msg": error["example_message_python"], "ctx": context, "loc": ("body", "x")})
        own = kind in {"value_error", "assertion_error"}  # there the message is ours
        assert said and (own or said != error["example_message_python"])
        assert not any(words in said for words in WORDS_OF_PYDANTIC), said
    assert sentence({"type": "of the year after next", "msg": "Input should be a valid thing"}) == FALLBACK


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"question": 5}, ("question", "This must be a text.")),
        ({"question": ""}, ("question", "This must have at least 1 character.")),
        ({"question": " "}, ("question", "This must hold at least one character that can be seen.")),
        ({"question": "x" * 10_001}, ("question", "This must have at most 10,000 characters.")),
        ({"response_type": "poem"}, ("response_type", "This must be choice, confirm, text or form.")),
        ({"timeout_seconds": "1"}, ("timeout_seconds", "This must be a whole number.")),
        ({"timeout_seconds": 0}, ("timeout_seconds", "This must be at least 1.")),
        ({"confidence": "high"}, ("confidence", "This must be a number.")),
        ({"responders": "alice"}, ("responders", "This must be a list.")),
        ({"context": []}, ("context", "This must be an object.")),
        ({"nope": 1}, ("nope", "This field is not known here.")),
    ],
)
async def test_a_question_that_is_refused_says_why(room: World, given: dict[str, Any], said: tuple[str, str]) -> None:
    body = {"question": "Refund?", "response_type": "confirm", "timeout_seconds": 60, **given}
    refused = await room.call("POST", "/v1/suspensions", json=body)
    detail = refused.json()["detail"]
    assert (refused.status_code, [(one["path"], one["message"]) for one in detail["fields"]]) == (422, [said])
    assert detail["message"] == f"{said[0]}: {said[1]}"


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("given", "path", "near"),
    [
        ({"timeot_seconds": 60}, "timeot_seconds", "timeout_seconds"),
        ({"retry_policy": {"max_atempts": 3}}, "retry_policy.max_atempts", "max_attempts"),
        ({"choices": ["yes", {"value": "no", "lable": "No"}]}, None, "label"),
        ({"resume": {"calback_url": "https://agent.example"}}, "resume.calback_url", "callback_url"),
    ],
)
async def test_whoever_misspells_a_field_is_told_the_nearest(
    room: World, given: dict[str, Any], path: str | None, near: str
) -> None:
    body = {"question": "Refund?", "response_type": "confirm", "timeout_seconds": 60, **given}
    refused = await room.call("POST", "/v1/suspensions", json=body)
    detail = refused.json()["detail"]
    told = [one for one in detail["fields"] if one["message"].startswith("This field is not known here.")]
    assert (refused.status_code, detail["error"]) == (422, "invalid_request")
    assert [one["message"] for one in told] == [f'This field is not known here. Did you mean "{near}"?']
    if path is not None:
        assert detail["message"] == f'unknown field "{path}": did you mean "{near}"?'


@pytest.mark.asyncio(loop_scope="module")
async def test_a_body_of_many_unknown_names_or_a_long_one_costs_no_comparison_each(room: World) -> None:
    body = {"question": "Refund?", **{f"timeout_second{n}": 1 for n in range(60)}, "timeout_seconds_" * 6: 1}
    detail = (await room.call("POST", "/v1/suspensions", json=body)).json()["detail"]
    told = [one["path"] for one in detail["fields"] if "Did you mean" in one["message"]]
    assert told == [f"timeout_second{n}" for n in range(20)]
    alone = {"question": "Refund?", "timeout_seconds_" * 6: 1}
    detail = (await room.call("POST", "/v1/suspensions", json=alone)).json()["detail"]
    assert [one["message"] for one in detail["fields"]] == ["This field is not known here."]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("/v1/suspensions?limit=x", ("limit", "This must be a whole number.")),
        ("/v1/suspensions?limit=201", ("limit", "This must be at most 200.")),
        ("/v1/suspensions?status=lost", ("status", "This must be open, responded, expired or cancelled.")),
        ("/v1/suspensions?cursor=x", ("cursor", "This must be the next_cursor of the page before, as it was.")),
        ("/v1/suspensions?q=%00", ("q", "This must not hold NUL characters.")),
    ],
)
async def test_a_list_that_is_refused_says_why(room: World, target: str, said: tuple[str, str]) -> None:
    detail = (await room.call("GET", target)).json()["detail"]
    assert [(one["path"], one["message"]) for one in detail["fields"]] == [said]


@pytest.mark.asyncio(loop_scope="module")
async def test_who_has_no_key_is_told_where_it_goes_and_who_has_a_wrong_one_that_it_is_wrong(room: World) -> None:
    missing = await room.call("GET", "/v1/suspensions", None)
    wrong = await room.http.get(f"{room.url}/v1/suspensions", headers={"X-API-Key": KEYS["agent"] + "x"})
    said = [(one.status_code, one.json()["detail"]["message"]) for one in (missing, wrong)]
    assert said == [
        (401, "Send your API key in the header X-API-Key."),
        (401, "This API key is not known here, or it has been revoked."),
    ]


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "content_type", [None, "application/x-www-form-urlencoded", "text/plain", "multipart/form-data"]
)
async def test_a_body_is_read_as_json_whatever_it_is_called(room: World, content_type: str | None) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    made = await room.call("POST", "/v1/intents", content=b'{"title": "x"}', headers=headers)
    assert (made.status_code, made.json()["title"]) == (201, "x")
