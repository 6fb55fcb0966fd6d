"""Mail that could not be read: kept for a while as it came, for an admin to look at. Decision 0019."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from core.store import quarantine
from tests.bot.mail_world import ask_by_mail, is_open, reasons, take
from tests.cli import handraise
from tests.world import World, running

DEEP = b"From: a@b.c\r\n" + b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n" * 100 + b"\x1b[2JApprove\r\n"
DIGEST = hashlib.sha256(DEEP).hexdigest()
PATH = "/v1/mail/quarantine"


async def test_it_is_kept_byte_by_byte_and_told_of_once(any_world: World) -> None:
    for _ in range(3):
        assert (await any_world.mailbox.post(DEEP)).status_code == 202

    (kept,) = (await any_world.call("GET", PATH, "admin")).json()["items"]
    assert kept == {
        "digest": DIGEST,
        "door": "webhook",
        "reason": "nested_too_deep",
        "size": len(DEEP),
        "received_at": "2026-03-24T10:00:00Z",
        "kept_until": "2026-04-23T10:00:00Z",
    }
    assert (await any_world.call("GET", f"{PATH}/{DIGEST}", "admin")).content == DEEP


async def test_it_is_served_as_a_file_and_never_as_a_page(world: World) -> None:
    await world.mailbox.post(DEEP)

    served = await world.call("GET", f"{PATH}/{DIGEST}", "admin")

    assert served.headers["content-type"] == "message/rfc822"
    assert served.headers["content-disposition"].startswith("attachment")
    assert served.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in served.headers["content-security-policy"]


@pytest.mark.parametrize(("role", "status"), [(None, 401), ("agent", 403), ("operator", 403), ("admin", 200)])
async def test_only_an_admin_sees_it(world: World, role: str | None, status: int) -> None:
    await world.mailbox.post(DEEP)

    assert (await world.call("GET", PATH, role)).status_code == status
    assert (await world.call("GET", f"{PATH}/{DIGEST}", role)).status_code == status


@pytest.mark.parametrize(("digest", "status"), [("0" * 64, 404), ("x", 422), (DIGEST.upper(), 422)])
async def test_what_is_not_there_is_not_found(world: World, digest: str, status: int) -> None:
    assert (await world.call("GET", f"{PATH}/{digest}", "admin")).status_code == status


async def test_the_list_goes_on_page_by_page_newest_first(world: World) -> None:
    mails = [DEEP + b"%d" % number for number in range(5)]
    for raw in mails:
        await world.mailbox.post(raw)
        await world.advance(seconds=1)
    digests = [hashlib.sha256(raw).hexdigest() for raw in mails]

    found, cursor = [], None
    while True:
        query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = (await world.call("GET", PATH, "admin", params=query)).json()
        found += [one["digest"] for one in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break

    assert found == digests[::-1]


async def test_it_is_gone_after_thirty_days(world: World) -> None:
    await world.mailbox.post(DEEP)

    await world.advance(days=29, hours=23)
    assert len((await world.call("GET", PATH, "admin")).json()["items"]) == 1

    await world.advance(hours=2)
    assert (await world.call("GET", PATH, "admin")).json()["items"] == []
    assert (await world.call("GET", f"{PATH}/{DIGEST}", "admin")).status_code == 404


async def test_how_long_is_configured(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, email__quarantine_days=2) as world:
        await world.mailbox.post(DEEP)

        (kept,) = (await world.call("GET", PATH, "admin")).json()["items"]
        assert kept["kept_until"] == "2026-03-26T10:00:00Z"


async def test_it_takes_no_more_than_its_room(any_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody can send what we can't read. What is beyond is noted without its bytes."""
    monkeypatch.setattr(quarantine, "MOST_BYTES", 2 * len(DEEP) + 10)
    mails = [DEEP + b"%d" % number for number in range(3)]
    for raw in mails:
        await any_world.mailbox.post(raw)

    assert len((await any_world.call("GET", PATH, "admin")).json()["items"]) == 3
    served = [await any_world.call("GET", f"{PATH}/{hashlib.sha256(raw).hexdigest()}", "admin") for raw in mails]
    assert [one.status_code for one in served] == [200, 200, 404]


async def test_the_question_that_the_envelope_names_says_that_something_came(world: World) -> None:
    asked, mail = await ask_by_mail(world)

    await take(world, DEEP, sender="a@b.c", to=(mail.answers_to,))

    assert await is_open(world, asked)
    assert await reasons(world, asked) == [("unreadable", "nested_too_deep")]


async def test_what_comes_in_is_counted_by_door_and_kind_and_what_is_kept_by_reason(world: World) -> None:
    _, mail = await ask_by_mail(world)
    await world.mailbox.reply(mail, "hm")
    await world.mailbox.auto_reply(mail)
    await world.mailbox.bounce(mail)
    for _ in range(2):
        await world.mailbox.post(DEEP)
    await take(world, DEEP + b"1", door="imap")

    counted = (await world.http.get(f"{world.url}/metrics")).text
    for line in (
        'mail_received_total{door="webhook",kind="reply"} 1.0',
        'mail_received_total{door="webhook",kind="auto"} 1.0',
        'mail_received_total{door="webhook",kind="bounce"} 1.0',
        'mail_received_total{door="webhook",kind="unreadable"} 1.0',
        'mail_received_total{door="imap",kind="unreadable"} 1.0',
        'mail_quarantined_total{reason="nested_too_deep"} 2.0',
        'mail_quarantined_total{reason="crashed"} 0.0',
    ):
        assert line in counted


async def test_a_reply_that_brings_a_mistake_of_ours_to_light_counts_as_unreadable(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No such reply is known, so the mistake is put in."""
    _, mail = await ask_by_mail(world)

    def fails(*_args: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("bot.inbound.mail.answers.read_reply", fails)
    await world.mailbox.reply(mail, "hm")

    counted = (await world.http.get(f"{world.url}/metrics")).text
    assert 'mail_received_total{door="webhook",kind="unreadable"} 1.0' in counted
    assert 'mail_received_total{door="webhook",kind="reply"} 0.0' in counted
    assert 'mail_quarantined_total{reason="crashed"} 1.0' in counted


async def test_the_command_line_lists_and_shows(world: World) -> None:
    await world.mailbox.post(DEEP)

    listed = await handraise(world, "mail", "quarantine")
    shown = await handraise(world, "mail", "quarantine", "show", DIGEST)
    refused = await handraise(world, "mail", "quarantine", role="operator")

    assert listed.lines == [f"{DIGEST}  2026-03-24T10:00:00Z  webhook  {len(DEEP):>8}  nested_too_deep"]
    assert shown.out.encode() == DEEP
    assert (refused.status, refused.out) == (1, "")
