"""``handraise doctor`` finds each fault and names its mend: one planted at a time, in a set-up where all else is well.

A fault is planted in the configuration, in a vendor's sandbox, or around the service, and taken out again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import sqlalchemy as sa
from handraise_testing.database import lay_down

from bot.config.published import published
from bot.doctor.findings import Severity
from channels.email.authentication import LAST_REPLY
from core.domain.root_key import RootKey
from core.store.tables import api_keys, installation
from tests.bot.doctor.ward import HEARTBEAT_HOST, HOST, Ward, ahead, front, mails, ward
from tests.channels.email.certificates import self_signed
from tests.ports import free_port
from tests.vendors.mail import Mailbox
from tests.vendors.slack_faults import SaysNo
from tests.vendors.smtp import Offers
from tests.world import CHANNEL

pytestmark = pytest.mark.asyncio(loop_scope="module")

OK, WARNING, FAULT = Severity.OK, Severity.WARNING, Severity.FAULT
Plant = Callable[[Ward, AsyncExitStack, Path], Awaitable[dict[str, Any]]]
"""Plants a fault, which the stack takes out again; returns what the configuration says otherwise."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def good(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Ward]:
    folder = tmp_path_factory.mktemp("ward")
    async with ward(folder, f"sqlite+aiosqlite:///{folder}/handraise.db") as made:
        yield made


# --- Plants -------------------------------------------------------------------------------------------------------


def said(**overrides: Any) -> Plant:
    """In the configuration alone."""

    async def plant(_good: Ward, _stack: AsyncExitStack, _folder: Path) -> dict[str, Any]:
        return overrides

    return plant


CLIENT = {"client_id": "handraise", "client_secret": "secret-of-the-client"}


async def provider_without_discovery(_good: Ward, stack: AsyncExitStack, _folder: Path) -> dict[str, Any]:
    there = await talking(stack, b"", HELLO)
    return {"signin": {"oidc": {**CLIENT, "issuer": there.replace("smtp://", "http://")}}}


def lacking(scope: str) -> Plant:
    async def plant(good: Ward, stack: AsyncExitStack, _folder: Path) -> dict[str, Any]:
        scopes = good.world.slack.workspace.scopes
        scopes.discard(scope)
        stack.callback(scopes.add, scope)
        return {}

    return plant


async def app_token_without_its_scope(good: Ward, stack: AsyncExitStack, _folder: Path) -> dict[str, Any]:
    scopes = good.world.slack.sockets.scopes
    scopes.clear()
    stack.callback(scopes.add, "connections:write")
    return {}


async def bot_not_in_channel(good: Ward, stack: AsyncExitStack, _folder: Path) -> dict[str, Any]:
    workspace = good.world.slack.workspace
    members = workspace.conversations[CHANNEL].members
    members.discard(workspace.bot.id)
    stack.callback(members.add, workspace.bot.id)
    return {}


async def bot_not_in_channel_and_few_scopes(good: Ward, stack: AsyncExitStack, folder: Path) -> dict[str, Any]:
    """As with the manifest, which does not ask for ``channels:read``."""
    await lacking("channels:read")(good, stack, folder)
    return await bot_not_in_channel(good, stack, folder)


async def channel_archived(good: Ward, stack: AsyncExitStack, _folder: Path) -> dict[str, Any]:
    channel = good.world.slack.workspace.conversations[CHANNEL]
    channel.is_archived = True
    stack.callback(setattr, channel, "is_archived", False)
    return {}


async def socket_mode_off(good: Ward, stack: AsyncExitStack, _folder: Path) -> dict[str, Any]:
    good.world.slack.sockets.token_trouble = "forbidden_team"
    stack.callback(setattr, good.world.slack.sockets, "token_trouble", None)
    return {}


async def slack_with_an_escape_in_its_error(good: Ward, _stack: AsyncExitStack, _folder: Path) -> dict[str, Any]:
    good.world.slack.fail_next(SaysNo("\x1b[2Jok"), "auth.test")
    return {}


