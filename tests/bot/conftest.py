"""Both ways in which Slack reaches the service."""

from __future__ import annotations

import pytest

from tests.bot.slack_service import Mode


@pytest.fixture(params=["http", "socket"])
def slack_mode(request: pytest.FixtureRequest) -> Mode:
    """Each way in turn; hand it to ``slack_service``."""
    mode: Mode = request.param
    return mode
