"""What must hold of a request before it is anybody's question (RFC-0025 §4; API.md §2)."""

from __future__ import annotations

from typing import Any

import pytest

from core.domain.policy import PolicyFields, resolve_policy
from core.domain.request import AskRequest, action_digest, check_request, settle_choices
from core.domain.suspension import AUTHORIZE_VETO, YES_NO, Choice, FallbackPolicy, Kind, ResponseType, Resume
from core.errors import InvalidRequest
from tests.core.examples import APPROVE_DENY, HOUR

GO, STOP = Choice("go", "Go"), Choice("stop", "Stop", metadata={"veto": True})
OBJECT = {"type": "object", "properties": {"a": {"type": "string"}}}


def checked(**fields: Any) -> tuple[Choice, ...]:
    """The choices of a request that is in order; raises what refuses it."""
    request = AskRequest(**{"question": "Refund?", **fields})
    choices = settle_choices(request)
    nothing = PolicyFields()
    resolved = resolve_policy(
        request.policy, nothing, nothing, window=request.window, fallback_policy=request.fallback_policy
    )
    check_request(request, choices, resolved)
    return choices


def refusal_of(**fields: Any) -> Any:
    """Which field of a request is refused."""
    with pytest.raises(InvalidRequest) as refused:
        checked(**fields)
    (about,) = refused.value.details["fields"]
    return about["path"]


def test_the_choices_are_shown_as_they_were_given() -> None:
    assert checked(choices=APPROVE_DENY) == APPROVE_DENY


def test_a_confirm_is_shown_with_yes_and_no() -> None:
    assert checked(response_type=ResponseType.CONFIRM) == YES_NO


def test_a_confirm_may_bring_its_own_labels_for_yes_and_no_in_any_order() -> None:
    own = (Choice("no", "Hold"), Choice("yes", "Ship"))
    assert checked(response_type=ResponseType.CONFIRM, choices=own) == own


def test_a_veto_window_is_shown_with_authorize_and_veto() -> None:
    assert checked(kind=Kind.VETO, timeout=HOUR) == AUTHORIZE_VETO


def test_a_veto_window_may_bring_its_own_choices_with_one_marked() -> None:
    assert checked(kind=Kind.VETO, timeout=HOUR, choices=(GO, STOP)) == (GO, STOP)


@pytest.mark.parametrize(
    "fields",
    [
        {"response_type": ResponseType.CHOICE},
        {"choices": (Choice("a", "A"), Choice("a", "B"))},
        {"response_type": ResponseType.CONFIRM, "choices": APPROVE_DENY},
        {"response_type": ResponseType.CONFIRM, "choices": (Choice("yes", "Yes"),)},
        {"response_type": ResponseType.CONFIRM, "choices": (*YES_NO, Choice("maybe", "Maybe"))},
        {"response_type": ResponseType.TEXT, "choices": APPROVE_DENY},
        {"response_type": ResponseType.FORM, "choices": APPROVE_DENY},
        {"kind": Kind.VETO, "timeout": HOUR, "choices": APPROVE_DENY},
        {"kind": Kind.VETO, "timeout": HOUR, "choices": (STOP,)},
        {"kind": Kind.VETO, "timeout": HOUR, "choices": (GO, STOP, Choice("x", "X", metadata={"veto": True}))},
        {"kind": Kind.VETO, "timeout": HOUR, "choices": (GO, Choice("x", "X", metadata={"veto": "yes"}))},
    ],
)
def test_choices_that_do_not_fit_the_question_are_refused(fields: dict[str, Any]) -> None:
    assert refusal_of(**fields) == "choices"


@pytest.mark.parametrize("response_type", [ResponseType.CONFIRM, ResponseType.TEXT, ResponseType.FORM])
def test_a_veto_window_is_answered_by_a_choice_alone(response_type: ResponseType) -> None:
    assert refusal_of(kind=Kind.VETO, timeout=HOUR, response_type=response_type) == "response_type"


def test_a_veto_window_needs_a_timeout() -> None:
    assert refusal_of(kind=Kind.VETO) == "timeout_seconds"
    assert refusal_of(kind=Kind.VETO, policy=PolicyFields(max_attempts=2, interval=HOUR)) == "timeout_seconds"
    assert checked(kind=Kind.VETO, deadline=HOUR)


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"fallback_policy": FallbackPolicy.FAIL}, "fallback_policy"),
        ({"fallback_value": "authorize"}, "fallback_value"),
        (
            {"policy": PolicyFields(final_fallback_policy=FallbackPolicy.FAIL)},
            "retry_policy.final_fallback_policy",
        ),
    ],
)
def test_a_veto_window_has_no_fallback(fields: dict[str, Any], path: str) -> None:
    assert refusal_of(kind=Kind.VETO, timeout=HOUR, **fields) == path


