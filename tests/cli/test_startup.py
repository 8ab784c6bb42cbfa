"""Commands that need no torch start in a blink: this is what they may import."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

HEAVY = ("torch", "matplotlib", "pandas", "safetensors")


def imported(code: str) -> set[str]:
    report = f"{code}\nimport sys; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in done.stdout.split()}


def command(*arguments: str) -> str:
    return (
        f"import sys; sys.argv = ['weft', *{arguments!r}]\n"
        "from weft.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("list",),
        ("run", "parity", "101", "--trace"),
        ("rules", "addition", "--limit", "5"),
        ("show", "parity"),
    ],
    ids=" ".join,
)
def test_commands_import_nothing_heavy(arguments: tuple[str, ...]) -> None:
    modules = imported(command(*arguments))
    assert not modules & {*HEAVY, "numpy"}


def test_importing_weft_is_silent_and_light() -> None:
    modules = imported("import weft")
    assert not modules & {*HEAVY, "numpy", "rich", "typer"}


def test_language_and_both_interpreters_need_no_torch() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import weft; weft.run_batch(weft.program('parity'), ['1'])"
    )
    assert "weft" in imported(code)


def test_a_run_starts_in_a_few_times_what_the_command_line_library_takes() -> None:
    """Processor times side by side: neither a slow machine nor a busy one matters.

    `make bench` compares seconds of wall time with what Weft promises.
    """

    def spent(*arguments: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    command, library = ("-m", "weft", "run", "parity", "101"), ("-c", "import typer.main, rich")
    pairs = [(spent(*command), spent(*library)) for _ in range(4)]
    ours, theirs = (min(column) for column in zip(*pairs, strict=True))
    assert ours < 6 * theirs
