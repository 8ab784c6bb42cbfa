"""Machines from files and examples: sizes, named data, listing, and how a run differs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from weft.errors import WeftError
from weft.programs.subleq.machine import EXAMPLES, load_machine


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.subleq")))
def test_the_interpreter_agrees_with_plain_python(name: str) -> None:
    machine = load_machine(name)
    assert machine.difference(machine.interpreted()) == ""


def test_data_and_listing_are_those_of_the_source(tmp_path: Path) -> None:
    path = tmp_path / "mine.subleq"
    path.write_text("sub a, b\nhalt\na: 5\nb: 3 4\n")
    machine = load_machine(str(path))
    assert machine.data == {"a": ((5,), (5,)), "b": ((3, 4), (-2, 4))}
    rows = list(machine.listing())
    assert [line for _, _, line in rows if line] == [
        "sub a, b",
        "halt",
        "a: 5",
        "b: 3 4",
        "(added)",
    ]
    assert tuple(cell for _, cells, _ in rows for cell in cells) == machine.assembly.cells


def test_the_first_difference_is_named() -> None:
    machine = load_machine("count-down")
    run = machine.interpreted()
    wrong = [*run.memory[:2], run.memory[2] + 1, *run.memory[3:]]
    assert machine.difference(replace(run, memory=wrong)).startswith("interpreter: cell 2 holds")
    late = replace(run, layers=run.layers + 3)
    assert (
        machine.difference(late) == f"interpreter: {run.layers + 3} layers, should be {run.layers}"
    )


def test_machines_that_do_not_fit_are_refused() -> None:
    with pytest.raises(WeftError, match="do not fit into 3 positions"):
        load_machine("count-down", positions=3)
    with pytest.raises(WeftError, match="the model has room for 512"):
        load_machine("count-down", high=1000)
