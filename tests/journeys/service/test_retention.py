"""``retention.ended_days`` as people and agents meet it: what ended long ago is gone, and nothing breaks."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bot.config.loading import load
from bot.config.settings import Settings
from bot.wiring.roles import archive_folder
from core.errors import ConfigError
from tests.cli import handraise
from tests.world import World, running

pytestmark = pytest.mark.slow


@pytest.fixture
async def keeping_a_month(tmp_path: Path, database_url: str) -> AsyncIterator[World]:
    """Keeps ended questions for 30 days."""
    retention = {"ended_days": 30, "archive_dir": str(tmp_path / "archive")}
    async with running(tmp_path, database_url, retention=retention) as world:
        yield world


@pytest.fixture
async def on_sqlite(tmp_path: Path, sqlite_url: str) -> AsyncIterator[World]:
    retention = {"ended_days": 30, "archive_dir": str(tmp_path / "archive")}
    async with running(tmp_path, sqlite_url, retention=retention) as world:
        yield world


async def answered(world: World, *args: Any, **fields: Any) -> dict[str, Any]:
    asked = await world.ask(*args, **fields)
    assert (await world.answer(asked, "approve")).status_code == 200
    await world.settle()
    return asked


async def status_of(world: World, asked: dict[str, Any], *more: str) -> int:
    path = "/".join([f"/v1/suspensions/{asked['suspension_id']}", *more])
    return (await world.call("GET", path, "admin")).status_code


async def listed(world: World, path: str = "/v1/suspensions") -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await world.call("GET", path, "admin")).json()["items"]
    return items


async def test_what_ended_a_month_ago_is_gone_and_what_is_open_can_still_be_answered(
    keeping_a_month: World, tmp_path: Path
) -> None:
    world = keeping_a_month
    old, still_open = await answered(world, "May I pay Mallory?"), await world.ask("Anybody?")
    report = {"status": "done", "text": "Paid as po_7."}
    path = f"/v1/suspensions/{old['suspension_id']}/outcome"
    assert (await world.call("POST", path, json=report)).status_code == 200
    await world.advance(days=29)
    assert await status_of(world, old) == 200
    await world.advance(days=2)
    assert (await world.call("POST", path, json=report)).status_code == 404
    for more in ([], ["timeline"], ["wait"]):
        assert await status_of(world, old, *more) == 404
    assert [item["id"] for item in await listed(world)] == [still_open["suspension_id"]]
    assert await listed(world, "/v1/callbacks") == []
    intent = await world.intent(old)
    assert (intent["status"], intent["title"], intent["state"]) == ("active", old["ref"], {})
    assert await world.events(old) == []
    [file] = (tmp_path / "archive").iterdir()
    records = [json.loads(line) for line in file.read_text().splitlines()]
    [row] = [one["row"] for one in records if one["kind"] == "suspension"]
    assert (row["question"], row["ended"]["reported"]["text"]) == ("May I pay Mallory?", "Paid as po_7.")
    assert [one["type"] for one in records if one["kind"] == "event"][-1] == "action.reported"
    assert (await world.answer(still_open, "deny")).status_code == 200
    assert (await world.told(still_open))["data"]["value"] == "deny"


async def test_what_was_said_after_the_end_goes_with_its_question(on_sqlite: World, tmp_path: Path) -> None:
    """A report, and a reply that came too late; the report after another question of the intent was asked."""
    world = on_sqlite
    intent = await world.active_intent()
    ask = {"response_type": "confirm", "channel_hint": "email", "notify_to": "alice@example.com"}
    asked = []
    for question in ("First?", "Second?"):
        body = {"question": question, **ask}
        asked.append((await world.call("POST", f"/v1/intents/{intent['id']}/suspend", json=body)).json())
        assert (await world.answer(asked[-1], "yes")).status_code == 200
        await world.settle()
    await world.mailbox.reply(await world.mailbox.expect(subject="Second?"), "no")
    path, report = f"/v1/suspensions/{asked[0]['suspension_id']}/outcome", {"status": "failed", "text": "No money."}
    assert (await world.call("POST", path, json=report)).status_code == 200
    await world.settle()
    last = (await world.event_types(asked[0]))[-2:]
    assert last == ["intent.suspension_message_received", "action.reported"]

    await world.advance(days=31)

    assert await world.events(asked[0]) == []
    [file] = (tmp_path / "archive").iterdir()
    assert "No money." in file.read_text()
    assert (await handraise(world, "audit", "verify", "--file", str(file))).status == 0
    assert (await handraise(world, "audit", "verify")).status == 0


async def test_the_audit_trail_holds_in_the_database_in_its_export_and_in_the_file(
    keeping_a_month: World, tmp_path: Path
) -> None:
    world = keeping_a_month
    intent = await world.active_intent()
    path = f"/v1/intents/{intent['id']}/suspend"
    for question in ("First?", "Second?"):
        body = {"question": question, "response_type": "confirm"}
        asked = (await world.call("POST", path, json=body)).json()
        if question == "First?":
            assert (await world.answer(asked, "yes")).status_code == 200
            await world.advance(days=31)
    assert await status_of(world, asked) == 200
    shown = await world.events(asked)
    assert [event["payload"].get("question") for event in shown] == ["Second?"]
    assert (await handraise(world, "audit", "verify")).lines == ["ok: 1 events of 1 intents are what was written"]
    exported, [archived] = tmp_path / "export.jsonl", (tmp_path / "archive").iterdir()
    assert (await handraise(world, "export", "--output", str(exported))).status == 0
    for file in (exported, archived):
        assert (await handraise(world, "audit", "verify", "--file", str(file))).status == 0, file
    assert json.loads(exported.read_text().splitlines()[1])["after"] == 3


async def test_late_words_about_a_question_that_is_gone_do_no_harm(on_sqlite: World) -> None:
    """Old messages keep their buttons, links and threads."""
    world = on_sqlite
    asked = await answered(world, notify_to="alice@example.com", channel_hint="slack")
    by_mail = await answered(world, "By mail?", notify_to="alice@example.com", channel_hint="email")
    mail = await world.mailbox.expect(subject="By mail?")
    link = next(word for word in mail.text.split() if "/a/" in word)
    token = link.rpartition("/")[2]
    assert (await world.http.get(f"{world.url}/a/{token}")).status_code == 200
    await world.advance(days=31)
    assert await status_of(world, by_mail) == 404

    assert (await world.http.get(f"{world.url}/a/{token}")).status_code == 404
    assert (await world.http.post(f"{world.url}/a/{token}", data={"do": "answer"})).status_code == 404
    respond = f"/v1/intents/{asked['intent_id']}/suspend/respond"
    late = {"suspension_id": asked["suspension_id"], "value": "approve"}
    response = await world.call("POST", respond, "operator", json=late)
    assert (response.status_code, response.json()["detail"]["error"]) == (409, "not_suspended")
    for path, body in (("cancel", {}), ("claim", {})):
        role = "agent" if path == "cancel" else "operator"
        gone = await world.call("POST", f"/v1/suspensions/{asked['suspension_id']}/{path}", role, json=body)
        assert gone.status_code == 404, path
    before = len(world.mailbox.mails)
    await world.mailbox.reply(mail, "approve")
    await world.settle()
    assert len(world.mailbox.mails) == before


async def test_a_button_of_a_message_that_was_left_standing_is_told_that_it_is_too_late(on_sqlite: World) -> None:
    world = on_sqlite
    asked = await world.ask()
    message = await world.slack.expect_message("Refund order 12345?")
    with_buttons = message.blocks
    assert (await world.answer(asked, "approve")).status_code == 200
    await world.advance(days=31)
    message.blocks = with_buttons
    await world.press("U0ALICE", message, "Approve refund")
    assert await status_of(world, asked) == 404


async def test_nothing_leaves_where_no_days_are_configured(world: World, tmp_path: Path) -> None:
    old = await answered(world)
    await world.advance(days=100)
    assert await status_of(world, old) == 200
    assert not list(tmp_path.glob("*archive*"))


async def test_a_question_leaves_only_once_its_callback_has_arrived_or_is_dead(on_sqlite: World) -> None:
    world = on_sqlite
    retry = world.service.relay.callbacks
    assert retry.give_up_after.days == 3
    world.agent.answers[:] = [500] * 2000
    asked = await world.ask()
    assert (await world.answer(asked, "approve")).status_code == 200
    await world.advance(days=31)
    assert await status_of(world, asked) == 404


def settings_of(folder: Path, place: Path) -> Settings:
    database = {"database_url": f"sqlite+aiosqlite:///{folder}/handraise.db"}
    (folder / "h.yaml").write_text(json.dumps({**database, "retention": {"ended_days": 90, "archive_dir": str(place)}}))
    return load(folder / "h.yaml", {})


def test_a_folder_that_can_not_be_made_stops_the_start_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings = settings_of(tmp_path, tmp_path / "file" / "archive")
    with pytest.raises(ConfigError, match=r"retention\.archive_dir: .*/file/archive can't be made: Not a directory"):
        archive_folder(settings, tmp_path)


def test_the_folder_is_for_this_service_alone(tmp_path: Path) -> None:
    made = archive_folder(settings_of(tmp_path, tmp_path / "deep" / "archive"), tmp_path)
    assert made.stat().st_mode & 0o777 == 0o700


def test_without_a_folder_it_is_beside_the_database(tmp_path: Path) -> None:
    settings = load(
        None,
        {"HANDRAISE_DATABASE_URL": f"sqlite+aiosqlite:///{tmp_path}/h.db", "HANDRAISE_RETENTION__ENDED_DAYS": "90"},
    )
    assert archive_folder(settings, Path("elsewhere")) == tmp_path / "h.db.archive"
    settings = load(None, {"HANDRAISE_DATABASE_URL": "postgresql+psycopg://h/d"})
    assert archive_folder(settings, tmp_path) == tmp_path / "handraise.archive"
