"""Templates of mails: ours, or those in the operator's folder.

An operator's template runs in a sandbox and is checked as a whole before the service starts. If it fails on an
unforeseen question, ours takes its place: no question is lost to a template.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import structlog
from jinja2 import BaseLoader, DictLoader, Environment, FunctionLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import escape

from channels.email.template_views import View

log = structlog.get_logger(__name__)

FOLDER = Path(__file__).parent / "templates"
OURS: Mapping[str, str] = {file.name: file.read_text("utf-8") for file in sorted(FOLDER.glob("*.j2"))}
"""By name: what an operator may replace."""


@dataclass(frozen=True, slots=True)
class MailBodies:
    """The two bodies of a mail. ``failed`` names the operator's template that could not be used, if any."""

    text: str
    html: str
    failed: str | None = None


class Templates:
    """Writes bodies. ``replaced`` are the operator's templates by name; :mod:`channels.email.overrides` reads and
    checks them.
    """

    def __init__(self, replaced: Mapping[str, str] | None = None) -> None:
        self.replaced = dict(replaced or {})
        self._theirs = None if not replaced else environment(loader_of(self.replaced), ImmutableSandboxedEnvironment)

    @property
    def are_ours(self) -> bool:
        """Whether the operator has replaced no template."""
        return self._theirs is None

    def write(self, kind: str, view: View) -> MailBodies:
        """``kind`` is ``notice`` or ``message``. Never fails because of an operator's template."""
        if self._theirs is not None:
            try:
                written = rendered(self._theirs, kind, view)
                return MailBodies(*written)
            except Exception as problem:  # noqa: BLE001 (whatever theirs raises, the question goes out)
                log.warning("email.template_failed", template=kind, error=type(problem).__name__)
                return MailBodies(*rendered(_ours(), kind, view), failed=kind)
        return MailBodies(*rendered(_ours(), kind, view))


class PartMissing(Exception):
    """The ``form`` (``txt``, ``html``) of a rendered question lacks ``part``, without which nobody can answer it."""

    def __init__(self, form: str, part: str) -> None:
        super().__init__(form, part)
        self.form = form
        self.part = part


def environment(loader: BaseLoader, kind: type[Environment] = Environment) -> Environment:
    """An environment of class ``kind`` over ``loader``; HTML is escaped, and an unknown variable is an error."""
    return kind(
        loader=loader,
        autoescape=is_html,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )


@cache
def _ours() -> Environment:
    """Compiled once for all channels. Our templates use none of Jinja's globals, which would be copied for each
    body."""
    ours = environment(DictLoader(dict(OURS)))
    ours.globals.clear()
    return ours


def is_html(name: str | None) -> bool:
    return name is None or name.endswith(".html.j2")


def loader_of(replaced: Mapping[str, str]) -> BaseLoader:
    """The operator's templates before ours."""
    both = {**OURS, **replaced}

    def load(name: str) -> tuple[str, str, None] | None:
        return (both[name], name, None) if name in both else None  # the name again: tracebacks are to tell it

    return FunctionLoader(load)


def rendered(templates: Environment, kind: str, view: View) -> tuple[str, str]:
    """Text and HTML. Raises :class:`PartMissing` if one lacks the link to answer at, or the action; and the
    template's own errors."""
    text, html = (templates.get_template(f"{kind}.{form}.j2").render(view) for form in ("txt", "html"))
    link, action = view["link"], view.get("action")
    lines = [] if action is None else [action.digest, *action.text.splitlines()[:_LINES_LOOKED_FOR]]
    for form, made, shown in (("txt", text, str), ("html", html, lambda text: str(escape(text)))):
        if link and shown(link) not in made:
            raise PartMissing(form, "the link to answer at")
        if any(shown(line.strip()) not in made for line in lines):
            raise PartMissing(form, "the action with its digest")
    return text, html


_LINES_LOOKED_FOR = 5
"""Of the action: enough to know that it is there."""
