"""Fits of position products on tables whose form is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from weft.crasp.position_products import fit_positions, position_products
from weft.errors import WeftError
from weft.models import Transformer, TransformerConfig

LENGTH = 40


def model(table: np.ndarray, query: np.ndarray, key: np.ndarray) -> Transformer:
    """A model with one layer and one head, its table and its projections given."""
    config = TransformerConfig(
        vocabulary=2, outputs=2, width=table.shape[1], heads=1, hidden=(1,), kind="decoder",
        position="learned", positions=len(table), key_width=query.shape[1], scaled=False,
    )  # fmt: skip
    made = Transformer(config)
    state = made.state_dict()
    state["position.parts.learned.table"] = torch.from_numpy(table)
    state["layers.0.attention.query"] = torch.from_numpy(query)[None]
    state["layers.0.attention.key"] = torch.from_numpy(key)[None]
    made.load_state_dict(state)
    return made


def test_products_are_the_scores_that_the_positions_contribute() -> None:
    generator = np.random.default_rng(0)
    table, query, key = (generator.normal(size=(LENGTH, LENGTH)) for _ in range(3))
    products = position_products(model(table, query, key))
    assert products.shape == (1, 1, LENGTH, LENGTH)
    expected = (table[3] @ key) @ (table[7] @ query)
    np.testing.assert_allclose(products[0, 0, 3, 7], expected, rtol=1e-4)


@pytest.mark.parametrize("distance", [0, 1, 3])
def test_a_shift_is_local_and_prefers_its_distance(distance: int) -> None:
    one_hot = np.eye(LENGTH)
    [head] = fit_positions(model(one_hot, 5 * np.eye(LENGTH, k=-distance), one_hot))
    assert head.translation < 1e-6
    assert head.limit < 1e-6
    assert distance <= head.range <= distance + 1
    assert head.period == 1
    assert int(np.argmax(head.phi)) == distance
    wanted = "prefers i" + (f" - {distance}" if distance else "")
    assert head.description == wanted


@pytest.mark.parametrize("period", [2, 3, 5])
def test_a_periodic_table_is_recognised_with_its_period(period: int) -> None:
    table = np.eye(period)[np.arange(LENGTH) % period]
    [head] = fit_positions(model(table, 3 * np.eye(period), np.eye(period)))
    assert head.period == period
    assert head.limit < 1e-6
    assert head.periodicity < 1e-6
    assert f"period {period}" in head.description


def test_a_periodic_part_and_a_shift_are_fitted_together() -> None:
    table = np.concatenate([np.eye(LENGTH), np.eye(2)[np.arange(LENGTH) % 2]], axis=1)
    query = np.zeros((LENGTH + 2, LENGTH + 2))
    query[:LENGTH, :LENGTH] = 4 * np.eye(LENGTH, k=-1)
    query[LENGTH:, LENGTH:] = [[2, 0], [0, 1]]
    [head] = fit_positions(model(table, query, np.eye(LENGTH + 2)))
    assert (head.period, head.range) == (2, 1)
    assert head.limit < 1e-3
    assert head.translation > 0.01  # the periodic part is no function of the distance


def test_a_random_table_is_neither() -> None:
    generator = np.random.default_rng(1)
    table, query, key = (generator.normal(size=(LENGTH, LENGTH)) for _ in range(3))
    [head] = fit_positions(model(table, query, key))
    assert head.limit > 0.5
    assert head.description == "neither periodic nor local"


def test_what_all_keys_share_does_not_count() -> None:
    generator = np.random.default_rng(2)
    table = np.concatenate([generator.normal(size=(LENGTH, 1)), np.ones((LENGTH, 1))], axis=1)
    query, key = np.array([[3.0], [0.0]]), np.array([[0.0], [1.0]])  # A[j, i] = 3 r_i
    [head] = fit_positions(model(table, query, key))
    assert head.description == "uniform"


@pytest.mark.parametrize("norm_type", ["rms", "layer"])
def test_a_norm_before_attention_is_taken_into_account(norm_type: str) -> None:
    """Products are differences of scores of the model itself, if all tokens are the same."""
    config = TransformerConfig(
        vocabulary=1, outputs=2, width=16, heads=2, hidden=(4,), kind="decoder", norm="pre",
        norm_type=norm_type, position="learned", positions=LENGTH,
    )  # fmt: skip
    made = Transformer(config)
    torch.manual_seed(0)
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    scores: dict[str, torch.Tensor] = {}

    def keep(name: str, value: torch.Tensor) -> torch.Tensor:
        scores[name] = value
        return value

    made(torch.zeros(1, LENGTH, dtype=torch.long), hook=keep)
    query, key = scores["blocks.0.attn.hook_q"][0], scores["blocks.0.attn.hook_k"][0]
    actual = (key @ query.transpose(1, 2) / config.key_width**0.5).double().detach().numpy()
    products = position_products(made)[0]
    # Differences over keys and over queries remove what all positions share.
    second = np.diff(np.diff(actual, axis=1), axis=2)
    np.testing.assert_allclose(np.diff(np.diff(products, axis=1), axis=2), second, atol=1e-5)


def test_a_model_without_a_table_is_refused() -> None:
    config = TransformerConfig(
        vocabulary=2, outputs=2, width=4, heads=1, hidden=(1,), kind="decoder", position="rotary"
    )
    with pytest.raises(WeftError, match="no table of positions"):
        fit_positions(Transformer(config))
