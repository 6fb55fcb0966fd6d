"""Troubles of the pretend Slack, to switch on at its page: a name, a label for its button, and what to expect."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from bot.sandbox.slack.app import SlackSandbox
from bot.sandbox.slack.faults import AckLost, DropAfterStoring, Duplicated, RateLimited
from bot.sandbox.vendor import JsonObject

POST = "chat.postMessage"
SCOPE = "chat:write"
RATE_LIMIT = RateLimited(retry_after=5)


@dataclass(frozen=True, slots=True)
class Trouble:
    """``expect`` tells the visitor what they will see. ``is_on``: it lasts at the moment; one that is over at once
    is never on."""

    label: str
    expect: str
    make: Callable[[SlackSandbox], Awaitable[None] | None]
    is_on: Callable[[SlackSandbox], bool] = lambda slack: False


def _is_limited(slack: SlackSandbox) -> bool:
    return slack.faults.is_on(POST)


def _limit(slack: SlackSandbox) -> None:
    if _is_limited(slack):
        slack.faults.switch_off(POST)
    else:
        slack.faults.switch_on(RATE_LIMIT, POST)


TROUBLES: Mapping[str, Trouble] = {
    "drop": Trouble(
        "Drop the sockets",
        "Both connections to Slack die without a word. Handraise opens new ones at once: press a button, it counts.",
        lambda slack: slack.sockets.drop(),
    ),
    "silence": Trouble(
        "Silence the sockets",
        "Both connections stay open and are dead, so a press fails now. Within half a minute Handraise has noticed and "
        "opened new ones: press again, it counts.",
        lambda slack: slack.sockets.silence(),
    ),
    "refresh": Trouble(
        "Refresh the sockets",
        "Slack asks for new connections, as it does every few hours. Handraise opens them at once: press a button, it "
        "counts.",
        lambda slack: slack.sockets.disconnect(),
    ),
    "duplicate": Trouble(
        "Deliver the next click twice",
        "Press an answer: it reaches Handraise twice, over both connections. It is recorded once, and you are told so.",
        lambda slack: slack.sockets.fail_next(Duplicated()),
    ),
    "unheard": Trouble(
        "Lose the next acknowledgement",
        "Press an answer: Slack says that it failed, since it did not hear from Handraise. The answer is recorded all "
        "the same, and the message says so.",
        lambda slack: slack.sockets.fail_next(AckLost()),
    ),
    "cut": Trouble(
        "Cut the next post's connection",
        "Ask something in Slack: the message is stored, but Handraise does not hear so. It looks into the channel's "
        "history instead of posting a second time.",
        lambda slack: slack.fail_next(DropAfterStoring(), POST),
    ),
    "limit": Trouble(
        "Rate-limit posts",
        "Ask something in Slack: Slack takes no post, and nothing appears. Press this again, and the message comes "
        "within seconds; nothing is lost.",
        _limit,
        _is_limited,
    ),
    "scope": Trouble(
        f"Take {SCOPE} away",
        "Ask “Slack → mail → pager”: Slack refuses the post for good, so Handraise does not wait for an hour and goes "
        "on to mail at once. Press this again to give the scope back.",
        lambda slack: slack.workspace.scopes.symmetric_difference_update({SCOPE}),
        lambda slack: SCOPE not in slack.workspace.scopes,
    ),
}


def troubles_json(slack: SlackSandbox) -> list[JsonObject]:
    return [
        {"name": name, "label": one.label, "on": one.is_on(slack), "expect": one.expect}
        for name, one in TROUBLES.items()
    ]
