"""Sources of settings, as plain nested values: a YAML file and the environment."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import yaml
from pydantic_settings import EnvSettingsSource

from bot.config.known import TREE, Node, pattern
from bot.config.settings import Settings
from bot.config.values import FromVariable
from core.errors import ConfigError

PREFIX = "HANDRAISE_"
CLIENT_VARIABLES = frozenset({"HANDRAISE_URL", "HANDRAISE_API_KEY"})
"""These belong to the command line and the SDK (API.md §8)."""

_KUBERNETES = re.compile(r"HANDRAISE(_[A-Z0-9]+)*_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)\w*)?)")
"""What Kubernetes sets in every container beside a Service named ``handraise…``; ``…_PORT`` holds a URL there.

Source: kubernetes.io/docs/concepts/services-networking/service/#environment-variables
"""


class _Loader(yaml.SafeLoader):
    """Safe YAML that refuses a key given twice, where the standard loader keeps the last one, and aliases, by which a
    few lines become gigabytes."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event: Any = self.peek_event()  # type: ignore[no-untyped-call]
            raise _Alias(event.start_mark.line + 1)
        return super().compose_node(parent, index)


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[Hashable, Any]:
    seen = set()
    for key_node, _value in node.value:
        key = loader.construct_object(key_node, deep=True)
        if isinstance(key, Hashable) and key in seen:
            raise _GivenTwice(str(key), key_node.start_mark.line + 1)
        seen.add(key if isinstance(key, Hashable) else None)
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


class _Alias(Exception):
    def __init__(self, line: int) -> None:
        self.text = f"line {line}: aliases (*name) are not read; write the value out"


class _GivenTwice(Exception):
    def __init__(self, key: str, line: int) -> None:
        self.text = f"line {line}: {key} is given twice"


def read_file(path: Path) -> dict[str, Any]:
    """The file's values without its nulls, which mean "absent". Raises :class:`ConfigError` without quoting it."""
    try:
        values = yaml.load(path.read_bytes(), _Loader)  # noqa: S506 - a SafeLoader
    except OSError as failure:
        raise ConfigError(f"{path}: can't be read: {failure.strerror}") from None
    except (_GivenTwice, _Alias) as refused:
        raise ConfigError(f"{path}: {refused.text}") from None
    except yaml.MarkedYAMLError as broken:
        mark = broken.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
        raise ConfigError(f"{path}: {where}this is not valid YAML") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise ConfigError(f"{path}: this is not valid YAML") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: must hold keys and values, such as http: {{port: 8080}}")
    return {str(key): _without_nulls(value) for key, value in values.items() if value is not None}


def _without_nulls(values: Any) -> Any:
    if isinstance(values, dict):
        return {str(key): _without_nulls(value) for key, value in values.items() if value is not None}
    if isinstance(values, list):
        return [_without_nulls(value) for value in values]
    return values


def our_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that are settings and not empty. Raises :class:`ConfigError` for one that is no setting."""
    ours = {}
    for name, value in sorted(environ.items()):
        if not name.startswith(PREFIX) or name in CLIENT_VARIABLES:
            continue
        if _KUBERNETES.fullmatch(name) and ("SERVICE" in name or "://" in value):
            continue
        _check_known(name)
        if value.strip():
            ours[name] = value
    return ours


def _check_known(name: str) -> None:
    path = variable_path(name)
    node: Node | None = TREE
    for step in path:
        node = node.at(step) if node is not None else None
    if node is not None and node.is_plain:
        return
    if node is not None and node.items is not None:
        raise ConfigError(f"{name}: {pattern(path)} can only be given in the file")
    raise ConfigError(f"unknown variable {name}; did you mean {_nearest_variable(name)}?")


def _nearest_variable(name: str) -> str:
    def names(node: Node, prefix: str) -> list[str]:
        if node.is_plain:
            return [prefix]
        return [found for key, below in node.keys.items() for found in names(below, f"{prefix}__{key.upper()}")]

    known = [found for key, below in TREE.keys.items() for found in names(below, PREFIX + key.upper())]
    return max([*known, *sorted(CLIENT_VARIABLES)], key=lambda other: SequenceMatcher(None, name, other).ratio())


def variable_path(name: str) -> tuple[str, ...]:
    """``("http", "port")`` of ``HANDRAISE_HTTP__PORT``."""
    return tuple(name.removeprefix(PREFIX).lower().split("__"))


def variable_name(path: tuple[str | int, ...]) -> str:
    return PREFIX + "__".join(str(step).upper() for step in path)


def read_variables(ours: Mapping[str, str]) -> dict[str, Any]:
    """The values of :func:`our_variables`, nested as in the file; each leaf is a :class:`FromVariable`."""
    source = EnvSettingsSource(Settings)
    source.env_vars = {name.lower(): FromVariable(value) for name, value in ours.items()}
    return source()
