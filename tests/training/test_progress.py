"""What a run says in the terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import torch
from rich.console import Console
from training_runs import small

from weft.models import Transformer, preset
from weft.statistics import Share
from weft.training import Record, train
from weft.training.progress import Display, matmul_peak, token_cost

CPU = torch.device("cpu")


@pytest.mark.parametrize("terminal", [True, False])
def test_a_run_shows_how_it_goes(terminal: bool, tmp_path: Path) -> None:
    text = io.StringIO()
    display = Display(CPU, Console(file=text, force_terminal=terminal, width=200))
    result = train(small(), runs=tmp_path, device="cpu", callbacks=[display])
    shown = text.getvalue()
    count = f"n={result.tests['train']}"
    for word in ("loss ", "tokens/s", "of peak", "left", f"train {result.accuracy['train']:.1%}"):
        assert word in shown
    assert count in shown
    assert "done after 60 steps" in shown
    assert ("\x1b" in shown) == terminal


def display_at(step: int, *, steps: int = 100, width: int = 80) -> Display:
    """A display after two records, the last of them at a step."""
    display = Display(CPU, Console(file=io.StringIO(), width=width))
    display.on_start(small(f"steps={steps}", "batch=10"), preset("nano", vocabulary=5), 0)
    display.peak = 1e9
    for at in (step // 2, step):
        display.on_record(
            Record(
                step=at, loss=1.0, lr=0.1, tokens=at * 10 * 32, seconds=5.0 + at / 2,
                tokens_per_second=100.0,
            )
        )  # fmt: skip
    return display


def test_time_left_and_share_of_the_peak_are_sums() -> None:
    display = display_at(20)
    assert display.record is not None
    assert display.left(display.record) == pytest.approx(40)
    assert "0:40 left" in display.line(80)
    cost = token_cost(preset("nano", vocabulary=5), 32)
    assert display.peak_share(display.record) == pytest.approx(100 * cost / 1e9)


@pytest.mark.parametrize("splits", range(8))
@pytest.mark.parametrize("same", [True, False])
def test_lines_fit_eighty_columns_and_say_n(splits: int, same: bool) -> None:
    display = display_at(1_000_000, steps=2_000_000)
    shares = {f"split-{n}": Share(n, 1024 if same else 1024 + n) for n in range(splits)}
    display.on_evaluation(1_000_000, shares)
    file = display.console.file
    assert isinstance(file, io.StringIO)
    (line,) = file.getvalue().splitlines()
    assert len(line) <= 80
    if splits:
        assert "split-0 0.0%" in line
        assert "1,024" in line


def test_a_token_costs_what_its_products_cost() -> None:
    config = preset("micro", vocabulary=9)
    model = Transformer(config)
    layers = sum(weight.numel() for weight in model.layers.parameters() if weight.dim() > 1)
    products = 6 * (layers + 9 * 128)
    assert token_cost(config, 0) == pytest.approx(products, rel=0.01)
    assert token_cost(config, 64) - token_cost(config, 0) == 12 * 4 * 64 * 128 / 2
    encoder = preset("micro", vocabulary=9, kind="encoder")
    assert token_cost(encoder, 64) - token_cost(encoder, 0) == 12 * 4 * 64 * 128


def test_the_peak_is_that_of_a_machine() -> None:
    assert 1e8 < matmul_peak(CPU) < 1e14
