"""Weft's column of docs/comparison.md: sizes of compiled programs, and CPU time on one thread.

    .venv/bin/python bench/comparison.py

Times are CPU seconds, the best of twenty, so another process on the same core does not change them.
Compiling includes deriving the rules from `step`, and excludes imports. Every answer is compared
with the program's `task`, the same function in plain Python.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from typing import Any

import torch

import weft
from weft.programs.scan.grammar import meanings

REPEATS = 20

CASES = (
    ("parity of 40 bits", "parity", "10" * 20),
    ("parity of 40 bits, by counting", "parity-sum", "10" * 20),
    ("addition, 8 digits", "addition", "12345678+87654329"),
    ("SUBLEQ, 33 values, 16 cells", "subleq(positions=16, low=-16, high=16)",
     "9 10 3 10 11 6 0 0 -1 3 5 7"),
    ("SCAN, longest command", "scan", max(meanings(), key=lambda text: len(meanings()[text]))),
    ("reversal of 20 letters", "reverse", "transformersareloops"),
    ("sorting 20 digits", "sort", "31415926535897932384"),
)  # fmt: skip


def main() -> None:
    torch.set_num_threads(1)
    print(f"weft, Python {platform.python_version()}, torch {torch.__version__}, one thread")
    print("| task | layers run | hidden units | parameters (non-zero) | compile | forward |")
    print("|---|---:|---:|---:|---:|---:|")
    for title, name, text in CASES:
        print("| " + " | ".join([title, *measured(name, text)]) + " |")


def measured(name: str, text: str) -> list[str]:
    """One row: sizes and times of a program's weights on one input."""
    compiled = weft.compile(weft.program(name))
    program, model = compiled.program, compiled.model
    tokens = program.encode(text)
    row = torch.tensor([[program.vocabulary.number(token) for token in tokens]])
    with torch.inference_mode():
        out = model(row)
        forward = seconds(lambda: model(row))
    expected = weft.run(program, text)
    assert tuple(out.logits[0].argmax(-1).tolist()) == expected.outputs
    assert expected.result == program.task(tokens)
    weights = [weight for weight in model.state_dict().values() if weight.is_floating_point()]
    nonzero = sum(int(weight.count_nonzero()) for weight in weights)
    compiling = seconds(lambda: weft.compile(weft.program(name)))
    return [
        f"{int(out.layers[0])}",
        f"{compiled.hidden_units:,}",
        f"{compiled.parameters:,} ({nonzero:,})",
        f"{compiling:.2f} s",
        f"{1000 * forward:,.1f} ms",
    ]


def seconds(action: Callable[[], Any]) -> float:
    """CPU seconds, the best of several times."""
    best = float("inf")
    for _ in range(REPEATS):
        start = time.process_time()
        action()
        best = min(best, time.process_time() - start)
    return best


if __name__ == "__main__":
    main()
