"""Lower rank and precision: against NumPy, and only as far as the model fits."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from weft.crasp import library
from weft.crasp.construction import compile_crasp
from weft.crasp.regulariser import TABLE, measure
from weft.errors import WeftError
from weft.models import Transformer, TransformerConfig
from weft.models.init import initialise
from weft.studies.length.reduction import (
    MAX_BITS,
    fits_at_all_offsets,
    offset_by,
    reduce,
    rounded,
    truncated,
)
from weft.tasks import Batch, task
from weft.training.evaluation import evaluate


def small(**changes: object) -> Transformer:
    values = {
        "vocabulary": 6, "outputs": 6, "width": 8, "heads": 2, "hidden": (8,), "layers": 2,
        "kind": "decoder", "position": "learned", "positions": 12, **changes,
    }  # fmt: skip
    model = Transformer(TransformerConfig(**values))  # type: ignore[arg-type]
    initialise(model, "fan-in", seed=0)
    return model


def value_matrices(model: Transformer) -> list[np.ndarray]:
    weights = {name: part.detach().double().numpy() for name, part in model.named_parameters()}
    return [
        weights[f"layers.{layer}.attention.value"][head]
        @ weights[f"layers.{layer}.attention.output"][head]
        for layer in range(model.config.layers)
        for head in range(model.config.heads)
    ]


@pytest.mark.parametrize("rank", [0, 1, 2, 4])
def test_truncation_is_the_best_approximation_of_every_value_matrix(rank: int) -> None:
    model = small()
    for full, low in zip(
        value_matrices(model), value_matrices(truncated(model, rank)), strict=True
    ):
        left, singular, right = np.linalg.svd(full)
        wanted = (left[:, :rank] * singular[:rank]) @ right[:rank]
        np.testing.assert_allclose(low, wanted, atol=1e-6)
    assert measure(truncated(model, rank)).rank == rank


def test_rounding_gives_multiples_and_the_precision_that_is_measured() -> None:
    model = small()
    for bits in (0, 3, 9):
        low = rounded(model, bits)
        for before, after in zip(model.parameters(), low.parameters(), strict=True):
            wanted = np.round(before.detach().double().numpy() * 2**bits) / 2**bits
            np.testing.assert_array_equal(after.detach().double().numpy(), wanted)
        assert measure(low).precision <= bits
    assert measure(model).precision > 9


def test_reduction_stops_at_what_fits() -> None:
    """A test that needs rank 2 and 5 bits of one number finds exactly these."""
    model = small()
    with torch.no_grad():
        dict(model.named_parameters())[TABLE][0, 0] = 3 + 2**-5

    def fits(tried: Transformer) -> bool:
        exact = float(dict(tried.named_parameters())[TABLE].detach()[0, 0]) == 3 + 2**-5
        return exact and measure(tried).rank >= 2

    reduced = reduce(model, fits)
    assert (reduced.rank, reduced.bits) == (2, 5)
    terms = measure(reduced.model)
    assert (terms.rank, terms.precision) == (2, 5)


def test_a_model_that_needs_all_its_bits_keeps_them() -> None:
    model = small()
    table = dict(model.named_parameters())[TABLE].detach().clone()

    def fits(tried: Transformer) -> bool:
        return torch.equal(dict(tried.named_parameters())[TABLE], table)

    reduced = reduce(model, fits)
    assert reduced.bits is None or reduced.bits > MAX_BITS - 6
    assert torch.equal(dict(reduced.model.named_parameters())[TABLE], table)


def test_an_offset_shifts_the_table_and_is_undone() -> None:
    model = small()
    tokens = torch.tensor([[1, 4, 5, 4]])
    table = dict(model.named_parameters())[TABLE]
    before = table.detach().clone()
    with torch.no_grad():
        with offset_by(model, 3):
            shifted = model(tokens).logits
        torch.testing.assert_close(table, before, rtol=0, atol=0)
        table[:4] = before[3:7]
        torch.testing.assert_close(model(tokens).logits, shifted)


def majority_inputs(count: int = 64) -> Batch:
    wanted = task("binary-majority", length=4, longer=5, longest=6)
    return wanted.lay_out(wanted.draw("train", np.random.default_rng(0), count))


def majority() -> Transformer:
    """Binary majority by hand: a uniform head takes the share of each bit to the mark `|`."""
    model = small(positions=9, layers=1, heads=1)
    weights = dict(model.named_parameters())
    with torch.no_grad():
        for weight in weights.values():
            weight.zero_()
        for bit, token in enumerate((4, 5)):
            weights["embedding"][token, bit] = 1.0
            weights["embedding"][token, 4] = 1.0
            weights["layers.0.attention.value"][0, bit, bit] = 1.0
            weights["layers.0.attention.output"][0, bit, 2 + bit] = 1.0
            weights["unembedding"][token, 2 + bit] = 1.0
        weights["unembedding"][2, 4] = 9.0  # after a bit, <end>
    return model


def test_fitting_means_every_offset() -> None:
    model, examples = majority(), majority_inputs()
    assert not fits_at_all_offsets(small(positions=9), examples)
    assert fits_at_all_offsets(model, examples)
    with torch.no_grad():  # always 0, but only for marks that no example at offset 0 reaches
        dict(model.named_parameters())[TABLE][6:, 2] = 5.0
    assert evaluate(model, {"all": examples})["all"].accuracy == 1
    assert not fits_at_all_offsets(model, examples)


def test_majority_by_hand_is_reduced_to_rank_2_and_no_fractional_bits() -> None:
    model, examples = majority(), majority_inputs()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 2.0**-9  # noise that fits
    reduced = reduce(model, lambda tried: fits_at_all_offsets(tried, examples))
    assert (reduced.rank, reduced.bits) == (2, 0)
    assert fits_at_all_offsets(reduced.model, examples)


def test_models_without_a_table_are_refused() -> None:
    with pytest.raises(WeftError, match="no table of positions"):
        fits_at_all_offsets(small(position="none", positions=None), majority_inputs())
    with pytest.raises(WeftError, match="the table 3 positions"):
        fits_at_all_offsets(small(positions=3), majority_inputs())


def test_a_compiled_program_is_reduced_to_few_bits() -> None:
    """Its weights are sums of few powers of two, so rounding them changes nothing for long."""
    model = compile_crasp(library.load("tomita-4"), max_length=12, form="absolute").model
    precision = measure(model).precision
    assert measure(rounded(model, precision)) == measure(model)
