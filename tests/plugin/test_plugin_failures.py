"""How a test fails for what only the server knows. Pytest runs in a process of its own, with this plugin alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin.running import run_pytest

pytestmark = pytest.mark.slow

FAILING = """
import asyncio

import pytest
import structlog
from handraise import Handraise, HandraiseError, InputTimeoutError

CHOICES = ["approve", "deny"]


def ask(question="Refund order 7?", **options):
    async def agent():
        async with Handraise() as people:
            return await people.request_input(question, choices=CHOICES, **options)

    return asyncio.run(agent())


def test_waits_for_ever(handraise, humans):
    humans.stay_silent()
    ask()


def test_waits_for_ever_and_the_agent_hides_it(handraise):
    with pytest.raises(HandraiseError):
        ask()


def test_no_choice(handraise, humans):
    humans.answer("aprove")
    ask()


def test_no_responder(handraise, humans):
    humans.answer("approve", by="eve@elsewhere.example")
    ask(responders=["group:finance"])


def test_no_such_choice_to_deny(handraise, humans):
    humans.deny()

    async def agent():
        async with Handraise() as people:
            await people.request_input("Which?", choices=["red", "blue"])

    asyncio.run(agent())


def test_never_asked(handraise, humans):
    humans.answer("approve", after="90m", to="order 7")
    humans.answer("deny", to="order 8")
    assert ask() == "approve"


def test_silence_that_nobody_met(handraise, humans):
    humans.stay_silent()


def test_not_awaited(handraise):
    async def agent():
        handraise.clock.advance("1h")

    asyncio.run(agent())


def test_waits_for_ever_under_finish(handraise):
    async def agent():
        async with Handraise() as people:
            await people.suspend("Refund order 7?", choices=CHOICES)

    asyncio.run(agent())
    handraise.clock.finish()


def test_its_own_assertion(handraise, humans):
    humans.answer("approve")
    assert ask() == "deny"


def test_passes(handraise, humans):
    humans.stay_silent()
    with pytest.raises(InputTimeoutError):
        ask(timeout_seconds=3600)


def test_only_its_own_log_lines_are_shown(handraise, humans, capsys):
    humans.answer("approve")
    structlog.get_logger().info("the agent begins")
    ask()
    written = capsys.readouterr().out
    assert "the agent begins" in written
    assert "[info" not in written.replace("[info     ] the agent begins", "")
    assert "[debug" not in written


def test_skipped(handraise, humans):
    humans.answer("approve")
    pytest.skip("not today")


def test_broken_settings(broken):
    pass


@pytest.fixture
def broken(tmp_path):
    from handraise_testing.settings import settings_for

    return settings_for({"people": [{"name": "Olga"}]}, tmp_path / "handraise.db")
"""

FOR_EVER = "The question waits for ever: nobody answers and it has no timeout. ('Refund order 7?')"


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("failing")
    (folder / "test_failing.py").write_text(FAILING)
    return run_pytest(folder, "-p", "no:anyio")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("test_waits_for_ever", FOR_EVER),
        ("test_waits_for_ever_and_the_agent_hides_it", FOR_EVER),
        ("test_waits_for_ever_under_finish", FOR_EVER),
        (
            "test_no_choice",
            "humans.answer('aprove') was refused. alice@example.com can't do that with 'Refund order 7?': "
            "invalid_choice: 'aprove' is not one of the choices; expected one of: 'approve', 'deny'.",
        ),
        ("test_no_responder", "eve@elsewhere.example can't do that with 'Refund order 7?': not_a_responder: "),
        ("test_no_such_choice_to_deny", "humans.deny(): which choice of 'Which?' is that? Its choices: 'red', 'blue'."),
        ("test_never_asked", "humans.answer('deny') was planned, and no question was asked that to='order 8' fits."),
        ("test_silence_that_nobody_met", "humans.stay_silent() was planned, and no question was asked."),
        ("test_not_awaited", "handraise.clock.advance(…) was not awaited: in an async test, await it."),
        ("test_its_own_assertion", "AssertionError: assert 'approve' == 'deny'"),
        ("test_broken_settings", "handraise_settings: people[0].email is missing"),
    ],
)
def test_it_fails_and_says_why(outcomes: dict[str, str], name: str, said: str) -> None:
    assert said in outcomes[name]


def test_nothing_is_said_twice(outcomes: dict[str, str]) -> None:
    assert outcomes["test_no_choice"].partition("\n")[2].count("invalid_choice") == 1


@pytest.mark.parametrize("name", ["test_passes", "test_skipped", "test_only_its_own_log_lines_are_shown"])
def test_it_does_not_fail(outcomes: dict[str, str], name: str) -> None:
    assert outcomes[name] == "passed"


def test_async_tests_run_with_anyio_alone(tmp_path: Path) -> None:
    (tmp_path / "test_anyio.py").write_text("""
import pytest
from handraise import Handraise

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
def anyio_backend():
    return "asyncio"


async def test_answered(handraise, humans):
    humans.answer("yes", after="1h")
    async with Handraise() as people:
        assert await people.request_input("Deploy?", response_type="confirm") == "yes"
    await handraise.clock.advance("1h")
    assert handraise.clock.now().hour == 12
""")
    assert run_pytest(tmp_path, "-p", "anyio.pytest_plugin") == {"test_answered": "passed"}
