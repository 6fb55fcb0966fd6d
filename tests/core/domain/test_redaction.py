"""The question as a channel may show it, and the stored one beside it (RFC-0026 §11)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.notice import NoticeLinks, build_ending, build_notice
from core.domain.redaction.redaction import Policy, Redaction
from core.domain.request import AskRequest
from core.domain.suspension import Choice, Cut, FallbackPolicy, ResponseType, Suspension
from tests.core.domain.redaction_examples import PLANTED
from tests.core.examples import HOUR, a_question, after, answered, look_until_done, opened

CARD = "4111111111111111"
REDACTION = Redaction()
LINKS = NoticeLinks("https://hand.example/q/HR-7F3K")


def asked(**fields: Any) -> Suspension:
    return opened(a_question(**{"timeout": HOUR, **fields}))


def shown(suspension: Suspension) -> Suspension:
    return REDACTION.shown_on("slack", suspension)


def test_question_choices_and_context_are_redacted_and_nothing_else_moves() -> None:
    choices = (Choice("a", f"Use {CARD}", f"It is {CARD}"), Choice("b", "Stop"))
    before = asked(question=f"Charge {CARD}?", choices=choices, context={"card_number": CARD, "n": [1, {"iban": "x"}]})
    ask = shown(before).ask
    assert ask.question == "Charge [redacted: card number]?"
    assert [choice.label for choice in ask.choices] == ["Use [redacted: card number]", "Stop"]
    assert [choice.description for choice in ask.choices] == ["It is [redacted: card number]", None]
    assert ask.context == {"card_number": "[redacted: card number]", "n": [1, {"iban": "[redacted: IBAN]"}]}
    whole = replace(ask, question=before.ask.question, choices=before.ask.choices, context=before.ask.context)
    assert whole == before.ask


def test_a_question_without_secrets_is_shown_as_it_is() -> None:
    before = asked(context={"order_id": "12345", "amount": 499.99, "lines": [{"sku": "A-1", "n": 2}]})
    assert shown(before) == before


def test_off_shows_everything() -> None:
    before = asked(question=f"Charge {CARD}?", context={"password": "hunter2"})
    assert Redaction(channels={"email": Policy.OFF}).shown_on("email", before) is before


@pytest.mark.parametrize("policy", [Policy.REDACT, Policy.REJECT])
def test_what_was_opened_before_a_stricter_policy_is_redacted(policy: Policy) -> None:
    before = asked(question=f"Charge {CARD}?")
    assert CARD not in repr(Redaction(policy).shown_on("slack", before).ask.question)


def test_labels_that_became_equal_are_told_apart_by_their_number() -> None:
    choices = (
        Choice("a", f"Use {CARD}"),
        Choice("b", "Use 5555555555554444"),
        Choice("c", "Same"),
        Choice("d", "Same"),
    )
    labels = [choice.label for choice in shown(asked(choices=choices)).ask.choices]
    assert labels == ["Use [redacted: card number]", "Use [redacted: card number] (2)", "Same", "Same"]


def test_what_silence_means_names_no_secret() -> None:
    continuing = {"fallback_policy": FallbackPolicy.COMPLETE_WITH_FALLBACK, "response_type": ResponseType.TEXT}
    notice = build_notice(shown(asked(fallback_value=f"use {CARD}", **continuing)), 1, LINKS)
    assert notice.silence.endswith("the agent goes on with “use [redacted: card number]”.")


def test_the_end_shows_the_redacted_label_of_the_right_choice() -> None:
    choices = (Choice(CARD, "The old card"), Choice("5555555555554444", "The new card 5555555555554444"))
    ended = answered(asked(choices=choices), after(minutes=1), "5555555555554444").suspension
    assert build_ending(shown(ended)).answer == "The new card [redacted: card number]"


def test_a_form_that_was_filled_in_is_told_without_its_secrets() -> None:
    form = asked(response_type=ResponseType.FORM, context={"password": "", "city": ""})
    ended = answered(form, after(minutes=1), {"password": "hunter2", "city": "Bern"}).suspension
    assert build_ending(shown(ended)).answer == "password: [redacted: password], city: Bern"


def test_a_fallback_that_went_ahead_is_told_without_its_secrets() -> None:
    continuing = {"fallback_policy": FallbackPolicy.COMPLETE_WITH_FALLBACK, "response_type": ResponseType.TEXT}
    ended, _, _ = look_until_done(asked(fallback_value=f"use {CARD}", **continuing), after(hours=2))
    assert build_ending(shown(ended)).continued_with == "use [redacted: card number]"


@given(
    st.sampled_from([secret for secrets in PLANTED.values() for secret in secrets]),
    st.sampled_from(["question", "label", "description", "context", "key", "schema", "fallback"]),
)
def test_a_planted_secret_is_in_no_notice_wherever_it_was(secret: str, place: str) -> None:
    def at(where: str) -> str:
        return f"see {secret} there" if where == place else "nothing"

    question = asked(
        question=at("question"),
        response_type=ResponseType.CHOICE if place in {"label", "description"} else ResponseType.FORM,
        choices=(Choice("a", at("label"), at("description")),) if place in {"label", "description"} else (),
        context={"deep": [{"er": at("context")}], at("key"): 1},
        form_schema={"type": "object", "properties": {"f": {"title": at("schema"), "default": at("schema")}}},
        fallback_policy=FallbackPolicy.COMPLETE_WITH_FALLBACK,
        fallback_value="a" if place in {"label", "description"} else {"f": at("fallback")},
    )
    notice = repr(build_notice(shown(question), 1, LINKS))
    assert secret not in notice
    assert repr(secret)[1:-1] not in notice


def test_an_action_is_redacted_by_its_keys_and_by_what_stands_in_it_and_keeps_its_digest() -> None:
    action = {"tool": "charge", "card": {"number": CARD}, "password": "hunter2", "amount": 49999}
    before = asked(action=action)
    notice = build_notice(shown(before), 1, LINKS)
    assert notice.action is not None
    assert notice.action.value == {
        "tool": "charge",
        "card": {"number": "[masked: Visa …1111]"},
        "password": "[redacted: password]",
        "amount": 49999,
    }
    assert f"sha256:{notice.action.digest}" == (before.ask.action_digest or "")[:15]


def test_an_action_that_holds_a_secret_counts_where_secrets_are_rejected() -> None:
    request = AskRequest("Charge?", ResponseType.CONFIRM, action={"to": [{"iban": "DE89370400440532013000"}]})
    assert [finding.path for finding in REDACTION.findings(request)] == ["action.to.0.iban"]


@pytest.mark.parametrize("where", ["context", "action"])
def test_a_message_is_made_from_the_beginning_of_much_and_says_so(where: str) -> None:
    fields: dict[str, Any] = {where: {"log": "line " * 40_000, "last": CARD}}
    notice = build_notice(shown(asked(**fields)), 1, LINKS)
    whole = build_notice(REDACTION.whole_on("slack", asked(**fields)), 1, LINKS)
    assert notice.in_part is {"context": Cut.WORDS, "action": Cut.ACTION}[where]
    assert len(repr(notice)) < 70_000
    assert whole.in_part is Cut.NOTHING
    hidden = {"context": "[redacted: card number]", "action": "[masked: Visa …1111]"}[where]
    assert f"'last': '{hidden}'" in repr(whole)
