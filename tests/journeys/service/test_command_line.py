"""The commands over HTTP as people use them: what each prints, for whoever looks and for programs (decision 0070)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from handraise.cli.lookup import _gather

from tests import preloaded
from tests.cli import Ran, at_terminal, environ, handraise
from tests.world import World, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

LADDER = {
    "max_attempts": 3,
    "interval_seconds": 3_600,
    "escalation_ladder": [{"attempt": 2, "channel_hint": "email", "notify_to": "bob@example.com"}],
}
CHOICES = ("--choice", "approve=Approve refund", "--choice", "deny")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def office(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder = tmp_path_factory.mktemp("office")
    async with running(folder, f"sqlite+aiosqlite:///{folder}/handraise.db") as world:
        yield world


async def asked(world: World, *arguments: str, role: str = "agent") -> Ran:
    ran = await handraise(world, "ask", *arguments, role=role)
    assert ran.status == 0, ran.err
    return ran


async def record(world: World, ran: Ran) -> dict[str, Any]:
    """What was stored by the ``ask`` that printed this."""
    _, name = ran.lines[0].split()
    found: dict[str, Any] = (await world.call("GET", f"/v1/suspensions/{name}", "admin")).json()
    return found


async def test_ask_takes_everything_that_a_question_is_made_of(office: World, tmp_path: Path) -> None:
    (tmp_path / "order.json").write_text('{"order": {"id": 7}}')
    ran = await asked(
        office,
        *("Refund order 7?", *CHOICES, "--responder", "alice@example.com", "--responder", "bob@example.com"),
        *("--context", "customer=Zoë", "--context", f"@{tmp_path}/order.json", "--context", '{"amount": 4.5}'),
        *("--timeout", "2h", "--deadline", "90m"),
    )
    found = await record(office, ran)
    assert [choice["value"] for choice in found["choices"]] == ["approve", "deny"]
    assert found["responders"] == ["alice@example.com", "bob@example.com"]
    assert found["context"] == {"customer": "Zoë", "order": {"id": 7}, "amount": 4.5}
    assert (found["timeout_seconds"], found["deadline_seconds"]) == (7_200, 5_400)
    ref = found["ref"]
    assert ran.err.splitlines()[:2] == [
        f"{ref}: asks Alice <alice@example.com>, Bob <bob@example.com> by Slack",
        f"{ref}: {office.service.settings.public_url}/q/{ref}",
    ]
    assert ran.err.splitlines()[2].endswith("That is in 1 h 30 min.")


async def test_a_form_and_a_veto_are_asked_too(office: World, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"amount": {"type": "integer"}}}
    (tmp_path / "form.json").write_text(json.dumps(schema))
    form = await record(office, await asked(office, "How much?", "--form", str(tmp_path / "form.json")))
    assert (form["response_type"], form["form_schema"]) == ("form", schema)
    veto = await record(office, await asked(office, "Deploying.", "--kind", "veto", "--timeout", "10m"))
    assert (veto["kind"], veto["timeout_seconds"]) == ("veto", 600)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--context", "nonsense"], "'--context': must be a JSON object, @FILE that holds one, or KEY=VALUE."),
        (["--context", "@no/such"], "'--context': no/such can't be read: No such file or directory."),
        (["--context", "{"], "'--context': it is not JSON."),
        (["--context", "@LIST"], "is JSON, but not an object."),
        (["--form", "LIST"], "is JSON, but not an object."),
        (["--form", "LIST", "--choice", "a"], "'--form': can't be given beside --choice."),
        (["--deadline", "soon"], "'--deadline': must be seconds, or a number with s, m, h or d"),
        (["--kind", "poll"], "'--kind'"),
    ],
)
async def test_what_can_not_be_read_names_the_option_and_asks_nobody(
    office: World, tmp_path: Path, arguments: list[str], said: str
) -> None:
    (tmp_path / "list.json").write_text("[1]")
    words = [one.replace("LIST", str(tmp_path / "list.json")) for one in arguments]
    ran = await handraise(office, "ask", "Never asked?", *words, role="agent")
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
    found = await office.call("GET", "/v1/suspensions", "admin", params={"q": "Never asked?"})
    assert found.json()["items"] == []


async def test_the_card_shows_question_plan_people_and_link(office: World) -> None:
    asked = await office.ask(
        "Refund order 8?",
        context={"customer": "Zoë"},
        responders=["alice@example.com"],
        retry_policy=LADDER,
    )
    ref, page = asked["ref"], f"{office.service.settings.public_url}/q/{asked['ref']}"
    ran = await handraise(office, "claim", ref, "--for", "5m", role="operator")
    assert ran.out.startswith(f"{ref}: alice@example.com is on it until ")
    shown = await handraise(office, "show", ref, role="operator")
    assert (shown.status, shown.err) == (0, "")
    lines = shown.lines
    assert lines[0].startswith(f"{ref}  open  asked by refund-agent at ")
    assert lines[1:5] == [
        "  Refund order 8?",
        "  - approve: Approve refund",
        "  - deny: Deny refund",
        "  customer: Zoë",
    ]
    at = [f"{datetime.fromisoformat(entry['due_at']):%Y-%m-%d %H:%M} UTC" for entry in asked["ladder"]]
    assert lines[6:9] == [
        f"  ✓     attempt 1  {at[0]}  Alice <alice@example.com> by Slack",
        f"  next  attempt 2  {at[1]}  Bob <bob@example.com> by e-mail",
        f"  later attempt 3  {at[2]}  Alice <alice@example.com> by Slack",
    ]
    assert lines[9].startswith("  Alice <alice@example.com> is on it until ")
    assert lines[10:] == [
        f"  {page}",
        f"  Answer it: handraise answer {ref} VALUE. What has happened: handraise timeline {ref}",
    ]
    given = await handraise(office, "release", ref, role="operator")
    assert given.out == f"{ref}: given back, reminders go on\n"
    assert (await office.answer(asked, "deny")).status_code == 200
    ended = await handraise(office, "show", ref, role="agent")
    assert "  answer: 'deny' by Alice <alice@example.com> via api" in ended.lines
    assert not any(line.startswith(("  next", "  later")) for line in ended.lines)


async def test_a_question_is_taken_back_once(office: World) -> None:
    ref = (await office.ask("Refund order 9?"))["ref"]
    ran = await handraise(office, "cancel", ref, "--reason", "asked twice", role="agent")
    assert (ran.status, ran.out) == (0, f"{ref}: cancelled, nobody is asked any more\n")
    shown = await handraise(office, "show", ref, role="agent")
    assert any(line.startswith("  cancelled at ") and line.endswith(": asked twice") for line in shown.lines)
    again = await handraise(office, "cancel", ref, role="agent")
    assert (again.status, again.out, len(again.err.splitlines())) == (1, "", 1)


async def test_what_happened_is_told_in_order(office: World) -> None:
    ref = (await office.ask("Refund order 10?"))["ref"]
    ran = await handraise(office, "timeline", ref, role="operator")
    assert [line.split("  ", 1)[1].split()[0] for line in ran.lines[:2]] == ["intent.suspended", "attempt"]


async def test_whoami_says_whose_the_key_is(office: World) -> None:
    ran = await handraise(office, "whoami", role="operator")
    assert ran.lines == [
        "identity  alice@example.com",
        "key       alice@example.com",
        "roles     operator",
        f"service   {office.url}",
    ]


async def test_the_list_says_how_many_there_are_and_how_to_get_them(office: World) -> None:
    for number in range(3):
        await office.ask(f"Counted {number}?")
    ran = await handraise(office, "list", "--search", "Counted", "--limit", "2", role="operator")
    assert len(ran.lines) == 2
    assert ran.err == "2 of 3. All of them: --limit 3\n"
    all_of_them = await handraise(office, "list", "--search", "Counted", "--limit", "3", role="operator")
    assert (len(all_of_them.lines), all_of_them.err) == (3, "")
    none = await handraise(office, "list", "--search", "No such words", role="operator")
    assert (none.status, none.out, none.err) == (0, "", "no open questions\n")
    ended = await handraise(office, "list", "--search", "Counted", "--status", "all", "--json", role="operator")
    assert json.loads(ended.out)["total"] == 3


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--status", "nope", "'nope' is not one of 'open', 'responded', 'expired', 'cancelled', 'all'."),
        ("--limit", "0", "must be greater than or equal to 1"),
    ],
)
async def test_an_option_that_cannot_be_so_is_named_with_what_it_takes(
    office: World, option: str, value: str, said: str
) -> None:
    ran = await handraise(office, "list", option, value, role="operator")
    assert ran.status == 2
    assert ran.err.splitlines()[-1] == f"Error: Invalid value for '{option}': {said}"


async def test_mine_is_what_waits_for_my_answer(office: World) -> None:
    for_bob = await office.ask("For Bob alone?", responders=["bob@example.com"])
    later = await office.ask("For Alice, later?", responders=["alice@example.com"], timeout_seconds=90_000)
    sooner = await office.ask("For Alice, soon?", responders=["alice@example.com"], timeout_seconds=60)
    refs = [line.split()[0] for line in (await handraise(office, "list", "--mine", role="operator")).lines]
    assert for_bob["ref"] not in refs
    assert refs.index(sooner["ref"]) < refs.index(later["ref"])
    mixed = await handraise(office, "list", "--mine", "--search", "x", role="operator")
    assert (mixed.status, "'--mine'" in mixed.err) == (2, True)
    of_agent = await handraise(office, "list", "--mine", "--search", "For Bob", role="agent")
    assert [line.split()[0] for line in of_agent.lines] == [for_bob["ref"]]


async def test_the_api_lists_what_waits_page_by_page(office: World) -> None:
    """``GET /inbox``, each question once, for whoever answers alone."""
    mine = {(await office.ask(f"Waits, {number}?"))["ref"] for number in range(3)}
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        page = (await office.call("GET", "/v1/inbox", "operator", params=query)).json()
        seen += [one["ref"] for one in page["items"]]
        if page["next_cursor"] is None:
            break
        query["cursor"] = page["next_cursor"]
    assert len(seen) == len(set(seen)) == page["total"]
    assert mine <= set(seen)
    assert (await office.call("GET", "/v1/inbox", "agent")).status_code == 403
    assert (await office.call("GET", "/v1/inbox", "operator", params={"cursor": "x"})).status_code == 422


class _Pages:
    """A service with very many questions. It counts what is fetched."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.fetched = 0

    def get(self, path: str, query: dict[str, Any]) -> dict[str, Any]:
        start, limit = int(query.get("cursor", 0)), query["limit"]
        items = [{"ref": str(one)} for one in range(start, min(start + limit, self.number))]
        self.fetched += len(items)
        after = start + limit
        return {"items": items, "next_cursor": str(after) if after < self.number else None}


