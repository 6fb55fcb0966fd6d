"""Loading the configuration: file and environment into :class:`Settings`, or a list of all errors.

``openintent.yaml`` is the server's file in RFC-0026 §5, and may be shared with another program. Its unknown top-level
keys are that program's, but all known ones count, as in ``handraise.yaml``.

:func:`warnings_about` names values that are valid and hardly meant; `serve` prints them and goes on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from pydantic_settings import EnvSettingsSource

from bot.config import known
from bot.config.catalogue import description, descriptions, listed, names
from bot.config.fitting import misfits
from bot.config.known import TREE, Node, pattern
from bot.config.problems import ConfigProblem, InvalidConfiguration, kind_of
from bot.config.published import is_off_loopback, weak_secrets, why_weak
from bot.config.settings import Settings
from bot.config.values import FromVariable
from core.domain.root_key import RootKey

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
    """The file's values without its nulls, which mean "absent". Raises :class:`InvalidConfiguration` without quoting
    it."""
    try:
        values = yaml.load(path.read_bytes(), _Loader)  # noqa: S506 - a SafeLoader
    except OSError as failure:
        raise _unreadable(path, f"can't be read: {failure.strerror}") from None
    except (_GivenTwice, _Alias) as refused:
        raise _unreadable(path, refused.text) from None
    except yaml.MarkedYAMLError as broken:
        mark = broken.problem_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
        raise _unreadable(path, f"{where}this is not valid YAML") from None
    except (yaml.YAMLError, ValueError, RecursionError):
        raise _unreadable(path, "this is not valid YAML") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise _unreadable(path, "must hold keys and values, such as http: {port: 8080}")
    return {str(key): without_nulls(value) for key, value in values.items() if value is not None}


def _unreadable(path: Path, why: str) -> InvalidConfiguration:
    return InvalidConfiguration([ConfigProblem("", why, path)])


def without_nulls(values: Any) -> Any:
    """``values`` without what is ``null`` in their mappings, which means "absent"; each key as a string."""
    if isinstance(values, dict):
        return {str(key): without_nulls(value) for key, value in values.items() if value is not None}
    if isinstance(values, list):
        return [without_nulls(value) for value in values]
    return values


def our_variables(environ: Mapping[str, str]) -> tuple[dict[str, str], list[ConfigProblem]]:
    """The variables that are settings and not empty, and what is wrong with the names of others."""
    ours, problems = {}, []
    for name, value in sorted(environ.items()):
        if not name.startswith(PREFIX) or name in {*CLIENT_VARIABLES, TESTS_VARIABLE}:
            continue
        if _KUBERNETES.fullmatch(name) and ("SERVICE" in name or "://" in value):
            continue
        problem = _no_setting(name)
        if problem is not None:
            problems.append(problem)
        elif value.strip():
            ours[name] = value
    return ours, problems


def _no_setting(name: str) -> ConfigProblem | None:
    path = variable_path(name)
    node: Node | None = TREE
    for step in path:
        node = node.at(step) if node is not None else None
    if node is not None and node.is_plain:
        return None
    if node is not None and node.items is not None:
        return ConfigProblem(name, f"{name}: {pattern(path)} can only be given in the file")
    if said := known.removed(path):
        return ConfigProblem(name, f"{name} {said}")
    nearest = _nearest_variable(name)
    return ConfigProblem(name, f"unknown variable {name}; did you mean {nearest}?", nearest=nearest)


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
    if not ours:
        return {}
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

    Raises :class:`InvalidConfiguration` with every error, each on a line that names the file and the key, or the
    variable. It never quotes a value.
    """
    file = find_file(path)
    ours, problems = our_variables(environ)
    try:
        in_file = {} if file is None else read_file(file)
    except InvalidConfiguration as unreadable:
        raise InvalidConfiguration([*unreadable.problems, *problems]) from None
    if file is not None and file.name == SHARED_FILE:
        in_file = {key: value for key, value in in_file.items() if key in TREE.keys}
    return settings_of(in_file, file, ours, problems)


def settings_of(
    in_file: Mapping[str, Any], file: Path | None, variables: Mapping[str, str], problems: Sequence[ConfigProblem] = ()
) -> Settings:
    """The settings of what :func:`read_file` has read of ``file``, with ``variables`` over them. Raises as
    :func:`load` does, with ``problems`` that were found before.

    What is wrong in one section hides nothing in another: conditions between sections are looked at if each of them is
    right by itself.
    """
    source = _Origin(file, frozenset(map(variable_path, variables)))
    unknown = list(known.unknown_keys(in_file))
    values = _over(known.without(in_file, unknown), read_variables(variables))
    found = [*problems, *map(source.unknown, unknown)]
    settings, invalid = _validated(values, source)
    broken = {str(path[0]) for path, _ in invalid}
    unfit = [(path, source.refusal(path, text)) for path, text in misfits(settings, broken)]
    meant = {problem.nearest for problem in found}
    for path, problem in (*invalid, *unfit):
        if " is missing" not in problem.message or known.written(path) not in meant:  # it is there, and misspelt
            found.append(problem)
    if found:
        raise InvalidConfiguration(list(dict.fromkeys(found)))
    return settings


