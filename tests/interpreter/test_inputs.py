"""Inputs: read from text, tokens and files, and drawn at random."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import pytest

import weft
from weft.errors import WeftError
from weft.interpreter.inputs import (
    NOT_HALTING,
    random_inputs,
    read_input_file,
    read_inputs,
    split_failing,
    valid_inputs,
)


class Picky(weft.Program):
    """Runs on inputs without a 2, halts on inputs without a 1."""

    tokens = [0, 1, 2]
    token = weft.var(3, token=lambda t: t)
    done = weft.var(2, token=lambda t: t == 0)
    output = token
    halt = done == 1
    max_layers = 3

    def step(z: Any) -> None:  # type: ignore[misc]
        if z.token == 2:
            z.token = z.token + 1


def test_text_is_encoded_and_tokens_are_taken_as_they_are() -> None:
    parity = weft.program("parity")
    assert read_inputs(parity, ["10", ["s", 1]]) == [["s", 1, 0], ["s", 1]]
    with pytest.raises(WeftError, match="input 1: cannot read"):
        read_inputs(parity, ["10", "1x"])


def test_files_have_one_input_per_line_packed_or_not(tmp_path: Path) -> None:
    text = "walk twice\n\n IN: run left OUT: I_TURN_LEFT I_RUN\n"
    (tmp_path / "plain.txt").write_text(text)
    (tmp_path / "packed.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("plain.txt", "packed.gz"):
        assert read_input_file(tmp_path / name) == ["walk twice", "run left"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("blank", b"\n \n", "has no inputs"),
        ("text.gz", b"not packed", "cannot be read"),
        ("cut.gz", gzip.compress(b"101\n" * 99, mtime=0)[:-9], "cannot be read"),
        ("binary", b"\xff\xfe", "it is not UTF-8 text"),
    ],
)
def test_files_that_cannot_be_read_are_named(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(WeftError, match=message) as caught:
        read_input_file(tmp_path / name)
    assert name in str(caught.value)


def test_random_inputs_have_the_lengths_that_are_asked_for() -> None:
    rng = random.Random(0)
    drawn = list(random_inputs(weft.program("parity"), rng, 200, 3, 6, exact=True))
    assert {len(tokens) for tokens in drawn} == {3, 4, 5, 6}
    with pytest.raises(WeftError, match="samples no inputs of 1 to 1 tokens"):
        list(random_inputs(weft.program("addition"), rng, 3, 1, 1, exact=True))


def test_inputs_on_which_a_program_fails_are_set_apart() -> None:
    given = [[0], [0, 2], [0, 0], [1]]
    valid, failed = split_failing(Picky(), given)
    assert valid == [[0], [0, 0]]
    assert [(each.tokens, each.halts) for each in failed] == [((0, 2), True), ((1,), False)]
    assert "outside its range" in failed[0].reason
    assert "has not halted after 3 layers" in failed[1].reason
    drawn = valid_inputs(Picky(), 60, 2)
    assert 0 < len(drawn) < 60
    assert all(set(tokens) == {0} for tokens in drawn)


def test_a_program_that_never_halts_is_not_tried_on_all_inputs() -> None:
    valid, failed = split_failing(Picky(), [[1]] * 100)
    assert (valid, len(failed)) == ([], NOT_HALTING)