@pytest.mark.parametrize(("number", "total"), [(0, 0), (50, 50), (51, 51), (512, 512), (1_000, 1_000), (9_999, None)])
async def test_very_many_are_not_counted_to_the_last(number: int, total: int | None) -> None:
    pages = _Pages(number)
    shown, counted = _gather(pages, "/v1/suspensions", {}, 50)  # type: ignore[arg-type]
    assert (len(shown), counted) == (min(50, number), total)
    assert pages.fetched <= 1_200


JSON_COMMANDS = [
    (["whoami"], "operator"),
    (["list"], "operator"),
    (["show", "REF"], "operator"),
    (["timeline", "REF"], "operator"),
    (["claim", "REF"], "operator"),
    (["release", "REF"], "operator"),
    (["assign", "REF", "bob@example.com"], "operator"),
    (["clarify", "REF", "Which card?"], "second_operator"),
    (["answer", "REF", "approve"], "second_operator"),
    (["redrive", "OTHER"], "admin"),
    (["callbacks", "--status", "all"], "admin"),
    (["pause"], "admin"),
    (["unpause"], "admin"),
    (["signin-link", "alice@example.com"], "admin"),
    (["ask", "As JSON?"], "agent"),
    (["cancel", "THIRD"], "agent"),
    (["keys", "create", "deploy-bot", "--role", "agent", "--config", "CONFIG"], "admin"),
    (["keys", "rotate", "deploy-bot", "--config", "CONFIG"], "admin"),
    (["keys", "rotate", "deploy-bot", "--api-key", "--config", "CONFIG"], "admin"),
    (["keys", "list", "--config", "CONFIG"], "admin"),
    (["keys", "revoke", "deploy-bot", "--config", "CONFIG"], "admin"),
    (["migrate", "--config", "CONFIG"], "admin"),
    (["mail", "quarantine"], "admin"),
    (["audit", "verify"], "admin"),
    (["reload"], "admin"),
    (["init", "NEW", "--agent", "deploy-bot"], "admin"),
    (["mail", "preview", "PREVIEWS", "--config", "CONFIG"], "admin"),
]