CONTINUING = [FallbackPolicy.COMPLETE_WITH_FALLBACK, FallbackPolicy.USE_DEFAULT_AND_CONTINUE]


@pytest.mark.parametrize("policy", CONTINUING)
def test_a_policy_that_goes_on_needs_a_value_to_go_on_with(policy: FallbackPolicy) -> None:
    assert refusal_of(choices=APPROVE_DENY, fallback_policy=policy) == "fallback_value"
    assert refusal_of(choices=APPROVE_DENY, policy=PolicyFields(final_fallback_policy=policy)) == "fallback_value"
    assert checked(choices=APPROVE_DENY, fallback_policy=policy, fallback_value="deny")


@pytest.mark.parametrize("value", ["refund", "Approve refund", 1, True, ["approve"], {"value": "approve"}])
def test_a_fallback_must_be_an_answer_to_the_choice(value: Any) -> None:
    assert refusal_of(choices=APPROVE_DENY, fallback_policy=CONTINUING[0], fallback_value=value) == "fallback_value"


def test_a_fallback_must_be_an_answer_to_the_confirm() -> None:
    confirm = {"response_type": ResponseType.CONFIRM, "fallback_policy": CONTINUING[0]}
    assert checked(**confirm, fallback_value="no")
    assert refusal_of(**confirm, fallback_value="deny") == "fallback_value"


def test_a_wrong_fallback_is_refused_even_where_the_policy_would_not_use_it() -> None:
    assert refusal_of(choices=APPROVE_DENY, fallback_value="refund") == "fallback_value"


@pytest.mark.parametrize("value", ["anything", 5, {"amount": 5}, False])
def test_a_text_or_form_may_fall_back_to_anything(value: Any) -> None:
    for response_type in (ResponseType.TEXT, ResponseType.FORM):
        checked(response_type=response_type, fallback_policy=CONTINUING[0], fallback_value=value)


def test_a_form_schema_belongs_to_a_form() -> None:
    checked(response_type=ResponseType.FORM, form_schema=OBJECT)
    assert refusal_of(choices=APPROVE_DENY, form_schema=OBJECT) == "form_schema"


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"response_type": ResponseType.FORM, "form_schema": {"type": "strin"}}, "form_schema"),
        ({"choices": APPROVE_DENY, "resume": Resume(payload_schema={"$ref": "http://x/"})}, "resume.payload_schema"),
    ],
)
def test_a_schema_that_can_not_be_used_is_refused(fields: dict[str, Any], path: str) -> None:
    assert refusal_of(**fields) == path


def test_a_veto_window_takes_one_answer() -> None:
    assert refusal_of(kind=Kind.VETO, timeout=HOUR, answers_required=2) == "answers_required"


def test_the_digest_of_an_action_is_that_of_its_canonical_json() -> None:
    """The canonical form is RFC 8785's own example of sorting and number formatting, reduced."""
    import hashlib

    canonical = b'{"amount":49999,"rate":1e+21,"tool":"stripe.refund","\xe2\x82\xac":"\xc3\xb6"}'
    action = {"\u20ac": "ö", "tool": "stripe.refund", "rate": 1e21, "amount": 49999}
    assert action_digest(action) == f"sha256:{hashlib.sha256(canonical).hexdigest()}"


def test_the_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert action_digest({"a": 1, "b": {"c": 2, "d": 3}}) == action_digest({"b": {"d": 3, "c": 2}, "a": 1})
    assert action_digest({"a": 1}) != action_digest({"a": 2})


def test_no_action_has_no_digest() -> None:
    assert action_digest(None) is None


@pytest.mark.parametrize("value", [2**53 + 1, -(10**30), float("nan"), float("inf")])
def test_an_action_without_canonical_json_is_refused(value: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        action_digest({"amount": value})
    assert refused.value.details["fields"][0]["path"] == "action"


def test_an_approval_that_is_called_a_negative_is_refused() -> None:
    called_no = Choice("approve", "Drop it", metadata={"negative": True})
    assert refusal_of(choices=(Choice("keep", "Keep"), called_no)) == "choices.1.metadata.negative"
    checked(choices=(Choice("keep", "Keep", metadata={"negative": True}), Choice("drop", "Drop")))
