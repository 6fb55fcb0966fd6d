"""Answering in Slack, through the real engine, the real bolt and Slack's own signed payloads."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from copy import deepcopy
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.sandbox.slack.world import Message
from core.domain.suspension import Choice, ResponseType, Status
from tests.bot.slack_service import REFUND, TEXT, Mode, SlackService, over_http, over_sockets, slack_service
from tests.vendors.slack import shown
from tests.vendors.slack_faults import DropBeforeStoring, SaysNo, Slow


@pytest.fixture
async def service(tmp_path: Path, slack_mode: Mode) -> AsyncIterator[SlackService]:
    async with slack_service(tmp_path, slack_mode) as service:
        yield service


async def test_a_click_answers_and_the_message_says_so(service: SlackService) -> None:
    asked = await service.ask()
    message = await service.sandbox.expect_message("Refund order 12345?")
    response = await service.sandbox.click("U1", message, "ans:0")
    assert (response.status_code, response.content) == (200, b"")
    record = await service.record(asked)
    assert record.ended is not None
    assert (record.ended.value, record.ended.by, record.ended.channel) == ("approve", "alice@example.com", "slack")
    edited = await service.sandbox.expect_message("Answered “Approve refund” by alice@example.com via Slack")
    assert edited is message
    assert message.button("ans:0") is None


async def test_the_answer_is_committed_before_slack_is_told(service: SlackService) -> None:
    asked = await service.ask()
    await service.sandbox.click("U1", await service.sandbox.expect_message("Refund"), "ans:1")
    assert await service.answered(asked) == "deny"


async def test_a_question_to_a_person_is_answered_in_direct_messages(service: SlackService) -> None:
    asked = await service.ask(notify_to="alice@example.com")
    message = await service.sandbox.expect_message("Refund")
    assert message.channel == "D1"
    await service.sandbox.click("U1", message, "ans:0")
    assert await service.answered(asked) == "approve"


async def test_who_may_not_answer_is_told_who_may_and_the_question_stays_open(service: SlackService) -> None:
    asked = await service.ask()
    message = await service.sandbox.expect_message("Refund")
    response = await service.sandbox.click("U2", message, "ans:0")
    assert response.status_code == 200
    note = await service.sandbox.expect_private("U2", "You can't answer this.")
    assert "alice@example.com" in shown(note)
    assert (await service.record(asked)).is_open
    assert message.button("ans:0") is not None


async def test_a_slack_account_that_nobody_knows_cannot_answer(service: SlackService) -> None:
    asked = await service.ask()
    service.sandbox.workspace.scopes.discard("users:read.email")
    await service.sandbox.click("U9", await service.sandbox.expect_message("Refund"), "ans:0")
    note = await service.sandbox.expect_private("U9", "does not know your Slack account")
    assert "It can be answered by alice@example.com." in shown(note)
    assert (await service.record(asked)).is_open


async def test_whoever_it_is_asked_for_cannot_answer_it(service: SlackService) -> None:
    asked = await service.ask(on_behalf_of="bob@example.com", responders=("bob@example.com",))
    await service.sandbox.click("U2", await service.sandbox.expect_message("Refund"), "ans:0")
    await service.sandbox.expect_private("U2", "it was asked on your behalf")
    assert (await service.record(asked)).is_open


async def test_the_second_person_is_told_who_was_first_and_the_first_answer_stands(service: SlackService) -> None:
    asked = await service.ask(responders=("alice@example.com", "bob@example.com"))
    message = deepcopy(await service.sandbox.expect_message("Refund"))
    await service.sandbox.click("U1", message, "ans:0")
    await service.sandbox.click("U2", message, "ans:1")
    note = await service.sandbox.expect_private("U2", "This question is no longer open.")
    assert "Answered “Approve refund” by alice@example.com via Slack, 2026-03-24 09:00 UTC." in shown(note)
    assert await service.answered(asked) == "approve"


async def test_pressing_twice_is_confirmed_and_counts_once(service: SlackService) -> None:
    asked = await service.ask()
    message = deepcopy(await service.sandbox.expect_message("Refund"))
    first, second = await asyncio.gather(*(service.sandbox.click("U1", message, "ans:0") for _ in range(2)))
    assert (first.status_code, second.status_code) == (200, 200)
    await service.sandbox.expect_private("U1", "Your answer is recorded already.")
    assert await service.answered(asked) == "approve"


async def test_a_click_after_the_end_is_told_how_it_ended(service: SlackService) -> None:
    asked = await service.ask()
    message = deepcopy(await service.sandbox.expect_message("Refund"))
    service.clock.advance(hours=1)
    await service.sandbox.click("U1", message, "ans:0")
    await service.sandbox.expect_private("U1", "no longer open. Nobody answered by 2026-03-24 10:00 UTC.")
    assert (await service.record(asked)).status is Status.EXPIRED


@pytest.mark.parametrize(
    ("action_id", "value"),
    [
        ("ans:0", "q=HR-XXXX;c=0;m=old"),
        ("ans:7", "q={ref};c=7;m=old"),
        ("ans:0", "q={ref};c=1;m=old"),
        ("ans:0", "approve"),
        ("something_else", "q={ref};c=0;m=old"),
    ],
    ids=["unknown question", "no such choice", "another choice", "no value of ours", "unknown action"],
)
async def test_a_forged_or_an_old_button_is_no_longer_open(action_id: str, value: str, service: SlackService) -> None:
    asked = await service.ask()
    message = await service.sandbox.expect_message("Refund")
    forged = deepcopy(message)
    (element,) = [block for block in forged.blocks if block["block_id"] == "answer"]
    element["elements"][0] |= {"action_id": action_id, "value": value.replace("{ref}", asked.ask.ref)}
    response = await service.sandbox.click("U1", forged, action_id)
    assert response.status_code == 200
    await service.sandbox.expect_private("U1", "This question is no longer open.")
    assert (await service.record(asked)).is_open


async def test_open_gives_whoever_pressed_a_link_of_their_own(service: SlackService) -> None:
    """Whoever they are is decided as for an answer, and nobody else sees the link."""
    asked = await service.ask()
    message = await service.sandbox.expect_message("Refund")
    for user_id, identity in (("U1", "alice@example.com"), ("U2", "bob@example.com")):
        response = await service.sandbox.click(user_id, message, "link")
        assert response.status_code == 200
        place = f"https://handraise.example.com/signin/{identity}?to=/q/{asked.ask.ref}"
        await service.sandbox.expect_private(user_id, place)
    await service.door.close()
    assert len(service.sandbox.workspace.ephemerals) == 2
    assert (await service.record(asked)).is_open


async def test_open_gives_a_stranger_no_link(service: SlackService) -> None:
    await service.ask()
    message = await service.sandbox.expect_message("Refund")
    await service.sandbox.click("U9", message, "link")
    await service.door.close()
    [told] = service.sandbox.workspace.ephemerals
    assert "/signin/" not in told.text
    assert "directory" in told.text


async def test_on_it_is_a_claim_and_no_answer(service: SlackService) -> None:
    asked = await service.ask(responders=("alice@example.com", "bob@example.com"))
    message = await service.sandbox.expect_message("Refund")
    seen = deepcopy(message)  # as it is still before the others
    await service.sandbox.click("U1", message, "claim")
    await service.sandbox.expect_private("U1", f"nobody is reminded of {asked.ask.ref} until 09:30 UTC")
    record = await service.record(asked)
    assert record.is_open
    assert record.claim is not None
    assert (record.claim.by, record.claim.channel) == ("alice@example.com", "slack")
    await service.sandbox.click("U2", seen, "claim")
    await service.sandbox.expect_private("U2", "alice@example.com is on it. You can still answer.")
    await service.sandbox.click("U3", seen, "claim")
    await service.sandbox.expect_private("U3", "You can't answer this.")


# --- Modals ---------------------------------------------------------------------------------------------------------


async def opened(service: SlackService, user_id: str, text: str = "Refund") -> Any:
    await service.sandbox.click(user_id, await service.sandbox.expect_message(text), "open_modal")
    return await service.sandbox.expect_view(user_id)


async def test_a_text_is_answered_in_a_modal_that_closes(service: SlackService) -> None:
    asked = await service.ask(**TEXT)
    view = await opened(service, "U1")
    response = await service.sandbox.submit(view.id, "U1", {"answer": "Because <b>I</b> say so & more"})
    assert response.json() == {"response_action": "clear"}
    assert not view.is_open
    assert await service.answered(asked) == "Because <b>I</b> say so & more"
    await service.sandbox.expect_message("Because <b>I</b> say so & more")


async def test_one_of_many_choices_is_picked_from_a_list(service: SlackService) -> None:
    choices = tuple(Choice(f"v{number}", f"Option {number}") for number in range(30))
    asked = await service.ask(choices=choices)
    view = await opened(service, "U1")
    await service.sandbox.submit(view.id, "U1", {"answer": "Option 17"})
    assert await service.answered(asked) == "v17"


async def test_a_form_comes_back_in_the_agents_types(service: SlackService) -> None:
    schema = {
        "type": "object",
        "required": ["amount"],
        "properties": {"amount": {"type": "integer"}, "why": {"type": "string"}, "urgent": {"type": "boolean"}},
    }
    asked = await service.ask(response_type=ResponseType.FORM, choices=(), form_schema=schema)
    view = await opened(service, "U1")
    await service.sandbox.submit(view.id, "U1", {"f:0": "42", "f:2": "Yes"})
    assert await service.answered(asked) == {"amount": 42, "urgent": True}


async def test_an_answer_that_does_not_fit_is_refused_in_the_modal_which_stays(service: SlackService) -> None:
    schema = {"type": "object", "properties": {"code": {"type": "string", "pattern": "^[A-Z]{3}$"}}}
    asked = await service.ask(response_type=ResponseType.FORM, choices=(), form_schema=schema)
    view = await opened(service, "U1")
    await service.sandbox.submit(view.id, "U1", {"f:0": "abc"})
    assert view.is_open
    assert view.errors["f:0"] == "Enter three capital letters."
    assert (await service.record(asked)).is_open
    await service.sandbox.submit(view.id, "U1", {"f:0": "ABC"})
    assert await service.answered(asked) == {"code": "ABC"}


async def test_a_text_of_blanks_is_no_answer(service: SlackService) -> None:
    asked = await service.ask(**TEXT)
    view = await opened(service, "U1")
    await service.sandbox.submit(view.id, "U1", {"answer": "   "})
    assert "not empty" in view.errors["answer"]
    assert (await service.record(asked)).is_open


async def test_a_modal_that_comes_too_late_shows_who_answered(service: SlackService) -> None:
    asked = await service.ask(**TEXT, responders=("alice@example.com", "bob@example.com"))
    alices, bobs = await opened(service, "U1"), await opened(service, "U2")
    await service.sandbox.submit(alices.id, "U1", {"answer": "Mine"})
    await service.sandbox.submit(bobs.id, "U2", {"answer": "Mine, too"})
    told = json.dumps(bobs.content, ensure_ascii=False)
    assert "Answered “Mine” by alice@example.com" in told
    assert "submit" not in bobs.content
    assert await service.answered(asked) == "Mine"


async def test_a_modal_says_what_is_needed_and_takes_another_answer(service: SlackService) -> None:
    asked = await service.ask(**TEXT, responders=("alice@example.com", "bob@example.com"), answers_required=2)
    alices, bobs = await opened(service, "U1"), await opened(service, "U2")
    await service.sandbox.submit(alices.id, "U1", {"answer": "v1.2.3"})
    assert "Recorded: “v1.2.3”. 2 people have to give the same answer." in json.dumps(
        alices.content, ensure_ascii=False
    )
    await service.sandbox.submit(bobs.id, "U2", {"answer": "v1.2.4"})
    assert "Recorded: “v1.2.4”." in json.dumps(bobs.content, ensure_ascii=False)
    assert (await service.record(asked)).is_open


async def test_no_word_about_one_of_several_answers_holds_what_slack_may_not(service: SlackService) -> None:
    asked = await service.ask(**TEXT, responders=("alice@example.com", "bob@example.com"), answers_required=2)
    alices = await opened(service, "U1")
    await service.sandbox.submit(alices.id, "U1", {"answer": "4111 1111 1111 1111"})
    assert "Recorded: “[redacted: card number]”" in json.dumps(alices.content, ensure_ascii=False)
    assert (await service.record(asked)).is_open


async def test_the_modal_opens_only_for_who_may_answer_and_while_it_is_open(service: SlackService) -> None:
    await service.ask(**TEXT)
    message = deepcopy(await service.sandbox.expect_message("Refund"))
    await service.sandbox.click("U2", message, "open_modal")
    await service.sandbox.expect_private("U2", "You can't answer this.")
    service.clock.advance(hours=2)
    service.work.nudge(service.clock.now())
    await service.sandbox.expect_message("Nobody answered")
    await service.sandbox.click("U1", message, "open_modal")
    await service.sandbox.expect_private("U1", "This question is no longer open.")
    assert service.sandbox.workspace.views == {}


async def test_a_modal_that_slack_does_not_open_in_time_leads_to_the_page(service: SlackService) -> None:
    asked = await service.ask(**TEXT)
    message = await service.sandbox.expect_message("Refund")
    service.sandbox.fail_next(SaysNo("expired_trigger_id"), "views.open")
    response = await service.sandbox.click("U1", message, "open_modal")
    assert response.status_code == 200
    note = await service.sandbox.expect_private("U1", "Press “Answer…” again")
    assert f"https://handraise.example.com/q/{asked.ask.ref}" in shown(note)


async def test_a_modal_that_slack_does_not_open_for_another_reason_leads_to_the_page(service: SlackService) -> None:
    asked = await service.ask(**TEXT)
    message = await service.sandbox.expect_message("Refund")
    service.sandbox.fail_next(SaysNo("internal_error"), "views.open")
    await service.sandbox.click("U1", message, "open_modal")
    note = await service.sandbox.expect_private("U1", "Slack could not open it.")
    assert f"https://handraise.example.com/q/{asked.ask.ref}" in shown(note)
    assert "too long" not in shown(note)


async def test_slack_is_answered_before_it_has_opened_the_modal(service: SlackService) -> None:
    await service.ask(**TEXT)
    slow = Slow(seconds=60)
    service.sandbox.fail_next(slow, "views.open")
    response = await service.sandbox.click("U1", await service.sandbox.expect_message("Refund"), "open_modal")
    assert response.status_code == 200
    slow.released.set()


async def test_a_modal_that_is_not_ours_answers_nothing(service: SlackService) -> None:
    asked = await service.ask(**TEXT)
    view = await opened(service, "U1")
    other = await service.ask(question="Delete everything?", **{key: TEXT[key] for key in TEXT})
    view.content["private_metadata"] = view.content["private_metadata"].replace(asked.ask.ref, other.ask.ref)
    await service.sandbox.submit(view.id, "U1", {"answer": "Yes"})
    assert "no longer open" in json.dumps(view.content)
    assert (await service.record(other)).is_open


# --- When we are in trouble -------------------------------------------------------------------------------------------


async def test_while_the_database_is_broken_the_person_is_asked_to_try_again(service: SlackService) -> None:
    asked = await service.ask()
    await service.ask(**TEXT, question="Why?")
    message = await service.sandbox.expect_message("Refund")
    view = await opened(service, "U1", "Why?")
    await service.work.stop()
    with closing(sqlite3.connect(service.database_file, isolation_level=None)) as vandal:
        vandal.execute("ALTER TABLE suspensions RENAME TO stolen")
        response = await service.sandbox.click("U1", message, "ans:0")
        assert response.status_code == 200
        await service.sandbox.expect_private("U1", "could not be saved just now. Try again")
        await service.sandbox.submit(view.id, "U1", {"answer": "Because"})
        assert view.is_open
        assert "Try again" in view.errors["answer"]
        vandal.execute("ALTER TABLE stolen RENAME TO suspensions")
    assert (await service.record(asked)).is_open
    await service.sandbox.submit(view.id, "U1", {"answer": "Because"})
    assert not view.is_open


async def test_a_database_that_is_too_slow_for_slack_still_saves_the_answer_once(
    tmp_path: Path, slack_mode: Mode
) -> None:
    async with slack_service(tmp_path, slack_mode, in_time=timedelta(seconds=1)) as service:
        asked = await service.ask()
        message = deepcopy(await service.sandbox.expect_message("Refund"))
        with closing(sqlite3.connect(service.database_file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            response = await service.sandbox.click("U1", message, "ans:0")
            assert response.status_code == 200
            await service.sandbox.expect_private("U1", "Try again in a moment: an answer counts only once.")
            other.execute("ROLLBACK")
        await service.sandbox.expect_message("Answered “Approve refund”")
        await service.sandbox.click("U1", message, "ans:0")
        await service.sandbox.expect_private("U1", "Your answer is recorded already.")
        assert (await service.record(asked)).version == asked.version + 1


async def test_a_private_reply_that_cannot_be_delivered_changes_nothing(service: SlackService) -> None:
    asked = await service.ask()
    message = await service.sandbox.expect_message("Refund")
    service.sandbox.fail_next(DropBeforeStoring(), "response_url")
    response = await service.sandbox.click("U2", message, "ans:0")
    assert response.status_code == 200
    await service.door.close()
    await service.sandbox.click("U1", message, "ans:0")
    assert await service.answered(asked) == "approve"


# --- Who may knock ----------------------------------------------------------------------------------------------------

PAYLOAD = {"type": "block_actions", "user": {"id": "U1"}, "actions": []}


async def knock(service: SlackService, body: bytes, **headers: str) -> httpx.Response:
    assert service.sandbox.events_url is not None
    async with httpx.AsyncClient(trust_env=False, timeout=30) as client:
        return await client.post(service.sandbox.events_url, content=body, headers=headers)


def signed(service: SlackService, body: bytes) -> dict[str, str]:
    timestamp = str(int(service.clock.now().timestamp()))
    key = service.sandbox.signing_secret.encode()
    digest = hmac.new(key, f"v0:{timestamp}:".encode() + body, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": timestamp, "X-Slack-Signature": f"v0={digest}"}


@over_http
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Slack-Request-Timestamp": "abc", "X-Slack-Signature": "v0=00"},
        {"X-Slack-Request-Timestamp": "1774342800"},
        {"X-Slack-Request-Timestamp": "1774342800", "X-Slack-Signature": "v0=00"},
        {"X-Slack-Request-Timestamp": "9" * 400, "X-Slack-Signature": "v0=00"},
    ],
)
async def test_without_slacks_signature_the_door_is_shut_and_the_body_is_not_logged(
    headers: dict[str, str], service: SlackService, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    response = await knock(service, b'payload={"secret": "swordfish"}', **headers)
    assert response.status_code == 401
    assert response.json()["detail"]["error"] == "unauthorized"
    assert "swordfish" not in caplog.text + "".join(capsys.readouterr())


@over_http
@pytest.mark.parametrize(("seconds", "status"), [(-299, 200), (-301, 401), (301, 401)])
async def test_a_signature_lives_five_minutes(seconds: int, status: int, service: SlackService) -> None:
    sent = str(int((service.clock.now() + timedelta(seconds=seconds)).timestamp()))
    response = await service.sandbox.post({**PAYLOAD, "type": "shortcut"}, timestamp=sent)
    assert response.status_code == status


@over_http
async def test_another_secret_opens_nothing(service: SlackService) -> None:
    response = await service.sandbox.post(PAYLOAD, secret="another")
    assert response.status_code == 401


@over_http
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"payload=",
        b"payload=%7Bnope",
        b"\xff\xfe",
        b'{"a"',
        b"payload=[]",
        b"[" * 50_000,
        b"payload=" + b"[" * 50_000,
    ],
    ids=["empty", "empty payload", "no JSON", "no UTF-8", "half JSON", "a list", "deep", "deep payload"],
)
async def test_a_signed_body_that_is_no_payload_is_refused(body: bytes, service: SlackService) -> None:
    response = await knock(service, body, **signed(service, body))
    assert response.status_code == 400
    assert response.json()["detail"]["error"] == "malformed_json"


@over_http
async def test_slack_can_verify_the_request_url(service: SlackService) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "abc"}).encode()
    response = await knock(service, body, **signed(service, body), **{"Content-Type": "application/json"})
    assert response.json() == {"challenge": "abc"}


@pytest.mark.parametrize("kind", ["event_callback", "shortcut", "view_closed", "block_suggestion", "?", None, 7, ["?"]])
async def test_what_we_do_not_listen_to_is_accepted(kind: Any, service: SlackService) -> None:
    response = await service.sandbox.post({**PAYLOAD, "type": kind})
    assert response.status_code == 200


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(
    [
        "user",
        "team",
        "actions",
        "view",
        "container",
        "channel",
        "enterprise",
        "response_url",
        "message",
        "authorizations",
    ]
)


@over_http
async def test_no_signed_payload_whatever_its_shape_is_our_fault(service: SlackService) -> None:
    asked = await service.ask()
    message = await service.sandbox.expect_message("Refund")
    loop = asyncio.get_running_loop()
    url = service.sandbox.events_url
    assert url is not None

    @given(
        st.sampled_from(["block_actions", "view_submission", "url_verification"]), st.dictionaries(names, json_values)
    )
    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    def shapes(kind: str, changes: dict[str, Any]) -> None:
        body = urlencode({"payload": json.dumps({**PAYLOAD, "type": kind, **changes})}).encode()
        response = client.post(url, content=body, headers=signed(service, body))
        assert response.status_code < 500

    with httpx.Client(trust_env=False, timeout=30) as client:
        await loop.run_in_executor(None, shapes)
    await service.sandbox.click("U1", message, "ans:0")
    assert await service.answered(asked) == "approve"


@over_sockets
async def test_no_envelope_whatever_its_shape_is_our_fault(
    service: SlackService, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    asked = await service.ask()
    message = await service.sandbox.expect_message("Refund")
    sockets = service.sandbox.sockets
    first = sockets.sockets[0]
    for envelope in (
        "no JSON",
        "{swordfish",
        "[]",
        "[" * 50_000,
        '{"a":' * 50_000,
        "{}",
        '{"type": "interactive", "envelope_id": "x", "payload": null}',
        '{"type": "interactive", "envelope_id": "x", "payload": ["swordfish"]}',
        '{"type": "interactive", "envelope_id": {}, "payload": "swordfish"}',
        '{"type": ["?"], "envelope_id": "x", "payload": {"type": "swordfish"}}',
        '{"type": {"a": 1}, "reason": "swordfish"}',
    ):
        await first.ws.send_str(envelope)
    for changes in ({"user": "swordfish"}, {"team": []}, {"actions": "swordfish"}, {"view": 7}, {"container": None}):
        for kind in ("block_actions", "view_submission", "url_verification", "swordfish", None, ["swordfish"]):
            payload = {**PAYLOAD, "type": kind, **changes}
            await first.say({"type": "interactive", "envelope_id": "x", "payload": payload})
    await service.sandbox.click("U1", message, "ans:0")
    await service.sandbox.click("U1", message, "link")
    assert await service.answered(asked) == "approve"
    assert sockets.opened == len(sockets.sockets) == 2
    assert "swordfish" not in caplog.text + "".join(capsys.readouterr())


async def test_people_of_another_workspace_do_not_count(tmp_path: Path, slack_mode: Mode) -> None:
    async with slack_service(tmp_path, slack_mode, team_id="T0SANDBOX") as service:
        asked = await service.ask()
        message = await service.sandbox.expect_message("Refund")
        service.sandbox.workspace.users["U1"].team_id = "T0OTHER"
        await service.sandbox.click("U1", message, "ans:0")
        await service.sandbox.expect_private("U1", "not asked in your workspace")
        assert (await service.record(asked)).is_open
        service.sandbox.workspace.users["U1"].team_id = "T0SANDBOX"
        await service.sandbox.click("U1", message, "ans:0")
        assert await service.answered(asked) == "approve"


async def test_a_press_for_another_app_answers_nothing_and_is_told_so(tmp_path: Path, slack_mode: Mode) -> None:
    async with slack_service(tmp_path, slack_mode, app_id="A0ANOTHER") as service:
        asked = await service.ask()
        message = await service.sandbox.expect_message("Refund")
        response = await service.sandbox.click("U1", message, "ans:0")
        assert response.status_code == 200
        await service.sandbox.expect_private("U1", "This question is no longer open.")
        assert (await service.record(asked)).is_open


async def test_a_modal_for_another_app_answers_nothing_and_says_so(tmp_path: Path, slack_mode: Mode) -> None:
    async with slack_service(tmp_path, slack_mode, app_id="A0SANDBOX") as service:
        asked = await service.ask(**TEXT)
        view = await opened(service, "U1")
        service.sandbox.workspace.app_id = "A0ANOTHER"
        await service.sandbox.submit(view.id, "U1", {"answer": "Because"})
        assert "no longer open" in json.dumps(view.content)
        assert view.trouble is None
        assert (await service.record(asked)).is_open


async def test_neither_questions_nor_answers_nor_tokens_are_logged(
    service: SlackService, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    await service.ask(**TEXT, question="Fire the accountant?")
    view = await opened(service, "U1", "Fire the accountant?")
    await service.sandbox.submit(view.id, "U1", {"answer": "certainly"})
    await service.sandbox.expect_message("Answered “certainly”")
    logged = caplog.text + "".join(capsys.readouterr())
    for secret in ("accountant", "certainly", service.sandbox.workspace.bot_token, "alice@example.com"):
        assert secret not in logged


async def test_one_of_sixteen_people_who_press_at_once_wins(service: SlackService) -> None:
    asked = await service.ask(responders=("alice@example.com", "bob@example.com", "carol@example.com"))
    message: Message = deepcopy(await service.sandbox.expect_message("Refund"))
    clicks = [service.sandbox.click(f"U{1 + n % 3}", message, f"ans:{n % 2}") for n in range(16)]
    responses = await asyncio.gather(*clicks)
    assert {response.status_code for response in responses} == {200}
    record = await service.record(asked)
    assert record.ended is not None
    assert record.ended.value in {choice.value for choice in REFUND}
    assert record.version == asked.version + 1
