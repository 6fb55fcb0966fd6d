"""How a process that has imported everything takes a mutant: the functions that differ get their broken code.

Importing everything anew takes longer than most tests. It is done only if more differs than what stands in functions:
a table, a class, a default.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import PurePath
from types import CodeType, FunctionType, ModuleType

from tests.mutants.trial import is_own

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def patch(file: str, before: str, after: str) -> None:
    """This process goes on as if it had imported ``after``."""
    module = sys.modules.get(_module_name(file))
    if module is None:
        return  # it is imported, or read, from the copy
    changed = changed_functions(before, after) if file.endswith(".py") else None
    if changed is None or not _replace(module, changed, after):
        forget_all()


def forget_all() -> None:
    """What is imported from here on is read from the files."""
    for name in [name for name in sys.modules if is_own(name)]:
        del sys.modules[name]
    importlib.invalidate_caches()


def changed_functions(before: str, after: str) -> set[str] | None:
    """The qualified names of the functions whose bodies differ; ``None`` where anything else does too."""
    one, other = ast.parse(before), ast.parse(after)
    bodies, broken = dict(_emptied(one)), dict(_emptied(other))
    if ast.dump(one) != ast.dump(other):
        return None
    return {name for name, body in bodies.items() if broken[name] != body}


def _emptied(tree: ast.Module | ast.ClassDef, path: str = "") -> Iterator[tuple[str, str]]:
    """Takes the body out of each function that is not in another; yields its name and the body."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield from _emptied(node, f"{path}{node.name}.")
        elif isinstance(node, _Function):
            yield f"{path}{node.name}", "".join(ast.dump(line) for line in node.body)
            node.body = []


def _replace(module: ModuleType, names: set[str], source: str) -> bool:
    """Whether each of these functions was found and has its new code."""
    codes = dict(_codes(compile(source, str(module.__file__), "exec")))
    found = {name: _function(module, name) for name in names}
    for name, function in found.items():
        if function is None or codes[name].co_freevars != function.__code__.co_freevars:
            return False
        function.__code__ = codes[name]
    return True


def _codes(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant.co_qualname, constant
            yield from _codes(constant)


def _function(module: ModuleType, name: str) -> FunctionType | None:
    """The function, out of whatever it is wrapped in."""
    thing: object = module
    for part in name.split("."):
        thing = inspect.getattr_static(thing, part, None)
    match thing:
        case property():
            thing = thing.fget
        case cached_property():
            thing = thing.func
        case staticmethod() | classmethod():
            thing = thing.__func__
    thing = inspect.unwrap(thing) if callable(thing) else thing
    return thing if isinstance(thing, FunctionType) and thing.__qualname__ == name else None


def _module_name(file: str) -> str:
    parts = PurePath(file.removeprefix("sdk/testing/").removeprefix("sdk/")).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
