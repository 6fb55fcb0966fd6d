"""A group of commands that tells whoever misspells a command or an option what they most likely meant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from handraise.nearest_name import nearest_name


class CommandGroup(TyperGroup):
    @property
    def absent(self) -> str:
        """What is said of a command that is none, after its name."""
        return ""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            near = nearest_name(name, self.list_commands(ctx))
            meant = f" Did you mean '{near}'?" if near else ""
            ctx.fail(f"No such command '{name}'.{meant}{self.absent}")
        return super().resolve_command(ctx, args)

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with _plain_usage_errors():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        with _plain_usage_errors():
            return super().invoke(ctx)


@contextmanager
def _plain_usage_errors() -> Iterator[None]:
    """What Pydantic has against an argument is said as everything else is, and a misspelt option is told its nearest
    one alone."""
    try:
        yield
    except typer.BadParameter as wrong:
        wrong.message = wrong.message.removeprefix("Value error, ").replace("Input should be", "must be", 1)
        raise
    except _UsageError as wrong:
        near = nearest_name(getattr(wrong, "option_name", ""), getattr(wrong, "possibilities", None) or ())
        if near is not None:
            wrong.possibilities = None
            wrong.message = f"{wrong.message.rstrip('.')}. Did you mean {near}?"
        raise


_UsageError: Any = typer.BadParameter.__base__
"""Typer gives no name to it."""
