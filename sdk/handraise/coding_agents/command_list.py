"""Commands about which nobody needs to be asked: a list of the user's, and whether a command is on it. Pure.

An entry is a command word by word. Behind its fixed words may stand, in any order, words that may be there
(``[--stat]``), a number (``[-NUMBER]``), and as the last ``[PATH...]``: any number of paths inside the project.

    git diff [--stat] [--cached] [PATH...]

A command is on the list only if it consists of plain words with single blanks between them. Whatever a shell would do
anything with is asked about: operators, redirections, substitutions, quotes, wildcards, ``~``, comments, assignments,
line ends, and every sign outside ASCII. So the words that are compared are the words that will run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

DEFAULT = (
    "pwd",
    "ls [-1] [-a] [-A] [-l] [-la] [-al] [-lh] [-lah] [-R] [PATH...]",
    "cat PATH",
    "wc [-l] [-c] [-w] [PATH...]",
    "git status [-s] [-sb] [--short] [--branch] [--porcelain]",
    "git diff [--stat] [--staged] [--cached] [--name-only] [--name-status] [PATH...]",
    "git log [--oneline] [--stat] [--graph] [--decorate] [-NUMBER] [PATH...]",
    "git show [--stat] [--name-only]",
    "git branch [--show-current] [-a] [-v] [-vv]",
)
"""What ``handraise hook login`` writes into a new configuration."""

_PLAIN = re.compile(r"[A-Za-z0-9_./@:,+=-]+( [A-Za-z0-9_./@:,+=-]+)*")
_PATH = re.compile(r"[A-Za-z0-9_./@,+][A-Za-z0-9_./@,+-]*")
_WORD = re.compile(r"[A-Za-z0-9_./@:,+-][A-Za-z0-9_./@:,+=-]*")
_NUMBER = re.compile(r"-[0-9]{1,4}")
_PATHS, _A_PATH, _A_NUMBER = "[PATH...]", "PATH", "[-NUMBER]"

Inside = Callable[[str], bool]
"""Whether a path, as it is written in a command, leads to something inside the project, or to nothing yet."""


class UnusableEntry(ValueError):
    """An entry of the list can't be one. The message says what is wrong with it."""


@dataclass(frozen=True)
class ListedCommand:
    """``words`` come first, exactly; then any of ``may``, and paths if ``paths``. ``number``: ``-5`` may be there."""

    words: tuple[str, ...]
    may: frozenset[str] = frozenset()
    number: bool = False
    paths: bool = False

    def covers(self, words: tuple[str, ...], inside: Inside) -> bool:
        if len(words) < len(self.words):
            return False
        fixed, rest = words[: len(self.words)], words[len(self.words) :]
        return all(map(lambda want, has: _fits(want, has, inside), self.words, fixed)) and all(
            word in self.may
            or (self.number and _NUMBER.fullmatch(word) is not None)
            or (self.paths and _is_path(word, inside))
            for word in rest
        )


def entry_of(text: str) -> ListedCommand:
    """Raises :class:`UnusableEntry`."""
    words, may, number, paths = [], set(), False, False
    for word in text.split(" "):
        if paths:
            raise UnusableEntry(f"{text!r}: nothing can follow {_PATHS}")
        if word == _PATHS:
            paths = True
        elif word == _A_NUMBER:
            number = True
        elif word.startswith("[") and word.endswith("]") and _WORD.fullmatch(word[1:-1]):
            may.add(word[1:-1])
        elif not _WORD.fullmatch(word) or may or number:
            raise UnusableEntry(f"{text!r}: {word!r} can't stand there: plain words come first, then [words], {_PATHS}")
        else:
            words.append(word)
    if not words or "=" in words[0]:
        raise UnusableEntry(f"{text!r} does not begin with a command")
    return ListedCommand(tuple(words), frozenset(may), number, paths)


def is_listed(command: str, entries: Iterable[ListedCommand], inside: Inside) -> bool:
    """Whether ``command`` is on the list, word by word."""
    if not _PLAIN.fullmatch(command):
        return False
    words = tuple(command.split(" "))
    return any(entry.covers(words, inside) for entry in entries)


def _fits(want: str, has: str, inside: Inside) -> bool:
    return _is_path(has, inside) if want == _A_PATH else want == has


def _is_path(word: str, inside: Inside) -> bool:
    return _PATH.fullmatch(word) is not None and inside(word)
