"""What comes in from Slack: ours is read exactly, everything else is not for us, and nothing raises."""

from __future__ import annotations

import hashlib
import hmac
from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.signature import SignatureVerifier

from bot.sandbox.slack.app import block_actions, view_submission
from bot.sandbox.slack.world import Message, View
from channels.slack.client import is_signed
from channels.slack.interactions import (
    Chosen,
    LinkFollowed,
    NotForUs,
    OnIt,
    Submitted,
    WantsModal,
    WantsPage,
    Who,
    first_input,
    read_action,
    read_submission,
)
from channels.slack.modals import answer_modal
from channels.slack.payloads import Carried, read, sealed, signer, unsealed, written
from channels.slack.render import render_notice
from core.domain.notice import Notice
from core.domain.suspension import ResponseType
from tests.channels.slack.slack_examples import ASKED, a_notice, many_choices
from tests.vendors.slack import SlackSandbox

sign = signer(b"a key of thirty-two bytes or more")
ALICE = Who("U1", "T0SANDBOX")


def world() -> SlackSandbox:
    sandbox = SlackSandbox()
    sandbox.workspace.add_user("U1", "Alice", "alice@example.com")
    sandbox.workspace.add_channel("C1", "ops", "U1")
    return sandbox


def pressed(notice: Notice, action_id: str) -> dict[str, Any]:
    workspace = world().workspace
    blocks = [dict(block) for block in render_notice(notice, "delivery-1").blocks]
    message = Message("C1", "1.000001", workspace.bot.id, "text", blocks)
    element = message.button(action_id)
    assert element is not None
    return block_actions(workspace, workspace.users["U1"], message, element, "http://slack.example")


def submitted(state: dict[str, Any]) -> dict[str, Any]:
    workspace = world().workspace
    modal = answer_modal(a_notice(response_type=ResponseType.TEXT, choices=()), "delivery-1", sign)
    assert modal is not None
    return view_submission(workspace, workspace.users["U1"], View("V1", "U1", modal, "hash", state))


def test_a_choice_says_who_which_question_and_which_choice() -> None:
    action = read_action(pressed(a_notice(), "ans:1"))
    assert isinstance(action, Chosen)
    assert (action.by, action.ref, action.index, action.delivery) == (ALICE, "HR-7F3K", 1, "delivery-1")
    assert action.reach.response_url is not None
    assert (action.reach.channel, action.reach.ts) == ("C1", "1.000001")


def test_claiming_asking_for_the_modal_and_following_the_link_are_told_apart() -> None:
    claim = read_action(pressed(a_notice(), "claim"))
    assert isinstance(claim, OnIt)
    assert (claim.ref, claim.delivery) == ("HR-7F3K", "delivery-1")
    wants = read_action(pressed(a_notice(choices=many_choices(6)), "open_modal"))
    assert isinstance(wants, WantsModal)
    assert wants.reach.trigger_id
    page = read_action(pressed(a_notice(), "link"))
    assert isinstance(page, WantsPage)
    assert (page.ref, page.delivery) == ("HR-7F3K", "delivery-1")


def test_a_link_button_of_an_older_version_leads_there_by_itself() -> None:
    payload = pressed(a_notice(), "link")
    del payload["actions"][0]["value"]
    assert read_action(payload) == LinkFollowed()
    payload["actions"][0]["value"] = "inbox"
    inbox = read_action(payload)
    assert isinstance(inbox, WantsPage)
    assert inbox.ref is None


def test_a_submission_says_what_was_entered_and_leaves_out_what_is_empty() -> None:
    payload = submitted(
        {
            "answer": {"v": {"type": "plain_text_input", "value": "Because."}},
            "f:1": {"v": {"type": "plain_text_input", "value": None}},
            "f:2": {"v": {"type": "static_select", "selected_option": {"value": "c=3"}}},
            "f:3": {"v": {"type": "static_select", "selected_option": None}},
            "f:4": {"v": {"type": "datepicker", "selected_date": "2026-03-24"}},
        }
    )
    expected = {"answer": "Because.", "f:2": "c=3", "f:4": "2026-03-24"}
    assert read_submission(payload, sign) == Submitted(ALICE, "HR-7F3K", "delivery-1", expected)
    assert first_input(payload) == "answer"


