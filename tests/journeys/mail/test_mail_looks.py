"""The mail that asks, as it arrives: whose time it tells, what it says of the ladder, in whose looks."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import preloaded
from tests.bot.mail_world import ALICE, BOB, ask_by_mail, signed_reply, written_back
from tests.published import renew_secrets
from tests.world import World, config, running

OPS = "ops@example.com"
MARK = "— {{ marker }} · {{ ref }} —\n"
ACTION = "{% if action %}{{ action.heading }} {{ action.text }}{% endif %}"
PEOPLE = [
    {"name": "Alice", "email": ALICE, "time_zone": "Asia/Tokyo", "groups": ["finance"]},
    {"name": "Bob", "email": BOB, "pagerduty_user_id": "PBOB", "groups": ["finance"]},
]
LADDER = {
    "max_attempts": 3,
    "interval_seconds": 3600,
    "escalation_ladder": [{"attempt": 3, "channel_hint": "pagerduty", "notify_to": "pagerduty:default"}],
}


@pytest.fixture
async def abroad(tmp_path: Path, sqlite_url: str) -> AsyncIterator[World]:
    async with running(tmp_path, sqlite_url, people=PEOPLE) as world:
        yield world


async def test_everybody_reads_the_times_of_where_they_live(abroad: World) -> None:
    fields = {"notify_to": "group:finance", "retry_policy": LADDER, "timeout_seconds": 10800}
    asked, to_alice = await ask_by_mail(abroad, **fields)
    to_bob = await abroad.mailbox.expect(to=BOB, subject=asked["ref"])
    ends = asked["expires_at"].replace("T", " ")[:16]

    assert f"({ends[-5:]} UTC), the agent stops." in to_alice.text
    assert " JST (" in to_alice.text
    assert f"If nobody answers by {ends} UTC, the agent stops." in to_bob.text


async def test_each_mail_says_what_the_ladder_does_next_until_the_last(abroad: World) -> None:
    asked, first = await ask_by_mail(abroad, retry_policy=LADDER, timeout_seconds=10800)
    await abroad.advance(hours=1)
    second = abroad.mailbox.of(ALICE)[-1]

    assert "the question goes out again: to you, by mail." in first.text
    assert second.id != first.id
    assert "the question goes out again: through PagerDuty." in second.text
    assert second.subject == first.subject
    assert second.header("References") == first.header("References")
    assert asked["ref"] in second.subject


async def test_a_clarification_can_be_answered_by_pressing_a_choice(abroad: World) -> None:
    asked, mail = await ask_by_mail(abroad)
    await abroad.mailbox.post(signed_reply(abroad, mail, "hm"))
    [clarification] = await written_back(abroad, asked)

    assert f'href="{mail.links[0]}#c=1"' in clarification.html
    assert clarification.answers_to == mail.answers_to


async def test_a_template_of_the_operators_makes_the_mail(tmp_path: Path, sqlite_url: str) -> None:
    templates(tmp_path, "ACME asks {{ question }} {{ link }}")
    async with running(tmp_path, sqlite_url, email__templates="looks") as world:
        _, mail = await ask_by_mail(world)
        assert "ACME asks Refund order 12345? http" in mail.text


async def test_a_template_that_fails_loses_no_question_and_is_told_of_once_an_hour(
    tmp_path: Path, database_url: str
) -> None:
    templates(tmp_path, "{{ 1 // (question|length - 4) }} {{ link }}")
    alerts = {"notify": [f"email:{OPS}"]}
    async with running(tmp_path, database_url, email__templates="looks", alerts=alerts) as world:
        for minutes in (0, 20, 59):
            await world.advance(minutes=minutes)
            _, mail = await ask_by_mail(world, "Why?", timeout_seconds=86400)
            assert "\nWhy?\n" in mail.text
        told = [one.subject for one in world.mailbox.of(OPS)]
        assert told == ["Messages by email do not look as set up (template_notice)"] * 2


async def start(folder: Path, **email: Any) -> tuple[int | None, str]:
    """The exit status of ``handraise serve`` and what it said."""
    section = {"smtp_url": "smtps://mail.example.com", "from": "handraise@example.com", **email}
    settings = config(f"sqlite+aiosqlite:///{folder / 'h.db'}", {"email": section})
    settings |= {"suspension": {}, "public_url": "https://handraise.acme.example"}
    renew_secrets(settings)
    file = folder / "handraise.yaml"
    file.write_text(yaml.safe_dump(settings))
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAISE_")}
    status, out, err = await preloaded.run(["serve", "--config", str(file)], environ)
    return status, (out + err).decode()


def templates(folder: Path, source: str) -> Path:
    looks = folder / "looks"
    looks.mkdir()
    (looks / "notice.txt.j2").write_text(MARK + source + ACTION)
    return looks


async def test_a_template_that_can_t_work_ends_the_start_with_one_line(tmp_path: Path) -> None:
    looks = templates(tmp_path, "{{ qestion }} {{ link }}")
    status, printed = await start(tmp_path, templates="looks")

    assert status == 2
    [line] = printed.splitlines()
    assert line.startswith(f"handraise: {looks}/notice.txt.j2:2: there is no variable qestion; there are ")


@pytest.mark.parametrize(
    ("content", "why"), [(None, "No such file or directory"), ("no certificate", "no PEM certificate in it")]
)
async def test_authorities_that_can_t_be_read_end_the_start_with_one_line(
    tmp_path: Path, content: str | None, why: str
) -> None:
    if content is not None:
        (tmp_path / "ca.pem").write_text(content)

    told = f"handraise: email.tls_ca: {tmp_path}/ca.pem can't be used ({why}).\n"
    assert await start(tmp_path, tls_ca="ca.pem") == (2, told)


@pytest.mark.slow
async def test_a_preview_writes_every_mail_in_the_operators_looks(tmp_path: Path) -> None:
    templates(tmp_path, "ACME asks {{ question }} {{ link }}")
    (tmp_path / "handraise.yaml").write_text(
        yaml.safe_dump({"email": {"smtp_url": "smtp://h", "from": "ask@acme.example", "templates": "looks"}})
    )
    arguments = ("mail", "preview", str(tmp_path / "out"), "--config", str(tmp_path / "handraise.yaml"))
    status, _, _ = await preloaded.run(arguments, os.environ)
    assert status == 0
    again, _, said = await preloaded.run(arguments, os.environ)
    assert (again, b"is there already" in said) == (2, True)
    assert (await preloaded.run([*arguments, "--overwrite"], os.environ))[0] == 0

    assert "ACME asks" in (tmp_path / "out" / "veto.txt").read_text()
    assert "From: ask@acme.example" in (tmp_path / "out" / "alert.eml").read_text()
    assert "<html" in (tmp_path / "out" / "too-late.html").read_text()
