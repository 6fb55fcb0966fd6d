"""What Slack finds wrong with a block, in its own words.

Source: https://docs.slack.dev/reference/block-kit/composition-objects/text-object.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

from bot.sandbox.slack_records import JsonObject


class Problems:
    """What is wrong so far, each line with a pointer to where."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, what: str, path: str) -> None:
        self.lines.append(f"[ERROR] {what} [json-pointer:{path}]")

    def only(self, thing: JsonObject, keys: Set[str], path: str) -> None:
        for key in thing.keys() - keys:
            self.add(f"invalid additional property: {key}", path)

    def length(self, text: Any, most: int, path: str) -> None:
        if not isinstance(text, str):
            self.add("must be a string", path)
        elif len(text) > most:
            self.add(f"must be less than {most + 1} characters", path)

    def count(self, items: Any, most: int, path: str) -> list[JsonObject]:
        """The items, none where they are not a list of objects."""
        if not isinstance(items, list) or not items or not all(isinstance(item, dict) for item in items):
            self.add("must be a list with at least one item", path)
            return []
        if len(items) > most:
            self.add(f"no more than {most} items allowed", path)
        return items

    def text(self, text: Any, most: int, path: str) -> None:
        if not isinstance(text, dict) or text.get("type") not in {"plain_text", "mrkdwn"}:
            self.add("must be a text object", path)
            return
        self.only(text, {"type", "text", "verbatim" if text["type"] == "mrkdwn" else "emoji"}, path)
        if not isinstance(text.get("text"), str) or not text["text"].strip():
            self.add("must be more than 0 characters", f"{path}/text")
        else:
            self.length(text["text"], most, f"{path}/text")

    def plain_text(self, text: Any, most: int, path: str) -> None:
        if isinstance(text, dict) and text.get("type") == "mrkdwn":
            self.add("must be of type plain_text", path)
        else:
            self.text(text, most, path)


Check = Callable[[JsonObject, Problems, str], None]
