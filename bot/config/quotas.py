"""``quotas``: how much a key may ask. Source: API.md §2, §8."""

from __future__ import annotations

from typing import Annotated

from bot.config.channels import Section
from bot.config.kinds import between
from core.quotas import Quota

_MOST = 1_000_000


class QuotaEntry(Section):
    """For every key at the top of the configuration, for one key in ``api_keys[]``. What is absent has no limit."""

    open: Annotated[int, between(1, _MOST)] | None = None
    per_minute: Annotated[int, between(1, _MOST)] | None = None

    @property
    def quota(self) -> Quota:
        return Quota(self.open, self.per_minute)
