from __future__ import annotations

import ast
from typing import Any

from random_source import random_source

from weft.errors import WeftError
from weft.ptg.interpreter import run
from weft.ptg.language import RICH, Limits
from weft.ptg.parser import parse
from weft.ptg.reads import reads_of


def names_read(source: str, line: int) -> set[str]:
    """The variables that a line reads, by Python's syntax tree."""
    code = source.split("\n")[line - 1].strip()
    tree: Any = ast.parse(
        f"{code}\n pass" if code.endswith(":") else code.replace("return", "pass")
    )
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id != "len"
    }


def test_what_a_step_reads_was_written_where_it_says() -> None:
    checked = 0
    for seed in range(120):
        source, inputs, _ = random_source(seed)
        program = parse(source, RICH)
        try:
            trace = run(program, inputs, Limits(steps=200))
        except WeftError:
            continue
        for number, reads in enumerate(reads_of(program, trace), 1):
            step = trace.steps[number - 1]
            assert {read.name for read in reads} == names_read(source, step.line)
            for read in reads:
                writers = [
                    place
                    for place, past in enumerate(trace.steps[: number - 1], 1)
                    if past.name == read.name
                ]
                assert read.written_at == (writers[-1] if writers else 0)
                assert writers or read.name in inputs
                checked += 1
    assert checked > 1000
