"""Every figure that Weft promises, measured side by side in one run.

    make bench
    .venv/bin/python bench/run.py interpreters rules

Machines differ, so most figures are ratios. A figure that misses its target is marked, and the exit
code is 1.
"""

from __future__ import annotations

import importlib
import platform
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from rich.console import Console
from rich.table import Table

from measure import Figure

GROUPS = (
    "startup", "interpreters", "rules", "compiler", "proofs", "scan", "models", "tasks",
    "training", "minimal", "optimum", "traces", "crasp_text", "crasp_analysis", "crasp_weights",
    "crasp_proofs", "length_deciders", "length_programs", "length_evidence", "arithmetic_tasks",
    "arithmetic_theory", "ptg", "recursion", "recursion_tasks",
    "recursion_explain",
)  # fmt: skip


def main() -> int:
    chosen = sys.argv[1:] or GROUPS
    console = Console(highlight=False, width=max(100, Console().width))
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    console.print(f"weft {commit}, Python {platform.python_version()}, {_processor()}")
    table = Table(box=None, pad_edge=False)
    for column in ("figure", "measured", "target", ""):
        table.add_column(column, justify="right" if column in ("measured", "target") else "left")
    figures: list[Figure] = []
    for group in chosen:
        with console.status(f"measuring {group}"):
            figures += importlib.import_module(f"bench_{group}").figures()
    for figure in figures:
        mark = "" if figure.met is None else "ok" if figure.met else "MISSED"
        table.add_row(figure.name, figure.shown, figure.target_shown, mark)
    console.print(table)
    return int(any(figure.met is False for figure in figures))


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


if __name__ == "__main__":
    sys.exit(main())
