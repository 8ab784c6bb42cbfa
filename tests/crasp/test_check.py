"""Comparing interpreters and weights: it passes for compiled programs, and finds what is wrong."""

from __future__ import annotations

import pytest
import torch

from weft.crasp import check as module
from weft.crasp import library
from weft.crasp.batched import BatchRun, run_batch
from weft.crasp.check import check_crasp
from weft.crasp.construction import compile_crasp


def test_a_compiled_program_passes() -> None:
    report = check_crasp(compile_crasp(library.load("tomita-4"), max_length=60), samples=8)
    assert report.difference is None
    assert report.longest == 60
    assert report.words > 300


def test_wrong_weights_are_found_on_the_shortest_word() -> None:
    """Without its bias, the unit for `bad` holds for 0 after one 0 as well."""
    compiled = compile_crasp(library.load("tomita-4"), max_length=20)
    with torch.no_grad():
        compiled.model.layers[0].feed_forward.biases[0] += 1  # type: ignore[union-attr,index,operator]
    report = check_crasp(compiled, samples=4)
    assert report.difference is not None
    assert report.difference.word == ("0", "0")
    assert str(report.difference) == (
        "bad is 1.0 at position 2 in the weights, and should be False"
    )


def test_a_wrong_interpreter_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(program: object, words: object) -> BatchRun:
        result = run_batch(program, words)  # type: ignore[arg-type]
        values = {name: value.copy() for name, value in result.values.items()}
        values["accept"][-1, 0] ^= True
        return BatchRun(
            result.program, result.words, result.lengths, result.mask, values, result.accepted
        )

    monkeypatch.setattr(module, "run_batch", broken)
    monkeypatch.setattr(module, "SHORT", 3)
    report = check_crasp(compile_crasp(library.load("dyck-1"), max_length=20), samples=0)
    assert report.difference is not None
    assert report.difference.source == "batched interpreter"
