"""What holds for every task: batches repeat, tests stay apart, answers are right."""

from __future__ import annotations

import json

import numpy as np
import pytest

import weft
from weft.programs import LIBRARY
from weft.tasks import TASKS, Task, score, task
from weft.tasks.formats import END

CASES = [(name, form) for name, kind in TASKS.items() for form in kind.formats]
EVERY = [(name, form, split) for name, form in CASES for split in task(name).splits]


NOTHING_TO_TRAIN_ON = {
    ("modular-addition", "mirrored"),
    ("modular-addition", "unseen"),
    ("modular-multiplication", "mirrored"),
    ("modular-multiplication", "unseen"),
    ("recursion", "shorter"),
    ("recursion", "all-carry-longer"),
    ("scan", "test"),
}


def has_batches(name: str, split: str) -> bool:
    return (name, split) not in NOTHING_TO_TRAIN_ON


TRAINED = [case for case in EVERY if has_batches(case[0], case[2])]


@pytest.mark.parametrize(("name", "form", "split"), TRAINED)
def test_batches_follow_from_seed_and_step(name: str, form: str, split: str) -> None:
    first, again = (task(name, format=form).batch(split, 3, 7, 64) for _ in range(2))
    assert first.content_hash == again.content_hash
    assert all((first.axes[axis] == again.axes[axis]).all() for axis in first.axes)
    others = [task(name, format=form).batch(split, *at, 64) for at in ((3, 8), (4, 7))]
    assert len({first.content_hash, *(other.content_hash for other in others)}) == 3


@pytest.mark.parametrize(("name", "form", "split"), TRAINED)
def test_answers_of_batches_are_those_of_the_reference(name: str, form: str, split: str) -> None:
    made = task(name, format=form)
    for question, answer in made.examples(made.batch(split, 0, 0, 60)):
        assert made.reference(question) == answer, question


@pytest.mark.parametrize(("name", "form", "split"), EVERY)
def test_answers_of_test_sets_are_those_of_the_reference(name: str, form: str, split: str) -> None:
    made = task(name, format=form)
    for question, answer in made.examples(made.test_set(split, 60)):
        assert made.reference(question) == answer, question


@pytest.mark.parametrize(("name", "form", "split"), EVERY)
def test_arrays_are_as_a_model_takes_them(name: str, form: str, split: str) -> None:
    made = task(name, format=form)
    batch = made.test_set(split, 100)
    inside = np.arange(batch.tokens.shape[1]) < batch.lengths[:, None]
    assert (batch.tokens[inside] > 0).all()
    assert (batch.tokens[~inside] == 0).all()
    assert (batch.tokens < len(made.vocabulary)).all()
    assert (batch.targets[~inside] == -1).all()
    assert (batch.targets < made.outputs).all()
    assert (batch.targets >= 0).any(axis=1).all()
    assert (batch.source is not None) == (form == "seq2seq")
    assert all(values.shape == (len(batch),) for values in batch.axes.values())
    assert batch.tokens.dtype == batch.targets.dtype == np.int64


@pytest.mark.parametrize(("name", "form"), [c for c in CASES if c[1] != "tag"])
def test_targets_are_the_next_tokens(name: str, form: str) -> None:
    batch = task(name, format=form).batch("train", 0, 0, 50)
    asked = batch.targets[:, :-1] >= 0
    follows = asked & (np.arange(asked.shape[1]) + 1 < batch.lengths[:, None])
    assert (batch.tokens[:, 1:][follows] == batch.targets[:, :-1][follows]).all()
    if name not in ("induction", "modular-addition", "modular-multiplication"):
        assert (batch.targets[np.arange(50), batch.lengths - 1] == END).all()


@pytest.mark.parametrize(("name", "form", "split"), EVERY)
def test_axes_lie_in_the_ranges_of_the_split(name: str, form: str, split: str) -> None:
    made = task(name, format=form)
    batch = made.test_set(split, 100)
    for axis, (low, high) in made.splits[split].axes.items():
        assert low <= batch.axes[axis].min()
        assert batch.axes[axis].max() <= high