def test_a_modal_that_we_did_not_seal_is_not_for_us() -> None:
    payload = submitted({})
    forged = deepcopy(payload)
    forged["view"]["private_metadata"] = payload["view"]["private_metadata"].replace("HR-7F3K", "HR-XXXX")
    assert read_submission(forged, sign) == NotForUs("forged_view")
    assert read_submission(payload, signer(b"another key")) == NotForUs("forged_view")
    other = deepcopy(payload)
    other["view"]["callback_id"] = "somebody-elses"
    assert read_submission(other, sign) == NotForUs("unknown_view")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("value", "q=HR-7F3K;c=0;m=delivery-1"),
        ("value", "approve"),
        ("value", ""),
        ("value", "q=HR-7F3K;c=99999;m=x"),
        ("value", "q=HR 7F3K;c=1;m=x"),
        ("action_id", "ans:0"),
        ("action_id", "ans:x"),
        ("action_id", "something_else"),
    ],
)
def test_a_button_that_we_did_not_make_is_not_for_us(field: str, value: str) -> None:
    payload = pressed(a_notice(), "ans:1")
    payload["actions"][0][field] = value
    assert isinstance(read_action(payload), NotForUs)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)


@given(st.sampled_from(["user", "team", "actions", "view", "trigger_id", "response_url", "api_app_id"]), json_values)
def test_no_payload_whatever_its_shape_raises(field: str, value: Any) -> None:
    for payload in (pressed(a_notice(), "ans:1"), submitted({})):
        payload[field] = value
        read_action(payload)
        read_submission(payload, sign)
        first_input(payload)


@given(st.from_regex(r"[A-Z0-9-]{1,12}", fullmatch=True), st.text(max_size=40).filter(bool), st.integers(0, 9999))
def test_what_a_button_carries_is_read_back_as_it_was(ref: str, delivery: str, index: int) -> None:
    for carried in (Carried(ref, delivery), Carried(ref, delivery, index)):
        assert read(written(carried)) == carried
    assert unsealed(sealed(Carried(ref, delivery), sign), sign) == Carried(ref, delivery)


BODY = "payload=%7B%7D&ünïcode".encode()


def signature(timestamp: str, secret: str = "secret", body: bytes = BODY) -> str:
    return "v0=" + hmac.new(secret.encode(), f"v0:{timestamp}:".encode() + body, hashlib.sha256).hexdigest()


def test_the_signature_is_slacks() -> None:
    timestamp = str(int(ASKED.timestamp()))
    assert signature(timestamp) == SignatureVerifier("secret").generate_signature(timestamp=timestamp, body=BODY)
    assert is_signed(BODY, timestamp, signature(timestamp), "secret", ASKED)


@pytest.mark.parametrize("seconds", [-301, 301])
def test_a_stale_or_future_signature_is_refused_and_five_minutes_are_allowed(seconds: int) -> None:
    timestamp = str(int((ASKED + timedelta(seconds=seconds)).timestamp()))
    assert not is_signed(BODY, timestamp, signature(timestamp), "secret", ASKED)
    near = ASKED + timedelta(seconds=1 if seconds > 0 else -1)
    assert is_signed(BODY, timestamp, signature(timestamp), "secret", near)


@pytest.mark.parametrize("timestamp", ["", "abc", "-1", "1e9", "９" * 10, "1" * 5000, "1742807400.5", " 1742807400"])
def test_a_timestamp_that_is_no_number_is_refused(timestamp: str) -> None:
    assert not is_signed(BODY, timestamp, signature(timestamp), "secret", ASKED)


@pytest.mark.parametrize("given", ["", "v0=", "v1=abc", "ünïcode", "v0=" + "0" * 64])
def test_a_wrong_signature_is_refused(given: str) -> None:
    assert not is_signed(BODY, str(int(ASKED.timestamp())), given, "secret", ASKED)


def test_a_changed_body_or_another_secret_is_refused() -> None:
    timestamp = str(int(ASKED.timestamp()))
    assert not is_signed(BODY + b"!", timestamp, signature(timestamp), "secret", ASKED)
    assert not is_signed(BODY, timestamp, signature(timestamp, secret="other"), "secret", ASKED)