@pytest.mark.slow
async def test_everything_that_prints_prints_json_too(office: World, tmp_path: Path) -> None:
    """In this order, since each changes what it is about."""
    config = Path(office.service.settings.database_url.partition("///")[2]).parent / "handraise.yaml"
    names = {"CONFIG": str(config), "PREVIEWS": str(tmp_path / "previews"), "NEW": str(tmp_path / "new.yaml")}
    names |= {
        name: (await office.ask(f"{name}?", responders=["alice@example.com"]))["ref"] for name in ("REF", "THIRD")
    }
    office.agent.answers[:] = [410]
    other = await office.ask("OTHER?", responders=["alice@example.com"])
    assert (await office.answer(other, "deny")).status_code == 200
    await office.settle()
    names["OTHER"] = other["ref"]
    for arguments, role in JSON_COMMANDS:
        ran = await handraise(office, *(names.get(one, one) for one in arguments), "--json", role=role)
        assert ran.status == 0, (arguments, ran.err)
        assert isinstance(json.loads(ran.out), dict), arguments


@pytest.mark.slow
async def test_a_pipe_gets_no_box_and_no_colour_and_help_fits_eighty_columns(office: World) -> None:
    for arguments in ([], ["ask"], ["list"], ["keys", "create"], ["--nonsense"]):
        for way in (handraise, at_terminal):
            ran = await way(office, *arguments, "--help")
            said = ran.out + ran.err
            assert said
            assert not set(said) & set("\x1b╭╮╰╯│─")
            assert max(map(len, said.splitlines())) <= 80


