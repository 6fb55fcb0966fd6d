"""Template overrides: an operator's own mail templates, checked before the service starts.

Checked are: the file replaces one of ours (or begins with ``_``, to be included); Jinja's syntax; unknown variables;
HTML that escapes; and that every example mail can be answered and is recognised when it is quoted.

:func:`preview_of` writes an example mail as files that a browser and a mail program open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from traceback import extract_tb

from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment

from channels.email.addressing import Mailboxes
from channels.email.examples import DELIVERY, EXAMPLES, FIRST, MESSAGES, TO, Example
from channels.email.html import read_page
from channels.email.own_words import own_words
from channels.email.quoting import MARKER
from channels.email.render import message_mail, notice_mail, view_of
from channels.email.templates import OURS, PartMissing, Templates, environment, is_html, loader_of, rendered
from channels.email.view_text import ROOMS
from core.domain.notice import Notice
from core.errors import ConfigError

_LONGEST = 1_000_000
_OURS_TO_SHOW = Mailboxes.of("handraise@example.com", "answers@example.com", key=b"preview")


def read_templates(folder: Path) -> Templates:
    """The templates of ``folder``, ours if it has none. Raises :class:`ConfigError`, one line that names the file
    and the line.
    """
    replaced = {file.name: _read(file) for file in _files(folder)}
    check = _Check(folder, environment(loader_of(replaced), ImmutableSandboxedEnvironment))
    for name, source in replaced.items():
        check.source(name, source)
    for example in EXAMPLES if replaced else ():
        check.example(example)
    return Templates(replaced)


def _files(folder: Path) -> list[Path]:
    try:
        files = sorted(one for one in folder.iterdir() if one.name.endswith(".j2"))
    except OSError as problem:
        raise ConfigError(f"email.templates: {folder} can't be read ({problem.strerror}).") from None
    for file in files:
        if file.name not in OURS and not file.name.startswith("_"):
            allowed = ", ".join(OURS)
            raise ConfigError(f"{file}: replaces no template; those are {allowed} (or begin its name with _).")
    return files


def _read(file: Path) -> str:
    try:
        source = file.read_text("utf-8")
    except UnicodeDecodeError as problem:
        line = problem.object[: problem.start].count(b"\n") + 1
        raise ConfigError(f"{file}:{line}: is not UTF-8.") from None
    except OSError as problem:
        raise ConfigError(f"{file}: can't be read ({problem.strerror}).") from None
    if len(source) > _LONGEST:
        raise ConfigError(f"{file}: must have at most {_LONGEST} characters.")
    return source


@dataclass(frozen=True, slots=True)
class _Check:
    folder: Path
    templates: Environment

    def refusal(self, name: str, line: int, text: str) -> ConfigError:
        place = self.folder / name
        return ConfigError(f"{place}:{line}: {text}")

    def source(self, name: str, source: str) -> None:
        """Checks that need no rendering."""
        try:
            tree = self.templates.parse(source, name)
            self.templates.compile(tree, name, str(self.folder / name))
        except TemplateSyntaxError as problem:
            raise self.refusal(name, problem.lineno, problem.message or "is no template") from None
        for variable in sorted(find_undeclared_variables(tree) - _variables(name) - _made_within(tree)):
            line = next((one.lineno for one in tree.find_all(nodes.Name) if one.name == variable), 1)
            allowed = ", ".join(sorted(_variables(name)))
            raise self.refusal(name, line, f"there is no variable {variable}; there are {allowed}.")
        for line in _unescaped(tree) if is_html(name) else ():
            raise self.refusal(name, line, "must leave HTML escaped (no |safe, no autoescape).")

    def example(self, example: Example) -> None:
        """Checks that need a question."""
        kind = "notice" if isinstance(example.content, Notice) else "message"
        view = view_of(example.content, _OURS_TO_SHOW, ROOMS[-1])
        try:
            text, html = rendered(self.templates, kind, view)
        except PartMissing as missing:
            name = f"{kind}.{missing.form}.j2"
            raise self.refusal(*self._at(name), f"the {example.name} mail lacks {missing.part}.") from None
        except Exception as problem:  # noqa: BLE001 (whatever theirs raises refuses it)
            name, line, within = self._where(problem, kind)
            told = f"the {example.name} mail can't be made{within}: {str(problem).rstrip('.')}."
            raise self.refusal(name, line, told) from None
        for name, lines in ((f"{kind}.txt.j2", text), (f"{kind}.html.j2", read_page(html).text)):
            if view["ref"] and (MARKER not in lines or own_words(lines).lines):
                told = f"the {example.name} mail must begin with the line “— {{{{ marker }}}} · {{{{ ref }}}} —”."
                raise self.refusal(*self._at(name), told)

    def _at(self, name: str) -> tuple[str, int]:
        """The file to name for a fault of the whole template ``name``: that file, or its source."""
        if self._is_theirs(name):
            return name, 1
        theirs = sorted(file.name for file in _files(self.folder) if is_html(file.name) == is_html(name))
        return next(iter(theirs), name), 1

    def _where(self, problem: Exception, kind: str) -> tuple[str, int, str]:
        """The innermost line of the operator's templates that ``problem`` was raised at. If one of our templates
        raised it (say, by a macro that it no longer calls like that), that one is named too."""
        frames = [one for one in extract_tb(problem.__traceback__) if one.filename.endswith(".j2")]
        if not frames:
            return *self._at(f"{kind}.html.j2"), ""
        within = "" if self._is_theirs(frames[-1].filename) else f" in our {frames[-1].filename}:{frames[-1].lineno}"
        theirs = next((one for one in reversed(frames) if self._is_theirs(one.filename)), None)
        if theirs is None:
            return *self._at(frames[-1].filename), within
        return theirs.filename, theirs.lineno or 1, within

    def _is_theirs(self, name: str) -> bool:
        return (self.folder / name).exists()


def _variables(name: str) -> frozenset[str]:
    """The variables that a file may use: its kind's; all of them if both kinds include it."""
    kinds = [kind for kind in VARIABLES if name.startswith(f"{kind}.")] or list(VARIABLES)
    return frozenset().union(*(VARIABLES[kind] for kind in kinds))


