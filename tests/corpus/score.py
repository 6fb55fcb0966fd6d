"""Score a corpus: ``python -m tests.corpus.score [FOLDER]`` prints how its mails are read; without a folder, our half.

Exits 1 if an answer was recorded that nobody gave. What is clear to a person may still be asked once more: "Approve,
the parcel was damaged" is more than one option.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from channels.email.addressing import Mailboxes
from channels.email.authentication import SenderAuth
from channels.email.classify import MailKind
from channels.email.inbound import MailRules, read_mail, read_reply
from channels.grammar.reader import Circumstances, ClaimWord, Matched, Nothing, Unclear
from core.domain.answers import check_answer
from core.domain.notice import shown_choices
from core.domain.wording import okay_is_yes
from core.errors import InvalidAnswer
from tests.corpus.load import DISPUTED, QUESTIONS, Case, in_folder, own_half

_RULES = MailRules(
    Mailboxes.of("Handraise <handraise@example.com>", "answers@example.com", key=b"mail"),
    SenderAuth.TOKEN_ONLY,
    "mx.example.com",
)


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
    known = Circumstances(okay=okay_is_yes(ask))
    reading = read_reply(mail.words, ask.response_type, shown_choices(ask), ask.form_schema, ask.question, known)
    match reading:
        case Matched():
            value = reading.value if reading.index is None else ask.choices[reading.index].value
            try:
                return Read(case, "answer", check_answer(ask, value))
            except InvalidAnswer as refused:
                return Read(case, "unclear", why=refused.code)
        case ClaimWord():
            return Read(case, "claim")
        case Unclear(reason, meant=meant, first=first):
            value = ask.choices[first].value if first is not None else meant
            return Read(case, "unclear", value, reason, proposed=value is not None)
        case Nothing():
            return Read(case, "nothing")


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


def main() -> int:
    cases = in_folder(Path(sys.argv[1])) if len(sys.argv) > 1 else own_half()
    reads = [read(case) for case in cases]
    print(table(reads, lambda case: case.language), table(reads, lambda case: case.client), sep="\n\n")
    wrong = [one for one in reads if one.wrong]
    missed = [one for one in reads if one.is_clear and not one.understood]
    print(f"\nwrong answers: {len(wrong)} (must be 0)")
    for one in wrong + missed:
        print(
            f"  {'WRONG' if one.wrong else 'missed'} {one.case.name}: {one.case.meaning}, read as {one.got} {one.why}"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
