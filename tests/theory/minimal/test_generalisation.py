"""What minimal programs are worth on other inputs: figure 4, addition, SCAN, and coverage."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from traced_rules import SMALL, samples, traced

import scan_files
import weft
from weft.programs.scan.grammar import meanings
from weft.programs.scan.program import Scan
from weft.programs.scan.splits import (
    ScanSplit,
    length_split,
    mcd_split,
    primitive_split,
    read_split,
)
from weft.theory import Generalisation, generalises, minimal_program


def bits(rng: random.Random, low: int, high: int) -> str:
    """A string with about every count of ones."""
    length = rng.randint(low, high)
    ones = rng.randint(0, length)
    return "".join(rng.sample("1" * ones + "0" * (length - ones), length))


def figure_4(name: str) -> tuple[Generalisation, Generalisation]:
    """A parity program minimal for at most 20 bits, on inputs of 0 to 20 and of 21 to 40 bits."""
    rng = random.Random(4)
    train = [*("1" * ones for ones in range(21)), *(bits(rng, 0, 20) for _ in range(400))]
    found = minimal_program(weft.program(name), train)
    seen, longer = ([bits(rng, *span) for _ in range(200)] for span in ((0, 20), (21, 40)))
    return generalises(found, seen), generalises(found, longer)


def test_relative_parity_generalises_to_all_lengths() -> None:
    seen, longer = figure_4("parity")
    assert seen.solved
    assert longer.solved
    assert longer.covered == 200


def test_absolute_parity_generalises_to_no_length_beyond_training() -> None:
    seen, longer = figure_4("parity-absolute")
    assert seen.solved
    assert (longer.right, longer.covered) == (0, 0)
    assert longer.endings["not halted"] == 200
    assert 60 < longer.readable < 140  # what can be read off is a guess
    assert "has not halted" in longer.outcomes[0].reason


def test_counted_parity_generalises_to_seen_counts_of_ones_alone() -> None:
    seen, longer = figure_4("parity-sum")
    assert seen.solved
    for outcome in longer.outcomes:
        ones = outcome.tokens.count(1)
        assert outcome.covered == (ones <= 20)
        assert (outcome.ending == "right") == (ones <= 20 or ones % 2 == 0)  # it answers 0


def test_addition_of_three_digits_generalises_to_forty() -> None:
    rng = random.Random(1)
    train = [f"{rng.randrange(10**3)}+{rng.randrange(10**3)}" for _ in range(8000)]
    found = minimal_program(weft.program("addition"), train)
    test = [f"{rng.randrange(10**n)}+{rng.randrange(10**n)}" for n in range(4, 41)]
    outcome = generalises(found, test)
    assert outcome.solved
    assert outcome.covered == len(test)
    assert not outcome.missing


@pytest.mark.parametrize("name", SMALL)
def test_coverage_is_what_traces_say_and_what_is_covered_is_right(name: str) -> None:
    program = weft.program(name)
    train, test = samples(name, 4), samples(name, 20, seed=1)
    found = minimal_program(program, train)
    outcome = generalises(found, test)
    rules, resets = set(found.fired), set(found.resets)
    tokens = {token for each in train for token in each}
    named = any(variable.position is not None for variable in program.variables.values())
    wanted: set[weft.Rule] = set()
    for each in outcome.outcomes:
        fired, cleared = traced(program, each.tokens)
        wanted |= fired
        fits = set(each.tokens) <= tokens
        short = not named or len(each.tokens) <= max(map(len, train))
        assert each.covered == (fits and short and fired <= rules and cleared <= resets)
        assert each.ending == "right" or not each.covered
    assert set(outcome.missing) == wanted - rules


@pytest.mark.parametrize("name", ["parity", "dyck", "turing", "anbn"])
def test_without_constraints_covered_means_the_same_at_every_layer(name: str) -> None:
    program = weft.program(name)
    train, test = samples(name, 6), samples(name, 30, seed=1)
    found = minimal_program(program, train, constraints=True, reading="exclusive")
    outcome = generalises(found, test)
    tokens, resets = {token for each in train for token in each}, set(found.resets)
    kinds = set()
    for each, layers in zip(outcome.outcomes, outcome.used.layers, strict=True):
        one, other = (
            weft.run(p, each.tokens, layers=layers, trace=True).trace
            for p in (program, found.program)
        )
        assert one is not None
        assert other is not None
        same = [layer.after for layer in one.layers] == [layer.after for layer in other.layers]
        seen = set(each.tokens) <= tokens and traced(program, each.tokens)[1] <= resets
        assert each.covered == (same and seen)
        assert each.ending == "right" or not each.covered
        kinds.add(each.covered)
    assert True in kinds


def test_definition_1_in_full_can_lose_what_the_papers_procedure_keeps() -> None:
    """All three rules fire on these, but nothing shows that a parity of 0 on the left is kept."""
    train = ["1", "10", "11"]
    procedure, full = (
        minimal_program(weft.program("parity"), train, constraints=constraints)
        for constraints in (False, True)
    )
    assert len(procedure.rules) == len(full.rules) == 3
    assert [gone for _, gone in full.shortenings] == [("done", "parity_left"), ("done",)]
    others = ["0", "00", "110", "0110", "101"]
    assert generalises(procedure, others).solved
    assert [o.ending for o in generalises(full, others).outcomes][:2] == ["wrong", "wrong"]


def test_what_cannot_be_decoded_is_told() -> None:
    class Asserts(weft.Program):
        tokens = [0, 1]
        seen = weft.var(2, token=lambda t: t)
        output = seen
        layers = 1

        def step(z):  # type: ignore[no-untyped-def]
            pass

        def decode(self, stream: weft.Stream) -> Any:
            return 1 // stream["seen"][0]  # type: ignore[operator]

        def task(self, tokens: Sequence[Any]) -> int:
            return 1

    found = minimal_program(Asserts, [[1, 0]])
    assert generalises(found, [[1]]).solved
    only_zero = minimal_program(Asserts, [[0]])
    (outcome,) = generalises(only_zero, [[1]]).outcomes
    assert (outcome.ending, outcome.covered) == ("failed", False)
    assert "ZeroDivisionError" in outcome.reason


def test_where_there_is_no_task_the_program_is_right() -> None:
    class NoTask(weft.Program):
        tokens = [0, 1, 2]
        kept = weft.var(3, token=lambda t: t)
        output = kept
        layers = 1

        def step(z):  # type: ignore[no-untyped-def]
            z.kept = 2 - z.kept

    found = minimal_program(NoTask, [[0, 1]])
    assert [o.ending for o in generalises(found, [[1, 0], [2]]).outcomes] == ["right", "wrong"]


def scan(split: ScanSplit, step: int = 1, program: Scan | None = None) -> Generalisation:
    train = list(dict.fromkeys(split.train))
    return generalises(minimal_program(program or Scan(), train[::step]), split.test[::step])


@pytest.mark.slow
def test_a_part_of_scan_generalises_by_length_and_to_a_new_primitive() -> None:
    """Of a few hundred commands; the slow tests take the whole splits."""
    program = Scan()
    assert scan(length_split(), 250, program).solved
    jump = primitive_split("jump")
    train = [*random.Random(0).sample(list(dict.fromkeys(jump.train)), 100), "jump"]
    outcome = generalises(minimal_program(program, train), jump.test[::800])
    assert outcome.solved
    assert not outcome.missing


@pytest.mark.slow
@pytest.mark.parametrize("primitive", ["length", "jump", "turn left"])
def test_derived_splits_of_scan_are_solved(primitive: str) -> None:
    split = length_split() if primitive == "length" else primitive_split(primitive)
    outcome = scan(split)
    assert outcome.solved
    assert outcome.covered == len(split.test)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["simple", "mcd1", "mcd2", "mcd3"])
def test_published_splits_of_scan_are_solved(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    files = scan_files.folder("WEFT_SCAN", capfd)
    if name == "simple":
        folder = files / "simple_split"
        split = read_split(folder / "tasks_train_simple.txt", folder / "tasks_test_simple.txt")
    else:
        indices: Path = scan_files.folder("WEFT_SCAN_MCD", capfd) / f"{name}.json"
        split = mcd_split(indices, files / "tasks.txt")
    assert set(split.test) <= set(meanings())
    assert scan(split).solved
