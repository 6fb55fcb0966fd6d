"""About which commands nobody is asked: exactly those of the list, and nothing that a shell would read otherwise."""

from __future__ import annotations

import pytest
from handraise.coding_agents.command_list import DEFAULT, UnusableEntry, entry_of, is_listed
from handraise.coding_agents.decision import Unasked, needs_nobody
from handraise.coding_agents.hook_protocol import HookCall, HookEvent, Program

ENTRIES = tuple(map(entry_of, DEFAULT))
USERS_OWN = (*ENTRIES, entry_of("make test"), entry_of("npm run lint [--fix]"))


class Folder:
    """A project in which everything is inside but what begins with ``/`` or holds ``..`` or ``.env``."""

    def __init__(self, harmless: bool = True) -> None:
        self._harmless = harmless

    def holds(self, path: str) -> bool:
        return not path.startswith("/") and ".." not in path.split("/") and ".env" not in path

    def has_a_harmless_repository(self) -> bool:
        return self._harmless


def listed(command: str) -> bool:
    return is_listed(command, USERS_OWN, Folder().holds)


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "ls -la",
        "ls -l src tests/unit",
        "pwd",
        "cat README.md",
        "git status",
        "git status --short --branch",
        "git diff",
        "git diff --stat src/app.py",
        "git log --oneline -20",
        "git log main..topic",
        "make test",
        "npm run lint --fix",
    ],
)
def test_what_is_on_the_list_needs_nobody(command: str) -> None:
    assert listed(command)


@pytest.mark.parametrize(
    "command",
    [
        "",
        " ls",
        "ls ",
        "ls  -la",
        "ls\n",
        "ls\nrm -rf build",
        "ls\trm",
        "ls; rm -rf build",
        "ls && rm -rf build",
        "ls || rm x",
        "ls & rm x",
        "ls | sh",
        "ls > file",
        "ls >> file",
        "cat < file",
        "ls 2>&1",
        "ls $(rm -rf build)",
        "ls `rm -rf build`",
        "ls ${IFS}x",
        "ls <(rm x)",
        "ls $HOME",
        "ls 'a'",
        'ls "$(rm x)"',
        "ls \\;",
        "ls *",
        "ls ?",
        "ls [a]",
        "ls {a,b}",
        "ls ~",
        "ls ~root",
        "ls # comment",
        "ls !!",
        "ls =git",
        "=ls",
        "A=1 ls",
        "PATH=. ls",
        "GIT_PAGER=./x git log",
        "env ls",
        "/tmp/ls",
        "./ls",
        "ls /etc",
        "ls ..",
        "cat ../../secret",
        "cat .env",
        "cat",
        "cat a b",
        "cat -n a",
        "Ls",
        "lѕ",  # a Cyrillic letter
        "ls\u00a0-la",
        "ls \u202eabc",
        "ls \x00",
        "ls \x1b[2J",
        "git",
        "git -c core.pager=./x log",
        "git -c core.fsmonitor=./x status",
        "git --exec-path=. status",
        "git --exec-path",
        "git -C /tmp status",
        "git --git-dir=x status",
        "git diff --ext-diff",
        "git diff --textconv",
        "git diff --output=file",
        "git diff --no-index a b",
        "git log --output=file",
        "git log -p --ext-diff",
        "git log --format=%H",
        "git log -20000000",
        "git lg",
        "git status; id",
        "git branch -D main",
        "git branch topic",
        "git show HEAD:secret",
        "find . -exec rm {} +",
        "find . -delete",
        "make test all",
        "make",
        "make -f x test",
        "npm run lint -- x",
    ],
)
def test_anything_else_is_asked_about(command: str) -> None:
    assert not listed(command)


@pytest.mark.parametrize(
    "entry",
    [
        "",
        " ls",
        "[-l]",
        "ls [PATH...] -l",
        "ls [-l] now",
        "ls;rm",
        "A=1 make",
        "make test && rm x",
        "ls *",
        "echo $X",
        "a\nb",
    ],
)
def test_an_entry_that_a_shell_would_read_otherwise_can_not_be_one(entry: str) -> None:
    with pytest.raises(UnusableEntry):
        entry_of(entry)


def call(tool: str = "Bash", program: Program = Program.CLAUDE_CODE, **arguments: object) -> HookCall:
    event = HookEvent.BEFORE_TOOL if program is Program.GEMINI else HookEvent.PERMISSION_REQUEST
    return HookCall(program, event, tool, arguments, "s-1", "/home/alice/shop")  # type: ignore[arg-type]


UNASKED = Unasked(ENTRIES, frozenset({"TodoWrite"}), reading=True)


def test_git_is_asked_about_in_a_repository_whose_settings_could_run_a_program() -> None:
    assert needs_nobody(call(command="git status"), UNASKED, Folder())
    assert not needs_nobody(call(command="git status"), UNASKED, Folder(harmless=False))
    assert needs_nobody(call(command="ls"), UNASKED, Folder(harmless=False))


@pytest.mark.parametrize(
    "more",
    [{"dangerouslyDisableSandbox": True}, {"dir_path": "/etc"}, {"workdir": "/"}, {"shell": "./evil"}, {"env": {}}],
)
def test_a_listed_command_with_an_unknown_argument_beside_it_is_asked_about(more: dict[str, object]) -> None:
    assert needs_nobody(call(command="ls", description="x", timeout=5), UNASKED, Folder())
    assert not needs_nobody(call(command="ls", **more), UNASKED, Folder())


def test_a_command_that_is_no_text_is_asked_about() -> None:
    assert not needs_nobody(call(command=["ls"]), UNASKED, Folder())
    assert not needs_nobody(call(), UNASKED, Folder())


@pytest.mark.parametrize(
    ("tool", "arguments", "nobody"),
    [
        ("Read", {"file_path": "src/app.py"}, True),
        ("Read", {"file_path": "/etc/passwd"}, False),
        ("Read", {"file_path": ".env"}, False),
        ("Read", {"file_path": "a", "unknown": 1}, False),
        ("Glob", {"pattern": "**/*.py"}, True),
        ("Glob", {"pattern": "/etc/*"}, False),
        ("Glob", {"pattern": "../*"}, False),
        ("Grep", {"pattern": "x", "path": ".."}, False),
        ("Grep", {"pattern": "../x", "output_mode": "content"}, True),
        ("Edit", {"file_path": "src/app.py"}, False),
        ("Write", {"file_path": "src/app.py"}, False),
        ("WebFetch", {"url": "https://example.com"}, False),
        ("mcp__x__TodoWrite", {}, False),
        ("TodoWrite", {"todos": []}, True),
    ],
)
def test_a_tool_that_only_reads_inside_the_project_needs_nobody(
    tool: str, arguments: dict[str, object], nobody: bool
) -> None:
    assert needs_nobody(call(tool, **arguments), UNASKED, Folder()) is nobody
    assert not needs_nobody(call(tool, **arguments), Unasked(), Folder())
