"""Redaction of values of any depth: by what stands in them and by what their keys are called."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.domain.redaction.finders import CharacterBudget, TreeFinder
from core.domain.redaction.kinds import Finding, FindingKind, SensitiveNames
from tests.core.domain.redaction_examples import PLANTED

FINDER = TreeFinder()

SENSITIVE = [
    *(
        "password",
        "db_password",
        "dbPassword",
        "DB-PASSWORD",
        "user.password",
        "Password1",
        "password_hash",
        "passwords",
    ),
    *("token", "accessToken", "refresh_token", "api_key", "apiKey", "APIKey", "apikey", "X-API-Key", "api key"),
    *("secret", "client_secret", "clientSecretValue", "AWS_SECRET_ACCESS_KEY", "privateKey", "Authorization"),
    *("ssn", "SSN", "social_security_number", "iban", "customerIban", "card", "card_number", "cardNumber", "cvv"),
    *("dateOfBirth", "passport_number", "billing_address", "pin", "credentials", "Set-Cookie", "one-time-code"),
]
HARMLESS = [
    *("order_id", "amount", "password_policy", "token_type", "secret_name", "card_brand", "cardLast4", "key", "keys"),
    *("pre_authorization", "trello_card", "opinion", "author", "tokenizer", "address", "account", "name", "monkey"),
]

keys = st.one_of(st.sampled_from([*SENSITIVE, *HARMLESS]), st.text(max_size=6))
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=10))
trees = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=12,
)
steps = st.lists(st.one_of(st.just(0), st.sampled_from(HARMLESS)), max_size=6)


def under(path: list[Any], leaf: Any) -> Any:
    """``leaf`` at the end of ``path``, beside other things."""
    for step in reversed(path):
        leaf = [leaf, "and more"] if step == 0 else {"other": 1, step: leaf}
    return leaf


@pytest.mark.parametrize("name", SENSITIVE)
def test_the_name_of_a_key_gives_its_value_away(name: str) -> None:
    shown = FINDER.mapping({name: "blue moon 7", "order_id": "12345"})
    assert "blue moon" not in json.dumps(shown)
    assert shown[name] in {kind.mark for kind in FindingKind}
    assert shown["order_id"] == "12345"


@pytest.mark.parametrize("name", HARMLESS)
def test_a_name_that_only_sounds_like_it_gives_nothing_away(name: str) -> None:
    assert FINDER.mapping({name: "blue moon 7"}) == {name: "blue moon 7"}


def test_a_phone_number_is_hidden_and_a_phone_is_not() -> None:
    assert FINDER.mapping({"phone": "030 901820"}) == {"phone": "[redacted: phone number]"}
    assert FINDER.mapping({"phone": "Fairphone 5"}) == {"phone": "Fairphone 5"}
    assert FINDER.mapping({"phone": ["030 901820"]}) == {"phone": ["[redacted: phone number]"]}


def test_flags_counts_and_nothing_are_not_secrets() -> None:
    values = {"password": None, "secret": True, "token": "", "max_tokens": 512, "tokens": 12.5, "credentials": []}
    assert FINDER.mapping(values) == values


def test_whatever_a_sensitive_key_holds_is_hidden_whole() -> None:
    assert FINDER.mapping({"credentials": {"user": "root", "words": ["a", "b"]}, "pin": 4711}) == {
        "credentials": "[redacted: secret]",
        "pin": "[redacted: password]",
    }


def test_a_card_keeps_what_may_be_shown_of_it() -> None:
    card = {"brand": "visa", "last4": "1111", "number": "4111111111111111"}
    assert FINDER.mapping({"card": card}) == {"card": {**card, "number": "[redacted: card number]"}}


def test_lists_of_names_and_values_are_understood() -> None:
    listed = [{"name": "DB_PASSWORD", "value": "hunter"}, {"key": "REGION", "value": "eu"}]
    assert FINDER.value(listed) == [{"name": "DB_PASSWORD", "value": "[redacted: password]"}, listed[1]]


def test_numbers_are_looked_at_too() -> None:
    assert FINDER.value({"n": [4111111111111111, 12345, 1.5]}) == {"n": ["[redacted: card number]", 12345, 1.5]}


def test_a_secret_in_a_key_goes_and_every_value_stays_in_its_place() -> None:
    values = {"4111111111111111": "a", "order": "b", "4111 1111 1111 1111": "c"}
    shown = FINDER.mapping(values)
    assert list(shown) == ["[redacted: card number]", "order", "[redacted: card number] (2)"]
    assert list(shown.values()) == ["a", "b", "c"]


def test_own_keys_count_however_they_are_joined() -> None:
    finder = TreeFinder(names=SensitiveNames.of(["customer_no"]))
    shown = finder.mapping({"customerNo": "K-1", "Billing-Customer-No": "K-2", "customer": "K-3"})
    assert shown == {"customerNo": "[redacted]", "Billing-Customer-No": "[redacted]", "customer": "K-3"}


def test_a_finding_says_where_and_what_kind_but_never_what() -> None:
    found: list[Finding] = []
    context = {"customer": {"card": "4111111111111111", "notes": ["call +49 30 901820"]}, "api_key": "k"}
    FINDER.mapping(context, "context", found.append)
    assert found == [
        Finding("context.customer.card", FindingKind.CARD),
        Finding("context.customer.notes.0", FindingKind.PHONE),
        Finding("context.api_key", FindingKind.TOKEN),
    ]


@given(steps, st.sampled_from([secret for secrets in PLANTED.values() for secret in secrets]))
def test_no_secret_is_left_however_deep(path: list[Any], secret: str) -> None:
    planted = {"context": under(path, f"see {secret}"), f"key {secret}": 1}
    shown = json.dumps(FINDER.value(planted), ensure_ascii=False)
    assert secret not in shown
    assert json.dumps(secret, ensure_ascii=False)[1:-1] not in shown


@given(trees)
@example({"token": -4111111111111111})
def test_redacting_twice_changes_nothing_more(value: Any) -> None:
    once = FINDER.value(value)
    assert FINDER.value(once) == once


@given(trees)
def test_the_given_value_is_left_as_it_is(value: Any) -> None:
    before = copy.deepcopy(value)
    FINDER.value(value)
    assert value == before


def test_a_form_may_ask_for_a_password_but_not_suggest_one() -> None:
    schema = {
        "type": "object",
        "properties": {
            "password": {"type": "string", "title": "New password", "default": "hunter2"},
            "note": {"type": "string", "description": "For alice@customer.example", "default": "call +49 30 901820"},
            "size": {"enum": ["S", "4111111111111111"], "default": "S"},
        },
        "required": ["password"],
    }
    assert FINDER.schema(schema) == {
        "type": "object",
        "properties": {
            "password": {"type": "string", "title": "New password"},
            "note": {"type": "string", "description": "For [redacted: e-mail address]"},
            "size": {"enum": ["S", "[redacted: card number]"], "default": "S"},
        },
        "required": ["password"],
    }


@given(trees, st.integers(0, 60))
def test_the_beginning_of_a_value_holds_no_more_than_the_whole(value: Any, most: int) -> None:
    whole, room = FINDER.value(value), CharacterBudget(most)
    beginning = FINDER.value(value, room=room)
    assert (beginning == whole) or room.is_cut
    assert is_beginning(beginning, whole)


def is_beginning(part: Any, whole: Any) -> bool:
    """The last of it may be cut, which an ellipsis says."""
    if isinstance(part, dict):
        named = zip(part.items(), whole.items(), strict=False)
        return all((key.endswith("…") or key == name) and is_beginning(one, two) for (key, one), (name, two) in named)
    if isinstance(part, list):
        return all(is_beginning(one, two) for one, two in zip(part, whole, strict=False))
    return bool(part == whole or (isinstance(part, str) and part.endswith("…")))


def test_a_key_that_is_cut_shows_no_value() -> None:
    """Its end might have said that the value is a secret."""
    room = CharacterBudget(12)
    assert FINDER.mapping({"user password": 4711}, room=room) == {"user…": "…"}
    assert room.is_cut
