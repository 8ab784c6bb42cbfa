"""C-RASP: the batched interpreter against the reference, and the search for a difference."""

from __future__ import annotations

import random
import time

from measure import Figure, seconds
from weft.crasp import CraspProgram, library, parse, run
from weft.crasp.analysis.equivalence import search_difference
from weft.crasp.analysis.simplification import simplify
from weft.crasp.batched import run_batch

WORDS, LENGTH = 1000, 100
REFERENCE_SECONDS = 0.3
"""The reference runs on the first words until this time is up; its time per word counts."""

DEPTH = """\
alphabet "(" ")"
depth := # Q_"(" - # Q_")"
accept := not exists (depth < 0) and depth == 0
"""
BLOCKS = """\
alphabet a b c
in_order := not exists (Q_a and exists not Q_a) and not exists (Q_b and exists Q_c)
accept := in_order and # Q_a == # Q_b and # Q_a == # Q_c
"""


def figures() -> list[Figure]:
    ratios = {name: _ratio(library.load(name)) for name in library.names()}
    smallest = min(ratios, key=lambda name: ratios[name])
    batch = f"{WORDS:,} words of {LENGTH}"
    return [
        *(
            Figure(f"{name}, {batch}: batched over reference", ratios[name], "times", least=200)
            for name in ("dyck-1", "tomita-4", "unique-copy")
        ),
        Figure(f"{smallest}, the smallest of all", ratios[smallest], "times", least=200),
        Figure(
            "two programs for dyck-1, equal up to length 40",
            _search("dyck-1", DEPTH, 40),
            "s",
            most=5,
        ),
        Figure("the same, up to length 400", _search("dyck-1", DEPTH, 400), "s"),
        Figure(
            "two programs for a^n b^n c^n, equal up to length 40",
            _search("anbncn", BLOCKS, 40),
            "s",
        ),
        Figure("simplify every C-RASP program of the library", seconds(_simplify_all, 1), "s"),
    ]


def _ratio(program: CraspProgram) -> float:
    """How many times as fast the batched interpreter is, per word."""
    rng = random.Random(0)
    between = "" if all(len(symbol) == 1 for symbol in program.alphabet) else " "
    words = [between.join(rng.choices(program.alphabet, k=LENGTH)) for _ in range(WORDS)]
    runs = []
    start = time.perf_counter()
    for word in words:
        runs.append(run(program, word))
        if time.perf_counter() - start > REFERENCE_SECONDS:
            break
    per_word = (time.perf_counter() - start) / len(runs)
    batch = run_batch(program, words)
    assert [batch[index] for index in range(len(runs))] == runs
    return per_word * WORDS / seconds(lambda: run_batch(program, words), 3)


def _search(name: str, other: str, length: int) -> float:
    left, right = library.load(name), parse(other)
    assert search_difference(left, right, length).word is None
    return seconds(lambda: search_difference(left, right, length))


def _simplify_all() -> None:
    for name in library.names():
        simplify(library.load(name))