COUNTS = {"program-traces": 60}
"""Number of examples of tasks with long ones; of the others 500."""


def questions(made: Task, batch: weft.tasks.Batch) -> list[tuple[str, ...]]:
    return [question for question, _ in made.examples(batch)]


@pytest.mark.parametrize("name", TASKS)
def test_what_is_tested_is_never_drawn_and_never_twice(name: str) -> None:
    made = task(name)
    drawn = set()
    for split in made.splits:
        if has_batches(name, split):
            for step in range(2):
                drawn |= set(questions(made, made.batch(split, 0, step, COUNTS.get(name, 500))))
    for split in made.splits:
        tests = questions(made, made.test_set(split, COUNTS.get(name, 300)))
        assert len(tests) == len(set(tests))
        assert not drawn & set(tests)


@pytest.mark.parametrize("name", TASKS)
def test_what_is_validated_is_in_distribution_and_neither_trained_on_nor_tested(name: str) -> None:
    made = task(name)
    batch = made.validation_set(200)
    found = questions(made, batch)
    assert len(found) == len(set(found)) > 30
    for axis, (low, high) in made.splits["train"].axes.items():
        assert low <= batch.axes[axis].min()
        assert batch.axes[axis].max() <= high
    for question, answer in made.examples(batch):
        assert made.reference(question) == answer
    for split in made.splits:
        tests = made.test_set(split, COUNTS.get(name, 500))
        assert not set(found) & set(questions(made, tests))
    batches = [made.batch("train", 0, step, COUNTS.get(name, 500)) for step in range(2)]
    assert not set(found) & {one for drawn in batches for one in questions(made, drawn)}


def test_validation_and_tests_are_drawn_alike() -> None:
    made = task("parity")
    batch, tests = made.validation_set(2000), made.test_set("train", 2000)
    for axis in ("length", "ones"):
        assert abs(batch.axes[axis].mean() - tests.axes[axis].mean()) < 0.5


@pytest.mark.parametrize("name", TASKS)
def test_small_test_sets_begin_larger_ones(name: str) -> None:
    made = task(name)
    small, large = made.validation_set(20), made.validation_set(150)
    assert small.content_hash == large.take(slice(20)).content_hash
    for split in made.splits:
        small, large = made.test_set(split, 20), made.test_set(split, 150)
        assert small.content_hash == large.take(slice(20)).content_hash


@pytest.mark.parametrize("name", TASKS)
def test_membership_does_not_depend_on_the_format(name: str) -> None:
    found = [  # `_` fills a question up to the length of an aligned answer
        [tuple(one for one in question if one != "_") for question in questions(made, tests)]
        for made in (task(name, format=form) for form in TASKS[name].formats)
        for tests in [made.test_set("train", 50)]
    ]
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_made_again_from_its_parameters(name: str) -> None:
    made = task(name)
    assert task(name, **json.loads(json.dumps(made.parameters))) == made


@pytest.mark.parametrize("name", TASKS)
def test_a_task_says_what_it_is(name: str) -> None:
    made = task(name)
    assert made.vocabulary[0] == "<pad>"
    assert len(set(made.vocabulary)) == len(made.vocabulary)
    assert next(iter(made.splits)) == "train"
    assert set(made.programs) <= set(LIBRARY)
    assert (type(made).__doc__ or "").strip()


@pytest.mark.parametrize("name", TASKS)
def test_the_right_answers_score(name: str) -> None:
    batch = task(name).batch("train", 0, 0, 30)
    assert score(batch, batch.targets).all()
    wrong = batch.targets.copy()
    first = batch.prompt - 1
    wrong[::2] = np.where(np.arange(wrong.shape[1]) == first[::2, None], -7, wrong[::2])
    assert score(batch, wrong).tolist() == [False, True] * 15
    assert score(batch, np.where(batch.targets < 0, 99, batch.targets)).all()
