"""`weft` commands in the tests' own process: PyTorch is imported once, not once per command.

What a process of its own would add, which is how fast commands start and what they import, is
tested in `cli/test_startup.py`.
"""

from __future__ import annotations

import contextlib
import io
import os
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
