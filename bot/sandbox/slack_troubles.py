"""What can be made to go wrong with the pretend Slack on its page, each by a name and a label for its button."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from bot.sandbox.slack import SlackSandbox
from bot.sandbox.slack_faults import DropAfterStoring, RateLimited
from bot.sandbox.slack_records import JsonObject
from bot.sandbox.slack_socket_faults import AckLost, Duplicated

POST = "chat.postMessage"
SCOPE = "chat:write"
RATE_LIMIT = RateLimited(retry_after=5)


@dataclass(frozen=True, slots=True)
class Trouble:
    """``is_on`` says whether it lasts at the moment; what is over at once is never on."""

    label: str
    make: Callable[[SlackSandbox], Awaitable[None]]
    is_on: Callable[[SlackSandbox], bool] = lambda slack: False


async def _drop(slack: SlackSandbox) -> None:
    slack.sockets.drop()


async def _silence(slack: SlackSandbox) -> None:
    slack.sockets.silence()


async def _refresh(slack: SlackSandbox) -> None:
    await slack.sockets.disconnect()


async def _duplicate(slack: SlackSandbox) -> None:
    slack.sockets.fail_next(Duplicated())


async def _lose_acknowledgement(slack: SlackSandbox) -> None:
    slack.sockets.fail_next(AckLost())


async def _cut(slack: SlackSandbox) -> None:
    slack.fail_next(DropAfterStoring(), POST)


def _is_limited(slack: SlackSandbox) -> bool:
    return slack.faults.is_on(POST)


async def _limit(slack: SlackSandbox) -> None:
    if _is_limited(slack):
        slack.faults.switch_off(POST)
    else:
        slack.faults.switch_on(RATE_LIMIT, POST)


def _has_no_scope(slack: SlackSandbox) -> bool:
    return SCOPE not in slack.workspace.scopes


async def _take_scope(slack: SlackSandbox) -> None:
    slack.workspace.scopes ^= {SCOPE}


TROUBLES: Mapping[str, Trouble] = {
    "drop": Trouble("Drop the sockets", _drop),
    "silence": Trouble("Silence the sockets", _silence),
    "refresh": Trouble("Refresh the sockets", _refresh),
    "duplicate": Trouble("Deliver the next click twice", _duplicate),
    "unheard": Trouble("Lose the next acknowledgement", _lose_acknowledgement),
    "cut": Trouble("Cut the next post's connection", _cut),
    "limit": Trouble("Rate-limit posts", _limit, _is_limited),
    "scope": Trouble(f"Take {SCOPE} away", _take_scope, _has_no_scope),
}


def troubles_json(slack: SlackSandbox) -> list[JsonObject]:
    return [{"name": name, "label": one.label, "on": one.is_on(slack)} for name, one in TROUBLES.items()]
