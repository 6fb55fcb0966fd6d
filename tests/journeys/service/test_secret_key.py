"""The secret key: long enough, and changed without losing what was made with it (docs/how-to/secret-key.md)."""

from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from standardwebhooks import Webhook

from bot.config.loading import load
from core.domain.tokens import TokenPurpose
from core.errors import ConfigError
from core.store import tokens
from tests.clock import ManualClock
from tests.journeys.questions.test_quorum import send
from tests.journeys.service.test_keys import keys, me, told
from tests.world import World, running

OLD = "the-key-that-this-installation-had-until-now"
NEW = "another-key-that-nobody-has-ever-seen-so-far"


def refusal(folder: Path, text: str) -> str:
    file = folder / "handraise.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as refused:
        load(file, {})
    return refused.value.message


# --- What is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
@pytest.mark.parametrize("weak", ["x", "changeme", "0123456789abcdef", "a" * 31])
def test_a_short_secret_key_is_refused_and_told_how_to_make_one(tmp_path: Path, weak: str, host: str) -> None:
    said = refusal(tmp_path, f"secret_key: {weak!r}\nhttp: {{host: {host}}}\n")
    assert "secret_key must have at least 32 characters; make one with `openssl rand -hex 32`" in said


@pytest.mark.parametrize("weak", ["x" * 64, "changeme" * 8, "abcabc" * 10])
def test_one_word_again_and_again_is_no_secret_key(tmp_path: Path, weak: str) -> None:
    said = refusal(tmp_path, f"secret_key: {weak!r}\n")
    assert "secret_key must have at least 8 different characters; make one with `openssl rand -hex 32`" in said


@pytest.mark.parametrize("enough", ["abcdefgh" * 4, "0123456789abcdef0123456789abcdef"])
def test_thirty_two_characters_and_eight_different_ones_are_enough(tmp_path: Path, enough: str) -> None:
    file = tmp_path / "handraise.yaml"
    file.write_text(f"secret_key: {enough!r}\n")
    assert load(file, {}).secret_key == enough


def test_a_previous_one_may_be_weak_and_needs_the_new_one(tmp_path: Path) -> None:
    assert "secret_key_previous is of no use without secret_key" in refusal(tmp_path, "secret_key_previous: changeme\n")
    file = tmp_path / "handraise.yaml"
    for written in ("'x,y'", "['x,y']"):
        file.write_text(f"secret_key: {NEW}\nsecret_key_previous: {written}\n")
        assert load(file, {}).secret_key_previous == ("x,y",), "a secret of the file may have a comma in it"
    file.write_text(f"secret_key: {NEW}\n")
    assert load(file, {"HANDRAISE_SECRET_KEY_PREVIOUS": "x,y"}).secret_key_previous == ("x", "y")


# --- Changing it ------------------------------------------------------------------------------------------------------


async def test_another_secret_key_alone_is_refused_and_says_what_to_do(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, secret_key=OLD):
        pass
    with pytest.raises(ConfigError, match="Put the old key back, or into secret_key_previous"):
        async with running(tmp_path, sqlite_url, secret_key=NEW):
            pass


async def link_of(world: World, to: str) -> str:
    mail = await world.mailbox.expect(to=to)
    found = re.search(r"/a/[a-z2-7]+", mail.text)
    assert found is not None
    return found[0]


async def audit_holds(world: World) -> bool:
    found = await world.call("GET", "/v1/audit/verify", "admin")
    assert found.status_code == 200, found.text
    return found.json()["first_broken"] is None


async def test_what_was_made_with_the_old_key_goes_on_under_the_new_one(tmp_path: Path, database_url: str) -> None:
    clock = ManualClock(datetime.now(UTC))
    async with running(tmp_path, database_url, clock, secret_key=OLD) as world:
        made = await keys(tmp_path, "create", "deploy-bot", "--role", "agent")
        key, webhook_secret = told(made, "api key"), told(made, "webhook secret")
        asked = await world.ask(channel_hint="email", responders=["carol@example.com"])
        link = await link_of(world, "carol@example.com")

    async with running(tmp_path, database_url, clock, secret_key=NEW, secret_key_previous=OLD) as world:
        assert (await me(world, key)).json()["name"] == "deploy-bot"
        async with httpx.AsyncClient(follow_redirects=True, timeout=30) as browser:
            assert (await send(browser, world.url + link, "0")).status_code == 200
        assert (await world.show(asked))["responded_by"] == "carol@example.com"
        assert await audit_holds(world), "its log has lines under both keys"
        signed = [Webhook(one) for one in world.service.keys.secrets("deploy-bot")]
        now = datetime.now(UTC)
        assert Webhook(webhook_secret).sign("m", now, "{}") in [one.sign("m", now, "{}") for one in signed]

    async with running(tmp_path, database_url, clock, secret_key=NEW) as world:
        assert (await me(world, key)).status_code == 200, "its hash was made anew when it was used"
        assert not await audit_holds(world), "the old lines can't be checked without the old key"


async def test_a_message_that_is_sent_again_has_a_link_that_works(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, secret_key=OLD) as world:
        asked = await world.ask(channel_hint="email", responders=["carol@example.com"])
    for secret_key in (NEW, NEW):  # the second time nothing is left to do
        changed = {"secret_key": secret_key, "secret_key_previous": [OLD]}
        async with running(tmp_path, sqlite_url, **changed) as world:
            relay = world.service.relay
            for purpose in TokenPurpose:
                token = relay.tries.links.tokens.token(purpose, asked["suspension_id"], "email", "carol@example.com")
                held = await world.service.database.read(lambda c, t=token, p=purpose: tokens.find(c, t, p))
                assert held is not None
                assert held.address.person == "carol@example.com"


async def test_the_key_file_is_changed_for_a_configured_key(tmp_path: Path, sqlite_url: str) -> None:
    async with running(tmp_path, sqlite_url, secret_key=None) as world:
        asked = await world.ask()
    written = (tmp_path / "handraise.db.key").read_text().strip()
    shutil.move(tmp_path / "handraise.db.key", tmp_path / "moved.key")
    async with running(tmp_path, sqlite_url, secret_key=NEW, secret_key_previous=written) as world:
        assert (await world.answer(asked, "approve")).status_code == 200
        assert await audit_holds(world)
