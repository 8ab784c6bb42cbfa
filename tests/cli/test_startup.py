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


def test_a_run_takes_less_than_0_4_seconds() -> None:
    """Of processor time, so that a busy machine does not matter; `make bench` takes wall time."""

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    def seconds() -> float:
        before = spent()
        subprocess.run(
            [sys.executable, "-m", "weft", "run", "parity", "101"], capture_output=True, check=True
        )
        return spent() - before

    assert min(seconds() for _ in range(5)) < 0.4
