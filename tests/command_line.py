"""`weft` commands in the tests' own process: PyTorch is imported once, not once per command.

`imported` starts a process of its own, to see what a command imports.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from weft.cli import main

SETTINGS = {"COLUMNS": "80", "NO_COLOR": "1"}


@dataclass(frozen=True)
class Finished:
    """A command that has ended: its exit code, and what it printed."""

    code: int
    stdout: str
    stderr: str


def execute(arguments: Sequence[str], folder: Path | None = None, joined: bool = False) -> Finished:
    """Run `weft` with some arguments.

    Args:
        arguments: those after `weft`.
        folder: the working directory; the tests' own if it is None.
        joined: whether errors are printed to standard output, as on a terminal.
    """
    out = io.StringIO()
    err = out if joined else io.StringIO()
    modules = set(sys.modules)
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(sys, "argv", ["weft", *arguments]))
        stack.enter_context(mock.patch.object(sys, "stdin", io.StringIO()))
        stack.enter_context(mock.patch.dict(os.environ, SETTINGS))
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        stack.enter_context(contextlib.chdir(folder or Path.cwd()))
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    for name in set(sys.modules) - modules:
        if name.startswith("weft_file_"):  # a user's file, which another test may write anew
            del sys.modules[name]
    return Finished(code, out.getvalue(), "" if joined else err.getvalue())


def weft(*arguments: str, code: int = 0) -> str:
    """What a command prints: its output, or its errors if its exit code should be 2."""
    done = execute(arguments)
    assert done.code == code, done.stdout + done.stderr
    return done.stdout if code in (0, 1) else done.stderr


HEAVY = {"torch", "matplotlib", "pandas", "safetensors"}


def imported(*arguments: str) -> set[str]:
    """The packages that a command imports, in a process of its own."""
    run = (
        f"import sys; sys.argv = ['weft', *{arguments!r}]\n"
        "from weft.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass"
    )
    return imported_by(run)


def imported_by(code: str) -> set[str]:
    """The packages that some code imports, in a process of its own."""
    report = f"{code}\nimport sys; print('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in done.stdout.split()}
