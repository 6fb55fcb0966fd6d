"""Handing over, as the machine has it (docs/decisions/0009)."""

from __future__ import annotations

from core.domain.machine import decide
from core.domain.vocabulary import Assigned, NotifyPerson
from tests.core.examples import after, claimed, hourly, look, types_of

CAROL = Assigned("carol@example.com", "alice@example.com", "email")


def test_one_person_is_asked_under_the_number_of_the_attempt_that_is_out() -> None:
    second = look(hourly(), after(hours=1)).suspension
    outcome = decide(second, CAROL, after(minutes=70))
    assert outcome.effects == (NotifyPerson(2, "carol@example.com", "email"),)
    assert types_of(outcome.events) == ["intent.suspension_assigned"]
    assert outcome.suspension.asked[-1] == "carol@example.com"
    assert outcome.suspension.look_at == second.look_at


def test_a_claim_passes_on_and_one_that_is_over_does_not() -> None:
    held = claimed(hourly(), after(minutes=10), after(minutes=40))
    passed = decide(held, CAROL, after(minutes=20)).suspension.claim
    assert passed is not None
    assert (passed.by, passed.until) == ("carol@example.com", after(minutes=40))
    assert decide(held, CAROL, after(minutes=40)).suspension.claim == held.claim


def test_whoever_has_it_again_is_named_once() -> None:
    suspension = hourly()
    for to in ("carol@example.com", "bob@example.com", "carol@example.com"):
        suspension = decide(suspension, Assigned(to, "alice@example.com", "slack"), after(minutes=5)).suspension
    assert [one.to for one in suspension.assigned] == ["bob@example.com", "carol@example.com"]
    assert suspension.assigned_to == "carol@example.com"
