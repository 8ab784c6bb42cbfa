"""The regulariser: every term against a plain reference, growth, and gradients."""

from __future__ import annotations

import pytest
import torch

from weft.crasp import library
from weft.crasp.construction import compile_crasp
from weft.crasp.regulariser import (
    PENALTIES,
    TABLE,
    _bits,
    growth,
    measure,
    penalties,
    penalty_of,
    total_penalty,
)
from weft.errors import WeftError
from weft.models import Transformer, TransformerConfig
from weft.models.init import initialise

LENGTHS = (8, 16, 32)


def small(position: str = "learned", **changes: object) -> Transformer:
    values = {
        "vocabulary": 4, "outputs": 2, "width": 8, "heads": 2, "hidden": (8,), "layers": 2,
        "kind": "decoder", "position": position, "dtype": "float64",
        "positions": 6 if position == "learned" else None, **changes,
    }  # fmt: skip
    model = Transformer(TransformerConfig(**values))  # type: ignore[arg-type]
    initialise(model, "fan-in", seed=0)
    return model


def non_local(n: int) -> Transformer:
    """One head that gives every earlier position j < i the score 1."""
    model = small(width=n, heads=1, key_width=n, value_width=1, layers=1, positions=n, scaled=False)
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
        weights = dict(model.named_parameters())
        weights[TABLE].copy_(torch.eye(n))
        weights["layers.0.attention.key"].copy_(torch.eye(n)[None])
        weights["layers.0.attention.query"].copy_(torch.ones(n, n).tril(-1)[None])
    return model


def plain_position(model: Transformer) -> torch.Tensor:
    """The authors' formula, pair by pair."""
    weights = dict(model.named_parameters())
    table, total = weights[TABLE], torch.zeros((), dtype=torch.float64)
    for layer in range(model.config.layers):
        for head in range(model.config.heads):
            query = weights[f"layers.{layer}.attention.query"][head]
            key = weights[f"layers.{layer}.attention.key"][head]
            for i in range(len(table)):
                for j in range(i + 1):
                    total = total + (table[i] @ query @ key.T @ table[j]) ** 2
    return total / len(table)


def test_position_penalty_and_its_gradient_equal_the_plain_formula() -> None:
    model = small()
    weights = dict(model.named_parameters())
    names = [name for name in weights if name == TABLE or name.endswith(("query", "key"))]
    inputs = [weights[name] for name in names]
    ours = penalty_of("position", weights)
    plain = plain_position(model)
    torch.testing.assert_close(ours, plain, rtol=1e-12, atol=0)
    for mine, wanted in zip(
        torch.autograd.grad(ours, inputs), torch.autograd.grad(plain, inputs), strict=True
    ):
        torch.testing.assert_close(mine, wanted, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("term", PENALTIES)
def test_gradients_pass_gradcheck(term: str) -> None:
    weights = dict(small().named_parameters())
    names = list(weights)

    def function(*tensors: torch.Tensor) -> torch.Tensor:
        return penalty_of(term, dict(zip(names, tensors, strict=True)))

    # Vectors that start at zero have a corner there: move them away from it.
    moved = [w.detach() + 0.1 * torch.arange(1, w.numel() + 1).view_as(w) for w in weights.values()]
    assert torch.autograd.gradcheck(function, [part.requires_grad_() for part in moved])


def test_rank_penalty_bounds_the_nuclear_norm_and_meets_it_when_balanced() -> None:
    model = small(layers=1, heads=1)
    weights = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    value, output = (weights[f"layers.0.attention.{name}"] for name in ("value", "output"))
    matrix = value[0] @ output[0]
    nuclear = torch.linalg.matrix_norm(matrix, "nuc")
    assert penalty_of("rank", weights) >= nuclear
    left, singular, right = torch.linalg.svd(matrix, full_matrices=False)
    value[0], output[0] = left * singular.sqrt(), singular.sqrt()[:, None] * right
    torch.testing.assert_close(penalty_of("rank", weights), nuclear)


def test_penalties_map_over_stacked_weights() -> None:
    models = [small(), small()]
    initialise(models[1], "fan-in", seed=1)
    each = [dict(model.named_parameters()) for model in models]
    stacked = {name: torch.stack([weights[name] for weights in each]) for name in each[0]}
    coefficients = torch.tensor([0.5, 2.0], dtype=torch.float64)
    mapped = torch.vmap(
        lambda weights, a: total_penalty(weights, {"position": a, "norm": 0.1, "rank": 0.0})
    )(stacked, coefficients)
    for got, weights, a in zip(mapped, each, coefficients, strict=True):
        wanted = total_penalty(weights, {"position": float(a), "norm": 0.1})
        torch.testing.assert_close(got, wanted)


def test_terms_of_a_trained_model() -> None:
    model = small(norm="none", scaled=True)
    terms = measure(model)
    assert (terms.layers, terms.heads, terms.rank) == (2, 2, 4)
    assert terms.position_norm == pytest.approx(float(model.state_dict()[TABLE].norm(dim=1).max()))
    assert terms.averaged == pytest.approx(float(plain_position(model).detach()))
    assert terms.total is not None
    assert terms.as_dict()["total"] == terms.total


def test_translation_invariant_heads_have_nearly_equal_position_terms() -> None:
    """For phi(i - j), the two forms differ only near the first position."""
    compiled = compile_crasp(library.load("tomita-4"), max_length=64, form="absolute").model
    terms = measure(compiled)
    assert terms.position is not None
    assert terms.averaged == pytest.approx(terms.position, rel=0.1)


def test_models_without_positions_have_no_position_term_and_others_no_definition() -> None:
    none = measure(small("none"))
    assert (none.position, none.averaged, none.position_norm, none.positions) == (0.0, 0.0, 0.0, 0)
    assert float(penalties(small("none").state_dict())["position_norm"]) == 0
    rotary = measure(small("rotary"))
    assert rotary.position is rotary.averaged is rotary.total is None


@pytest.mark.parametrize("name", ["tomita-4", "majority"])
def test_the_position_term_of_compiled_programs_is_bounded(name: str) -> None:
    program = library.load(name)
    terms = {
        n: measure(compile_crasp(program, max_length=n, form="absolute").model) for n in LENGTHS
    }
    positions = {n: some.position or 0.0 for n, some in terms.items()}
    assert growth(positions) == "bounded"
    assert len({(some.rank, some.position_norm) for some in terms.values()}) == 1


def test_the_position_term_of_a_non_local_head_grows_linearly() -> None:
    values = {n: measure(non_local(n)).position or 0.0 for n in LENGTHS}
    assert values == {n: n - 1.0 for n in LENGTHS}
    assert growth(values) == "linear"


def test_fractional_and_significant_bits() -> None:
    assert _bits(torch.tensor([0.0, 4.0])) == (0, 1)
    assert _bits(torch.tensor([0.75, -3.0])) == (2, 2)
    assert _bits(torch.tensor([2.0**-10, 1 + 2.0**-23])) == (23, 24)
    assert _bits(torch.zeros(3)) == (0, 0)


def test_unknown_penalties_are_refused() -> None:
    with pytest.raises(WeftError, match="no penalty 'depth'"):
        penalty_of("depth", dict(small().named_parameters()))
