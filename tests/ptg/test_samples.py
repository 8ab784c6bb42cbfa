"""Sampled examples against the parser, the interpreter and CPython."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from weft.ptg.interpreter import run
from weft.ptg.parser import parse
from weft.ptg.source import source_hash
from weft.ptg.tracing import call_text, final_text, program_text, trace_text
from weft.tasks.program_traces import ProgramTraces

OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": {"tier": "paper"},
    "answer": {"answer": True},
    "step index": {"step_index": True, "context": 2048},
    "reversed digits": {"reversed_digits": True},
    "random labels": {"random_labels": True},
    "characters": {"level": "characters", "context": 3000},
    "nested": {"depth": 3, "context": 2048},
    "else": {"else_blocks": True},
    "data loops": {"data_loops": True},
    "large numbers": {"addend": 99, "literal": 999, "context": 2048},
    "products": {"multiplication": True},
    "variable index": {"variable_index": True},
    "comments": {"comments": True},
    "everything": {
        "depth": 2, "else_blocks": True, "data_loops": True, "addend": 20, "literal": 50,
        "multiplication": True, "variable_index": True, "comments": True, "random_labels": True,
        "step_index": True, "reversed_digits": True, "context": 3000,
    },
    "everything, final state": {
        "depth": 3, "else_blocks": True, "data_loops": True, "multiplication": True,
        "variable_index": True, "answer": True, "level": "characters", "context": 4096,
    },
}  # fmt: skip


def executed(source: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """The final values of all variables, by CPython."""
    space: dict[str, Any] = {}
    exec(source.removesuffix("return\n") + "return locals()\n", space)
    given = {name: list(v) if isinstance(v, tuple) else v for name, v in inputs.items()}
    found = space["f"](**given)
    return {name: tuple(v) if isinstance(v, list) else v for name, v in found.items()}


def check(task: ProgramTraces, split: str, row: list[int], axes: dict[str, int]) -> None:
    """Compare one row with independent readings of it."""
    source, inputs = task.program_of(row)
    program = parse(source, task.language)
    trace = run(program, inputs)
    form = replace(task.form, first_label=task.first_label(row))
    written = final_text(trace.final, form) if task.answer else trace_text(trace, form)
    assert task.trace_of(row) == written, source
    prompt = program_text(program, form) + call_text(program, inputs, form)
    assert task.decode(row).startswith(f"<start>{prompt}<trace>{written}"), source
    final = executed(source, inputs)
    assert final == dict(trace.final), source
    symbols = {task.vocabulary[token] for token in row if token > 3}
    assert symbols <= task.written(split)
    kinds = {"integers": "a", "booleans": "cond_a", "lists": "lst_a"}
    names = [name for name in final if not name.startswith("cnt")]
    assert axes["variables"] == len(names) == sum(axes[kind] for kind in kinds)
    assert axes["booleans"] == sum(name.startswith("cond_") for name in names)
    assert axes["lists"] == sum(name.startswith("lst_") for name in names)
    assert axes["lines"] == source.count("\n")
    assert axes["steps"] == len(trace.steps)
    assert axes["loops"] == source.count("while ")
    lists = [v for v in inputs.values() if isinstance(v, tuple)]
    lists += [step.value for step in trace.steps if isinstance(step.value, tuple)]
    assert axes["list_length"] == max(map(len, lists), default=0)


def check_split(options: dict[str, Any], split: str, size: int) -> int:
    """Check examples of a split, half of them for training; the number of them."""
    task = ProgramTraces(**options)
    batches = [task.batch(split, 0, 0, size - size // 2)]
    if split == "same-program" and options and size < 10:  # whose test set takes half a second
        batches.append(task.batch(split, 1, 0, size // 2))
    else:
        batches.append(task.test_set(split, size // 2))
    hashes: list[set[str]] = []
    for batch in batches:
        hashes.append(set())
        for place, row in enumerate(batch.tokens.tolist()):
            axes = {name: int(values[place]) for name, values in batch.axes.items()}
            low, high = task.splits[split].axes["lines"]
            assert low <= axes["lines"] <= high
            assert axes["tokens"] == batch.lengths[place] + 1 <= task.context
            check(task, split, row, axes)
            hashes[-1].add(source_hash(task.program_of(row)[0]))
    assert not hashes[0] & hashes[1]
    return sum(map(len, batches))


CASES = [(name, split) for name in OPTIONS for split in ProgramTraces(**OPTIONS[name]).splits]


@pytest.mark.parametrize(("name", "split"), CASES)
def test_samples_agree_with_the_interpreter_and_with_cpython(name: str, split: str) -> None:
    assert check_split(OPTIONS[name], split, 4) == 4


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_fifty_thousand_samples_agree(name: str) -> None:
    splits = ProgramTraces(**OPTIONS[name]).splits
    each = -(-50_000 // len(CASES))
    assert sum(check_split(OPTIONS[name], split, each) for split in splits) == each * len(splits)
