"""SUBLEQ: hand-run machines, a machine written another way, and the assembler's idioms."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import weft
from weft.programs.subleq.assembler import assemble
from weft.programs.subleq.program import Subleq
from weft.programs.subleq.simulator import MachineError, execute

MACHINES = Path(weft.__file__).parent / "programs" / "subleq" / "machines"
EXAMPLES = sorted(MACHINES.glob("*.subleq"))


def by_dictionary(memory: list[int]) -> list[int]:
    """The same machine, written a second time: for tests only."""
    cells = dict(enumerate(memory))
    place = 0
    while place >= 0 and cells[place] >= 0 and cells[place + 1] >= 0:
        target, jump = cells[place + 1], cells[place + 2]
        cells[target] = cells[target] - cells[cells[place]]
        place = jump if cells[target] <= 0 else place + 3
    return [cells[address] for address in range(len(memory))]


def outcome_of(text: str) -> dict[str, int]:
    """What the named cells of a program hold when it has halted."""
    assembly = assemble(text)
    memory = execute(assembly.cells).memory
    return {name: memory[assembly.labels[name]] for name in assembly.data}


def test_a_machine_worked_out_by_hand() -> None:
    # 5 - 3 = 2 > 0: on; 7 - 2 = 5 > 0: on; cell 0 minus itself is 0: jump to -1, halt
    memory = [9, 10, 3, 10, 11, 6, 0, 0, -1, 3, 5, 7]
    outcome = execute(memory)
    assert outcome.memory == (0, 10, 3, 10, 11, 6, 0, 0, -1, 3, 2, 5)
    assert (outcome.instructions, outcome.layers, outcome.low, outcome.high) == (3, 9, -1, 11)
    run = weft.run(Subleq(), memory)
    assert (run.result, run.layers) == (list(outcome.memory), 9)


def test_samples_halt_and_agree_with_another_machine() -> None:
    program, rng = Subleq(), random.Random(1)
    inputs = [program.sample(rng, rng.randint(1, 12)) for _ in range(150)]
    assert all(3 <= len(cells) <= 12 for cells in inputs)
    batch = weft.run_batch(program, inputs)
    assert batch.results == [by_dictionary(list(cells)) for cells in inputs]
    assert list(batch.layers) == [execute(cells).layers for cells in inputs]
    assert max(batch.layers) >= 9


def test_a_negative_address_halts_and_takes_one_layer() -> None:
    for memory in ([-1, 0, 0], [0, -3, 0]):
        run = weft.run(Subleq(), memory)
        assert (run.result, run.layers) == (memory, 1)


def test_a_machine_may_change_the_instruction_that_it_carries_out() -> None:
    memory = [3, 2, 4, 7, 0, 0, -1]  # cell 2 becomes 4 - 7, but the jump went to the old 4
    assert weft.run(Subleq(), memory).result == by_dictionary(memory)
    assert execute(memory).memory[2] == -3


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run_in_the_program_too(path: Path) -> None:
    cells = list(assemble(path.read_text()).cells)
    outcome = execute(cells)
    program = Subleq(len(cells), outcome.low, max(outcome.high, len(cells) - 1))
    batch = weft.run_batch(program, [cells])
    assert batch.results == [by_dictionary(cells)] == [list(outcome.memory)]
    assert batch.layers[0] == 3 * outcome.instructions


def test_examples_compute_what_they_say() -> None:
    found = {path.stem: outcome_of(path.read_text()) for path in EXAMPLES}
    assert found["count-down"]["n"] == 0
    assert found["multiply"]["product"] == 24
    assert found["fibonacci"]["this"] == 21
    assert found["rewrite"]["sum"] == 13


def test_the_self_rewriting_example_rewrites_itself() -> None:
    (path,) = (path for path in EXAMPLES if path.stem == "rewrite")
    assembly = assemble(path.read_text())
    first = assembly.labels["first"]
    assert execute(assembly.cells).memory[first] == assembly.cells[first] + 4


@pytest.mark.parametrize(("a", "b"), [(0, 0), (3, 4), (-2, 5), (7, 1), (6, 0)])
def test_idioms_compute_what_their_names_say(a: int, b: int) -> None:
    data = f"halt\na: {a}\nb: {b}\nc: 9"
    assert outcome_of(f"sub a, b\n{data}")["b"] == b - a
    assert outcome_of(f"add a, b\n{data}") == {"a": a, "b": b + a, "c": 9}
    assert outcome_of(f"add a, a\n{data}")["a"] == 2 * a
    assert outcome_of(f"move a, c\n{data}") == {"a": a, "b": b, "c": a}
    assert outcome_of(f"clear a\n{data}")["a"] == 0
    assert outcome_of(f"multiply a, b, c\n{data}") == {"a": a, "b": b, "c": a * b}
    assert outcome_of(f"branch a, end\nclear c\nend: {data}")["c"] == (9 if a <= 0 else 0)
    assert outcome_of(f"jump end\nclear c\nend: {data}")["c"] == 9


def test_two_of_an_idiom_do_not_get_into_each_others_way() -> None:
    text = "multiply a, b, c\nmultiply c, b, d\nhalt\na: 2\nb: 3\nc: 0\nd: 0"
    assert outcome_of(text) == {"a": 2, "b": 3, "c": 6, "d": 18}


def test_numbers_labels_and_comments_are_read() -> None:
    assembly = assemble("# a comment\n x : 9 10 3, 10 -1\ny: data x, x+2, y-1\n\nend:")
    assert assembly.cells == (9, 10, 3, 10, -1, 0, 2, 4)
    assert (assembly.labels, dict(assembly.data)) == ({"x": 0, "y": 5, "end": 8}, {"x": 5, "y": 3})
    assert assembly.lines == (2, 2, 2, 2, 2, 3, 3, 3)


def test_helpers_of_ones_own_are_used() -> None:
    assert assemble("jump 0\nzero: 0").cells == (3, 3, 0, 0)
    assert assemble("jump 0").cells == (3, 3, 0, 0)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "there is nothing to run (mine.subleq)"),
        ("halt\nad a, b", "there is no instruction 'ad' (mine.subleq:2). Did you mean 'add'?"),
        ("add a", "add takes 2 operands, not 1 (mine.subleq:1). Write add a, b"),
        ("subleq 1", "subleq takes two or three operands, not 1"),
        ("\nsub x, y\ny: 1", "there is no label 'x' (mine.subleq:2)"),
        ("x: 1\nx: 2", "the label 'x' is defined twice (mine.subleq:2)"),
        ("1x: 3", "'1x' is not a label"),
        ("sub 1.5, 2", "'1.5' is not an operand"),
        ("sub a+b, 2", "'a+b' is not an operand"),
    ],
)
def test_mistakes_are_named_with_their_line(text: str, part: str) -> None:
    with pytest.raises(weft.WeftError) as caught:
        assemble(text, "mine.subleq")
    assert part in caught.value.line


@pytest.mark.parametrize(
    ("memory", "part"),
    [
        ([], "would be at cell 0; the memory has 0 cells"),
        ([0, 0, 1], "instruction 2 would be at cell 1"),
        ([0, 9, 0], "instruction 1, 0 9 0 at cell 0, uses cell 9"),
        ([3, 4, 5, 9, -9], "-9 - 9 is -18, less than -10"),
        ([3, 4, 5, -9, 9], "9 - -9 is 18, more than 10"),
        ([0, 0, 11], "cell 2 holds 11, more than 10"),
        ([0, 0, 0], "not halted after 50 instructions"),
    ],
)
def test_what_goes_wrong_in_a_machine_is_said(memory: list[int], part: str) -> None:
    with pytest.raises(MachineError) as caught:
        execute(memory, low=-10, high=10, most=50)
    assert part in str(caught.value)


def test_bad_input_and_sizes_are_refused() -> None:
    with pytest.raises(weft.WeftError, match="'x' is not a whole number"):
        Subleq().encode("1 x")
    with pytest.raises(weft.WeftError, match="cells hold -8 to 11, and not 12"):
        Subleq().encode("1 12")
    for sizes in ((12, 0, 20), (12, -5, 10)):
        with pytest.raises(weft.WeftError, match="cannot name each other"):
            Subleq(*sizes)
