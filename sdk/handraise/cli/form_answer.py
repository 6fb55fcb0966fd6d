"""A form's answer at the command line: from options, for scripts, or field by field at a terminal.

What is asked goes to standard error. Nobody is asked anything if an option gives the form, or without a terminal: a
script must not wait for somebody who is not there. What fits is the service's to say: the fields that it refuses are
asked again, with its words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer

from handraise.cli.arguments import object_of
from handraise.cli.client import Client, RefusedFields, stop
from handraise.cli.exit_status import INTERRUPTED
from handraise.cli.form_fields import FormField, fields_of, shown
from handraise.cli.terminal import is_attended, one_line, prompt, visible, warn
from handraise.nearest_name import nearest_name

_LONGEST = 400
_LEAVE_OUT = "-"


def form_from_options(record: Mapping[str, Any], given: Sequence[str], form: str | None) -> dict[str, Any]:
    """What ``--form`` and ``--field`` say; a field wins over the same one of the form."""
    values = {} if form is None else object_of(form, "--form")
    fields = {one.name: one for one in fields_of(record)}
    named: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        name = name.strip()
        if not equals or not name:
            raise _bad("must be NAME=VALUE.")
        if fields and name not in fields:
            near = nearest_name(name, fields)
            meant = f"Did you mean {near}?" if near else f"It has: {one_line(', '.join(fields), _LONGEST)}."
            raise _bad(f"{name} is no field of this form. {meant}")
        read = fields.get(name, FormField(name)).read(value)
        if name in named and not (isinstance(read, list) and isinstance(named[name], list)):
            raise _bad(f"{name} is given twice, and takes one value.")
        named[name] = [*named[name], *read] if name in named else read
    return values | named


def answer_by_hand(client: Client, record: Mapping[str, Any], path: str, body: dict[str, Any]) -> Any:
    """Ask field by field, and again for those that do not fit; the reply to the answer.

    Raises :class:`typer.BadParameter` without a terminal, and :class:`typer.Exit` at Ctrl-C or Ctrl-D: nothing was
    sent then.
    """
    fields = fields_of(record)
    if not fields:
        raise typer.BadParameter("this form names no fields: give --form JSON.", param_hint="'--form'")
    if not is_attended():
        needed = [one.name for one in fields if one.is_required]
        which = f"It needs: {', '.join(needed)}." if needed else f"It has: {', '.join(one.name for one in fields)}."
        how = "give --field NAME=VALUE for each field, or --form JSON, or answer at a terminal."
        raise _bad(f"the question asks for a form: {how} {one_line(which, _LONGEST)}")
    if record["status"] != "open":
        stop(f"{record['ref']} is not open any more", 1)
    notice = client.get(f"/v1/suspensions/{record['id']}/notice")
    warn(one_line(f"{record['ref']}: {notice['question']}", _LONGEST))
    return _until_it_fits(client, record["ref"], fields, path, body)


def _until_it_fits(client: Client, ref: str, fields: Sequence[FormField], path: str, body: dict[str, Any]) -> Any:
    values: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    while True:
        values = _asked_again(ref, fields, values, wrong)
        done = client.answer(path, {**body, "value": values})
        if not isinstance(done, RefusedFields):
            return done
        wrong = {one.name: done.by_name[one.name] for one in fields if one.name in done.by_name}
        if not wrong:
            done.stop()


def _asked_again(
    ref: str, fields: Sequence[FormField], values: Mapping[str, Any], wrong: Mapping[str, str]
) -> dict[str, Any]:
    """``values`` with those that are ``wrong`` asked once more; all of them at first, when there are none."""
    filled = {name: value for name, value in values.items() if name not in wrong}
    try:
        for one in fields:
            if not wrong or one.name in wrong:
                filled |= _asked(one, wrong.get(one.name))
    except (KeyboardInterrupt, EOFError):
        warn("")
        warn(f"{ref}: nothing was sent. The question stays open.")
        raise typer.Exit(INTERRUPTED) from None
    return filled


def _asked(one: FormField, wrong: str | None) -> dict[str, Any]:
    """The field as part of the answer; empty if it is left out."""
    if wrong is not None:
        warn(one_line(f"{one.label}: {wrong}", _LONGEST))
    elif one.hint.strip():
        warn(one_line(f"{one.label}: {one.hint}", _LONGEST))
    while True:
        text = prompt(_prompt(one)).strip()
        if text == _LEAVE_OUT and not one.is_required and one.default is not None:
            return {}
        if text:
            return {one.name: one.read(text)}
        if one.default is not None:
            return {one.name: one.default}
        if one.may_be_empty:
            return {one.name: one.empty} if one.is_required else {}
        warn(f"{one.label}: Fill this in.")


def _prompt(one: FormField) -> str:
    """``Amount (a whole number from 1 to 500) [20]: ``"""
    leaves_out = f"; {_LEAVE_OUT} leaves it out" if one.default is not None else ""
    notes = "; ".join(filter(None, (one.takes, "" if one.is_required else f"optional{leaves_out}")))
    suggested = "" if one.default is None else f" [{one_line(shown(one.default), _LONGEST)}]"
    return f"{one.label}{f' ({notes})' if notes else ''}{suggested}: "


def _bad(why: str) -> typer.BadParameter:
    return typer.BadParameter(visible(why), param_hint="'--field'")
