"""A call's arguments by name, and as the JSON for people and for a receipt."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from uuid import UUID

from pydantic import BaseModel, JsonValue

LARGEST_INTEGER = 2**53 - 1
"""RFC 8785 knows no larger one: it could not be told from its neighbour."""

DEEPEST = 50


@dataclass(frozen=True, slots=True)
class BoundCall:
    """One call: its arguments by name with the defaults applied, and without the ``self`` of a method."""

    arguments: Mapping[str, object]
    positional: tuple[object, ...]
    keywords: Mapping[str, object]

    def to(self, function: Callable[..., object]) -> object:
        """Calls ``function`` with the arguments that it names, or with all of them unchanged if it names an unknown
        one."""
        wanted = inspect.signature(function).parameters.values()
        if not all(_is_named(one, self.arguments) for one in wanted):
            return function(*self.positional, **self.keywords)
        if any(one.kind is one.VAR_KEYWORD for one in wanted):
            return function(**self.arguments)
        return function(**{one.name: self.arguments[one.name] for one in wanted if one.name in self.arguments})

    def json(self) -> dict[str, JsonValue]:
        """Raises ``TypeError`` for an argument that JSON has no form for, and ``ValueError`` for one that JSON can't
        hold exactly. The message names the argument and holds no value."""
        return {name: _json(value, name, DEEPEST) for name, value in self.arguments.items()}


def _is_named(parameter: inspect.Parameter, arguments: Mapping[str, object]) -> bool:
    """Whether ``parameter`` can be given by name, or be left out."""
    if parameter.kind is parameter.VAR_KEYWORD:
        return True
    if parameter.kind in {parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL}:
        return False
    return parameter.name in arguments or parameter.default is not parameter.empty


class CallSignature:
    """The parameters of a function. The first parameter of a method, ``self`` or ``cls``, is left out."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._signature = inspect.signature(function)
        names = list(self._signature.parameters)
        self._left_out = 1 if names and names[0] in {"self", "cls"} and _is_in_class(function) else 0
        self.names = frozenset(names[self._left_out :])

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> BoundCall:
        """Raises ``TypeError``, as the call itself would, if the arguments don't fit."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        named = [*bound.arguments.items()][self._left_out :]
        return BoundCall(dict(named), bound.args[self._left_out :], bound.kwargs)


def _is_in_class(function: Callable[..., object]) -> bool:
    """Whether it was written in a class: ``Shop.refund``, but not ``outer.<locals>.refund``."""
    outside = getattr(function, "__qualname__", "").rpartition(".")[0]
    return bool(outside) and not outside.endswith("<locals>")


def _json(value: object, where: str, depth: int) -> JsonValue:
    if depth == 0:
        raise ValueError(f"{where}: is nested more than {DEEPEST} deep")
    plain = _written(value)
    if isinstance(plain, Mapping):
        return {_key(key, where): _json(inner, f"{where}.{key}", depth - 1) for key, inner in plain.items()}
    if isinstance(plain, Sequence) and not isinstance(plain, str | bytes | bytearray | memoryview):
        return [_json(inner, f"{where}[{place}]", depth - 1) for place, inner in enumerate(plain)]
    if plain is None or isinstance(plain, bool):
        return plain
    if isinstance(plain, int | float | str):
        return _exact(plain, where)
    raise TypeError(f"{where}: {type(plain).__name__} has no form in JSON")


def _written(value: object) -> object:
    """``value`` in its one written form, if it has one; else ``value`` itself."""
    match value:
        case Enum():
            return value.value
        case BaseModel():
            return value.model_dump(mode="json")
        case Decimal() | UUID():
            return str(value)
        case datetime() | date() | time():
            return value.isoformat()
    return value


def _exact(value: float | str, where: str) -> JsonValue:
    match value:
        case int() if abs(value) > LARGEST_INTEGER:
            raise ValueError(f"{where}: JSON holds no integer beyond {LARGEST_INTEGER} exactly; give it as a string")
        case float() if not math.isfinite(value):
            raise ValueError(f"{where}: JSON has no form for infinity and for what is no number")
        case str() if not _is_unicode(value):
            raise ValueError(f"{where}: holds half of a character (a lone surrogate)")
    return value


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _key(key: object, where: str) -> str:
    """Only strings: JSON could not tell 1 from "1"."""
    if not isinstance(key, str):
        raise TypeError(f"{where}: a key is {type(key).__name__}, and JSON has strings alone")
    return str(_exact(key, f"a key of {where}"))
