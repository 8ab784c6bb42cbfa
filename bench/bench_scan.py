"""SCAN: the whole language by the batched interpreter, and how small and fast its weights are."""

from __future__ import annotations

import random
import subprocess
import sys

import weft
from measure import Figure, seconds
from weft.compiler.execution import input_numbers, run_model
from weft.compiler.proof import prove
from weft.programs.scan.grammar import meanings
from weft.programs.scan.program import Scan

WHOLE = """
import resource, sys, time
import weft
from weft.programs.scan.program import Scan
from weft.programs.scan.grammar import meanings

start = time.perf_counter()
run = weft.run_batch(Scan, list(meanings()))
right = sum(a == " ".join(b) for a, b in zip(run.results, meanings().values(), strict=True))
taken = time.perf_counter() - start
unit = 1 if sys.platform == "darwin" else 1024
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
print(right, taken, peak / 2**30, max(run.layers))
"""


def figures() -> list[Figure]:
    program = Scan()
    compiled = weft.compile(program)
    proof = prove(compiled.model, program, compiled.certificate)
    assert proof.proved
    return [
        *_whole(),
        Figure("SCAN: rules", len(program.rules)),
        Figure("SCAN: units at level 0", weft.compile(program, level=0).hidden_units),
        Figure("SCAN: units at level 2", compiled.hidden_units, most=300),
        Figure(
            "SCAN: derived and compiled in", seconds(lambda: weft.compile(Scan())), "s", most=60
        ),
        Figure("SCAN: proved in", proof.seconds, "s", most=60),
        *_weights(compiled),
    ]


def _whole() -> list[Figure]:
    """In a process of its own, so that the memory is that of this run alone."""
    command = [sys.executable, "-c", WHOLE]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    right, taken, peak, layers = map(float, done.stdout.split())
    return [
        Figure("SCAN: commands right, of 20,910", right, least=20_910),
        Figure("SCAN: all commands, batched interpreter", taken, "s", most=240),
        Figure("SCAN: the same, most memory", peak, "GiB", most=6),
        Figure("SCAN: most layers", layers, most=512),
    ]


def _weights(compiled: weft.Compiled) -> list[Figure]:
    program = compiled.program
    longest = max(meanings(), key=lambda command: len(meanings()[command]))
    few = random.Random(0).sample(list(meanings()), 300)
    alone, together = (
        input_numbers(program, map(program.encode, commands)) for commands in ([longest], few)
    )
    return [
        Figure("SCAN: longest command, weights", _run(compiled, alone), "s", most=5),
        Figure("SCAN: 300 commands, weights", _run(compiled, together), "s", most=60),
    ]


def _run(compiled: weft.Compiled, numbers: list[list[int]]) -> float:
    return seconds(lambda: run_model(compiled.model, numbers), 1)
