"""Copies of records: the values given are other ones, the rest and the record itself stay."""

from __future__ import annotations

import dataclasses

import pytest

from core.domain.copies import replace


@dataclasses.dataclass(frozen=True)
class Plain:
    name: str
    number: int = 1


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    name: str
    number: int = 1


@pytest.mark.parametrize("kind", [Plain, Slotted])
def test_a_copy_has_the_new_values_and_the_record_keeps_its_own(kind: type[Plain]) -> None:
    record = kind("a")

    copy = replace(record, number=2)

    assert (copy, record) == (kind("a", 2), kind("a", 1))
    assert (type(copy), hash(copy)) == (kind, hash(kind("a", 2)))


@pytest.mark.parametrize("kind", [Plain, Slotted])
def test_a_copy_of_a_frozen_record_is_frozen(kind: type[Plain]) -> None:
    copy = replace(kind("a"), number=2)

    with pytest.raises(dataclasses.FrozenInstanceError):
        copy.number = 3  # type: ignore[misc]


def test_a_copy_of_a_copy_is_one_of_its_own() -> None:
    first = replace(Plain("a"), number=2)

    assert replace(first, name="b") == Plain("b", 2)
    assert first == Plain("a", 2)
