"""Problems of a block: its shape in Slack's own words, and what the official models say of the rest.

Source: https://docs.slack.dev/reference/block-kit/composition-objects/text-object.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

from slack_sdk.errors import SlackObjectFormationError

from bot.sandbox.slack.records import JsonObject

STRINGS = frozenset(
    {"action_id", "block_id", "value", "url", "style", "accessibility_label", "private_metadata", "callback_id"}
)


class Problems:
    """What is wrong so far, each line with a pointer to where. ``most`` is for what no model knows the limit of."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, what: str, path: str) -> None:
        self.lines.append(f"[ERROR] {what} [json-pointer:{path}]")

    def only(self, thing: JsonObject, keys: Set[str], path: str) -> None:
        for key in thing.keys() - keys:
            self.add(f"invalid additional property: {key}", path)
        for key in sorted(STRINGS & thing.keys()):
            if not isinstance(thing[key], str):
                self.add("must be a string", f"{path}/{key}")

    def models(self, check: Callable[[], object], path: str) -> None:
        """``check`` asks the official models, which know most of the limits."""
        try:
            check()
        except (SlackObjectFormationError, TypeError, AttributeError) as refusal:
            self.add(str(refusal), path)

    def length(self, text: Any, most: int, path: str) -> None:
        if not isinstance(text, str):
            self.add("must be a string", path)
        elif len(text) > most:
            self.add(f"must be less than {most + 1} characters", path)

    def items(self, items: Any, path: str, most: int | None = None) -> list[JsonObject]:
        """The items, none if they are not a list of objects."""
        if not isinstance(items, list) or not items or not all(isinstance(item, dict) for item in items):
            self.add("must be a list with at least one item", path)
            return []
        if most is not None and len(items) > most:
            self.add(f"no more than {most} items allowed", path)
        return items

    def text(self, text: Any, path: str, most: int | None = None) -> None:
        if not isinstance(text, dict) or text.get("type") not in {"plain_text", "mrkdwn"}:
            self.add("must be a text object", path)
            return
        self.only(text, {"type", "text", "verbatim" if text["type"] == "mrkdwn" else "emoji"}, path)
        if not isinstance(text.get("text"), str) or not text["text"].strip():
            self.add("must be more than 0 characters", f"{path}/text")
        elif most is not None:
            self.length(text["text"], most, f"{path}/text")

    def plain_text(self, text: Any, path: str, most: int | None = None) -> None:
        if isinstance(text, dict) and text.get("type") == "mrkdwn":
            self.add("must be of type plain_text", path)
        else:
            self.text(text, path, most)


Check = Callable[[JsonObject, Problems, str], None]
