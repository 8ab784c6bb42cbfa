"""Commands that need no torch start in a blink: this is what they may import."""

from __future__ import annotations

import re
import resource
import subprocess
import sys

import pytest

from command_line import HEAVY, imported, imported_by, weft
from weft.cli import COMMANDS, GROUPS, RENAMED, built


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("list",),
        ("run", "parity", "101", "--trace"),
        ("rules", "addition", "--limit", "5"),
        ("show", "parity"),
        ("crasp", "--help"),
        ("crasp", "run", "--help"),
    ],
    ids=" ".join,
)
def test_commands_import_nothing_heavy(arguments: tuple[str, ...]) -> None:
    assert not imported(*arguments) & {*HEAVY, "numpy", "pydantic", "lark"}


def test_importing_weft_is_silent_and_light() -> None:
    modules = imported_by("import weft")
    assert not modules & {*HEAVY, "numpy", "rich", "typer"}


def test_language_and_both_interpreters_need_no_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import weft; weft.run_batch(weft.program('parity'), ['1'])"
    )
    assert "weft" in imported_by(code)


def test_parsing_any_command_imports_nothing_heavy() -> None:
    build = "from weft.cli import COMMANDS, built\nfor name in COMMANDS: built(name)"
    assert not imported_by(build) & {*HEAVY, "numpy", "rich", "pydantic", "lark"}


def test_the_list_of_commands_says_what_each_says_of_itself() -> None:
    """`weft --help` imports no command, so it has their first lines written down."""
    for name, (_, _, line) in COMMANDS.items():
        group, _, short = name.rpartition(" ")
        assert len(line) <= 80 - len("  compile  ")
        assert re.search(rf"^  {short} +{re.escape(line)}$", weft(*group.split(), "--help"), re.M)
        help_text = built(name).help or ""
        assert help_text.startswith(line.rstrip(".")), name
        assert "Example" in help_text, name
        assert f"  weft {name}" in help_text, name


def test_the_list_of_commands_has_the_groups() -> None:
    listed = weft("--help")
    for group, (line, example) in GROUPS.items():
        assert re.search(rf"^  {group} +{re.escape(line)}$", listed, re.M)
        assert weft(group) == weft(group, "--help")
        assert line in weft(group)
        assert example in weft(group)


def test_a_command_that_was_renamed_says_so() -> None:
    for old, new in RENAMED.items():
        assert weft(old, "3f2a", code=2) == f"weft: weft {old} is now weft {new}. Run weft {new}\n"


def test_a_run_starts_in_little_more_than_the_command_line_library_takes() -> None:
    """Processor times side by side: neither a slow machine nor a busy one matters.

    `make bench` compares seconds of wall time with what Weft promises. Without bytecode, as here
    when PYTHONDONTWRITEBYTECODE is set, most of the time goes into compiling Weft's source.
    """

    def spent(*arguments: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    command, library = ("-m", "weft", "run", "parity", "101"), ("-c", "import typer.main, rich")
    pairs = [(spent(*command), spent(*library)) for _ in range(3)]
    ours, theirs = (min(column) for column in zip(*pairs, strict=True))
    assert ours < (5 if sys.dont_write_bytecode else 3) * theirs
