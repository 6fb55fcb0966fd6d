"""The storm's host: its clock on the wall, which can be set, and the service as a process on it.

``python -m tests.chaos.host CLOCK --config FILE [--role ROLE …]`` is ``handraise serve`` on a clock that stands beside
the system's by as many seconds as the file CLOCK holds. All processes of a run share the file, as those of a host do.
"""

from __future__ import annotations

import argparse
import mmap
import struct
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.config.loading import settings_and_folder
from bot.observability.telemetry import set_up_logging
from bot.server import serve
from bot.wiring.roles import SystemClock, parts_of
from core.errors import OperatorError

_SECONDS = struct.Struct("d")


class Wall:
    """The host's clock on the wall. Whoever has the same ``file`` sees it set at once."""

    def __init__(self, file: Path) -> None:
        with file.open("a+b") as opened:
            if opened.tell() == 0:
                opened.write(_SECONDS.pack(0.0))
                opened.flush()
            self._beside = mmap.mmap(opened.fileno(), _SECONDS.size)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.beside

    @property
    def beside(self) -> timedelta:
        """By how much it is before the system's clock."""
        return timedelta(seconds=_SECONDS.unpack_from(self._beside)[0])

    def set_by(self, step: timedelta) -> None:
        _SECONDS.pack_into(self._beside, 0, (self.beside + step).total_seconds())


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("clock", type=Path)
    options.add_argument("--config", type=Path, required=True)
    options.add_argument("--role", action="append", default=[])
    given = options.parse_args()
    try:
        settings, folder = settings_and_folder(given.config)
        set_up_logging(settings.log.level, settings.log.format)
        serve(settings, folder, parts_of(given.role), clock=SystemClock(Wall(given.clock).now))
    except OperatorError as error:
        print(f"handraise: {error.message}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
