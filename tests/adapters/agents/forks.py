"""Programs as forks of one process that has imported their framework: each import takes seconds.

The arguments are the modules to import. Each line of standard input is a program: ``argv``, ``environ``, ``folder`` and
``out``, the file that it writes to. Once it has ended its exit status is a line of standard output.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import sys
import traceback
from typing import Any


def become(wanted: dict[str, Any]) -> None:
    """This process is that program from now on, and ends as it does."""
    status = 1
    try:
        out = os.open(wanted["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.chdir(wanted["folder"])
        os.environ.clear()
        os.environ.update(wanted["environ"])
        sys.argv = wanted["argv"]
        sys.path.insert(0, os.path.dirname(sys.argv[0]))  # noqa: PTH120 (as Python itself does)
        runpy.run_path(sys.argv[0], run_name="__main__")
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


for name in sys.argv[1:]:
    importlib.import_module(name)
gc.freeze()
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        become(json.loads(line))
    _, ended = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(ended), flush=True)
