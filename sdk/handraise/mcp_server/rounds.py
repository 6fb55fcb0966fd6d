"""Rounds of one call: what ``request_state`` holds between them. Pure.

A client of 2026-07-28 repeats a call that came back as ``input_required``, with the ``request_state`` that it was
given. The library seals that state for the bearer, the tool and its arguments, with the seal of
:mod:`handraise.mcp_server.asking_keys`: so what is read here was written here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

MODERN = "2026-07-28"
"""The first revision whose clients know ``input_required``."""

MOST_ROUNDS = 8
"""Clients give up after ten (the SDKs of Python, TypeScript, C# and Go): before that the call ends as pending."""


@dataclass(frozen=True, slots=True)
class Round:
    """The question of a call, and how many rounds it has had."""

    ref: str
    number: int = 0

    @property
    def is_last(self) -> bool:
        return self.number >= MOST_ROUNDS

    def after(self) -> str:
        """The state for the client to bring back."""
        return json.dumps({"ref": self.ref, "round": self.number + 1})

    @classmethod
    def of(cls, state: str) -> Round:
        """What :meth:`after` has written."""
        kept = json.loads(state)
        return cls(str(kept["ref"]), int(kept["round"]))


def knows_rounds(protocol_version: str | None) -> bool:
    """Whether a client that negotiated ``protocol_version`` may be given ``input_required``. Revisions are dates."""
    return protocol_version is not None and protocol_version >= MODERN
