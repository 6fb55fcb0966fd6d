"""Loading the configuration: file and environment into :class:`Settings`, or one line that says what to mend.

``openintent.yaml`` is the server's file in RFC-0026 §5, and may be shared with another program. Keys at its top that we
don't know are that program's, but all that we do know counts, as in ``handraise.yaml``.

:func:`warnings_about` names what a working configuration is hardly meant to say; `serve` prints it and goes on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bot.config import known
from bot.config.fitting import misfits
from bot.config.settings import Settings
from bot.config.sources import our_variables, read_file, read_variables, variable_name, variable_path
from core.errors import ConfigError

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
    variables = our_variables(environ)
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
    """Says where a setting came from."""

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
