"""Score a corpus: ``python -m tests.corpus.score [FOLDER]`` prints how its mails are read; without a folder, our half.

Exits 1 where an answer was recorded that nobody gave, or less than 95 % of the clear ones was understood.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from channels.email.addressing import Mailboxes
from channels.email.authentication import SenderAuth
from channels.email.classify import MailKind
from channels.email.replies import MailRules, read_mail
from channels.grammar import ClaimWord, Matched, Nothing, Unclear, read_answer
from core.domain.answers import check_answer
from core.domain.notice import shown_choices
from core.errors import InvalidAnswer
from tests.corpus.load import QUESTIONS, Case, in_folder, own_half

_RULES = MailRules(
    Mailboxes.of("Handraise <handraise@example.com>", "answers@example.com"), SenderAuth.TOKEN_ONLY, "mx.example.com"
)
ENOUGH = 0.95


@dataclass(frozen=True, slots=True)
class Read:
    """How one mail was read: ``got`` is answer, claim, unclear or nothing."""

    case: Case
    got: str
    value: JsonValue = None
    why: str = ""

    @property
    def wrong(self) -> bool:
        """An answer was recorded that the person did not give."""
        if self.got != "answer":
            return False
        return self.case.meaning != "answer" or _plain(self.value) != _plain(self.case.value)

    @property
    def is_clear(self) -> bool:
        return self.case.clarity == "clear" and self.case.meaning in {"answer", "claim"}

    @property
    def understood(self) -> bool:
        return self.got == self.case.meaning and not self.wrong


def read(case: Case) -> Read:
    mail = read_mail(case.raw, _RULES)
    if mail.kind is not MailKind.REPLY:
        return Read(case, "nothing", why=mail.kind.value)
    ask = QUESTIONS[case.question]
    reading = read_answer(mail.words.lines, ask.response_type, shown_choices(ask.choices), ask.form_schema)
    match reading:
        case Matched():
            value = reading.value if reading.index is None else ask.choices[reading.index].value
            try:
                return Read(case, "answer", check_answer(ask, value))
            except InvalidAnswer as refused:
                return Read(case, "unclear", why=refused.code)
        case ClaimWord():
            return Read(case, "claim")
        case Unclear(reason):
            return Read(case, "unclear", why=reason)
        case Nothing():
            return Read(case, "unclear", why="below_quote") if mail.words.below else Read(case, "nothing")


def _plain(value: JsonValue) -> JsonValue:
    """White space counts for nothing: mail programs wrap as they like."""
    return " ".join(value.split()) if isinstance(value, str) else value


def table(reads: list[Read], by: Callable[[Case], str]) -> str:
    groups: dict[str, list[Read]] = {}
    for one in reads:
        groups.setdefault(by(one.case), []).append(one)
    rows = [_row(name, groups[name]) for name in sorted(groups)] + [_row("**all**", reads)]
    head = "| | mails | clear | understood | asked back | wrong answers |\n| --- | --: | --: | --: | --: | --: |"
    return "\n".join([head, *rows])


def _row(name: str, reads: list[Read]) -> str:
    clear = [one for one in reads if one.is_clear]
    understood = sum(one.understood for one in clear)
    asked = sum(one.got == "unclear" for one in reads)
    return f"| {name} | {len(reads)} | {len(clear)} | {understood} | {asked} | {sum(one.wrong for one in reads)} |"


def share_understood(reads: Iterable[Read]) -> float:
    clear = [one for one in reads if one.is_clear]
    return sum(one.understood for one in clear) / len(clear) if clear else 1.0


def main() -> int:
    cases = in_folder(Path(sys.argv[1])) if len(sys.argv) > 1 else own_half()
    reads = [read(case) for case in cases]
    print(table(reads, lambda case: case.language), table(reads, lambda case: case.client), sep="\n\n")
    wrong = [one for one in reads if one.wrong]
    missed = [one for one in reads if one.is_clear and not one.understood]
    print(f"\nwrong answers: {len(wrong)} (must be 0)")
    print(f"clear ones understood: {share_understood(reads):.1%} (must be {ENOUGH:.0%} or more)")
    for one in wrong + missed:
        print(
            f"  {'WRONG' if one.wrong else 'missed'} {one.case.name}: {one.case.meaning}, read as {one.got} {one.why}"
        )
    return 1 if wrong or share_understood(reads) < ENOUGH else 0


if __name__ == "__main__":
    sys.exit(main())
