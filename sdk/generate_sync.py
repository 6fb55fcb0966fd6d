"""Write the synchronous client and its transport from the asynchronous ones; ``--check`` only compares.

The asynchronous files are the source. Nothing is translated but the words below, so that both clients do the same.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent / "handraise"
FILES = {
    "client.py": "sync_client.py",
    "transport.py": "sync_transport.py",
    "streams.py": "sync_streams.py",
    "execution.py": "sync_execution.py",
    "held_lease.py": "sync_held_lease.py",
}
WORDS = (
    (
        r"``sync_\w+\.py`` is generated from this file: ``python sdk/generate_sync\.py``\.",
        "Generated from ``{source}`` by ``python sdk/generate_sync.py``: change that file.",
    ),
    (r"for (\w+) in ([\w.]+):\n\s+yield \1\n", r"yield from \2\n"),  # which no asynchronous generator may
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bimport asyncio\n", ""),
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"\bAsync(Iterator|Client|ExitStack)\b", r"\1"),
    (r"\b__a(enter|exit|iter|next)__\b", r"__\1__"),
    (r"\benter_async_context\b", "enter_context"),
    (r"\ba(close|next|read|iter_bytes)\b", r"\1"),
    (r"\bclass Handraise\b", "class HandraiseSync"),
    (r"\bEventStream\b", "EventStreamSync"),
    (r"\bhandraise\.streams\b", "handraise.sync_streams"),
    (r"\bExecution\b", "ExecutionSync"),
    (r"\bhandraise\.execution\b", "handraise.sync_execution"),
    (r"\bLease\b", "LeaseSync"),
    (r"\bhandraise\.held_lease\b", "handraise.sync_held_lease"),
    (r"\bRenewal\b", "RenewalSync"),
    (r"\bTransport\b", "SyncTransport"),
    (r"\bhandraise\.transport\b", "handraise.sync_transport"),
    (r"  # noqa: ASYNC109 \(httpx's own, per phase\)", ""),
)


def generated(source: str) -> str:
    text = (FOLDER / source).read_text()
    for word, instead in WORDS:
        text = re.sub(word, instead.replace("{source}", source), text)
    for command in (["check", "--fix", "--quiet", "--select", "I"], ["format", "--quiet"]):
        name = str(FOLDER / FILES[source])
        done = subprocess.run(  # noqa: S603 (our own words alone)
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", name, "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        text = done.stdout
    return text


def main() -> int:
    made = {FOLDER / name: generated(source) for source, name in FILES.items()}
    stale = [path.name for path, text in made.items() if not path.exists() or path.read_text() != text]
    if "--check" not in sys.argv:
        for path, text in made.items():
            path.write_text(text)
        return 0
    if stale:
        sys.stderr.write(f"{', '.join(stale)}: run python sdk/generate_sync.py\n")
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
