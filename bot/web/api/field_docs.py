"""Docstrings below the fields of bodies and replies, as the OpenAPI document's descriptions.

Pydantic has the same by ``use_attribute_docstrings``. It reads a file once for each class, and while the process
starts: a second of it, for bodies that nobody may ever ask about. Here each module is read once, when the document is
first asked for.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

Part = dict[str, Any]
FieldDocs = dict[str, str]

_MODULES = (
    "bot.web.api",
    "bot.web.openintent",
    "core.domain.policy",
    "core.domain.record",
    "core.openintent.domain.retry",
    "core.domain.wire",
)
"""Where the classes stand whose fields are on the wire. A class's name is its schema's."""


def add_field_docs(schemas: dict[str, Part]) -> None:
    """Give each property of ``schemas`` that has no description the docstring of the field that it is."""
    known = _ClassDocs()
    for name, schema in schemas.items():
        for part in (schema, *schema.get("anyOf", ())):
            for field, prop in part.get("properties", {}).items():
                text = known.of(name).get(field)
                if text is not None and "description" not in prop:
                    prop["description"] = text


class _ClassDocs:
    """The docstrings of the fields of all classes that have been loaded, those that they inherit included."""

    def __init__(self) -> None:
        self._classes = {one.name: one for module in _modules() for one in _classes(module)}
        self._found: dict[str, FieldDocs] = {}

    def of(self, name: str) -> FieldDocs:
        if name not in self._found:
            self._found[name] = self._read(name)
        return self._found[name]

    def _read(self, name: str) -> FieldDocs:
        made = self._classes.get(name)
        if made is None:
            return {}
        inherited = [base.id for base in made.bases if isinstance(base, ast.Name)]
        docs = {field: text for base in inherited for field, text in self.of(base).items()}
        for field, after in zip(made.body, made.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(after, ast.Expr):
                text = after.value.value if isinstance(after.value, ast.Constant) else None
                docs[field.target.id] = inspect.cleandoc(str(text))
        return docs


def _modules() -> Iterator[ModuleType]:
    yield from [module for name, module in sorted(sys.modules.items()) if name.startswith(_MODULES)]


def _classes(module: ModuleType) -> Iterator[ast.ClassDef]:
    try:
        text = inspect.getsource(module)
    except (OSError, TypeError):  # an installation without sources: the document has no descriptions then
        return
    yield from (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))
