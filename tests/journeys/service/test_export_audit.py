"""The audit trail: exported, and checked in the database and in an export, whoever tampered with it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from handraise.cli.audit import INCOMPLETE, is_whole, parts_of, said_of, saved

from core.store.tables import events
from tests.cli import Ran, environ, handraise, watched
from tests.vendors.slack_faults import SaysNo
from tests.world import World


async def two_questions(world: World) -> list[dict[str, Any]]:
    """Each of three lines: asked, asked again, answered."""
    asked = [await world.ask(timeout_seconds=7200, retry_policy={"max_attempts": 2, "interval_seconds": 3600})]
    asked.append(await world.ask(timeout_seconds=7200, retry_policy={"max_attempts": 2, "interval_seconds": 3600}))
    await world.advance(hours=1)
    for one in asked:
        assert (await world.answer(one, "approve")).status_code == 200
    await world.settle()
    return sorted(asked, key=lambda one: str(one["intent_id"]))


async def exported(world: World, **wanted: str) -> list[str]:
    response = await world.call("GET", "/v1/audit/export", "admin", params=wanted)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/x-ndjson"
    return response.text.splitlines()


async def verify_file(world: World, folder: Path, lines: list[str]) -> Ran:
    return await handraise(world, "audit", "verify", "--file", str(written_to(folder, lines)))


def written_to(folder: Path, lines: list[str]) -> Path:
    file = folder / "export.jsonl"
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def kinds(lines: list[str]) -> list[str]:
    return [json.loads(line)["kind"] for line in lines]


@pytest.mark.parametrize("role", ["agent", "operator", None])
async def test_the_audit_trail_is_for_admins(world: World, role: str | None) -> None:
    wanted = 401 if role is None else 403
    for method, path in (("GET", "export"), ("GET", "verify"), ("POST", "verify")):
        response = await world.call(
            method, f"/v1/audit/{path}", role, **({"json": {"lines": []}} if method == "POST" else {})
        )
        assert response.status_code == wanted, path


async def test_however_a_question_ends_its_record_says_what_the_log_says(any_world: World) -> None:
    """Answered alone and by several, with a note, expired in every way, cancelled, abandoned, vetoed and not."""
    world, hour = any_world, {"timeout_seconds": 3600}
    await world.answer(await world.ask(), "approve", metadata={"reason": "fine", "n": 1})
    several = await world.ask(answers_required=2)
    for role in ("operator", "second_operator"):
        await world.answer(several, "approve", role)
    await world.answer(await world.ask(response_type="form", context={"a": "?"}), {"a": "ü", "n": 1.5})
    await world.answer(await world.ask(kind="veto", **hour), "veto", metadata={"reason": "no"})
    await world.answer(await world.ask(kind="veto", **hour), "authorize")
    cancelled, abandoned = await world.ask(), await world.ask()
    await world.call("POST", f"/v1/suspensions/{cancelled['suspension_id']}/cancel", json={"reason": "over"})
    version = {"If-Match": str((await world.intent(abandoned))["version"])}
    path = f"/v1/intents/{abandoned['intent_id']}/status"
    given_up = await world.call("POST", path, "admin", json={"status": "abandoned"}, headers=version)
    assert given_up.status_code == 200, given_up.text
    await world.ask(kind="veto", **hour)
    await world.ask(**hour)
    await world.ask(**hour, fallback_policy="complete_with_fallback", fallback_value="deny")
    world.slack.fail_next(SaysNo("channel_not_found"), "chat.postMessage")
    await world.ask(kind="veto", **hour)
    await world.ask("Still open?")
    await world.advance(hours=1)
    checked = (await world.call("GET", "/v1/audit/verify", "admin")).json()
    assert (checked["first_broken"], checked["intents"]) == (None, 12)


# --- Exported -----------------------------------------------------------------------------------------------------


async def test_an_export_has_every_event_in_order_with_all_it_takes_to_check_it(any_world: World) -> None:
    asked = await two_questions(any_world)
    lines = await exported(any_world)
    assert kinds(lines) == ["export", *(["log"] + ["event"] * 3) * 2, "end"]
    written = [json.loads(line) for line in lines if json.loads(line)["kind"] == "event"]
    for one in asked:
        mine = [event for event in written if event["intent_id"] == one["intent_id"]]
        assert [event["position"] for event in mine] == [1, 2, 3]
        shown = await any_world.events(one)
        assert [
            (event["id"], event["type"], event["actor"], event["payload"], event["created_at"]) for event in mine
        ] == [
            (event["id"], event["event_type"], event["actor"], event["payload"], event["created_at"]) for event in shown
        ]
    assert lines[1:-1] == (await exported(any_world))[1:-1]


@pytest.mark.slow
async def test_an_export_can_be_of_one_intent(world: World, tmp_path: Path) -> None:
    a, _ = await two_questions(world)
    lines = await exported(world, intent_id=a["intent_id"])
    assert kinds(lines) == ["export", "log", "event", "event", "event", "end"]
    assert (await verify_file(world, tmp_path, lines)).status == 0
    response = await world.call("GET", "/v1/audit/export", "admin", params={"intent_id": "unknown"})
    assert response.status_code == 404


async def test_an_export_can_be_of_a_time(world: World, tmp_path: Path) -> None:
    a, _ = await two_questions(world)
    asked, answered = a["suspended_at"], (await world.show(a))["responded_at"]
    for wanted, events_each in (
        ({"since": answered}, 2),
        ({"until": answered}, 1),
        ({"since": asked, "until": answered}, 1),
        ({"since": "2031-01-01T00:00:00Z"}, 0),
    ):
        lines = await exported(world, **wanted)
        assert kinds(lines).count("event") == 2 * events_each, wanted
        ran = await verify_file(world, tmp_path, lines)
        assert (ran.status, ran.err) == (0, ""), wanted


async def test_an_export_that_nobody_touched_holds(any_world: World, tmp_path: Path) -> None:
    await two_questions(any_world)
    await any_world.ask("Zahlung über 5 € an »Ünal«?\u2028\x85", response_type="text")
    ran = await verify_file(any_world, tmp_path, await exported(any_world))
    assert (ran.status, ran.lines) == (0, ["ok: 7 events of 3 intents are what was written"])


def edited(line: str, **fields: Any) -> str:
    return json.dumps({**json.loads(line), **fields}, separators=(",", ":"))


FileTampering = Callable[[list[str]], list[str]]
FILES: dict[str, tuple[FileTampering, str, int | None]] = {
    # lines: export, log, event 1-3, log, event 1-3, end
    "a payload": (lambda f: [*f[:3], edited(f[3], payload={}), *f[4:]], "not what was written", 2),
    "a time": (lambda f: [*f[:3], edited(f[3], created_at="2026-03-24T11:00:01Z"), *f[4:]], "not what was written", 2),
    "a MAC": (lambda f: [*f[:3], edited(f[3], mac="0" * 64), *f[4:]], "not what was written", 2),
    "no JSON": (lambda f: [*f[:3], "{", *f[4:]], "no line of an export", 2),
    "no event": (lambda f: [*f[:3], "{}", *f[4:]], "no line of an export", 2),
    "a line dropped": (lambda f: [*f[:3], *f[4:]], "missing", 2),
    "two lines swapped": (lambda f: [*f[:3], f[4], f[3], *f[5:]], "missing", 2),
    "the end of a log cut off": (lambda f: [*f[:4], *f[5:]], "cut off", 3),
    "the head set back": (lambda f: [f[0], edited(f[1], length=2), *f[2:4], *f[5:]], "another last event", 2),
    "another intent's line": (lambda f: [*f[:4], f[8], *f[5:]], "not what was written", 3),
    "a start that was never cut": (
        lambda f: [f[0], edited(f[1], after=1, after_mac=json.loads(f[2])["mac"], after_seal="0" * 64), *f[3:]],
        "does not begin where",
        1,
    ),
    "a whole log taken out": (lambda f: [f[0], *f[5:]], "the file is not the one", None),
    "the beginning changed": (lambda f: [edited(f[0], since="2026-01-01T00:00:00Z"), *f[1:]], "the file is not", None),
    "cut off": (lambda f: f[:-1], "the file ends before its end", None),
    "cut off in the middle": (lambda f: f[:4], "the file ends before its end", None),
    "nothing": (lambda f: [], "the file ends before its end", None),
    "something added": (lambda f: [*f, f[2]], "the file is not the one", None),
    "twice": (lambda f: [*f, *f], "the file is not the one", None),
}


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("how", FILES)
async def test_an_export_that_was_tampered_with_is_found_out(
    written: tuple[World, list[str]], tmp_path: Path, how: str
) -> None:
    world, lines = written
    tamper, words, position = FILES[how]
    said = await checked(world, tmp_path, tamper(lines))
    assert words in said
    if position is not None:
        assert f"intent {json.loads(lines[1])['intent_id']}, position {position}" in said


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def written(room: World) -> tuple[World, list[str]]:
    """An export of two logs of three lines each."""
    await two_questions(room)
    return room, await exported(room)


async def checked(world: World, folder: Path, lines: list[str]) -> str:
    """What the command line says of these lines; without a process of its own, since there are many."""
    file = written_to(folder, lines)
    progress: dict[str, Any] | None = None
    for part in parts_of(file):
        body = {"lines": part.lines, "sha256": part.sha256, "progress": progress}
        response = await world.call("POST", "/v1/audit/verify", "admin", json=body)
        assert response.status_code == 200, response.text
        if response.json()["first_broken"] is not None:
            return said_of(response.json()["first_broken"])
        progress = response.json()["progress"]
    return "ok" if progress is not None and progress["ended"] else said_of(INCOMPLETE)


# --- On the command line ------------------------------------------------------------------------------------------


async def test_the_command_line_verifies_and_says_what_is_broken(any_world: World) -> None:
    a, _ = await two_questions(any_world)
    ran = await handraise(any_world, "audit", "verify")
    assert (ran.status, ran.lines) == (0, ["ok: 6 events of 2 intents are what was written"])
    shown = (await any_world.events(a))[2]
    third = (events.c.intent_id == a["intent_id"]) & (events.c.position == 3)
    edit = events.update().where(third).values(payload={"value": "deny"})
    await any_world.service.database.write(lambda tx: tx.conn.execute(edit))
    ran = await handraise(any_world, "audit", "verify")
    assert ran.status == 1
    said = f"broken at intent {a['intent_id']}, position 3, event {shown['id']}: this is not what was written"
    assert ran.lines == [said]
    ran = await watched("audit", "verify", environ=environ(any_world, "admin") | {"TERM": "xterm"})
    assert (ran.status, ran.lines, "Verifying" in ran.err) == (1, [said], True)


async def test_the_command_line_exports_to_a_file_and_to_its_output(world: World, tmp_path: Path) -> None:
    await two_questions(world)
    file = tmp_path / "trail.jsonl"
    ran = await handraise(world, "export", "--output", str(file))
    assert (ran.status, ran.err) == (0, "")
    assert re.fullmatch(rf"ok: {file}: 6 events of 2 intents, [\d.]+ kB\n", ran.out)
    printed = await handraise(world, "export")
    assert printed.lines == file.read_text().splitlines()
    assert file.stat().st_mode & 0o777 == 0o600
    assert (await handraise(world, "audit", "verify", "--file", str(file))).status == 0
    assert [path.name for path in tmp_path.iterdir() if "trail" in path.name] == ["trail.jsonl"]


async def test_an_export_is_written_over_a_file_only_if_told_so(world: World, tmp_path: Path) -> None:
    file = tmp_path / "trail.jsonl"
    file.write_text("mine\n")
    ran = await handraise(world, "export", "--output", str(file), role="agent")  # it is told before it is asked for
    assert (ran.status, ran.err) == (2, f"handraise: {file} is there already: name another file, or say --overwrite\n")
    assert file.read_text() == "mine\n"
    assert (await handraise(world, "export", "--output", str(file), "--overwrite")).status == 0
    assert is_whole(file.read_text().splitlines()[-1])


def test_a_file_that_appears_while_an_export_is_written_stays(tmp_path: Path) -> None:
    file = tmp_path / "trail.jsonl"

    def lines() -> Iterator[str]:
        yield '{"kind":"end"}'
        file.write_text("mine\n")

    with pytest.raises(FileExistsError):
        saved(file, lines(), overwrite=False)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine\n"]


async def test_a_command_that_can_not_begin_says_so_in_one_line_and_ends_with_2(world: World, tmp_path: Path) -> None:
    for arguments, role, words in (
        (["audit", "verify"], "operator", "admin"),
        (["audit", "verify", "--file", str(tmp_path / "nowhere")], "admin", "No such file"),
        (["export", "--output", str(tmp_path / "nowhere" / "file")], "admin", "No such file"),
    ):
        ran = await handraise(world, *arguments, role=role)
        assert (ran.status, len(ran.err.splitlines())) == (2, 1), ran
        assert words in ran.err
    ran = await handraise(world, "export", "--since", "yesterday")
    assert (ran.status, len(ran.err.splitlines())) == (1, 1)
    assert "since" in ran.err
