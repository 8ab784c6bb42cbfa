"""Minimal programs: how long it takes to find what a training set leaves of a program."""

from __future__ import annotations

import time

import weft
from measure import Figure, seconds
from weft.programs.scan.program import Scan
from weft.programs.scan.splits import length_split
from weft.theory import Minimal, generalises, minimal_program
from weft.theory.minimal.input_splits import split_inputs

PARITIES = ("parity", "parity-absolute", "parity-sum")


def figures() -> list[Figure]:
    found = {name: _parity(name) for name in PARITIES}
    return [
        *(
            Figure(f"minimal {name}: 10,000 inputs in", taken, "s", most=2)
            for name, (taken, _) in found.items()
        ),
        *(
            Figure(f"minimal {name}: rules that fire", each.count)
            for name, (_, each) in found.items()
        ),
        Figure("minimal addition, at most 3 digits: rules that fire", _addition().count),
        *_scan(),
    ]


def _parity(name: str) -> tuple[float, Minimal]:
    program = weft.program(name)
    inputs = split_inputs(program, name, "train", size=10_000)
    return seconds(lambda: minimal_program(program, inputs)), minimal_program(program, inputs)


def _addition() -> Minimal:
    program = weft.program("addition")
    written = "addition(digits=3, longer=40):train"
    return minimal_program(program, split_inputs(program, "addition", written, size=50_000))


def _scan() -> list[Figure]:
    split = length_split()
    start = time.perf_counter()
    found = minimal_program(Scan(), split.train)
    taken = time.perf_counter() - start
    test = generalises(found, split.test)
    return [
        Figure("minimal SCAN, length split: 16,990 commands in", taken, "s", most=300),
        Figure("minimal SCAN, length split: rules that fire", found.count),
        Figure("minimal SCAN, length split: right, of 3,920", test.right, least=3_920),
        Figure("minimal SCAN, length split: tests took", time.perf_counter() - start - taken, "s"),
    ]