def _validated(values: Mapping[str, Any], source: _Origin) -> tuple[Settings, list[tuple[known.Path, ConfigProblem]]]:
    """The settings without the sections that are wrong, and what is wrong with those."""
    try:
        return Settings.model_validate(values), []
    except ValidationError as invalid:
        errors = invalid.errors(include_url=False)
    problems = []
    for error in errors:
        kind, path = error["type"], tuple(step for step in error["loc"] if step != "[key]")  # a mapping's key
        if kind == "default_factory_not_called":  # for what another error has been told of
            continue
        is_missing = kind == "missing"
        found = None if is_missing else kind_of(error["input"], is_secret=known.is_secret(path))
        problems.append((path, source.refusal(path, _must(kind, error.get("ctx", {})), found)))
    broken = {str(path[0]) for path, _ in problems}
    return Settings.model_validate({key: value for key, value in values.items() if key not in broken}), problems


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where values come from, so that a problem names what to mend."""

    file: Path | None
    variables: frozenset[tuple[str, ...]]

    def unknown(self, path: known.Path) -> ConfigProblem:
        written, nearest = known.written(path), known.nearest(path)
        if said := known.removed(path):
            return ConfigProblem(written, f"{written} {said}", self.file)
        return ConfigProblem(written, f"unknown key {written}; did you mean {nearest}?", self.file, nearest=nearest)

    def refusal(self, path: known.Path, text: str, found: str | None = None) -> ConfigProblem:
        for length in range(len(path), 0, -1):
            if path[:length] in self.variables:
                name = variable_name(path[:length])
                return ConfigProblem(name, f"{name} {text}", found=found)
        key = variable_name(path) if self.file is None else known.written(path)
        return ConfigProblem(key, f"{key} {text}", self.file, found)


def _over(below: Any, above: Any) -> Any:
    """``above`` if it says something, ``below`` elsewhere."""
    if isinstance(below, dict) and isinstance(above, dict):
        return {**below, **{key: _over(below.get(key), value) for key, value in above.items()}}
    return above


_MUST = {
    "missing": "is missing",
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
    """A line for each, naming the setting and what to do."""
    if not settings.set_up:
        yield (
            "no channel is configured: nobody is sent a question, and all of them wait at "
            f"{settings.public_url.rstrip('/')}/inbox. To reach people elsewhere, set up {listed('or')} in the "
            "configuration."
        )
    if settings.set_up and settings.leads_here:
        yield (
            f"public_url leads to this machine ({settings.public_url}): the links in messages open nowhere else. Set "
            "public_url to the https:// address that people reach this service at."
        )
    for name in settings.channels:
        yield from description(name).warnings(settings.section(name))
    yield from _weak(settings)


def _weak(settings: Settings) -> Iterator[str]:
    """Off loopback these are errors, but for a secret key that has gone out of use."""
    weak = [] if is_off_loopback(settings) else [known.written(path) for path, _ in weak_secrets(settings)]
    if weak:
        yield (
            f"{', '.join(weak)}: everybody can read this in Handraise's own files, or guess it. On this machine it is "
            "let pass; with another http.host or public_url nothing starts. `openssl rand -hex 32` makes a secret, "
            "`handraise keys create NAME --role ROLE` a key."
        )
    if any(why_weak(old) for old in settings.secret_key_previous):
        yield (
            "secret_key_previous holds a key that everybody can read in Handraise's own files, or guess: what is "
            "signed with it anybody can forge. docs/how-to/secret-key.md says when to take it out."
        )


def not_configured(settings: Settings) -> list[str]:
    """The keys of what people may miss: channels, doors for their answers, people, and whom to tell of trouble."""
    deaf = [
        one for one in descriptions() if (section := settings.section(one.name)) is not None and one.is_deaf(section)
    ]
    absent = {
        **{name: settings.section(name) is None for name in names()},
        **{f"{one.name}.{one.door_hint or one.door_setting}": True for one in deaf},
        "people": not settings.people and not settings.groups,
        "alerts.notify": not settings.alerts.notify,
        "alerts.heartbeat_url": settings.alerts.heartbeat_url is None,
    }
    return [key for key, is_absent in absent.items() if is_absent]


def check_hashes(settings: Settings, root: RootKey) -> None:
    """What could not be seen before the root key was read from its file: a hash of a key that everybody knows.

    Raises :class:`InvalidConfiguration`.
    """
    if is_off_loopback(settings):
        weak = [(known.written(path), why) for path, why in weak_secrets(settings, root)]
        if weak:
            raise InvalidConfiguration([ConfigProblem(key, f"{key} {why}") for key, why in weak])


def settings_and_folder(config: Path | None) -> tuple[Settings, Path]:
    """The settings of ``config`` (or of the file found here) and its folder; raises :class:`InvalidConfiguration`."""
    file = find_file(config)
    return load(config, os.environ), file.parent if file is not None else Path.cwd()
