"""``python -m tests.corpus``: how every corpus is read now, one line each, and all of them together.

The last line is the one that ``docs/reference/mail-replies.md`` repeats; ``--write`` puts it there. Exits 1 if an
answer was recorded that nobody gave.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping

from tests.corpus.load import HERE, Case, in_folder, own_half
from tests.corpus.score import Read, read

_PAGE = HERE.parents[1] / "docs" / "reference" / "mail-replies.md"
_LINE = re.compile(r"^Wrong answers in all corpora: .*$", re.MULTILINE)


def corpora() -> Mapping[str, Iterable[Case]]:
    """Our own mails, and every folder of mails that others have written."""
    folders = sorted(one.parent for one in HERE.glob("*/expected.jsonl"))
    return {"own": own_half(), **{folder.name: in_folder(folder) for folder in folders}}


def summary(reads: list[Read]) -> str:
    clear = [one for one in reads if one.is_clear]
    wrong, decided = sum(one.wrong for one in reads), sum(one.decided for one in clear)
    proposed = sum(one.rightly_proposed for one in clear)
    return (
        f"{wrong} of {len(reads)}; of {len(clear)} clear replies {decided} decided, {proposed} were proposed rightly."
    )


def line(reads: Iterable[Read]) -> str:
    """The sentence of the page."""
    return f"Wrong answers in all corpora: {summary(list(reads))}"


def main() -> int:
    reads = {name: [read(case) for case in cases] for name, cases in corpora().items()}
    for name, some in reads.items():
        print(f"{name}: {summary(some)}")
    told = line(one for some in reads.values() for one in some)
    print(told)
    if "--write" in sys.argv[1:]:
        _PAGE.write_text(_LINE.sub(told, _PAGE.read_text()))
    return 0 if told.startswith("Wrong answers in all corpora: 0 ") else 1


if __name__ == "__main__":
    sys.exit(main())
