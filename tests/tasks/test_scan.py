"""SCAN as a task: all published splits, sizes, repeats, and what is held out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import scan_files
from weft.errors import WeftError
from weft.programs.scan.grammar import meanings
from weft.programs.scan.splits import length_split, primitive_split, read_examples
from weft.tasks import Batch, Task, task


def commands(made: Task, batch: Batch) -> list[str]:
    return [" ".join(question) for question, _ in made.examples(batch)]


def test_the_length_split_has_the_published_sizes() -> None:
    made = task("scan", held_out=0)
    assert made.tested == ("test",)
    assert len(made.test_set("test", 10_000)) == 3920
    assert made.splits["train"].axes["length"] == (1, 22)
    assert made.splits["test"].axes["length"] == (24, 48)


def test_all_that_is_not_held_out_is_trained_on() -> None:
    made = task("scan", longest=6)
    train = set(length_split(6).train)
    tests = set(commands(made, made.test_set("train", 10_000)))
    batches = [made.batch("train", 0, step, 20 * len(train)) for step in range(1)]
    drawn = {command for batch in batches for command in commands(made, batch)}
    validated = set(commands(made, made.validation_set(10_000)))
    assert drawn | tests | validated == train
    assert len(drawn) + len(tests) + len(validated) == len(train)
    assert made.tested == ("train", "test")
    assert 0.01 < len(tests | validated) / len(train) < 0.03
    assert 0.15 < len(validated) / len(tests | validated) < 0.35


def test_actions_are_those_of_the_grammar() -> None:
    made = task("scan")
    for question, answer in made.examples(made.test_set("test", 500)):
        assert meanings()[" ".join(question)] == answer


@pytest.mark.parametrize(("split", "alone"), [("jump", "jump"), ("turn-left", "turn left")])
def test_a_primitive_is_a_tenth_of_training_and_never_held_out(split: str, alone: str) -> None:
    for held_out in (0.0, 0.9):
        made = task("scan", split=split, held_out=held_out)
        drawn = commands(made, made.batch("train", 0, 0, 2000))
        share = drawn.count(alone) / 2000
        assert share == pytest.approx(0.1, abs=0.02) if not held_out else share > 0.4
        assert all(command == alone or f" {alone} " not in f" {command} " for command in drawn)
    tests = commands(made, made.test_set("test", 10_000))
    assert sorted(tests) == sorted(primitive_split(alone).test)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small language of eight commands, in files as they are published."""
    chosen = list(meanings())[:8]
    lines = [f"IN: {command} OUT: {' '.join(meanings()[command])}\n" for command in chosen]
    (tmp_path / "tasks.txt").write_text("".join(lines))
    parts = {"trainIdxs": [0, 2, 4, 6], "testIdxs": [1, 3], "devIdxs": [5, 7]}
    (tmp_path / "mcd1.json").write_text(json.dumps(parts))
    for part, places in (("train", [0, 1, 2]), ("test", [3, 4]), ("dev", [5])):
        (tmp_path / f"tasks_{part}_mcd2.txt").write_text("".join(lines[i] for i in places))
        (tmp_path / f"tasks_{part}_simple.txt").write_text("".join(lines[i] for i in places[::-1]))
    return tmp_path


@pytest.mark.parametrize(
    ("split", "places"),
    [
        ("mcd1", {"train": [0, 2, 4, 6], "test": [1, 3], "dev": [5, 7]}),
        ("mcd2", {"train": [0, 1, 2], "test": [3, 4], "dev": [5]}),
        ("simple", {"train": [0, 1, 2], "test": [3, 4], "dev": [5]}),
    ],
)
def test_splits_are_read_from_files(folder: Path, split: str, places: dict[str, list[int]]) -> None:
    made = task("scan", split=split, folder=str(folder), held_out=0)
    chosen = list(meanings())[:8]
    assert set(made.splits) == set(places)
    assert made.tested == ("test", "dev")
    for name in made.tested:
        found = commands(made, made.test_set(name, 10))
        assert sorted(found) == sorted(chosen[place] for place in places[name])
    drawn = set(commands(made, made.batch("train", 0, 0, 200)))
    assert drawn == {chosen[place] for place in places["train"]}


def test_missing_files_are_told(tmp_path: Path) -> None:
    for split, missing in (("mcd3", "tasks.txt"), ("simple", "tasks_train_simple.txt")):
        with pytest.raises(WeftError, match=missing):
            task("scan", split=split, folder=str(tmp_path)).test_set("test", 5)


@pytest.mark.parametrize("split", ["mcd1", "mcd2", "mcd3", "simple"])
def test_the_published_files_are_read(split: str, capfd: pytest.CaptureFixture[str]) -> None:
    variable = "WEFT_SCAN" if split == "simple" else "WEFT_SCAN_MCD"
    folder = scan_files.folder(variable, capfd)
    made = task("scan", split=split, folder=str(folder), held_out=0)
    inner = folder / "simple_split" if split == "simple" else folder
    published = read_examples(inner / f"tasks_test_{split}.txt")
    found = dict(made.examples(made.test_set("test", 20_000)))
    assert {" ".join(question): answer for question, answer in found.items()} == dict(published)
    train = {command for command, _ in read_examples(inner / f"tasks_train_{split}.txt")}
    assert set(commands(made, made.batch("train", 0, 0, 2000))) <= train
