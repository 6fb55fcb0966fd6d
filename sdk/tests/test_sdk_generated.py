"""The synchronous client says what the asynchronous one says."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from handraise import Handraise, HandraiseSync

SCRIPT = Path(__file__).parents[1] / "generate_sync.py"
METHODS = [name for name in vars(Handraise) if not name.startswith("_") and name != "aclose"]


def test_the_generated_files_are_those_that_the_source_makes():
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", METHODS)
def test_each_method_takes_the_same_and_waits_for_itself(name):
    ours, theirs = getattr(Handraise, name), getattr(HandraiseSync, name)
    assert inspect.signature(ours).parameters.keys() == inspect.signature(theirs).parameters.keys()
    assert not inspect.iscoroutinefunction(theirs)
    assert not inspect.isasyncgenfunction(theirs)
    assert theirs.__doc__ == ours.__doc__
