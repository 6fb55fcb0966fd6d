"""Starts a program as the unit would have it: its system calls, its address families, and no memory that is written and
then run.

    python sandbox.py UNIT PROGRAM ARGUMENTS…

systemd itself does the same by libseccomp; it is not the init where the tests run. Nothing is imported that is not
Python's own: the program takes this process over.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
_EQUAL = 4
_PR_SET_NO_NEW_PRIVS, _PR_SET_MDWE, _MDWE_REFUSE_EXEC_GAIN = 38, 65, 1


class _Argument(ctypes.Structure):
    """``struct scmp_arg_cmp`` of libseccomp."""

    _fields_ = (("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64))


def settings_of(unit: Path) -> dict[str, list[str]]:
    """Every setting of a unit with its values, in order."""
    found: dict[str, list[str]] = {}
    for line in unit.read_text().splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


def system_calls(filters: Iterable[str]) -> set[str]:
    """What ``SystemCallFilter=`` allows; ``~`` before a list takes away."""
    sets = _sets()
    allowed: set[str] = set()
    for one in filters:
        names = set().union(*(_expanded(name, sets) for name in one.removeprefix("~").split()))
        allowed = allowed - names if one.startswith("~") else allowed | names
    return allowed | _expanded("@default", sets)


def _sets() -> dict[str, list[str]]:
    listed = subprocess.run(["systemd-analyze", "syscall-filter"], check=True, capture_output=True, text=True)
    found: dict[str, list[str]] = {}
    members: list[str] = []
    for line in listed.stdout.splitlines():
        if line.startswith("@"):
            members = found.setdefault(line.strip(), [])
        elif (name := line.strip()) and not name.startswith("#"):
            members.append(name)
    return found


def _expanded(name: str, sets: Mapping[str, list[str]]) -> set[str]:
    if not name.startswith("@"):
        return {name}
    return set().union(*(_expanded(member, sets) for member in sets[name]))


def confine(unit: Path) -> None:
    """Confine this process, and whatever it becomes. Raises :class:`OSError` if the kernel does not."""
    settings = settings_of(unit)
    seccomp, libc = ctypes.CDLL("libseccomp.so.2", use_errno=True), ctypes.CDLL(None, use_errno=True)
    seccomp.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(seccomp.seccomp_init(ctypes.c_uint32(_REFUSE)))
    for name in sorted(system_calls(settings["SystemCallFilter"]) - {"socket"}):
        _allow(seccomp, context, name)
    for family in settings["RestrictAddressFamilies"][0].split():
        _allow(seccomp, context, "socket", _Argument(0, _EQUAL, getattr(socket, family), 0))
    _done(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    if settings["MemoryDenyWriteExecute"] == ["yes"] and libc.prctl(_PR_SET_MDWE, _MDWE_REFUSE_EXEC_GAIN, 0, 0, 0):
        assert ctypes.get_errno() == errno.EINVAL, "a kernel older than 6.3 does not know it"
    _done(seccomp.seccomp_load(context))


def _allow(seccomp: ctypes.CDLL, context: ctypes.c_void_p, name: str, *arguments: _Argument) -> None:
    number = seccomp.seccomp_syscall_resolve_name(name.encode())
    if number >= 0:  # below zero: no call of this machine's
        array = (_Argument * len(arguments))(*arguments)
        _done(seccomp.seccomp_rule_add_array(context, ctypes.c_uint32(_ALLOW), number, len(arguments), array))


def _done(result: int) -> None:
    if result != 0:
        raise OSError(-result or ctypes.get_errno(), "the sandbox could not be set up")


if __name__ == "__main__":
    confine(Path(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])
