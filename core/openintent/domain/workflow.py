"""Workflows: phases, their wiring, inputs and outputs (RFC-0024).

A phase declares outputs (key to type) and inputs (a key of its own to ``phase.key``, ``$trigger.key`` or
``$initial_state.key``). The wiring is checked when the workflow is made; the input values when a phase's task is
claimed; the declared outputs when the phase is completed.

Source: RFC-0024; RFC-0026 §6; API.md §7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from pydantic import JsonValue

from core.domain.wire import JsonObject
from core.errors import DependencyCycle, InvalidRequest, MissingOutput, OutputTypeMismatch

TRIGGER = "$trigger"
INITIAL_STATE = "$initial_state"
_GIVEN = (TRIGGER, INITIAL_STATE)
_MOST_WIRES = 10_000

IO_INPUTS = "_io_inputs"
IO_OUTPUTS = "_io_outputs"
IO_NAMES = "_io_dep_title_to_name"
"""Keys of an intent's state in which the published client keeps what a phase declares."""

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}
"""What RFC-0024 calls primitive. Any other type is a name of the agents' own, and takes every value."""


@dataclass(frozen=True, slots=True)
class PhaseOutput:
    """A promised output."""

    type: str = "any"
    required: bool = True

    def takes(self, value: JsonValue) -> bool:
        if self.type not in _TYPES:
            return True
        return isinstance(value, _TYPES[self.type]) and (self.type != "number" or not isinstance(value, bool))


@dataclass(frozen=True, slots=True)
class NewPhase:
    """A requested phase. ``depends_on`` and ``inputs`` name other phases."""

    name: str
    title: str
    description: str = ""
    depends_on: tuple[str, ...] = ()
    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, PhaseOutput] = field(default_factory=dict)
    assigned_agent: str | None = None
    constraints: Mapping[str, JsonValue] = field(default_factory=dict)
    state: Mapping[str, JsonValue] = field(default_factory=dict)

    def sources(self) -> tuple[str, ...]:
        """The phases whose outputs it takes."""
        return sources_of(self.inputs)


@dataclass(frozen=True, slots=True)
class StartValues:
    """A workflow's start values: the targets of ``$trigger`` and ``$initial_state``."""

    trigger: Mapping[str, JsonValue] = field(default_factory=dict)
    initial_state: Mapping[str, JsonValue] = field(default_factory=dict)

    def of(self, source: str) -> Mapping[str, JsonValue]:
        return self.trigger if source == TRIGGER else self.initial_state


def reference(mapping: str) -> tuple[str, str]:
    """``phase.key`` in two; the key may have dots, the phase's name has none. Raises ``ValueError``."""
    source, dot, key = mapping.partition(".")
    if not (source and dot and key) or (source.startswith("$") and source not in _GIVEN):
        raise ValueError("An input is phase.key, $trigger.key or $initial_state.key.")
    return source, key


def sources_of(inputs: Mapping[str, str]) -> tuple[str, ...]:
    """The phases that the valid ``inputs`` refer to, each once."""
    named = (reference(mapping)[0] for mapping in inputs.values())
    return tuple(dict.fromkeys(source for source in named if source not in _GIVEN))


# --- When the workflow is made --------------------------------------------------------------------------------------


def check_wiring(phases: Sequence[NewPhase]) -> None:
    """Raises :class:`InvalidRequest`, which names the field, for a duplicate name, an unknown phase, and an
    undeclared input; and :class:`DependencyCycle`."""
    by_name: dict[str, NewPhase] = {}
    for number, phase in enumerate(phases):
        if phase.name in by_name:
            raise InvalidRequest("Two phases have the same name.", path=f"phases.{number}.name")
        by_name[phase.name] = phase
    for number, phase in enumerate(phases):
        _check_phase(phase, by_name, f"phases.{number}")
    if sum(len(_upstreams(phase)) for phase in phases) > _MOST_WIRES:
        raise InvalidRequest(f"At most {_MOST_WIRES:,} dependencies of phases go into one workflow.", path="phases")
    _check_acyclic(phases)


