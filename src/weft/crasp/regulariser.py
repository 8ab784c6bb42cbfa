"""The regulariser of length generalisation, term by term, and its differentiable form.

Huang et al. (2025) choose, among the transformers of context n that fit all inputs of length up to
n/2 at every offset, one that minimises

    R(T) =  layers + heads
          + precision, the number of fractional bits of its parameters
          + max over heads of rank V
          + max norm of a parameter matrix or vector
          + max_i ||p_i||
          + sum over layers and heads of  sum_j |p_1 K^T Q p_j|^2

A function is a limit transformer with periodic and local positions if and only if R(T_n) stays
bounded in n. The last term bounds what far-apart positions, never seen together in training, add to
each other's scores. The authors' code averages it over all pairs instead of fixing p_1:

    sum over layers and heads of  (1/n) sum_j sum_(i >= j) (p_i Wq Wk^T p_j)^2

`measure` computes all terms of a model exactly. `penalties` are functions of its weights to add to
a loss: what is not differentiable has a surrogate, described at `penalties`. They use no
decomposition and no value of a tensor, so steps with them can be captured as CUDA graphs, compiled
and mapped over stacked weights by `torch.vmap`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from weft.crasp.position_products import position_term
from weft.errors import WeftError
from weft.models.transformer import Transformer

if TYPE_CHECKING:
    from jaxtyping import Float

TABLE = "position.parts.learned.table"
"""The parameter that holds the position vectors p."""
RANK_TOLERANCE = 1e-4
"""Singular values below this share of the largest do not count towards a rank."""
PENALTIES = ("position", "position_norm", "norm", "rank")
"""The differentiable terms, in the order in which they are reported."""

Weights = Mapping[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class RegulariserTerms:
    """The terms of R(T).

    Attributes:
        layers: number of layers; a looped layer counts as often as it is applied.
        heads: number of heads per layer.
        precision: fractional bits of the parameters: the least p such that all are multiples of
            2^-p. For trained models, those of their floating-point numbers.
        significant: significant bits of the parameter that needs most; at most 24 in float32.
        dtype: the number format of the parameters.
        rank: largest numerical rank of the value matrix of a head (values times output).
        norm: largest norm of a parameter: spectral for matrices, Euclidean for vectors.
        largest: the parameter that has it.
        position_norm: largest ||p_i||; 0 without positions.
        position: the position term of the theory, of scores as they enter softmax; None for
            positional encodings other than learned absolute ones.
        averaged: the position term as the authors' code averages it, without 1/sqrt(key width)
            and without norms; None likewise.
        positions: number of rows of the position table; 0 if there is none.
    """

    layers: int
    heads: int
    precision: int
    significant: int
    dtype: str
    rank: int
    norm: float
    largest: str
    position_norm: float
    position: float | None
    averaged: float | None
    positions: int

    @property
    def total(self) -> float | None:
        """R(T) with the theory's position term; None if that is not defined."""
        if self.position is None:
            return None
        return (
            self.layers + self.heads + self.precision + self.rank + self.norm
            + self.position_norm + self.position
        )  # fmt: skip

    def as_dict(self) -> dict[str, Any]:
        """The terms and their sum as plain values, for JSON."""
        return {**asdict(self), "total": self.total}


def measure(model: Transformer) -> RegulariserTerms:
    """Compute R(T) of a compiled or trained model, term by term, in float64.

    Example:
        >>> from weft.crasp import library
        >>> from weft.crasp.construction import compile_crasp
        >>> program = library.load("tomita-4")
        >>> terms = measure(compile_crasp(program, max_length=20, form="absolute").model)
        >>> terms.layers, terms.heads, terms.rank, terms.position
        (2, 3, 1, 131072.0)
    """
    if not isinstance(model, Transformer):
        raise WeftError(
            "the model is not a Transformer", remedy="The regulariser is that of Transformers"
        )
    config = model.config
    weights = {name: weight.detach().cpu() for name, weight in model.named_parameters()}
    wide = {name: weight.double() for name, weight in weights.items()}
    bits = [_bits(weight) for weight in weights.values()]
    norms = {name: _spectral_norm(weight) for name, weight in wide.items() if name != TABLE}
    largest = max(norms, key=lambda name: norms[name])
    table = wide.get(TABLE)
    defined = not config.encodings or config.encodings == ("learned",)
    defined = defined and config.offsets is None
    return RegulariserTerms(
        layers=(config.layers + config.encoder_layers) * config.loops,
        heads=config.heads,
        precision=max((fractional for fractional, _ in bits), default=0),
        significant=max((significant for _, significant in bits), default=0),
        dtype=config.dtype,
        rank=max((_rank(*pair) for pair in _value_pairs(wide)), default=0),
        norm=norms[largest],
        largest=largest,
        position_norm=0.0 if table is None else float(table.norm(dim=1).max()),
        position=None if not defined else 0.0 if table is None else position_term(model),
        averaged=float(penalty_of("position", wide)) if defined else None,
        positions=0 if table is None else len(table),
    )


def _bits(weight: Tensor) -> tuple[int, int]:
    """The fractional bits of the entry that needs most, and the significant bits likewise."""
    entries = weight.double().flatten()
    entries = entries[entries != 0]
    if not len(entries):
        return 0, 0
    mantissas, exponents = torch.frexp(entries)
    whole = (mantissas * 2.0**53).long()
    lowest = whole & -whole  # the last bit that is set
    last = torch.log2(lowest.double().abs()).long()  # exact: a power of two
    significant = 53 - last
    fractional = significant - exponents.long()
    return max(0, int(fractional.max())), int(significant.max())


