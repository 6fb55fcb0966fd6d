"""Every way in which Slack can bring us something bad (facts on channels §F, "Bad inbound", Slack), over HTTP and over
sockets, through the real bolt. Rows that only HTTP has are in it once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.inbound.slack import threads as slack_threads
from bot.sandbox.slack.app import view_submission
from bot.sandbox.slack.faults import RateLimited
from bot.sandbox.slack.world import Message, View
from channels.slack.modals import ANSWER_BLOCK
from channels.slack.payloads import Carried, sealed, signer
from core.domain.suspension import ResponseType, Status, Suspension
from core.store import event_log as log
from core.store import outbox
from tests.bot.slack_service import SECRET_KEY, TEXT, Mode, SlackService, over_http, slack_service
from tests.vendors.slack import PayloadKind, event_callback, say, shown, slash_command, tell, type_command

BOTH = {"responders": ("alice@example.com", "bob@example.com")}


@pytest.fixture
async def service(tmp_path: Path, slack_mode: Mode) -> AsyncIterator[SlackService]:
    async with slack_service(tmp_path, slack_mode) as service:
        yield service


async def message_of(service: SlackService, text: str = "Refund") -> Message:
    """As it is now: pressed later, it is as somebody still sees it who has not got the edit."""
    return deepcopy(await service.sandbox.expect_message(text))


async def all_sent(service: SlackService, asked: Suspension) -> None:
    """Return when nothing about this question is under way."""
    async with asyncio.timeout(30):
        while True:
            rows = await service.engine.database.read(lambda conn: outbox.of_suspension(conn, asked.id))
            if all(row.settled_at is not None for row in rows):
                return
            await asyncio.sleep(0.01)


async def audited(service: SlackService, asked: Suspension) -> list[dict[str, Any]]:
    """Who was turned away, as the intent's log has it."""
    found = await service.engine.database.read(lambda conn: log.of_intent(conn, asked.ask.intent_id))
    return [one.payload for one in found if one.type == "intent.suspension_answer_refused"]


# --- bad, missing, non-integer or stale signature → 401, no body in the logs ------------------------------------------


def payloads(service: SlackService) -> list[tuple[PayloadKind, dict[str, Any]]]:
    """One of each kind."""
    workspace = service.sandbox.workspace
    user = workspace.users["U1"]
    return [
        (PayloadKind.INTERACTIVE, {"type": "block_actions", "user": {"id": "U1"}, "actions": [], "note": "swordfish"}),
        (PayloadKind.COMMAND, slash_command(workspace, user, "C1", "answer HR-XXXX swordfish", "http://slack.example")),
        (PayloadKind.EVENT, event_callback(workspace, {"type": "message", "text": "swordfish", "user": "U1"})),
    ]


