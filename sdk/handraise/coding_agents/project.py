"""What lies inside the project, and whether its repository may be looked at without asking. Reads files, changes none.

Git runs programs that a repository's own settings name, already at ``git status``: so a repository is harmless only
if each of its settings is known to be.
"""

from __future__ import annotations

import os
import pwd
import re
import struct
from pathlib import Path

_SECTION = re.compile(r"\[([a-z]+)(?: \"([^\"\\]*)\")?\]")
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9-]*) *= *([^\"\\#;]*)")
_HARMLESS = {
    "core": {
        "repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase", "precomposeunicode",
        "symlinks", "autocrlf", "eol", "longpaths",
    },
    "remote": {"url", "fetch", "push", "pushurl", "tagopt", "prune", "gh-resolved"},
    "branch": {"remote", "merge", "rebase", "description", "gh-merge-base", "vscode-merge-base", "pushremote"},
    "user": {"name", "email"},
    "init": {"defaultbranch"},
    "pull": {"rebase", "ff"},
    "push": {"default", "autosetupremote"},
}  # fmt: skip
_LONGEST = 64 * 1024
_OTHERWISE = ("commondir", "modules", "hooks/post-index-change")
"""In a repository: settings at another place, other repositories inside, a program that ``git status`` runs."""

_LARGEST_INDEX = 32 * 1024 * 1024
_ENTRY = struct.Struct(">24xI32xH")  # its mode and its flags, among the 62 bytes before its name
_GITLINK = 0o160000


class Project:
    """The folder in which a coding agent works, by its absolute path."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def holds(self, path: str) -> bool:
        """Whether ``path`` leads to something inside, by no hidden name and no link out, or to nothing yet.

        In a folder that holds a home, nothing is inside: it is no project.
        """
        root, home = os.path.realpath(self._folder), os.path.realpath(own_home())
        if not Path(self._folder).is_absolute() or os.path.commonpath([root, home]) == root:
            return False
        target = os.path.realpath(os.path.join(self._folder, path))  # noqa: PTH118 (an absolute path replaces it)
        if os.path.commonpath([root, target]) != root:
            return False
        return not any(part.startswith(".") for part in Path(target).relative_to(root).parts)

    def has_a_harmless_repository(self) -> bool:
        """Whether the repository around the folder has no settings by which Git would run a program."""
        folder = Path(os.path.realpath(self._folder))
        found = next((one / ".git" for one in [folder, *folder.parents] if os.path.lexists(one / ".git")), None)
        if found is None or found.is_symlink() or not found.is_dir():
            return False
        if any(os.path.lexists(found / name) for name in _OTHERWISE):
            return False
        try:
            settings, index = _content(found / "config", _LONGEST), _content(found / "index", _LARGEST_INDEX)
            return only_harmless(settings.decode()) and not may_hold_repositories(index)
        except (OSError, ValueError):
            return False


def own_home() -> str:
    """The user's home by the system's own list: a variable could name any folder."""
    return pwd.getpwuid(os.getuid()).pw_dir


def _content(file: Path, longest: int) -> bytes:
    """Raises ``ValueError`` for a file that is too long, or none, but for an index that is not there yet."""
    if file.name == "index" and not os.path.lexists(file):
        return b""
    if not file.is_file() or file.stat().st_size > longest:
        raise ValueError("no plain file of that size")
    return file.read_bytes()


def may_hold_repositories(index: bytes) -> bool:
    """Whether an index of Git names other repositories inside, in which ``git status`` looks by their own settings.

    Source: https://git-scm.com/docs/index-format. An index of another version than 2 may.
    """
    if not index:
        return False
    if len(index) < 12 or index[:4] != b"DIRC" or int.from_bytes(index[4:8]) != 2:
        return True
    at = 12
    for _ in range(int.from_bytes(index[8:12])):
        if at + _ENTRY.size > len(index):
            return True
        mode, flags = _ENTRY.unpack_from(index, at)
        if mode == _GITLINK:
            return True
        end = index.find(b"\0", at + _ENTRY.size + min(flags & 0xFFF, 0xFFF))
        if end < 0:
            return True
        at += (end - at + 8) // 8 * 8  # padded with one to eight zeros
    return False


def only_harmless(settings: str) -> bool:
    """Whether each line of a Git configuration is one that is known to run nothing. A line of any other form is not."""
    section = ""
    for line in map(str.strip, settings.split("\n")):
        if not line or line.startswith(("#", ";")):
            continue
        if opened := _SECTION.fullmatch(line):
            section = opened[1]
        elif not ((said := _SETTING.fullmatch(line)) and said[1].lower() in _HARMLESS.get(section, set())):
            return False
    return True
