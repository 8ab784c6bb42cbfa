"""Compiled C-RASP programs on disk: what is written, and that it is read back as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import weft
from weft.crasp import library
from weft.crasp.construction import compile_crasp
from weft.crasp.model_files import read_crasp, save_crasp


@pytest.mark.parametrize("name", ["dyck-1", "tomita-4", "abab", "unique-copy"])
def test_a_model_is_read_back_as_it_was_written(name: str, tmp_path: Path) -> None:
    compiled = compile_crasp(library.load(name), max_length=40)
    save_crasp(compiled, tmp_path / "model")
    loaded = weft.load(tmp_path / "model")
    assert read_crasp(tmp_path / "model") == compiled.program
    assert dict(loaded.layout) == dict(compiled.model.layout)
    tokens = compiled.tokens([compiled.program.alphabet * 3])
    assert torch.equal(loaded(tokens).stream, compiled.model(tokens).stream)
    assert loaded.text == compiled.text


def test_what_the_card_and_the_description_say(tmp_path: Path) -> None:
    save_crasp(compile_crasp(library.load("tomita-4"), max_length=40), tmp_path / "model")
    description = json.loads((tmp_path / "model" / "config.json").read_text())
    assert description["kind"] == "compiled"
    assert description["program"]["language"] == "c-rasp"
    assert (description["program"]["period"], description["program"]["range"]) == (1, 2)
    card = (tmp_path / "model" / "card.md").read_text()
    assert "PERIODIC, over positions 0 to 40: yes, the period is 1" in card
    assert "LOCAL: yes, the range is 2" in card
    assert "layer 1, head 3: a function of i - j, zero beyond i - j = 2" in card
    assert "layer 1, head: position i - 2" in card


def test_words_that_are_too_long_or_foreign_are_refused(tmp_path: Path) -> None:
    save_crasp(compile_crasp(library.load("dyck-1"), max_length=4), tmp_path / "model")
    model = weft.load(tmp_path / "model")
    assert model.answer("(())") == "accept"
    with pytest.raises(weft.WeftError, match=r"has 5 tokens, .* at most 4"):
        model.answer("(()))")
    with pytest.raises(weft.WeftError, match="x"):
        model.answer("(x)")