async def test_the_version_names_both_distributions(office: World) -> None:
    ran = await handraise(office, "--version")
    assert [line.split()[0] for line in ran.lines] == ["handraise", "handraise-server"]


async def test_ctrl_c_leaves_the_question_open_and_says_how_to_take_it_back(office: World) -> None:
    out_of, out = os.pipe()
    err_of, err = os.pipe()
    process = preloaded.start(["ask", "Waited for?", "--wait"], environ(office, "agent"), out, err)
    os.close(out)
    os.close(err)
    with os.fdopen(err_of, encoding="utf-8") as errors, os.fdopen(out_of, encoding="utf-8") as printed:
        said = ""
        while "waiting for an answer" not in said:
            said += (line := await asyncio.to_thread(errors.readline))
            assert line
        ref = said.split(":")[0]
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(60):
            assert await process.wait() == 130
        assert await asyncio.to_thread(printed.read) == ""
        last = (await asyncio.to_thread(errors.read)).splitlines()[-1]
    assert last == f"{ref}: not waiting any more. The question stays open; `handraise cancel {ref}` takes it back."
    [found] = (await office.call("GET", "/v1/suspensions", "admin", params={"q": ref})).json()["items"]
    assert found["status"] == "open"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("aks", "Go?"), "No such command 'aks'. Did you mean 'ask'?"),
        (("serv",), "No such command 'serv'. Did you mean 'serve'?"),
        (("zzzzz",), "No such command 'zzzzz'."),
        (("keys", "creat"), "No such command 'creat'. Did you mean 'create'?"),
        (("hook", "instal"), "No such command 'instal'. Did you mean 'install'?"),
        (("mail", "quarantine", "shw"), "No such command 'shw'. Did you mean 'show'?"),
        (("ask", "Go?", "--timeot", "3"), "No such option: --timeot. Did you mean --timeout?"),
        (("--verson",), "No such option: --verson. Did you mean --version?"),
        (("keys", "create", "--rol", "agent"), "No such option: --rol. Did you mean --role?"),
    ],
)
async def test_whoever_misspells_a_command_or_an_option_is_told_the_nearest(
    office: World, arguments: tuple[str, ...], said: str
) -> None:
    ran = await handraise(office, *arguments)
    assert (ran.status, ran.out, ran.err.splitlines()[-1]) == (2, "", f"Error: {said}")
