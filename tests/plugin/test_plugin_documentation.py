"""Every program of docs/how-to/testing-agents.md, as an author would run it: by pytest with the plugin."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.plugin.running import run_pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "testing-agents.md"


def test_every_program_on_the_page_runs(tmp_path: Path) -> None:
    programs = re.findall(r"```python\n# (\S+\.py)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(programs) == PAGE.read_text().count("```python")
    for name, program in programs:
        (tmp_path / name).write_text(program)
    outcomes = run_pytest(tmp_path)
    written = {found for _, program in programs for found in re.findall(r"def (test_\w+)", program)}
    assert outcomes == dict.fromkeys(written, "passed")
