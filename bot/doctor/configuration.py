"""Checks of the configuration: whether it can be read, and whether its values are safe.

Each error of the reader is a fault of its own: without settings nothing else can be checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bot.config.catalogue import listed
from bot.config.known import written
from bot.config.loading import find_file, load
from bot.config.problems import ConfigProblem, InvalidConfiguration
from bot.config.published import weak_secrets
from bot.config.settings import Settings
from bot.doctor.examination import Examination
from bot.doctor.findings import Finding, fault, ok, some, warning

SUBJECT = "configuration"


def read(config: Path | None, environ: Mapping[str, str]) -> tuple[Settings, Path] | Sequence[Finding]:
    """The settings and their folder; if there are errors, the findings about them."""
    file = find_file(config)
    try:
        return load(config, environ), file.parent if file is not None else Path.cwd()
    except InvalidConfiguration as invalid:
        return [fault(SUBJECT, one.line, _mend(one)) for one in invalid.problems]


def _mend(problem: ConfigProblem) -> str:
    again = "and run `handraise doctor` again: nothing else was looked at."
    if problem.nearest is not None:
        return f"Write {problem.nearest}, or take {problem.key} out, {again}"
    return f"Correct {problem.key or problem.file}, {again}"


async def configuration(examined: Examination) -> Sequence[Finding]:
    settings = examined.settings
    return [*_channels(settings), *_weak(settings)]


def _weak(settings: Settings) -> Sequence[Finding]:
    """Off loopback these are errors of the reader."""
    weak = [written(path) for path, _ in weak_secrets(settings)]
    found = f"{some(weak)}: everybody can read this in Handraise's own files, or guess it"
    return [warning(SUBJECT, found, "Make new ones before others than this machine come in.")] if weak else []


def _channels(settings: Settings) -> Sequence[Finding]:
    if not settings.set_up:
        found = "no channel is set up: nobody is asked anywhere but on the pages"
        return [warning(SUBJECT, found, f"Set up {listed('or')} in handraise.yaml.")]
    if not any("agent" in key.roles or "admin" in key.roles for key in settings.api_keys):
        return [ok(SUBJECT, f"channels: {some(settings.channels)}; no key of an agent stands in the file")]
    return [ok(SUBJECT, f"channels: {some(settings.channels)}")]
