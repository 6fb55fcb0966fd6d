"""Who is on it does not depend on the order in which it was told, nor on how often."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from core.domain.incident_claims import IncidentChange, Move, StandingClaim, let_go, standing, with_move

START = datetime(2026, 3, 24, 10, tzinfo=UTC)
HOLD = timedelta(minutes=30)
REF = "HR-7F3K"


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def ack(minutes: float, by: str, may: tuple[str, ...] = (REF,)) -> Move:
    return Move(f"{by}{minutes}", at(minutes), IncidentChange.ACKNOWLEDGED, by, may)


def back(minutes: float, did: IncidentChange = IncidentChange.GIVEN_BACK) -> Move:
    return Move(f"back{minutes}", at(minutes), did)


def told(*moves: Move) -> tuple[Move, ...]:
    kept: tuple[Move, ...] = ()
    for move in moves:
        kept = with_move(kept, move)
    return kept


def who(*moves: Move, now: float = 10) -> StandingClaim | None:
    return standing(told(*moves), REF, HOLD, at(now))


def test_whoever_acknowledges_first_is_on_it_whoever_else_does() -> None:
    assert who(ack(1, "alice"), ack(2, "bob")) == who(ack(2, "bob"), ack(1, "alice")) == StandingClaim("alice", at(31))


def test_an_acknowledgement_that_is_older_than_its_return_claims_nothing() -> None:
    assert who(back(2), ack(1, "alice")) is None
    assert who(back(1), ack(2, "alice")) == StandingClaim("alice", at(32))


def test_resolving_is_being_on_it_and_reopening_gives_it_back() -> None:
    resolved = Move("r", at(1), IncidentChange.RESOLVED, "alice", (REF,))

    assert who(resolved) == StandingClaim("alice", at(31))
    assert who(resolved, back(2, IncidentChange.REOPENED)) is None


def test_somebodys_own_next_acknowledgement_renews_it() -> None:
    assert who(ack(1, "alice"), ack(2, "bob"), ack(5, "alice")) == StandingClaim("alice", at(35))


def test_when_the_first_ones_time_is_up_it_is_the_next_ones() -> None:
    assert who(ack(1, "alice"), ack(20, "bob"), now=31) == StandingClaim("bob", at(50))
    assert who(ack(1, "alice"), ack(20, "bob"), now=50) is None


def test_whoever_has_let_a_question_go_is_on_it_no_longer_until_they_say_so_again() -> None:
    moves = told(ack(0, "alice"), ack(2, "bob"))
    gone = let_go(moves, REF, "alice")

    assert who(*moves, gone) == StandingClaim("bob", at(32))
    assert who(*moves, gone, ack(3, "alice"), back(3.5), ack(4, "alice")) == StandingClaim("alice", at(34))
    assert standing(told(ack(0, "alice", (REF, "HR-OTHER")), gone), "HR-OTHER", HOLD, at(10)) is not None


def test_who_may_not_answer_a_question_is_not_on_it() -> None:
    assert who(ack(1, "alice", ("HR-OTHER",)), ack(2, "bob")) == StandingClaim("bob", at(32))


MOVES = st.lists(
    st.builds(
        lambda minute, by, did: Move(
            f"{minute}", at(minute), did, by if did is not IncidentChange.GIVEN_BACK else None, (REF,)
        ),
        st.integers(0, 60),
        st.sampled_from(["alice", "bob", "carol"]),
        st.sampled_from(IncidentChange),
    ),
    max_size=12,
    unique_by=lambda move: move.id,
)


@given(MOVES, st.randoms(use_true_random=False), st.integers(0, 90))
def test_shuffled_and_repeated_it_ends_as_it_does_in_order(moves: list[Move], luck: object, now: int) -> None:
    shuffled = [*moves, *moves[::2]]
    luck.shuffle(shuffled)  # type: ignore[attr-defined]

    assert told(*shuffled) == told(*sorted(moves, key=lambda one: one.at))
    assert who(*shuffled, now=now) == who(*sorted(moves, key=lambda one: one.at), now=now)
