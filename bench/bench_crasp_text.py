"""How long it takes to read C-RASP programs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from measure import Figure, seconds

EXAMPLE = Path(__file__).parent.parent / "examples" / "brackets.crasp"


def figures() -> list[Figure]:
    from weft.crasp import library, parse
    from weft.crasp.syntax.parser import read_grammar

    def run() -> None:
        command = [sys.executable, "-m", "weft", "crasp", "run", str(EXAMPLE), "(())"]
        subprocess.run(command, capture_output=True, check=True)

    texts = [str(library.load(name)) for name in library.names()]
    first = seconds(read_grammar.__wrapped__)
    slowest = max(seconds(lambda text=text: parse(text)) for text in texts)
    return [
        Figure("C-RASP: reading the grammar, once per process", first, "s"),
        Figure("C-RASP: parsing the longest library program", slowest, "s", most=0.1),
        Figure("weft crasp run FILE WORD", seconds(run, 5), "s", most=0.5),
    ]
