"""Models beside compiled programs: both fail alike, or it is seen where they do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import weft
from weft.errors import WeftError
from weft.studies.recursion.explanation import asked_model, subject_of
from weft.studies.recursion.explanation_programs import (
    compare_run_with_program,
    compare_with_program,
    compiled_outputs,
)
from weft.tasks.recursion import Recursion
from weft.theory.recursion import all_carry, shortcut_machine, successor
from weft.training import EvaluationConfig, RunStore, TrainingConfig, train

NATURAL = Recursion(order="natural", length=9, longer=11)


def compiled(text: str, **options: Any) -> Any:
    return weft.compile(weft.program(text), **options)


@pytest.mark.parametrize(
    ("shortcut", "carry", "order"),
    [
        ("run", "short", "natural"),
        ("bounded", "flip", "constructor"),
        ("longest", "short", "natural"),
        ("fixed", "right", "constructor"),
    ],
)
def test_a_compiled_shortcut_fails_like_the_machine(shortcut: Any, carry: Any, order: Any) -> None:
    machine = shortcut_machine(shortcut, carry, 2, order)
    name = f"successor-shortcut(shortcut={shortcut}, all_carry={carry}, bound=2, order={order})"
    task = Recursion(order=order, length=9, longer=11)
    found = compare_with_program(task, lambda x: [*map(machine, x)], compiled(name), inputs=120)
    assert found.recall.count >= 5
    assert found.agreement.share == found.recall.share == found.precision.share == 1.0
    assert found.differences == []


def test_differences_are_where_two_shortcuts_differ() -> None:
    machine = shortcut_machine("run", "short")
    flip = compiled("successor-shortcut(all_carry=flip)")
    found = compare_with_program(NATURAL, lambda x: [*map(machine, x)], flip, inputs=120)
    edges = [given for given in found.questions.inputs if all_carry(given)]
    assert [given for given, _, _ in found.differences] == edges
    given, mine, its = found.differences[-1]
    assert (mine, its) == (machine(given), shortcut_machine("run", "flip")(given))
    assert (found.recall.right, found.precision.right) == (0, 0)
    assert found.recall.count == found.precision.count == len(edges)
    assert found.within("decoy", "deep").agreement.share == 1.0
    assert found.within("all-carry").agreement.right == 0
    with pytest.raises(WeftError, match="no input is of the split 'odd'"):
        found.within("decoy", "odd")


@pytest.mark.parametrize("order", ["natural", "constructor"])
def test_the_true_program_writes_numbers(order: Any) -> None:
    task = Recursion(order=order, length=9, longer=11)
    program = compiled(f"successor(order={order})")
    answer = [successor(("01",), order)]
    assert compiled_outputs(task, program, [("01",)]) == answer
    found = compare_with_program(
        task, lambda asked: [successor(x, order) for x in asked], program, inputs=60
    )
    assert (found.agreement.share, found.recall.count) == (1.0, 0)


@pytest.mark.parametrize("notation", ["flat", "empty"])
def test_traversals_are_written_as_the_task_writes_them(notation: Any) -> None:
    task = Recursion(definition="post-order", notation=notation, shortest=2, length=5, longer=6)
    subject = subject_of(task)
    found = compare_with_program(
        task, lambda asked: [*map(subject.truth, asked)],
        compiled("tree-walk(order=post, letters=abcdefghijklmnopqrstuvwxyz)"), inputs=40,
    )  # fmt: skip
    assert (found.agreement.share, found.recall.count) == (1.0, 0)


def test_a_run_is_compared_by_its_own_outputs(tmp_path: Path) -> None:
    config = TrainingConfig(
        task="recursion",
        parameters={"order": "natural", "shortest": 3, "length": 7, "longer": 8, "format": "tag"},
        model={"layers": 1, "width": 16, "heads": 2, "hidden": (32,)}, steps=60, batch=8,
        evaluation=EvaluationConfig(every=0, size=8, splits=("train",)),
    )  # fmt: skip
    train(config, runs=tmp_path, device="cpu")
    run = RunStore(tmp_path).find(config.hash)
    found = compare_run_with_program(run, compiled("successor-shortcut"), inputs=60)
    outputs = asked_model(run)(found.questions.inputs)
    expected = [shortcut_machine("run", "short")(given) for given in found.questions.inputs]
    pairs = list(zip(outputs, expected, found.questions.inputs, strict=True))
    assert found.agreement.right == sum(mine == its for mine, its, _ in pairs) < len(pairs)
    failed = [(mine, its) for mine, its, given in pairs if mine != successor(given)]
    assert found.recall.count == len(failed)
    assert found.recall.right == sum(mine == its for mine, its in failed)


@pytest.mark.parametrize(
    ("name", "options", "match"),
    [
        ("successor-shortcut(order=constructor)", {}, "not a binary number"),
        ("successor-shortcut(shortcut=longest)", {"max_length": 10}, "10"),
    ],
)
def test_a_program_that_does_not_take_the_inputs_is_refused(
    name: str, options: dict[str, Any], match: str
) -> None:
    with pytest.raises(WeftError, match=match):
        compare_with_program(
            NATURAL, lambda x: [*map(successor, x)], compiled(name, **options), inputs=40
        )
