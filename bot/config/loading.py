"""Loading the configuration: file and environment into :class:`Settings`, or one line that says what to mend.

``openintent.yaml`` is the server's file in RFC-0026 §5, and may be shared with another program. Keys at its top that we
don't know are that program's, but all that we do know counts, as in ``handraise.yaml``.

:func:`warnings_about` names what a working configuration is hardly meant to say; `serve` prints it and goes on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_settings import EnvSettingsSource

from bot.config import known
from bot.config.fitting import misfits
from bot.config.known import TREE, Node, pattern
from bot.config.settings import Settings
from bot.config.values import FromVariable
from core.errors import ConfigError

PREFIX = "HANDRAISE_"
CLIENT_VARIABLES = frozenset({"HANDRAISE_URL", "HANDRAISE_API_KEY"})
"""These belong to the command line and the SDK (API.md §8)."""

TESTS_VARIABLE = "HANDRAISE_CONFORMANCE_DIR"
"""Where the tests find OpenArmature's fixtures: no setting, and no reason to refuse to start where it is set."""

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
    return {str(key): without_nulls(value) for key, value in values.items() if value is not None}


def without_nulls(values: Any) -> Any:
    """``values`` without what is ``null`` in their mappings, which means "absent"; each key as a string."""
    if isinstance(values, dict):
        return {str(key): without_nulls(value) for key, value in values.items() if value is not None}
    if isinstance(values, list):
        return [without_nulls(value) for value in values]
    return values


def our_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that are settings and not empty. Raises :class:`ConfigError` for one that is no setting."""
    ours = {}
    for name, value in sorted(environ.items()):
        if not name.startswith(PREFIX) or name in {*CLIENT_VARIABLES, TESTS_VARIABLE}:
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


OWN_FILE = "handraise.yaml"
SHARED_FILE = "openintent.yaml"


def find_file(given: Path | None) -> Path | None:
    """The file that counts: the given one, else ``handraise.yaml``, else ``openintent.yaml``, else none."""
    if given is not None:
        return given
    return next((path for path in map(Path, (OWN_FILE, SHARED_FILE)) if path.exists()), None)


def load(path: Path | None, environ: Mapping[str, str]) -> Settings:
    """The settings of ``path`` (see :func:`find_file`) with the variables of ``environ`` over them.

    Raises :class:`ConfigError` with one line that names the file and the key, or the variable. It never quotes a
    value.
    """
    file = find_file(path)
    in_file = {} if file is None else read_file(file)
    if file is not None and file.name == SHARED_FILE:
        in_file = {key: value for key, value in in_file.items() if key in known.TREE.keys}
    return settings_of(in_file, file, our_variables(environ))


def settings_of(in_file: Mapping[str, Any], file: Path | None, variables: Mapping[str, str]) -> Settings:
    """The settings of what :func:`read_file` has read of ``file``, with :func:`our_variables` over them. Raises as
    :func:`load` does."""
    source = _Origin(file, frozenset(map(variable_path, variables)))
    for unknown in known.unknown_keys(in_file):
        raise source.unknown(unknown)
    try:
        settings = Settings(**_over(in_file, read_variables(variables)))
    except ValidationError as invalid:
        first = invalid.errors(include_url=False, include_input=False)[0]
        place = tuple(step for step in first["loc"] if step != "[key]")  # pydantic's word for a mapping's key
        raise source.refusal(place, _must(first["type"], first.get("ctx", {}))) from None
    for place, text in misfits(settings):
        raise source.refusal(place, text)
    return settings


@dataclass(frozen=True, slots=True)
class _Origin:
    file: Path | None
    variables: frozenset[tuple[str, ...]]

    def unknown(self, path: known.Path) -> ConfigError:
        return ConfigError(f"{self.file}: unknown key {known.written(path)}; did you mean {known.nearest(path)}?")

    def refusal(self, path: known.Path, text: str) -> ConfigError:
        for length in range(len(path), 0, -1):
            if path[:length] in self.variables:
                return ConfigError(f"{variable_name(path[:length])} {text}")
        if self.file is not None:
            return ConfigError(f"{self.file}: {known.written(path)} {text}")
        return ConfigError(f"{variable_name(path)} {text}")


def _over(below: Any, above: Any) -> Any:
    """``above`` if it says something, ``below`` elsewhere."""
    if isinstance(below, dict) and isinstance(above, dict):
        return {**below, **{key: _over(below.get(key), value) for key, value in above.items()}}
    return above


_MUST = {
    "missing": "is missing",
    "default_factory_not_called": "is missing",
    "model_type": "must hold keys and values",
    "model_attributes_type": "must hold keys and values",
    "dict_type": "must hold keys and values",
    "tuple_type": "must be a list",
    "frozen_set_type": "must be a list",
    "too_short": "must not be empty",
}


def _must(kind: str, context: Mapping[str, Any]) -> str:
    """What is allowed, after the key's name. None of these holds the value that was given."""
    if kind == "value_error":
        return str(context["error"])
    if kind in {"literal_error", "enum"}:
        return f"must be {context['expected']}".replace("'", "")
    return _MUST.get(kind, "is not valid")


def warnings_about(settings: Settings) -> Iterator[str]:
    """One sentence for each, naming the setting and what to do."""
    if settings.channels and settings.leads_here:
        yield (
            f"public_url leads to this machine ({settings.public_url}): the links in messages open nowhere else. Set "
            "public_url to the https:// address that people reach this service at."
        )
    pager = settings.pagerduty
    if pager is not None and pager.api_token is not None and pager.from_email is None:
        yield (
            "pagerduty.api_token is set without pagerduty.from_email: no note is written to an incident, and nobody is "
            "called to one. Set from_email to the login of a user of the PagerDuty account."
        )


def settings_and_folder(config: Path | None) -> tuple[Settings, Path]:
    """The settings of ``config`` (or of the file found here) and its folder; raises :class:`ConfigError`."""
    file = find_file(config)
    return load(config, os.environ), file.parent if file is not None else Path.cwd()
