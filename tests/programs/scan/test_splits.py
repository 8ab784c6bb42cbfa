"""SCAN's splits: the derived ones are the published ones, the others are read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from scan_files import folder
from weft.errors import WeftError
from weft.programs.scan.grammar import meaning, meanings
from weft.programs.scan.splits import (
    ScanSplit,
    length_split,
    mcd_split,
    primitive_split,
    read_examples,
    read_split,
)


@pytest.fixture
def published(capfd: pytest.CaptureFixture[str]) -> Path:
    return folder("WEFT_SCAN", capfd)


@pytest.fixture
def published_mcd(capfd: pytest.CaptureFixture[str]) -> Path:
    return folder("WEFT_SCAN_MCD", capfd)


def test_splits_share_nothing_and_leave_nothing_out() -> None:
    for split in (length_split(), primitive_split("jump"), primitive_split("turn left")):
        assert not set(split.train) & set(split.test)
        assert set(split.train) | set(split.test) == set(meanings())
        assert len(set(split.test)) == len(split.test)


def test_splits_are_what_they_say() -> None:
    by_length, jump = length_split(), primitive_split("jump")
    assert max(len(meaning(command)) for command in by_length.train) == 22
    assert min(len(meaning(command)) for command in by_length.test) == 24
    assert {command for command in jump.train if "jump" in command} == {"jump"}
    assert 10 * Counter(jump.train)["jump"] == len(jump.train)
    assert all("turn left" in command for command in primitive_split("turn left").test)


def test_a_primitive_must_be_one() -> None:
    with pytest.raises(WeftError, match="'jumps' is not a primitive"):
        primitive_split("jumps")


def same(one: ScanSplit, other: ScanSplit) -> bool:
    return all(
        Counter(a) == Counter(b)
        for a, b in ((one.train, other.train), (one.test, other.test), (one.dev, other.dev))
    )


def test_derived_splits_are_the_published_ones(published: Path) -> None:
    def read(folder: str, name: str) -> ScanSplit:
        path = published / folder
        return read_split(path / f"tasks_train_{name}.txt", path / f"tasks_test_{name}.txt")

    assert same(length_split(), read("length_split", "length"))
    assert same(primitive_split("jump"), read("add_prim_split", "addprim_jump"))
    assert same(primitive_split("turn left"), read("add_prim_split", "addprim_turn_left"))
    simple = read("simple_split", "simple")
    assert (len(simple.train), len(simple.test)) == (16_728, 4_182)
    assert {*simple.train, *simple.test} == set(meanings())


@pytest.mark.parametrize("number", [1, 2, 3])
def test_mcd_splits_are_read(number: int, published: Path, published_mcd: Path) -> None:
    split = mcd_split(published_mcd / f"mcd{number}.json", published / "tasks.txt")
    assert (len(split.train), len(split.dev), len(split.test)) == (8_365, 1_046, 1_045)
    every = [*split.train, *split.dev, *split.test]
    assert len(set(every)) == len(every)
    assert set(every) <= set(meanings())
    longest = [max(len(meaning(c)) for c in part) for part in (split.train, split.dev, split.test)]
    assert longest == {1: [48, 40, 40], 2: [48, 32, 32], 3: [32, 48, 48]}[number]


def test_index_files_are_read_with_the_lines_that_they_number(tmp_path: Path) -> None:
    (tmp_path / "tasks.txt").write_text("IN: run OUT: I_RUN\nIN: walk OUT: I_WALK\n")
    (tmp_path / "mcd.json").write_text('{"trainIdxs": [1], "testIdxs": [0], "devIdxs": []}')
    assert mcd_split(tmp_path / "mcd.json", tmp_path / "tasks.txt") == ScanSplit(
        ("walk",), ("run",)
    )


@pytest.mark.parametrize("text", ['{"trainIdxs": [9]}', '{"testIdxs": []}', "[]", "{"])
def test_a_wrong_index_file_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.txt").write_text("IN: run OUT: I_RUN\n")
    (tmp_path / "mcd.json").write_text(text)
    with pytest.raises(WeftError, match="does not list lines"):
        mcd_split(tmp_path / "mcd.json", tmp_path / "tasks.txt")


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("IN: run OUT: I_RUN\nrun: I_RUN\n")
    with pytest.raises(WeftError, match="line 2 is not an example of SCAN"):
        read_examples(tmp_path / "other.txt")
    with pytest.raises(WeftError, match="there is no file"):
        read_examples(tmp_path / "none.txt")