def smtp(offers: Offers, login: tuple[str, str] | None = None, **overrides: Any) -> Plant:
    """Another mail server."""

    async def plant(good: Ward, stack: AsyncExitStack, _folder: Path) -> dict[str, Any]:
        server = await stack.enter_async_context(mails(Mailbox(offers=offers, login=login)))
        return {"email__smtp_url": server.smtp_url} | overrides

    return plant


async def smtp_certificate_of_its_own(good: Ward, stack: AsyncExitStack, folder: Path) -> dict[str, Any]:
    return await smtp(Offers(self_signed(folder), implicit=True))(good, stack, folder)


async def smtp_refuses_the_login(good: Ward, stack: AsyncExitStack, folder: Path) -> dict[str, Any]:
    given = await smtp(Offers(), ("handraise", "right"))(good, stack, folder)
    return {"email__smtp_url": given["email__smtp_url"].replace("right", "wrong-password")}


async def smtp_takes_small_mails(good: Ward, stack: AsyncExitStack, _folder: Path) -> dict[str, Any]:
    return {"email__smtp_url": await talking(stack, b"220 mx ESMTP\r\n", b"250-mx\r\n250 SIZE 20000\r\n")}


async def talking(stack: AsyncExitStack, greeting: bytes, reply: bytes = b"") -> str:
    """A server that greets, and gives the same reply to every line; returns its ``smtp://`` URL."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(greeting)
        while await reader.readline():
            writer.write(reply)
            if reply.startswith(b"HTTP"):
                break
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    stack.callback(server.close)
    return f"smtp://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def another_program_listens(_good: Ward, stack: AsyncExitStack, _folder: Path) -> dict[str, Any]:
    url = await talking(stack, b"220 other.example ESMTP \x1b[2J\r\n")
    return {"email__listen": url.replace("smtp", "lmtp")}


def imap(**habits: Any) -> Plant:
    async def plant(good: Ward, stack: AsyncExitStack, _folder: Path) -> dict[str, Any]:
        for name, value in habits.items():
            stack.callback(setattr, good.imap, name, getattr(good.imap, name))
            setattr(good.imap, name, value)
        return {}

    return plant


async def a_stranger_at_our_port(_good: Ward, stack: AsyncExitStack, _folder: Path) -> dict[str, Any]:
    url = await talking(stack, b"", HELLO)
    return {"http": {"port": int(url.rpartition(":")[2])}}


async def a_service_without_its_clock(good: Ward, stack: AsyncExitStack, _folder: Path) -> dict[str, Any]:
    good.world.service.working = False
    stack.callback(setattr, good.world.service, "working", True)
    return {}


async def proxy_of_another(good: Ward, stack: AsyncExitStack, _folder: Path) -> dict[str, Any]:
    port = free_port()
    await stack.enter_async_context(front(port, good.authority.server("another.example"), good.world.url))
    return {"public_url": f"https://{HOST}:{port}"}


def proxy_to(reply: bytes) -> Plant:
    """Everything is answered by that."""

    async def plant(good: Ward, stack: AsyncExitStack, _folder: Path) -> dict[str, Any]:
        port, there = free_port(), await talking(stack, b"", reply)
        await stack.enter_async_context(front(port, good.authority.server(HOST), there))
        return {"public_url": f"https://{HOST}:{port}"}

    return plant


HELLO = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
NOT_HERE = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def last_reply(*names: str) -> Plant:
    """The last reply bore these authserv-ids."""

    async def plant(good: Ward, stack: AsyncExitStack, _folder: Path) -> dict[str, Any]:
        row = installation.c.key == f"learned.{LAST_REPLY}"
        kept = {"at": good.world.clock.now().isoformat(), "names": names}
        with good.world.service.database.engine.begin() as conn:
            before = conn.scalar(sa.select(installation.c.value).where(row))
            conn.execute(installation.update().where(row).values(value=json.dumps(kept)))

        def put_back() -> None:
            with good.world.service.database.engine.begin() as conn:
                conn.execute(installation.update().where(row).values(value=before))

        stack.callback(put_back)
        return {}

    return plant


def another_database(revision: str | None = None, mode: int = 0o600, check: str | None = None) -> Plant:
    """A file of its own, at that revision of the schema."""

    async def plant(_good: Ward, _stack: AsyncExitStack, folder: Path) -> dict[str, Any]:
        file = folder / "handraise.db"
        lay_down(f"sqlite:///{file}")
        engine = sa.create_engine(f"sqlite:///{file}")
        with engine.begin() as conn:
            if revision is not None:
                conn.execute(sa.text("UPDATE alembic_version SET version_num = :to"), {"to": revision})
            if check is not None:
                conn.execute(installation.insert().values(key="key_check", value=check))
        engine.dispose()
        file.chmod(mode)
        return {"database_url": f"sqlite+aiosqlite:///{file}"}

    return plant


def key_file(content: str | None, mode: int = 0o600) -> Plant:
    """The secret key is in a file; ``None`` for one that is gone."""

    async def plant(good: Ward, stack: AsyncExitStack, folder: Path) -> dict[str, Any]:
        changed = await another_database(check="made-with-the-key-that-was-there")(good, stack, folder)
        if content is not None:
            file = folder / "handraise.db.key"
            file.write_text(content)
            file.chmod(mode)
        return changed | {"secret_key": None}

    return plant


async def a_published_key(good: Ward, stack: AsyncExitStack, folder: Path) -> dict[str, Any]:
    """Its hash, which says so only to whoever has the key file."""
    changed = await key_file("ab" * 32)(good, stack, folder)
    hashed = RootKey(bytes.fromhex("ab" * 32)).hash_api_key(sorted(published())[0])
    return changed | {"api_keys": [{"name": "everybody", "key_hash": hashed, "roles": ["agent"]}]}


async def a_foreign_file(_good: Ward, _stack: AsyncExitStack, folder: Path) -> dict[str, Any]:
    engine = sa.create_engine(f"sqlite:///{folder}/other.db")
    with engine.begin() as conn:
        conn.execute(sa.text("CREATE TABLE bookmarks (id INTEGER)"))
    engine.dispose()
    return {"database_url": f"sqlite+aiosqlite:///{folder}/other.db"}


async def an_agent_at_home(good: Ward, _stack: AsyncExitStack, _folder: Path) -> dict[str, Any]:
    """No network is allowed, and the agents of this world are on loopback."""
    return {"resume": {}}


async def an_agent_that_sleeps(good: Ward, stack: AsyncExitStack, _folder: Path) -> dict[str, Any]:
    asked = await good.world.ask(resume={"callback_url": f"http://127.0.0.1:{free_port()}/resume"})
    stack.push_async_callback(good.world.call, "POST", f"/v1/suspensions/{asked['suspension_id']}/cancel", json={})
    return {}


# --- The table ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Planted:
    """``word`` stands in the mend; ``around`` is what lies otherwise around the service."""

    plant: Plant
    level: Severity
    subject: str
    word: str
    around: dict[str, Any] = field(default_factory=dict)


NO_CHANNELS = {"slack": None, "email": None, "pagerduty": None, "suspension": {}, "alerts": {}}
LADDER = {"max_attempts": 2, "interval_seconds": 60}


def ladder(notify_to: str, channel: str = "email") -> dict[str, Any]:
    rung = {"attempt": 2, "channel_hint": channel, "notify_to": notify_to}
    return {"default_channel": "slack", "default_retry_policy": {**LADDER, "escalation_ladder": [rung]}}


PLANTED: dict[str, Planted] = {
    "no channel": Planted(said(**NO_CHANNELS), WARNING, "configuration", "slack, email or pagerduty"),
    # What is kept
    "no folder": Planted(
        said(database_url="sqlite+aiosqlite:////nowhere/handraise.db"), FAULT, "database", "Make the folder"
    ),
    "no server": Planted(
        said(database_url="postgresql+psycopg://postgres:s3cret-of-pg@127.0.0.1:1/x"), FAULT, "database", "PostgreSQL"
    ),
    "another program's file": Planted(a_foreign_file, FAULT, "database", "database_url"),
    "a newer schema": Planted(another_database("9999"), FAULT, "database.schema", "newer version"),
    "an open file": Planted(another_database(mode=0o644), WARNING, "files", "chmod 600"),
    "another secret key": Planted(another_database(check="0" * 64), FAULT, "secret_key", "secret_key_previous"),
    "a key that others read": Planted(key_file("ab" * 32, 0o644), FAULT, "secret_key", "chmod 600"),
    "a damaged key": Planted(key_file("ab" * 5), FAULT, "secret_key", "handraise restore"),
    "a key that is gone": Planted(key_file(None), FAULT, "secret_key", "handraise restore"),
    "a published key": Planted(a_published_key, FAULT, "api_keys", "handraise keys create"),
    "a full disk": Planted(said(), FAULT, "disk", "Free some space", {"free_bytes": lambda _: 5_000_000}),
    "a disk that fills": Planted(said(), WARNING, "disk", "retention", {"free_bytes": lambda _: 500_000_000}),
    # Clock and addresses
    "a clock that is off": Planted(said(), WARNING, "clock", "timedatectl", ahead(timedelta(seconds=30))),
    "a clock that is lost": Planted(said(), FAULT, "clock", "timedatectl", ahead(timedelta(minutes=-10))),
    "a stranger at our port": Planted(a_stranger_at_our_port, FAULT, "service", "http.port"),
    "a service without its clock": Planted(a_service_without_its_clock, WARNING, "service", "log"),
    "links to this machine": Planted(said(public_url="http://127.0.0.1:8080"), WARNING, "public_url", "https://"),
    "a name that nobody has": Planted(said(public_url="https://nobody.example"), FAULT, "public_url", "DNS"),
    "a certificate for another name": Planted(proxy_of_another, FAULT, "public_url", f"certificate for {HOST}"),
    "a proxy that leads elsewhere": Planted(proxy_to(HELLO), FAULT, "public_url", "hand requests on"),
    "a proxy that lets few in": Planted(proxy_to(NOT_HERE), WARNING, "public_url", "let others in"),
    "no proxy": Planted(said(public_url=f"https://{HOST}:1"), WARNING, "public_url", "proxy"),
    # Signing in
    "a provider that is not reached": Planted(
        said(signin={"oidc": {**CLIENT, "issuer": "http://127.0.0.1:1"}}), FAULT, "signin.oidc", "reach 127.0.0.1"
    ),
    "no provider": Planted(provider_without_discovery, FAULT, "signin.oidc", "openid-configuration"),
    # Slack
    "a wrong bot token": Planted(said(slack__bot_token="xoxb-wrong-token"), FAULT, "slack.token", "BOT_TOKEN"),
    "another workspace": Planted(said(slack__team_id="T0OTHER"), FAULT, "slack.token", "slack.team_id"),
    "an escape sequence": Planted(slack_with_an_escape_in_its_error, FAULT, "slack.token", "BOT_TOKEN"),
    "no users:read.email": Planted(lacking("users:read.email"), FAULT, "slack.scopes", "Add users:read.email"),
    "no usergroups:read": Planted(lacking("usergroups:read"), FAULT, "slack.scopes", "Add usergroups:read"),
    "no connections:write": Planted(app_token_without_its_scope, FAULT, "slack.socket", "connections:write"),
    "a wrong app token": Planted(said(slack__app_token="xapp-wrong"), FAULT, "slack.socket", "APP_TOKEN"),
    "Socket Mode is off": Planted(socket_mode_off, FAULT, "slack.socket", "Socket Mode"),
    "no such channel": Planted(said(slack__default_channel="C0NONE"), FAULT, "slack.channel", "default_channel"),
    "not in the channel": Planted(bot_not_in_channel, FAULT, "slack.channel", "/invite @handraise"),
    "not in the channel, seen without channels:read": Planted(
        bot_not_in_channel_and_few_scopes, FAULT, "slack.channel", "/invite @handraise"
    ),
    "an archived channel": Planted(channel_archived, FAULT, "slack.channel", "another channel"),
    "somebody whom Slack does not know": Planted(
        said(people=[{"name": "Zoe", "email": "zoe@example.com"}, {"name": "Alice", "email": "alice@example.com"}]),
        WARNING,
        "slack.accounts",
        "slack_user_id",
    ),
    # Mail out
    "no mail server": Planted(said(email__smtp_url="smtp://127.0.0.1:1"), FAULT, "email.smtp", "host and port"),
    "a self-signed mail server": Planted(smtp_certificate_of_its_own, FAULT, "email.smtp", "email.tls_ca"),
    "no STARTTLS": Planted(smtp(Offers(), email__require_tls=True), FAULT, "email.smtp", "smtps://"),
    "a wrong password": Planted(smtp_refuses_the_login, FAULT, "email.smtp", "user and password"),
    "no login": Planted(smtp(Offers(login_by=()), ("a", "b")), FAULT, "email.smtp", "Take user and password out"),
    "small mails alone": Planted(smtp_takes_small_mails, FAULT, "email.size", "message_size_limit"),
    # Mail in
    "no mailbox": Planted(said(email__imap_url="imap://a:b@127.0.0.1:1"), FAULT, "email.imap", "host and port"),
    "a refused login": Planted(imap(says_no_to=("LOGIN",)), FAULT, "email.imap", "user and password"),
    "no such folder": Planted(imap(says_no_to=("EXAMINE",)), FAULT, "email.imap", "folder"),
    "no IDLE": Planted(imap(idles=False), WARNING, "email.imap", "imap_poll_seconds"),
    "a taken port": Planted(another_program_listens, FAULT, "email.listen", "free port"),
    "a port that is not ours": Planted(
        said(email__listen="lmtp://192.0.2.1:2424"), FAULT, "email.listen", "this machine"
    ),
    "a short secret": Planted(said(email__inbound_secret="short"), WARNING, "email.inbound", "openssl rand"),
    "another authserv-id": Planted(last_reply("mx.other.example"), FAULT, "email.authentication", "authserv_id"),
    "nobody vouches": Planted(last_reply(), FAULT, "email.authentication", "DMARC"),
    "tokens alone": Planted(said(email__sender_auth="token_only"), WARNING, "email.authentication", "sender_auth"),
    # PagerDuty
    "no events": Planted(said(pagerduty__events_url="http://127.0.0.1:1"), FAULT, "pagerduty.events", "region"),
    "a wrong API token": Planted(said(pagerduty__api_token="wrong-token"), FAULT, "pagerduty.token", "API_TOKEN"),
    "no API token": Planted(
        said(pagerduty__api_token=None, pagerduty__from_email=None), WARNING, "pagerduty.token", "API Access Keys"
    ),
    "nobody's e-mail": Planted(said(pagerduty__from_email="no@example.com"), FAULT, "pagerduty.from", "login"),
    "no from_email": Planted(said(pagerduty__from_email=None), WARNING, "pagerduty.from", "login"),
    "no webhook secret": Planted(said(pagerduty__webhook_secrets=[]), WARNING, "pagerduty.webhooks", "webhook_secrets"),
    "no webhook yet": Planted(another_database(), WARNING, "pagerduty.webhooks", "Generic Webhook"),
    # Callbacks
    "the metadata service": Planted(
        said(resume__allow_networks=["127.0.0.0/8", "169.254.0.0/16"]), WARNING, "callbacks.networks", "own networks"
    ),
    "everything": Planted(said(resume__allow_networks=["0.0.0.0/1"]), WARNING, "callbacks.networks", "own networks"),
    "a network that is not allowed": Planted(an_agent_at_home, FAULT, "callbacks", "resume.allow_networks"),
    "an agent that sleeps": Planted(an_agent_that_sleeps, WARNING, "callbacks", "firewall"),
    # People and alarms
    "no people": Planted(said(people=[], alerts__notify=["email:ops@example.com"]), WARNING, "people", "Add people"),
    "an allow-list without anybody": Planted(
        said(recipients={"allow": ["*@elsewhere.example"]}), WARNING, "people", "recipients.allow"
    ),
    "a rung for nobody": Planted(said(suspension=ladder("group:nobody")), FAULT, "people.ladder", "group:nobody"),
    "a pager that nobody has": Planted(
        said(
            suspension={"default_channel": "pagerduty"},
            pagerduty__routing_key=None,
            pagerduty__services={"ops": "R" * 32},
        ),
        WARNING,
        "people.ladder",
        "pagerduty_routing_key",
    ),
    "no default": Planted(said(slack__default_channel=None), WARNING, "people.default", "slack.default_channel"),
    "no operator for the inbox": Planted(
        said(suspension={"default_channel": "inbox"}, api_keys=[]), WARNING, "people.default", "role operator"
    ),
    "a default that is nobody": Planted(
        said(suspension={"default_channel": "email"}, email__default_to=["zoe@example.com"]),
        WARNING,
        "people.default",
        "Add them to people",
    ),
    "nobody to tell": Planted(said(alerts__notify=[]), WARNING, "alerts.notify", "alerts.notify"),
    "a group that is none": Planted(said(alerts__notify=["group:ops"]), FAULT, "alerts.notify", "group:NAME"),
    "no heartbeat": Planted(said(alerts__heartbeat_url=None), WARNING, "alerts.heartbeat", "healthchecks.io"),
    "a heartbeat that is not reached": Planted(
        said(alerts__heartbeat_url=f"https://{HEARTBEAT_HOST}:1/uuid"), FAULT, "alerts.heartbeat", HEARTBEAT_HOST
    ),
}

SECRETS = ("s3cret-of-pg", "wrong-password", "wrong-token", "secret-of-imap", "the-secret-key-of-the-tests", "/uuid")


@pytest.mark.parametrize("name", PLANTED)
async def test_a_planted_fault_is_found_with_its_mend(name: str, good: Ward, tmp_path: Path) -> None:
    planted = PLANTED[name]
    async with AsyncExitStack() as stack:
        overrides = await planted.plant(good, stack, tmp_path)
        found = await good.examine(planted.around, **overrides)
    lines = [one.line for one in found]
    about = [one for one in found if one.subject == planted.subject]
    assert [one.level for one in about] == [planted.level], lines
    assert planted.word in about[0].mend
    assert not [line for line in lines if "could not be looked at" in line or any(one in line for one in SECRETS)]
    assert all(line.isprintable() for line in lines)
    if planted.level is FAULT:
        assert [one.line for one in found if one.level is FAULT] == [about[0].line]


@pytest.mark.parametrize(("revoked_at", "level"), [(None, OK), (datetime(2026, 1, 1, tzinfo=UTC), WARNING)])
async def test_operators_made_on_the_command_line_are_whom_the_inbox_asks(
    good: Ward, tmp_path: Path, revoked_at: datetime | None, level: Severity
) -> None:
    olga = {"name": "olga@example.com", "key_hash": "of-olga", "roles": ["operator"], "revoked_at": revoked_at}
    async with AsyncExitStack() as stack:
        kept = await another_database()(good, stack, tmp_path)
        engine = sa.create_engine(f"sqlite:///{tmp_path}/handraise.db")
        with engine.begin() as conn:
            conn.execute(api_keys.insert().values(**olga, generation=1, created_at=datetime(2026, 1, 1, tzinfo=UTC)))
        engine.dispose()
        found = await good.examine(**kept, suspension={"default_channel": "inbox"}, api_keys=[])
    [about] = [one for one in found if one.subject == "people.default"]
    assert about.level is level, about.line
    assert ("olga@example.com" in about.line) is (level is OK)


async def test_a_set_up_in_which_nothing_is_planted_is_good_again(good: Ward) -> None:
    """So each fault was taken out, and none of them was there by itself."""
    assert [one.line for one in await good.examine() if one.level is not OK] == []
