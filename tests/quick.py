"""The plugin of ``make quick``: whatever its tests open is refused, so that a test that opens anything says so.

A test that needs a socket, a database or a process is marked ``io``, or belongs into another folder. Hypothesis makes
up a quarter of its usual examples.
"""

from __future__ import annotations

import sys
from typing import Any

from hypothesis import HealthCheck, settings

settings.register_profile("quick", max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("quick")

_OPENING = frozenset(
    {"socket.bind", "socket.connect", "sqlite3.connect", "subprocess.Popen", "os.fork", "os.posix_spawn"}
)


class NotPure(BaseException):
    """No code may take this for a failure that it knows."""


def _refuse(event: str, _: tuple[Any, ...]) -> None:
    if event in _OPENING:
        raise NotPure(f"`make quick` runs nothing that does {event}: mark this test with pytest.mark.io.")


def pytest_collection_finish() -> None:
    sys.addaudithook(_refuse)
