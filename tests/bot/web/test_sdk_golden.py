"""What the server writes of a question is what the SDK's own tests take it to write."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from bot.web.api.suspension_replies import suspended_outcome
from core.domain.callback import asked_back_body
from core.domain.machine import decide
from core.domain.request import AttemptProblem, Opened
from core.domain.suspension import Choice, PagerSeverity, Resume, Rung, Style
from core.domain.vocabulary import AskedBack
from tests.core.examples import HOUR, a_question, after, an_answer, claimed, opened

GOLDEN = Path(__file__).parents[3] / "sdk" / "tests" / "golden.json"


def written() -> dict[str, Any]:
    """A question of which every field is written that is ever left out."""
    ask = a_question(
        attempts=2,
        interval=HOUR,
        ladder=[Rung(2, "email", "supervisor@example.com", quiet=True, severity=PagerSeverity.CRITICAL)],
        choices=(
            Choice("approve", "Approve refund", "All of it", Style.PRIMARY, {"veto": True}, 2),
            Choice("deny", "Deny"),
        ),
        answers_required=2,
        resume=Resume("sess-1", None, {"cart": 7}, "inv-1", "corr-1", "refund-12345", {"run": 1}),
        action={"tool": "stripe.refund"},
    )
    ask = replace(ask, attempts=tuple(replace(step, quiet=step.number == 2) for step in ask.attempts))
    asked = claimed(opened(ask), after(minutes=1), after(minutes=30))
    asked = decide(asked, an_answer(by="bob@example.com", reason="known"), after(minutes=2)).suspension
    asked_back = AskedBack("Which card?", "alice@example.com")
    asked = decide(asked, asked_back, after(minutes=3)).suspension
    problem = AttemptProblem(2, "pages_service_only", "The default service is paged.", fatal=False)
    outcome = suspended_outcome(Opened(asked, (problem,)))
    assert outcome["silence"]
    outcome["silence"] = "A sentence, in words of its own."
    return {"suspended": {**outcome, "joined": True}, "callback": asked_back_body(asked, after(minutes=3))}


def test_the_sdk_is_tested_with_what_the_server_writes() -> None:
    assert json.loads(json.dumps(written())) == json.loads(GOLDEN.read_text()), (
        "Write sdk/tests/golden.json anew with python -m tests.bot.web.test_sdk_golden, and give the SDK the field."
    )


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(written(), indent=2, ensure_ascii=False) + "\n")