def _made_within(tree: nodes.Template) -> frozenset[str]:
    """Names that are imported or set at the top, and may be used in blocks: Jinja reports them as undeclared."""
    imported = (name for found in tree.find_all(nodes.FromImport) for name in found.names)
    names = [name if isinstance(name, str) else name[1] for name in imported]
    names += [found.target for found in tree.find_all(nodes.Import)]
    names += [found.name for found in tree.find_all(nodes.Macro)]
    names += [found.name for found in tree.find_all(nodes.Name) if found.ctx == "store"]
    return frozenset(names)


def _unescaped(tree: nodes.Template) -> Iterator[int]:
    """The lines that would output unescaped HTML."""
    for found in tree.find_all((nodes.Filter, nodes.ScopedEvalContextModifier, nodes.EvalContextModifier)):
        if not isinstance(found, nodes.Filter) or found.name == "safe":
            yield found.lineno


VARIABLES: Mapping[str, frozenset[str]] = {
    "notice": frozenset(view_of(FIRST, _OURS_TO_SHOW, ROOMS[0])),
    "message": frozenset(view_of(MESSAGES["alert"], _OURS_TO_SHOW, ROOMS[0])),
}


def preview_of(example: Example, ours: Mailboxes, templates: Templates) -> Mapping[str, bytes]:
    """The contents of its files by their ending: ``eml``, ``html``, ``txt``."""
    content = example.content
    if isinstance(content, Notice):
        mail = notice_mail(content, TO, DELIVERY, ours, templates)
    else:
        mail = message_mail(content, TO, DELIVERY, ours, templates)
    message = message_from_bytes(mail.content, policy=default)
    return {"eml": mail.content, "html": _body(message, "html"), "txt": _body(message, "plain")}


def _body(message: EmailMessage, kind: str) -> bytes:
    part = message.get_body((kind,))
    return b"" if part is None else str(part.get_content()).encode()