@over_http
async def test_a_bad_or_stale_signature_is_401_for_every_kind_of_request_and_no_body_is_logged(
    service: SlackService, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    stale = str(int(service.clock.now().timestamp()) - 301)
    for kind, payload in payloads(service):
        for wrong in ({"secret": "another"}, {"timestamp": stale}, {"timestamp": "abc"}, {"timestamp": ""}):
            response = await service.sandbox.send(kind, payload, **wrong)
            assert response.status_code == 401, (kind, wrong)
    assert "swordfish" not in caplog.text + "".join(capsys.readouterr())


@over_http
async def test_a_form_encoded_command_is_signed_like_everything_else(service: SlackService) -> None:
    kind, payload = payloads(service)[1]
    assert (await service.sandbox.send(kind, payload)).status_code == 200


# --- replay, double click, second person ------------------------------------------------------------------------------


async def test_a_replayed_request_is_confirmed_and_changes_nothing(service: SlackService) -> None:
    asked = await service.ask()
    message = await message_of(service)
    posted: list[Any] = []
    send = service.sandbox.post

    async def remember(payload: Any, **more: Any) -> httpx.Response:
        posted.append(payload)
        return await send(payload, **more)

    service.sandbox.post = remember  # type: ignore[method-assign]
    await service.sandbox.click("U1", message, "ans:0")
    answered = await service.record(asked)
    assert (await send(posted[0])).status_code == 200
    await service.sandbox.expect_private("U1", "Your answer is recorded already.")
    assert await service.record(asked) == answered


async def test_the_same_person_choosing_otherwise_is_told_what_they_chose_and_when(service: SlackService) -> None:
    asked = await service.ask()
    message = await message_of(service)
    await service.sandbox.click("U1", message, "ans:0")
    service.clock.advance(minutes=5)
    await service.sandbox.click("U1", message, "ans:1")
    note = await service.sandbox.expect_private("U1", "no longer open")
    assert "Answered “Approve refund” by alice@example.com via Slack, 2026-03-24 09:00 UTC." in shown(note)
    assert await service.answered(asked) == "approve"


async def test_two_people_press_different_buttons_at_once_one_wins_and_both_see_who(service: SlackService) -> None:
    asked = await service.ask(**BOTH)
    message = await message_of(service)
    await asyncio.gather(service.sandbox.click("U1", message, "ans:0"), service.sandbox.click("U2", message, "ans:1"))
    ended = (await service.record(asked)).ended
    assert ended is not None
    winner, label = ended.by, {"approve": "Approve refund", "deny": "Deny refund"}[str(ended.value)]
    told = f"Answered “{label}” by {winner} via Slack"
    await service.sandbox.expect_message(told)
    loser = "U2" if winner == "alice@example.com" else "U1"
    assert told in shown(await service.sandbox.expect_private(loser, "no longer open"))


# --- unauthorised user, other workspace → ephemeral refusal, audit, stays open ----------------------------------------


async def test_who_may_not_answer_is_told_who_may_it_is_audited_once_and_stays_open(service: SlackService) -> None:
    asked = await service.ask()
    message = await message_of(service)
    for _ in range(2):
        await service.sandbox.click("U2", message, "ans:0")
    note = await service.sandbox.expect_private("U2", "You can't answer this.")
    assert "It can be answered by alice@example.com. The question stays open." in shown(note)
    [line] = await audited(service, asked)
    assert (line["refused"], line["channel"], line["reason"]) == ("bob@example.com", "slack", "not_a_responder")
    assert (await service.record(asked)).is_open


async def test_a_stranger_of_a_shared_channel_is_refused_learns_no_name_and_is_audited(service: SlackService) -> None:
    asked = await service.ask()
    message = await message_of(service)
    service.sandbox.workspace.users["U1"].team_id = "T0OTHER"
    await service.sandbox.click("U1", message, "ans:0")
    note = await service.sandbox.expect_private("U1", "not asked in your workspace")
    assert "@" not in shown(note)
    [line] = await audited(service, asked)
    assert (line["refused"], line["reason"]) == ("slack:U1", "other_workspace")
    assert (await service.record(asked)).is_open


async def test_as_long_as_our_own_workspace_is_not_known_nobodys_word_counts(service: SlackService) -> None:
    asked = await service.ask()
    message = await message_of(service)
    service.door._listeners.identity.ours._home = None
    service.sandbox.workspace.token_trouble = "fatal_error"
    await service.sandbox.click("U1", message, "ans:0")
    await service.sandbox.expect_private("U1", "Slack does not tell us just now whether you may answer.")
    assert (await service.record(asked)).is_open
    service.sandbox.workspace.token_trouble = None
    await service.sandbox.click("U1", message, "ans:0")
    assert await service.answered(asked) == "approve"


async def test_a_payload_for_another_app_changes_nothing(tmp_path: Path, slack_mode: Mode) -> None:
    async with slack_service(tmp_path, slack_mode, app_id="A0ANOTHER") as service:
        asked = await service.ask()
        response = await service.sandbox.click("U1", await message_of(service), "ans:0")
        assert response.status_code == 200
        assert (await service.record(asked)).is_open


async def test_an_account_with_the_email_of_somebody_the_directory_knows_by_another_account_is_a_stranger(
    service: SlackService,
) -> None:
    asked = await service.ask()
    service.sandbox.workspace.users["U9"].email = "alice@example.com"
    await service.sandbox.click("U9", await message_of(service), "ans:0")
    await service.sandbox.expect_private("U9", "does not know your Slack account")
    assert (await service.record(asked)).is_open


async def dora_has_answered(service: SlackService) -> Suspension:
    """Somebody whom the directory knows by her e-mail alone has answered a day ago; what she is asked now."""
    service.sandbox.workspace.add_user("U6", "Dora", "dora@example.com")
    service.sandbox.workspace.conversations["C1"].members |= {"U6", "U7"}
    first = await service.ask(question="First?", responders=("dora@example.com",))
    await service.sandbox.click("U6", await message_of(service, "First?"), "ans:0")
    assert await service.answered(first) == "approve"
    service.clock.advance(hours=25)
    return await service.ask(responders=("dora@example.com",))


async def test_an_account_that_has_lost_its_e_mail_does_not_answer_as_its_former_owner(service: SlackService) -> None:
    asked = await dora_has_answered(service)
    service.sandbox.workspace.users["U6"].email = "somebody@example.com"
    service.sandbox.workspace.add_user("U7", "Dora again", "dora@example.com")
    message = await message_of(service, "Refund")
    await service.sandbox.click("U6", message, "ans:0")
    await service.sandbox.expect_private("U6", "You can't answer this.")
    await service.sandbox.click("U7", message, "ans:1")
    assert await service.answered(asked) == "deny"


async def test_an_account_whose_e_mail_slack_does_not_say_again_does_not_answer(service: SlackService) -> None:
    asked = await dora_has_answered(service)
    message = await message_of(service, "Refund")
    service.sandbox.fail_next(RateLimited(), "users.info")
    await service.sandbox.click("U6", message, "ans:0")
    await service.sandbox.expect_private("U6", "Slack does not tell us just now")
    assert (await service.record(asked)).is_open
    await service.sandbox.click("U6", message, "ans:0")
    assert await service.answered(asked) == "approve"


# --- unknown action, forged or old value, expired question → 200, "no longer open", the message refreshed -------------


@pytest.mark.parametrize(
    ("action_id", "value"),
    [("ans:0", "q=HR-XXXX;c=0;m=old"), ("ans:0", "approve"), ("?", "q=HR-XXXX;c=0;m=old"), ("claim", "q=HR-XXXX;m=x")],
)
async def test_an_unknown_action_and_a_forged_value_are_no_longer_open(
    action_id: str, value: str, service: SlackService
) -> None:
    asked = await service.ask()
    forged = await message_of(service)
    [block] = [one for one in forged.blocks if one["block_id"] == "answer"]
    block["elements"][0] |= {"action_id": action_id, "value": value}
    response = await service.sandbox.click("U1", forged, action_id)
    assert response.status_code == 200
    await service.sandbox.expect_private("U1", "This question is no longer open.")
    assert (await service.record(asked)).is_open


async def test_an_old_button_tells_how_it_ended_and_the_message_that_still_had_it_is_edited(
    service: SlackService,
) -> None:
    asked = await service.ask(timeout=None, **BOTH)
    message = await service.sandbox.expect_message("Refund")
    old = deepcopy(message)
    await service.sandbox.click("U1", message, "ans:0")
    await all_sent(service, asked)
    service.clock.advance(hours=3)
    message.blocks, message.text = old.blocks, old.text  # as if the edit had been lost
    await service.sandbox.click("U2", old, "ans:1")
    await service.sandbox.expect_private("U2", "no longer open")
    assert await service.sandbox.expect_message("Answered “Approve refund”") is message
    assert message.button("ans:0") is None
    assert await service.answered(asked) == "approve"


async def test_an_expired_question_says_what_the_agent_did_and_its_message_is_edited(service: SlackService) -> None:
    asked = await service.ask()
    message = await message_of(service)
    service.clock.advance(hours=1)
    await service.sandbox.click("U1", message, "ans:0")
    await service.sandbox.expect_private("U1", "Nobody answered by 2026-03-24 10:00 UTC. The agent stopped.")
    await service.sandbox.expect_message("Nobody answered by 2026-03-24 10:00 UTC. The agent stopped.")
    assert (await service.record(asked)).status is Status.EXPIRED


async def test_a_button_whose_value_names_another_question_never_edits_that_ones_message(
    service: SlackService,
) -> None:
    ended = await service.ask(question="Ended?")
    await service.sandbox.click("U1", await message_of(service, "Ended?"), "ans:0")
    await service.sandbox.expect_message("Answered")
    await service.ask()
    forged = await message_of(service)
    [block] = [one for one in forged.blocks if one["block_id"] == "answer"]
    block["elements"][0]["value"] = f"q={ended.ask.ref};c=1;m=old"
    block["elements"][0]["action_id"] = "ans:1"
    block["elements"] = block["elements"][:1]
    await service.sandbox.click("U1", forged, "ans:1")
    await service.sandbox.expect_private("U1", "no longer open")
    await service.door.close()
    untouched = await service.sandbox.expect_message("Refund order 12345?")
    assert untouched.button("ans:0") is not None


# --- modal submit invalid → errors; the database away → "try again" (tests/bot/test_slack_app.py) ---------------------


async def opened(service: SlackService, user_id: str = "U1") -> View:
    await service.sandbox.click(user_id, await service.sandbox.expect_message("Refund"), "open_modal")
    return await service.sandbox.expect_view(user_id)


async def test_a_modal_that_is_submitted_after_the_end_shows_how_it_ended(service: SlackService) -> None:
    asked = await service.ask(**TEXT)
    view = await opened(service)
    service.clock.advance(hours=1)
    await service.sandbox.submit(view.id, "U1", {"answer": "Too late"})
    assert "Nobody answered by" in json.dumps(view.content, ensure_ascii=False)
    assert (await service.record(asked)).status is Status.EXPIRED


async def test_tampered_private_metadata_answers_nothing(service: SlackService) -> None:
    asked = await service.ask(**TEXT)
    view = await opened(service)
    other = await service.ask(question="Delete everything?", **TEXT)
    view.content["private_metadata"] = view.content["private_metadata"].replace(asked.ask.ref, other.ask.ref)
    await service.sandbox.submit(view.id, "U1", {"answer": "Yes"})
    assert "no longer open" in json.dumps(view.content)
    assert (await service.record(other)).is_open


async def test_a_seal_for_a_reason_is_none_for_an_answer(service: SlackService) -> None:
    asked = await service.ask()
    metadata = sealed(Carried(asked.ask.ref, "x", 0), signer(SECRET_KEY))
    await service.ask(question="Why?", **TEXT)
    await service.sandbox.click("U1", await service.sandbox.expect_message("Why?"), "open_modal")
    view = await service.sandbox.expect_view("U1")
    view.content["private_metadata"] = metadata
    view.state = {ANSWER_BLOCK: {"v": {"type": "plain_text_input", "value": "c=0"}}}
    workspace = service.sandbox.workspace
    response = await service.sandbox.post(view_submission(workspace, workspace.users["U1"], view))
    assert "no longer open" in response.text
    assert (await service.record(asked)).is_open


# --- thread reply text → not an answer unless the question is for a text and this was opted in ------------------------


@pytest.mark.parametrize("kind", ["choice", "text"])
async def test_a_reply_in_the_thread_is_no_answer_but_a_hint_once(kind: str, service: SlackService) -> None:
    asked = await service.ask(**(TEXT if kind == "text" else {}))
    message = await service.sandbox.expect_message("Refund")
    for words in ("approve", "approve!"):
        assert (await say(service.sandbox, "U1", "C1", words, message)).status_code == 200
    await service.sandbox.expect_private("U1", "Handraise does not read messages as answers.")
    await service.door.close()
    assert len(service.sandbox.workspace.ephemerals) == 1
    assert (await service.record(asked)).is_open


async def test_a_reply_answers_a_text_question_where_that_was_opted_in(tmp_path: Path, slack_mode: Mode) -> None:
    async with slack_service(tmp_path, slack_mode, answer_in_thread=True) as service:
        asked = await service.ask(**TEXT)
        message = await service.sandbox.expect_message("Refund")
        text = "v1 &lt;b&gt; &amp; see <https://x.example/a?b=1|x.example>"
        assert (await say(service.sandbox, "U1", "C1", text, message)).status_code == 200
        assert await service.answered(asked) == "v1 <b> & see https://x.example/a?b=1"
        await service.sandbox.expect_message("by alice@example.com via Slack")


async def test_a_reply_to_a_choice_is_no_answer_even_where_texts_are(tmp_path: Path, slack_mode: Mode) -> None:
    async with slack_service(tmp_path, slack_mode, answer_in_thread=True) as service:
        asked = await service.ask()
        await say(service.sandbox, "U1", "C1", "approve", await service.sandbox.expect_message("Refund"))
        await service.sandbox.expect_private("U1", "Handraise does not read messages as answers.")
        assert (await service.record(asked)).is_open


NOT_SAID = [
    {"subtype": "message_changed"},
    {"subtype": "message_deleted"},
    {"subtype": "channel_join"},
    {"edited": {"user": "U1", "ts": "1.1"}},
    {"bot_id": "B0OTHER"},
    {"user": "U0HANDRAISE"},
    {"user": None},
    {"thread_ts": None},
    {"parent_user_id": "U2"},
]


@pytest.mark.parametrize("changes", NOT_SAID, ids=[json.dumps(one) for one in NOT_SAID])
async def test_edits_deletions_bots_and_other_peoples_threads_answer_nothing(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    async with slack_service(tmp_path, "http", answer_in_thread=True) as service:
        asked = await service.ask(**TEXT)
        message = await service.sandbox.expect_message("Refund")
        assert (await say(service.sandbox, "U1", "C1", "Because", message, **changes)).status_code == 200
        await service.door.close()
        assert (await service.record(asked)).is_open
        assert service.sandbox.workspace.ephemerals == []


async def test_a_stranger_in_the_thread_answers_nothing(tmp_path: Path, slack_mode: Mode) -> None:
    async with slack_service(tmp_path, slack_mode, answer_in_thread=True) as service:
        asked = await service.ask(**TEXT)
        message = await service.sandbox.expect_message("Refund")
        await say(service.sandbox, "U1", "C1", "Because", message, user_team="T0OTHER")
        await service.sandbox.expect_private("U1", "not asked in your workspace")
        await say(service.sandbox, "U2", "C1", "Because", message)
        await service.sandbox.expect_private("U2", "You can't answer this. It can be answered by alice@example.com.")
        assert (await service.record(asked)).is_open


async def test_a_thread_under_another_apps_message_with_our_metadata_answers_nothing(
    tmp_path: Path, slack_mode: Mode
) -> None:
    async with slack_service(tmp_path, slack_mode, answer_in_thread=True) as service:
        asked = await service.ask(**TEXT)
        message = await message_of(service)
        workspace = service.sandbox.workspace
        forged = Message("C1", workspace.new_ts(), "U2", "Lunch?", metadata=message.metadata)
        workspace.messages.append(forged)
        said = await say(service.sandbox, "U1", "C1", "Pizza", forged, parent_user_id=None)
        assert said.status_code == 200
        await service.door.close()
        assert (await service.record(asked)).is_open
        assert workspace.ephemerals == []


@over_http
async def test_what_is_said_in_a_thread_is_looked_up_once(tmp_path: Path, slack_mode: Mode) -> None:
    async with slack_service(tmp_path, slack_mode, answer_in_thread=True) as service:
        asked = await service.ask(**TEXT)
        message = await service.sandbox.expect_message("Refund")
        await say(service.sandbox, "U2", "C1", "Because", message)
        await service.sandbox.expect_private("U2", "You can't answer this.")
        service.sandbox.faults.switch_on(RateLimited(), "conversations.replies")
        assert (await say(service.sandbox, "U1", "C1", "Because", message)).status_code == 200
        assert await service.answered(asked) == "Because"


async def test_the_threads_that_are_known_are_bounded(service: SlackService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slack_threads, "MOST_THREADS", 1)
    await service.ask()
    await service.ask(question="Second?")
    first, second = [await service.sandbox.expect_message(one) for one in ("Refund", "Second?")]
    await say(service.sandbox, "U1", "C1", "hello", first)
    await say(service.sandbox, "U1", "C1", "hello", second)
    service.sandbox.faults.switch_on(RateLimited(), "conversations.replies")
    await say(service.sandbox, "U2", "C1", "hello", first)
    await say(service.sandbox, "U2", "C1", "hello", second)
    await service.door.close()
    assert [one.user for one in service.sandbox.workspace.ephemerals].count("U2") == 1, "the second is still known"


async def test_talk_that_can_be_no_answer_is_accepted_while_slack_limits_us(service: SlackService) -> None:
    await service.ask(**TEXT)
    message = await service.sandbox.expect_message("Refund")
    service.sandbox.faults.switch_on(RateLimited(), "conversations.replies")
    assert (await say(service.sandbox, "U1", "C1", "hello", message)).status_code == 200


@pytest.mark.parametrize("kind", ["choice", "text"])
async def test_talk_that_can_be_no_answer_is_no_attempt_and_gets_the_plain_hint(
    kind: str, service: SlackService
) -> None:
    asked = await service.ask(**(TEXT if kind == "text" else {}))
    message = await service.sandbox.expect_message("Refund")
    for who, team in (("U9", "T0OTHER"), ("U2", "T0SANDBOX")):
        await say(service.sandbox, who, "C1", "Lunch?", message, user_team=team)
        await service.sandbox.expect_private(who, "Handraise does not read messages as answers.")
    await service.door.close()
    assert await audited(service, asked) == []


async def test_an_attempt_by_reply_of_somebody_unknown_is_audited(tmp_path: Path, slack_mode: Mode) -> None:
    async with slack_service(tmp_path, slack_mode, answer_in_thread=True) as service:
        asked = await service.ask(**TEXT)
        message = await service.sandbox.expect_message("Refund")
        await say(service.sandbox, "U9", "C1", "Because", message, user_team="T0OTHER")
        await service.sandbox.expect_private("U9", "not asked in your workspace")
        [line] = await audited(service, asked)
        assert (line["refused"], line["reason"]) == ("slack:U9", "other_workspace")


async def test_looking_at_a_question_is_no_attempt_to_answer_it(service: SlackService) -> None:
    asked = await service.ask()
    service.sandbox.workspace.users["U9"].deleted = True
    for who in ("U9", "U2"):
        await type_command(service.sandbox, who, "C1", f"show {asked.ask.ref}")
    assert "alice@example.com" not in "".join(map(shown, service.sandbox.workspace.ephemerals))
    assert await audited(service, asked) == []


async def test_a_late_reply_is_told_how_it_ended(tmp_path: Path, slack_mode: Mode) -> None:
    async with slack_service(tmp_path, slack_mode, answer_in_thread=True) as service:
        asked = await service.ask(**TEXT, **BOTH)
        message = await service.sandbox.expect_message("Refund")
        await say(service.sandbox, "U1", "C1", "Mine", message)
        await say(service.sandbox, "U2", "C1", "Mine, too", message)
        await service.sandbox.expect_private("U2", "Answered “Mine” by alice@example.com")
        assert await service.answered(asked) == "Mine"


async def test_words_in_direct_messages_get_one_hint(service: SlackService) -> None:
    channel = service.sandbox.workspace.im_with("U1").id
    for words in ("hello", "approve"):
        assert (await say(service.sandbox, "U1", channel, words)).status_code == 200
    note = await service.sandbox.expect_private("U1", "type /handraise")
    await service.door.close()
    assert service.sandbox.workspace.ephemerals == [note]


async def test_a_hint_is_told_beside_the_thread_in_a_channel_that_has_none_any_more(
    service: SlackService,
) -> None:
    await service.ask(**TEXT)
    message = await service.sandbox.expect_message("Refund")
    service.sandbox.workspace.conversations[message.channel].is_threadable = False
    await say(service.sandbox, "U1", "C1", "approve", message)
    await service.sandbox.expect_private("U1", "Handraise does not read messages as answers.")


# --- retries ----------------------------------------------------------------------------------------------------------


async def test_an_event_that_slack_tells_again_counts_once(tmp_path: Path, slack_mode: Mode) -> None:
    async with slack_service(tmp_path, slack_mode, answer_in_thread=True) as service:
        asked = await service.ask(**TEXT, **BOTH, answers_required=2)
        root = await service.sandbox.expect_message("Refund")
        event = {
            "type": "message",
            "user": "U1",
            "team": "T0SANDBOX",
            "channel": "C1",
            "channel_type": "channel",
            "text": "Because",
            "ts": "9.1",
            "thread_ts": root.ts,
            "parent_user_id": root.user,
        }
        for _ in range(3):
            assert (await tell(service.sandbox, event, "Ev1")).status_code == 200
        await service.sandbox.expect_private("U1", "Recorded: “Because”")
        await service.door.close()
        assert len(service.sandbox.workspace.ephemerals) == 1
        assert len((await service.record(asked)).answers) == 1


async def test_an_event_that_could_not_be_saved_is_refused_so_that_slack_tells_it_again(tmp_path: Path) -> None:
    async with slack_service(tmp_path, "http", answer_in_thread=True) as service:
        asked = await service.ask(**TEXT)
        message = await service.sandbox.expect_message("Refund")
        service.sandbox.fail_next(RateLimited(), "conversations.replies")
        event = {
            "type": "message",
            "user": "U1",
            "channel": "C1",
            "channel_type": "channel",
            "text": "Because",
            "ts": "9.1",
            "thread_ts": message.ts,
            "parent_user_id": message.user,
        }
        assert (await tell(service.sandbox, event, "Ev1")).status_code == 503
        assert (await service.record(asked)).is_open
        assert (await tell(service.sandbox, event, "Ev1")).status_code == 200
        assert await service.answered(asked) == "Because"


# --- a form's shape ---------------------------------------------------------------------------------------------------


@over_http
@pytest.mark.parametrize(
    "event",
    [None, [], "x", {}, {"type": 7}, {"type": "message"}, {"type": "app_home_opened"}, {"type": "tokens_revoked"}],
)
async def test_an_event_of_any_shape_is_accepted_and_ignored(event: Any, service: SlackService) -> None:
    payload = {**event_callback(service.sandbox.workspace, {}), "event": event}
    assert (await service.sandbox.send(PayloadKind.EVENT, payload)).status_code == 200


async def test_a_form_with_a_choice_nobody_offered_stays_open(service: SlackService) -> None:
    schema = {"type": "object", "properties": {"size": {"type": "string", "enum": ["S", "M"]}}}
    asked = await service.ask(response_type=ResponseType.FORM, choices=(), form_schema=schema)
    view = await opened(service)
    view.state = {"f:0": {"v": {"type": "static_select", "selected_option": {"value": "c=7"}}}}
    workspace = service.sandbox.workspace
    response = await service.sandbox.post(view_submission(workspace, workspace.users["U1"], view))
    assert response.json()["response_action"] == "errors"
    assert (await service.record(asked)).is_open