def _spectral_norm(weight: Tensor) -> float:
    """The largest norm of a vector, of a matrix, or of a matrix per head."""
    if not weight.numel():
        return 0.0
    if weight.dim() < 2:
        return float(weight.norm())
    return float(torch.linalg.matrix_norm(weight, 2).max())


def _value_pairs(weights: Weights) -> list[tuple[Tensor, Tensor]]:
    """The values and outputs of all attention layers (heads, width, v and heads, v, width)."""
    names = [name.removesuffix("value") for name in weights if name.endswith("attention.value")]
    return [(weights[f"{name}value"], weights[f"{name}output"]) for name in names]


def _rank(value: Tensor, output: Tensor) -> int:
    """The largest numerical rank of a head's value matrix."""
    if not value.numel():
        return 0
    singular = torch.linalg.svdvals(value @ output)
    return int((singular > RANK_TOLERANCE * singular[:, :1]).sum(-1).max())


# As a loss


def penalties(weights: Weights) -> dict[str, Float[Tensor, ""]]:
    """The differentiable terms of R, each without a coefficient; see `penalty_of`.

    Args:
        weights: the parameters of a Transformer by name, as `dict(model.named_parameters())`.
    """
    return {term: penalty_of(term, weights) for term in PENALTIES}


def penalty_of(term: str, weights: Weights) -> Float[Tensor, ""]:
    """One differentiable term of R, as a pure function of a model's parameters.

    Args:
        term: one of

            position       the position term as in the authors' code, (1/n) sum over pairs i >= j;
                           a coefficient of 1e-4 means what it means in the paper. 0 without a
                           table of learned positions
            position_norm  max_i ||p_i||
            norm           max over parameters, except p, of the Frobenius norm of a matrix (of
                           each head) or vector, an upper bound of its spectral norm
            rank           sum over heads of (||W_v||^2 + ||W_o||^2) / 2, whose minimum over all
                           factorisations of V = W_v W_o is the nuclear norm of V
        weights: the parameters by name. With `torch.vmap`, of many models at once.
    """
    if term == "position":
        return _position_penalty(weights)
    if term == "position_norm":
        table = weights.get(TABLE)
        return _zero(weights) if table is None else torch.linalg.vector_norm(table, dim=-1).amax()
    if term == "norm":
        return torch.stack(
            [_frobenius(weight) for name, weight in weights.items() if name != TABLE]
        ).amax()
    if term == "rank":
        parts = [part.square().sum() for pair in _value_pairs(weights) for part in pair]
        return torch.stack(parts).sum() / 2
    raise WeftError(f"there is no penalty '{term}'", remedy=f"Use one of {', '.join(PENALTIES)}")


def total_penalty(
    weights: Weights, coefficients: Mapping[str, float | Tensor]
) -> Float[Tensor, ""]:
    """The sum of penalties times their coefficients; terms with the number 0 are not computed."""
    total = _zero(weights)
    for term, coefficient in coefficients.items():
        if isinstance(coefficient, Tensor) or coefficient:
            total = total + coefficient * penalty_of(term, weights)
    return total


def _zero(weights: Weights) -> Tensor:
    return next(iter(weights.values())).new_zeros(())


def _frobenius(weight: Tensor) -> Tensor:
    """The norm of a vector or matrix; the largest of the heads'."""
    if weight.dim() <= 2:
        norm: Tensor = torch.linalg.vector_norm(weight)
    else:
        norm = torch.linalg.vector_norm(weight, dim=(-2, -1)).amax()
    return norm


def _position_penalty(weights: Weights) -> Tensor:
    table = weights.get(TABLE)
    total = _zero(weights)
    if table is None:
        return total
    names = [
        name.removesuffix("query")
        for name in weights
        if name.startswith("layers.") and name.endswith(".attention.query")
    ]
    for name in names:
        queries, keys = table @ weights[f"{name}query"], table @ weights[f"{name}key"]
        products = queries @ keys.transpose(-1, -2)  # heads, i, j
        total = total + products.tril().square().sum()
    return total / table.shape[-2]


def growth(values: Mapping[int, float]) -> str:
    """How values grow with n, in a word: `bounded`, `linear`, or `n^x` with a fitted exponent.

    The exponent is the slope of log value against log n over the larger half of the lengths. It
    describes the lengths that were measured and proves nothing about others.

    Example:
        >>> growth({16: 5.0, 32: 5.0, 64: 5.0}), growth({16: 15.0, 32: 31.0, 64: 63.0})
        ('bounded', 'linear')
    """
    lengths = sorted(values)
    if len(lengths) < 2:
        return "unknown"
    low, high = lengths[(len(lengths) - 1) // 2], lengths[-1]
    low = low if low < high else lengths[0]
    if values[high] <= 0 or values[low] <= 0:
        return "bounded" if values[high] <= values[low] else "unknown"
    slope = math.log(values[high] / values[low]) / math.log(high / low)
    if slope < 0.05:
        return "bounded"
    return "linear" if abs(slope - 1) < 0.1 else f"n^{slope:.2f}"
