"""The demo's service as a process: ``python -m bot.demo.service --config handraise.yaml``.

It is ``handraise serve`` with one door more, through which the demo lets a question's time pass.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bot.config.loading import settings_and_folder
from bot.demo.silence import add_door
from bot.observability.telemetry import set_up_logging
from bot.server import serve
from core.errors import OperatorError


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bot.demo.service", description="The service of the demo.")
    parser.add_argument("--config", type=Path, required=True, help="the configuration that the demo has written")
    given = parser.parse_args()
    try:
        settings, folder = settings_and_folder(given.config)
        set_up_logging(settings.log.level, settings.log.format)
        serve(settings, folder, beside=add_door)
    except OperatorError as error:
        print(f"handraise: {error.message}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
