"""The program of ``docs/how-to/openarmature.md``, as a reader copies it: two processes, and an answer in between."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

from tests.openarmature.office import AGENT, Office

PAGE = Path(__file__).parents[2] / "docs/how-to/openarmature.md"


async def test_the_program_asks_and_goes_on_with_what_was_answered(place: Office, tmp_path: Path) -> None:
    [program] = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE.read_text())
    (tmp_path / "refund.py").write_text(program)
    environ = os.environ | {"HANDRAISE_URL": place.url, "HANDRAISE_API_KEY": AGENT}

    async def run(*arguments: str) -> str:
        command = [sys.executable, "refund.py", *arguments]
        process = await asyncio.create_subprocess_exec(*command, cwd=tmp_path, env=environ, stdout=PIPE, stderr=PIPE)
        printed, problems = await process.communicate()
        assert process.returncode == 0, problems.decode()
        return printed.decode()

    for answer, said in (("approve", "Order 12345: paid back."), ("deny", "Order 12345: not paid back. too late")):
        waits = await run()
        assert re.match(r"HR-\w+ waits: python refund.py ", waits)
        response = await place.signal("refund-12345", answer, reason="too late")
        assert response.status_code == 200, response.text
        assert await run(waits.split()[-1]) == f"{said}\n"
