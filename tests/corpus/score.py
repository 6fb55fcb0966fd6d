"""Score a corpus: ``python -m tests.corpus.score [FOLDER]`` prints how its mails are read; without a folder, our half.

Exits 1 if an answer was recorded that nobody gave, or if less than 95 % of the clear ones was understood: decided at
once, or proposed rightly.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from channels.email.addressing import Mailboxes
from channels.email.authentication import SenderAuth
from channels.email.classify import MailKind
from channels.email.inbound import Inbound, MailRules, read_mail, read_reply
from channels.grammar.proposals import FirstNamed
from channels.grammar.reader import ClaimWord, Matched, Nothing, Unclear
from core.domain.answers import check_answer
from core.domain.notice import shown_choices
from core.domain.suspension import Ask
from core.errors import InvalidAnswer
from tests.corpus.load import DISPUTED, QUESTIONS, Case, in_folder, own_half

_RULES = MailRules(
    Mailboxes.of("Handraise <handraise@example.com>", "answers@example.com", key=b"mail"),
    SenderAuth.TOKEN_ONLY,
    "mx.example.com",
)
ENOUGH = 0.95


@dataclass(frozen=True, slots=True)
class Read:
    """How one mail was read: ``got`` is answer, claim, unclear or nothing. ``proposed``: its value was not recorded but
    asked about."""

    case: Case
    got: str
    value: JsonValue = None
    why: str = ""
    proposed: bool = False

    @property
    def wrong(self) -> bool:
        """An answer was recorded that the person did not give."""
        if self.got != "answer" or self.case.name in DISPUTED:
            return False
        return self.case.meaning != "answer" or _plain(self.value) != _plain(self.case.value)

    @property
    def is_clear(self) -> bool:
        return self.case.clarity == "clear" and self.case.meaning in {"answer", "claim"}

    @property
    def decided(self) -> bool:
        return self.got == self.case.meaning and not self.wrong

    @property
    def rightly_proposed(self) -> bool:
        return self.proposed and self.case.meaning == "answer" and _plain(self.value) == _plain(self.case.value)

    @property
    def understood(self) -> bool:
        return self.decided or self.rightly_proposed


def read(case: Case) -> Read:
    mail = read_mail(case.raw, _RULES)
    if mail.kind is not MailKind.REPLY:
        return Read(case, "nothing", why=mail.kind.value)
    ask = QUESTIONS[case.question]
    reading = read_reply(mail.words, ask.response_type, shown_choices(ask), ask.form_schema, ask.question)
    match reading:
        case Matched():
            value = reading.value if reading.index is None else ask.choices[reading.index].value
            try:
                return Read(case, "answer", check_answer(ask, value))
            except InvalidAnswer as refused:
                return Read(case, "unclear", why=refused.code)
        case ClaimWord():
            return Read(case, "claim")
        case Unclear(reason, meant):
            return _proposed(case, ask, mail, reason, meant)
        case Nothing():
            return Read(case, "nothing")


def _proposed(case: Case, ask: Ask, mail: Inbound, reason: str, meant: JsonValue) -> Read:
    if meant is not None:
        return Read(case, "unclear", meant, reason, proposed=True)
    words = "\n".join(mail.words.lines or mail.words.beside)
    index = asyncio.run(FirstNamed().propose(words, [choice.label for choice in ask.choices]))
    return Read(case, "unclear", None if index is None else ask.choices[index].value, reason, index is not None)


def _plain(value: JsonValue) -> JsonValue:
    """White space counts for nothing: mail programs wrap as they like."""
    return " ".join(value.split()) if isinstance(value, str) else value


def table(reads: list[Read], by: Callable[[Case], str]) -> str:
    groups: dict[str, list[Read]] = {}
    for one in reads:
        groups.setdefault(by(one.case), []).append(one)
    rows = [_row(name, groups[name]) for name in sorted(groups)] + [_row("**all**", reads)]
    head = "| | mails | clear | decided | proposed rightly | wrong answers |\n| --- | --: | --: | --: | --: | --: |"
    return "\n".join([head, *rows])


def _row(name: str, reads: list[Read]) -> str:
    clear = [one for one in reads if one.is_clear]
    decided, proposed = sum(one.decided for one in clear), sum(one.rightly_proposed for one in clear)
    return f"| {name} | {len(reads)} | {len(clear)} | {decided} | {proposed} | {sum(one.wrong for one in reads)} |"


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
    print(f"clear ones decided or proposed rightly: {share_understood(reads):.1%} (must be {ENOUGH:.0%} or more)")
    for one in wrong + missed:
        print(
            f"  {'WRONG' if one.wrong else 'missed'} {one.case.name}: {one.case.meaning}, read as {one.got} {one.why}"
        )
    return 1 if wrong or share_understood(reads) < ENOUGH else 0


if __name__ == "__main__":
    sys.exit(main())