def _check_phase(phase: NewPhase, by_name: Mapping[str, NewPhase], path: str) -> None:
    for place, name in enumerate(phase.depends_on):
        if name not in by_name:
            raise InvalidRequest("There is no such phase.", path=f"{path}.depends_on.{place}")
    for local, mapping in phase.inputs.items():
        at = f"{path}.inputs.{local}"
        try:
            source, key = reference(mapping)
        except ValueError as problem:
            raise InvalidRequest(str(problem), path=at) from problem
        if source in _GIVEN:
            continue
        if source not in by_name:
            raise InvalidRequest("There is no such phase.", path=at)
        if key not in by_name[source].outputs:
            raise InvalidRequest("That phase declares no output of this name.", path=at)


def _check_acyclic(phases: Sequence[NewPhase]) -> None:
    try:
        TopologicalSorter({phase.name: _upstreams(phase) for phase in phases}).prepare()
    except CycleError as cycle:
        round_about = {str(name) for name in cycle.args[1]}
        number = next(place for place, phase in enumerate(phases) if phase.name in round_about)
        raise DependencyCycle("A phase would wait for itself.", path=f"phases.{number}.depends_on") from cycle


def _upstreams(phase: NewPhase) -> set[str]:
    return {*phase.depends_on, *phase.sources()}


def state_of(phase: NewPhase, titles: Mapping[str, str], given: StartValues) -> JsonObject:
    """The first state of the phase's intent: its own, and what the published client's agents look for there
    (RFC-0024). ``titles`` are those of the phases, by name."""
    state: JsonObject = dict(phase.state)
    for source, key in map(reference, phase.inputs.values()):
        if source in _GIVEN and key in given.of(source):
            state.setdefault(key, given.of(source)[key])
    if phase.inputs:
        state[IO_INPUTS] = dict(phase.inputs)
    if phase.outputs:
        state[IO_OUTPUTS] = {key: {"type": one.type, "required": one.required} for key, one in phase.outputs.items()}
    named = dict.fromkeys((*phase.depends_on, *phase.sources()))
    if named:
        state[IO_NAMES] = {titles[name]: name for name in named}
    return state


# --- When a task is claimed -----------------------------------------------------------------------------------------


def resolve_inputs(
    inputs: Mapping[str, str],
    outputs: Mapping[str, Mapping[str, JsonValue]],
    given: StartValues,
    own: Mapping[str, JsonValue],
) -> tuple[JsonObject, list[str]]:
    """The inputs of a phase, and the references that lead to nothing. ``outputs`` are those of its upstreams, by
    phase; ``own`` is its intent's state, the last place in which a ``$`` reference is looked for. ``$`` values must
    not be null (RFC-0024)."""
    found: JsonObject = {}
    missing: list[str] = []
    for local, mapping in inputs.items():
        source, key = reference(mapping)
        if source in _GIVEN:
            value = given.of(source).get(key)
            value = own.get(key) if value is None else value
            there = value is not None
        else:
            there = key in outputs.get(source, {})
            value = outputs[source][key] if there else None
        if there:
            found[local] = value
        else:
            missing.append(mapping)
    return found, missing


def client_inputs(state: Mapping[str, JsonValue]) -> dict[str, str]:
    """The valid inputs that an intent's state declares: clients write them themselves."""
    declared = state.get(IO_INPUTS)
    if not isinstance(declared, dict):
        return {}
    return {local: one for local, one in declared.items() if isinstance(one, str) and _is_reference(one)}


def client_names(state: Mapping[str, JsonValue]) -> dict[str, str]:
    """The names of phases by the titles of their intents, as an intent's state has them."""
    declared = state.get(IO_NAMES)
    if not isinstance(declared, dict):
        return {}
    return {title: name for title, name in declared.items() if isinstance(name, str)}


def _is_reference(mapping: str) -> bool:
    try:
        reference(mapping)
    except ValueError:
        return False
    return True


# --- When a phase is completed --------------------------------------------------------------------------------------


def check_outputs(outputs: Mapping[str, PhaseOutput], given: Mapping[str, JsonValue]) -> None:
    """Raises :class:`MissingOutput` or :class:`OutputTypeMismatch` unless ``given`` has what the phase declares."""
    missing: list[JsonValue] = [key for key, one in outputs.items() if one.required and key not in given]
    if missing:
        raise MissingOutput("The phase has not given every output that it declares.", missing=missing)
    wrong: list[JsonValue] = [key for key, one in outputs.items() if key in given and not one.takes(given[key])]
    if wrong:
        raise OutputTypeMismatch("An output of the phase is of another type than it declares.", mismatched=wrong)
