"""Compiled models on a GPU: right, and how fast.

    PYTHONPATH=src python bench/gpu.py

Needs a CUDA device. Compares outputs with the batched interpreter before it takes times.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import paper_listings as listings
import weft
from weft.compiler.execution import input_numbers, padded, run_model
from weft.programs.scan.grammar import meanings
from weft.programs.scan.parser import OUTPUTS

INPUTS = 10_000


def commands(count: int) -> list[list[int]]:
    """Random SCAN commands of the grammar, as inputs of the parser."""
    rng = random.Random(0)

    def verb() -> str:
        word = rng.choice(["walk", "look", "run", "jump", "turn"])
        side = rng.choice(["left", "right"])
        how = rng.choice(["", "around ", "opposite "])
        phrase = f"{word} {how}{side}" if word == "turn" or rng.random() < 0.5 else word
        return phrase + rng.choice(["", " twice", " thrice"])

    def command() -> str:
        return f"{verb()} {rng.choice(['and', 'after'])} {verb()}"

    return [listings.scan_input(command()) for _ in range(count)]


def measure(name: str, program: weft.Program, inputs: list[list[int]], layers: int | None) -> None:
    model = weft.compile(program).model.to("cuda")
    few = inputs[:300]
    expected = weft.run_batch(
        program, [[program.vocabulary.name(n) for n in row] for row in few], layers=layers
    )
    right = run_model(model, few, layers=layers).outputs == expected.outputs
    tokens, lengths = padded(inputs, "cuda")
    times = []
    for _ in range(3):
        torch.cuda.synchronize()
        start = time.perf_counter()
        with torch.inference_mode():
            model(tokens, lengths, layers=layers)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    seconds = min(times)
    peak = torch.cuda.max_memory_allocated() / 2**30
    print(
        f"{name}: equal to the interpreter on {len(few)}: {right}; {len(inputs):,} inputs in "
        f"{seconds:.3f} s ({len(inputs) / seconds:,.0f} a second), {peak:.1f} GiB at most; "
        f"d_model {model.config.width}, units {sum(model.config.hidden)}"
    )


def scan(device: str = "cuda", batch: int = 4096) -> None:
    """The whole of SCAN by the weights, every answer compared with the grammar's."""
    program = weft.program("scan")
    model = weft.compile(program).model.to(device)
    numbers = input_numbers(program, map(program.encode, meanings()))
    start = time.perf_counter()
    outputs: list[tuple[int, ...]] = []
    layers: list[int] = []
    for first in range(0, len(numbers), batch):
        run = run_model(model, numbers[first : first + batch])
        outputs += run.outputs
        layers += run.layers
    seconds = time.perf_counter() - start
    answers = [tuple(filter(None, (OUTPUTS[code] for code in row))) for row in outputs]
    right = sum(a == b for a, b in zip(answers, meanings().values(), strict=True))
    print(
        f"SCAN: {right:,} of {len(numbers):,} commands right in {seconds:.1f} s, at most "
        f"{max(layers)} layers; {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB at most; "
        f"d_model {model.config.width}, units {sum(model.config.hidden)}"
    )


def main() -> None:
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    parser = listings.figures_16_17(78)
    measure("parser, 78 positions, 24 layers", parser, commands(INPUTS), 24)
    addition = weft.program("addition")
    rng = random.Random(0)
    sums = [f"{rng.randrange(10**10)}+{rng.randrange(10**10)}" for _ in range(INPUTS)]
    measure(
        "addition, 10 digits", addition, input_numbers(addition, map(addition.encode, sums)), None
    )
    torch.cuda.reset_peak_memory_stats()
    scan()


if __name__ == "__main__":
    main()
