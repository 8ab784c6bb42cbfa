"""How long the command takes to say something."""

from __future__ import annotations

import subprocess
import sys

from measure import Figure, seconds


def figures() -> list[Figure]:
    def run(*arguments: str) -> None:
        command = [sys.executable, "-m", "weft", *arguments]
        subprocess.run(command, capture_output=True, check=True)

    return [
        Figure("weft list", seconds(lambda: run("list"), 5), "s", most=0.4),
        Figure(
            "weft run parity 101", seconds(lambda: run("run", "parity", "101"), 5), "s", most=0.3
        ),
    ]
