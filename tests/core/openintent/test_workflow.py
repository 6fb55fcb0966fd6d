"""The wiring of workflows, and what phases take in and give out (RFC-0024)."""

from __future__ import annotations

import pytest

from core.errors import DependencyCycle, MissingOutput, OutputTypeMismatch
from core.openintent.domain.workflow import (
    NewPhase,
    PhaseOutput,
    StartValues,
    check_outputs,
    check_wiring,
    client_inputs,
    client_names,
    reference,
    resolve_inputs,
    state_of,
)

ANY = {"x": PhaseOutput()}


@pytest.mark.parametrize(
    ("mapping", "parts"),
    [("a.x", ("a", "x")), ("a.x.y", ("a", "x.y")), ("$trigger.k", ("$trigger", "k"))],
)
def test_a_reference_ends_its_phase_at_the_first_dot(mapping: str, parts: tuple[str, str]) -> None:
    assert reference(mapping) == parts


@pytest.mark.parametrize("mapping", ["", "a", "a.", ".x", "$env.x", "$trigger"])
def test_what_is_no_reference(mapping: str) -> None:
    with pytest.raises(ValueError, match="An input is"):
        reference(mapping)


def test_inputs_count_in_a_cycle() -> None:
    phases = [
        NewPhase("a", "A", inputs={"x": "b.x"}, outputs=ANY),
        NewPhase("b", "B", depends_on=("a",), outputs=ANY),
    ]
    with pytest.raises(DependencyCycle):
        check_wiring(phases)
    check_wiring([NewPhase("a", "A", outputs=ANY), phases[1]])


def test_an_input_that_is_null_is_there_unless_the_workflow_was_started_with_it() -> None:
    start = StartValues(trigger={"k": None}, initial_state={"s": 1})
    inputs = {"x": "a.x", "k": "$trigger.k", "s": "$initial_state.s"}
    assert resolve_inputs(inputs, {"a": {"x": None}}, start, {}) == ({"x": None, "s": 1}, ["$trigger.k"])
    assert resolve_inputs(inputs, {}, start, {"k": 2}) == ({"k": 2, "s": 1}, ["a.x"])


def test_what_a_phase_gives_is_of_its_type() -> None:
    outputs = {"n": PhaseOutput("number"), "own": PhaseOutput("Finding"), "maybe": PhaseOutput("string", False)}
    check_outputs(outputs, {"n": 1.5, "own": [], "more": 1})
    with pytest.raises(MissingOutput) as missing:
        check_outputs(outputs, {"n": 1})
    assert missing.value.details["missing"] == ["own"]
    for wrong in ({"n": True, "own": 1}, {"n": 1, "own": 1, "maybe": 1}):
        with pytest.raises(OutputTypeMismatch):
            check_outputs(outputs, wrong)


def test_a_state_says_what_the_published_client_looks_for() -> None:
    phase = NewPhase("b", "B", depends_on=("a",), inputs={"x": "a.x", "k": "$trigger.k"}, outputs=ANY, state={"own": 1})
    assert state_of(phase, {"a": "The first", "b": "B"}, StartValues(trigger={"k": 2})) == {
        "own": 1,
        "k": 2,
        "_io_inputs": {"x": "a.x", "k": "$trigger.k"},
        "_io_outputs": {"x": {"type": "any", "required": True}},
        "_io_dep_title_to_name": {"The first": "a"},
    }


@pytest.mark.parametrize("written", [None, 1, [], "a.x", {"x": 1}, {"x": "nothing"}])
def test_what_agents_write_into_a_state_breaks_nothing(written: object) -> None:
    state = {"_io_inputs": written, "_io_dep_title_to_name": written if written != {"x": "nothing"} else 1}
    assert client_inputs(state) == {}  # type: ignore[arg-type]
    assert client_names(state) == {}  # type: ignore[arg-type]
