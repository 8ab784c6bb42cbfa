"""`weft ptg sample`."""

from __future__ import annotations

import json

import pytest

from command_line import execute, weft
from weft.ptg.inputs import read_inputs
from weft.ptg.interpreter import run
from weft.ptg.parser import parse
from weft.ptg.tracing import document
from weft.tasks import task


def test_examples_are_documents_of_programs() -> None:
    text = weft("ptg", "sample", "tier=nano", "--size", "3", "--seed", "5")
    made = json.loads(weft("ptg", "sample", "tier=nano", "--size", "3", "--seed", "5", "--json"))
    assert text == "\n".join(one["text"] for one in made)
    for one in made:
        program = parse(one["source"])
        inputs = {name: tuple(v) if isinstance(v, list) else v for name, v in one["inputs"].items()}
        trace = run(program, inputs)
        assert one["text"] == document(program, inputs, trace).text
        assert one["axes"]["steps"] == len(trace.steps)
        call = next(line for line in one["text"].splitlines() if line.startswith("f("))
        assert read_inputs(call[2:-1]) == inputs
    assert weft("ptg", "sample", "tier=nano", "--seed", "6") != weft("ptg", "sample", "tier=nano")


def test_options_of_the_task_and_splits_are_taken() -> None:
    made = json.loads(weft("ptg", "sample", "answer=true", "--split", "longer-lists", "--json"))
    assert "<" not in made[0]["text"]
    assert 7 <= made[0]["axes"]["list_length"] <= 10


def test_histograms_count_the_sample() -> None:
    arguments = ("ptg", "sample", "tier=nano", "--histogram", "--size", "40")
    found = json.loads(weft(*arguments, "--json"))
    batch = task("program-traces", tier="nano").batch("train", 0, 0, 40)
    for name, table in found["numbers"].items():
        assert sum(table["counts"].values()) > 0
        low, middle, high = table["percentiles"]
        assert low <= middle <= high
        if name in batch.axes:
            assert sum(table["counts"].values()) == 40
            assert table["counts"][str(middle)] == int((batch.axes[name] == middle).sum())
    assert found["kinds"]["source"]["def"] == found["kinds"]["trace"]["return"] == 40
    assert sum(found["kinds"]["trace"].values()) == int(batch.axes["steps"].sum())
    shown = weft(*arguments)
    assert "steps of the trace (5%, 50%, 95%:" in shown
    assert "loop test" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--split", "no"), "it has no split 'no'"),
        (("tier=giant",), "tier cannot be 'giant'"),
        (("context=40",), "cannot be drawn"),
        (("colour=red",), "colour"),
        (("depth=0",), "depth is 0"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(arguments: tuple[str, ...], said: str) -> None:
    found = execute(["ptg", "sample", *arguments])
    assert found.code == 2
    assert said in found.stderr
    assert found.stderr.count("\n") == 1
