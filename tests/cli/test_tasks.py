"""`weft tasks`: what is shown of a task is what it is."""

from __future__ import annotations

import json

import pytest

from command_line import HEAVY, imported, weft
from weft.programs import LIBRARY
from weft.tasks import TASKS, named, task


def test_all_are_listed() -> None:
    assert [one["name"] for one in json.loads(weft("tasks", "--json"))] == list(TASKS)
    assert [line.split()[0] for line in weft("tasks").splitlines()[:-2]] == list(TASKS)


@pytest.mark.parametrize("name", [*TASKS, next(one for one in LIBRARY if one not in TASKS)])
def test_each_is_shown_with_tests_of_its_own(name: str) -> None:
    found, parameters = named(name)
    made = task(found, **parameters)
    told = json.loads(weft("tasks", name, "--examples", "3", "--json"))
    assert {key: one["value"] for key, one in told["parameters"].items()} == made.parameters
    assert all(one["meaning"] for one in told["parameters"].values())
    assert list(told["splits"]) == list(made.tested)
    for split, examples in told["examples"].items():
        assert len(examples) == 3
        tests = list(made.examples(made.test_set(split, 3)))
        assert [(tuple(one["question"]), tuple(one["answer"])) for one in examples] == tests
    shown = weft("tasks", name, "--examples", "1")
    for split in made.tested:
        assert f"{split}: {made.splits[split].description}" in shown


def test_parameters_are_taken() -> None:
    told = json.loads(
        weft("tasks", "addition", "digits=2", "longer=3", "--examples", "0", "--json")
    )
    assert told["splits"]["train"] == "numbers of at most 2 digits"
    assert told["examples"] == {"train": [], "longer": [], "carries": []}
    shown = weft("tasks", "regex(pattern='a*b')", "length=4", "--examples", "1")
    assert "train: at most 4 tokens" in shown


def test_it_needs_no_torch() -> None:
    assert not imported("tasks", "parity", "length=12") & HEAVY
