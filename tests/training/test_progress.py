"""What a run says in the terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import torch
from rich.console import Console
from training_runs import small

from weft.models import Transformer, preset
from weft.training import Record, train
from weft.training.peak import matmul_peak, token_cost
from weft.training.progress import Display

CPU = torch.device("cpu")


@pytest.mark.parametrize("terminal", [True, False])
def test_a_run_shows_how_it_goes(terminal: bool, tmp_path: Path) -> None:
    text = io.StringIO()
    display = Display(CPU, Console(file=text, force_terminal=terminal, width=200))
    result = train(small(), runs=tmp_path, device="cpu", watcher=display)
    shown = text.getvalue()
    for word in ("loss ", "tokens/s", "of peak", "left", f"train {result.accuracy['train']:.1%}"):
        assert word in shown
    assert "done after 60 steps" in shown
    assert ("\x1b" in shown) == terminal


def test_time_left_and_share_of_the_peak_are_sums() -> None:
    display = Display(CPU, Console(file=io.StringIO()))
    config = small("steps=100", "batch=10")
    model = preset("nano", vocabulary=5)
    display.started(config, model, 0)
    display.peak = 1e9
    for step in (10, 20):
        record = Record(
            step=step, loss=1.0, lr=0.1, tokens=step * 10 * 32, seconds=5.0 + step / 2,
            tokens_per_second=100.0,
        )  # fmt: skip
        display.logged(record)
    assert display.left(record) == pytest.approx(40)
    assert "0:40 left" in display.said()
    assert display.share(record) == pytest.approx(100 * token_cost(model, 32) / 1e9)


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
