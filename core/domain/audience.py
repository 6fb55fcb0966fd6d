"""The audience of an open question: the people whose answer it may wait for.

It holds just enough to say whether one person may answer and has not. It is small, and the same for most questions of
one agent, so a very large inbox is counted by it, without the records.

Source: API.md §2, "Who may answer"; docs/decisions/0043.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass

from core.domain.people import IdentityOf
from core.domain.quorum import is_shared
from core.domain.suspension import Suspension

_COMPACT = json.JSONEncoder(separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Audience:
    """``responders`` are the references that the call named, ``asked`` those that an attempt or a hand-over has
    addressed. ``behind`` are the names of the asker, of the person it is asked for, and of the intent's agents. If
    several people have to answer (``is_shared``), ``answered`` are the names of those who have."""

    responders: tuple[str, ...]
    asked: tuple[str, ...]
    behind: tuple[str, ...]
    answered: tuple[str, ...] = ()
    is_shared: bool = False

    @property
    def references(self) -> Collection[str]:
        return dict.fromkeys((*self.responders, *self.asked))

    def is_behind(self, identity_of: IdentityOf, *names: str | None) -> bool:
        """Whether one of ``names`` asked, is asked for, or works on the intent."""
        behind = set(map(identity_of, self.behind))
        return any(name is not None and identity_of(name) in behind for name in names)

    def has_answered(self, identity_of: IdentityOf, identity: str) -> bool:
        return identity in map(identity_of, self.answered)

    def written(self) -> str:
        """Compact JSON for :meth:`read`."""
        kept = {
            "responders": self.responders,
            "asked": self.asked,
            "behind": self.behind,
            "answered": self.answered,
            "is_shared": self.is_shared,
        }
        return _COMPACT.encode(kept)

    @classmethod
    def read(cls, text: str) -> Audience:
        kept = json.loads(text)
        return cls(
            tuple(kept["responders"]),
            tuple(kept["asked"]),
            tuple(kept["behind"]),
            tuple(kept["answered"]),
            kept["is_shared"],
        )


def _behind(suspension: Suspension) -> tuple[str, ...]:
    ask = suspension.ask
    asked_for = () if ask.on_behalf_of is None else (ask.on_behalf_of,)
    return (ask.created_by, *asked_for, *suspension.agents)


def audience_of(suspension: Suspension) -> Audience:
    ask = suspension.ask
    return Audience(
        responders=ask.responders,
        asked=suspension.asked,
        behind=_behind(suspension),
        answered=tuple(one.by for one in suspension.answers),
        is_shared=is_shared(suspension),
    )
