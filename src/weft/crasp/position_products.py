"""How a model with learned absolute positions uses them, head by head.

In the theory, a head of a limit transformer scores a key at position j for a query at position i by

    y_j K^T Q y_i + phi(j, i)

with positions in y of some period (PERIODIC), and phi a function of i - j that is zero beyond some
range (LOCAL). A trained model has a table p of positions instead. Its products

    A[j, i] = p_j K^T Q p_i

are what phi and the periodic part are fitted to, for the pairs j <= i. Softmax ignores what is the
same for all keys of a query, so every fit also has a constant per query. A deviation is the share
of the variance of A, beyond those constants, that a fit leaves: 0 if the model is of that form.

Without a norm, p is the table itself, as in the regulariser of Huang et al. (2025). With pre-norm,
p is what the first norm makes of it: the mean over all tokens of norm(E + p), less its mean over
positions, times the gain of the layer. What earlier layers add is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from weft.errors import WeftError
from weft.models.positions.learned import Learned
from weft.models.transformer import Transformer

if TYPE_CHECKING:
    from jaxtyping import Float, Int

Array = NDArray[np.float64]
Groups = NDArray[np.int64]

MAX_POSITIONS = 512
"""Longer tables are judged by this many positions, from the first on."""
MAX_PERIOD = 8
RANGES = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
ENOUGH = 0.01
"""A larger period or range is preferred only if it lowers the deviation by more than this."""
FLAT = 0.05
"""Products that vary by less than this, in logits, are called uniform."""


@dataclass(frozen=True, eq=False)
class HeadPositions:
    """What one head does with positions.

    Attributes:
        layer: the layer, from 0.
        head: the head, from 0.
        spread: standard deviation of the products over the keys of a query, in logits.
        phi: the products fitted by a function of the distance i - j, in logits; mean 0.
        translation: deviation from a function of the distance.
        period: the period that fits best.
        periodicity: deviation from that period among pairs beyond the range.
        range: the distance beyond which a function of the distance may as well be constant.
        locality: deviation from a function of the distance that is constant beyond the range.
        limit: deviation from period and range together, the form of a limit transformer.
    """

    layer: int
    head: int
    spread: float
    phi: Float[Array, " distances"]
    translation: float
    period: int
    periodicity: float
    range: int
    locality: float
    limit: float

    def as_dict(self) -> dict[str, Any]:
        """The fit as plain values, for JSON; layers and heads count from 0."""
        return {**asdict(self), "phi": self.phi.tolist(), "description": self.description}

    @property
    def description(self) -> str:
        """The head in a few words."""
        if self.spread < FLAT:
            return "uniform"
        if self.limit > 0.5:
            return "neither periodic nor local"
        parts = []
        near = self.phi[: self.range + 1]
        distance = int(np.argmax(near))
        if near[distance] - np.median(self.phi) > FLAT and len(self.phi) > self.range + 1:
            parts.append("prefers " + ("i" if distance == 0 else f"i - {distance}"))
        if self.period > 1:
            parts.append(f"period {self.period}")
        return ", ".join(parts) or "weakly local"


def position_products(model: Transformer) -> Float[Array, "layers heads positions positions"]:
    """The products A[layer, head, j, i] of a model with learned positions, as they enter softmax.

    Args:
        model: a decoder or encoder with `position="learned"`, alone or with others.
    """
    pairs = _queries_and_keys(model, MAX_POSITIONS)
    return torch.stack([keys @ queries.transpose(1, 2) for queries, keys in pairs]).numpy()


def _queries_and_keys(
    model: Transformer, positions: int | None = None
) -> list[tuple[Float[Tensor, "heads positions key"], Float[Tensor, "heads positions key"]]]:
    """By layer, the queries (scaled) and keys that positions contribute; all, or the first few."""
    tables = [part for part in model.position.modules() if isinstance(part, Learned)]
    if not tables:
        raise WeftError(
            f"the model has no table of positions (its encoding is '{model.config.position}')",
            remedy="Give a model with learned absolute positions",
        )
    weights = {name: tensor.detach().cpu().double() for name, tensor in model.state_dict().items()}
    table = tables[0].table.detach().cpu().double()[:positions]
    scale = model.config.key_width**-0.5 if model.config.scaled else 1.0
    gains: list[Tensor | float] = [1.0] * model.config.layers
    if model.config.norm == "pre":
        table = _normed(table, weights["embedding"], centre=model.config.norm_type == "layer")
        gains = [weights[f"layers.{layer}.norms.0.gain"] for layer in range(model.config.layers)]
    pairs = []
    for layer, gain in enumerate(gains):
        queries, keys = (
            (table * gain) @ weights[f"layers.{layer}.attention.{name}"]
            for name in ("query", "key")
        )  # heads, positions, k
        pairs.append((scale * queries, keys))
    return pairs


def _normed(
    table: Float[Tensor, "positions width"],
    embedding: Float[Tensor, "tokens width"],
    *,
    centre: bool,
) -> Float[Tensor, "positions width"]:
    """What positions contribute to a normed stream, on average over tokens."""
    total = torch.zeros_like(table)
    for token in embedding:
        stream = table + token
        if centre:
            stream = stream - stream.mean(-1, keepdim=True)
        total += stream / stream.square().mean(-1, keepdim=True).add(1e-6).sqrt()
    mean = total / len(embedding)
    return mean - mean.mean(0)


def position_term(model: Transformer) -> float:
    """The position term of the theory's regulariser: sum over layers, heads and i of |A[0, i]|^2.

    It is bounded in the length of the table for heads that are local, and grows with it for others.

    Example:
        >>> from weft.crasp import library
        >>> from weft.crasp.construction import compile_crasp
        >>> program = library.load("tomita-4")
        >>> [position_term(compile_crasp(program, max_length=n, form="absolute").model)
        ...  for n in (20, 80)]
        [131072.0, 131072.0]
    """
    return sum(
        float((keys[:, :1] @ queries.transpose(1, 2)).square().sum())
        for queries, keys in _queries_and_keys(model)
    )


def fit_positions(model: Transformer) -> list[HeadPositions]:
    """Fit phi, a period and a range to every head of a model with learned positions.

    Args:
        model: a model with learned absolute positions.

    Example:
        >>> from weft.models import TransformerConfig, build_model
        >>> config = TransformerConfig(vocabulary=3, outputs=2, width=8, heads=1, hidden=(8,),
        ...                            kind="decoder", position="learned", positions=32)
        >>> [head] = fit_positions(build_model(config))  # not initialised: all zeros
        >>> head.description, head.limit
        ('uniform', 0.0)
    """
    products = position_products(model)
    keys, queries = np.triu_indices(products.shape[-1])  # j <= i
    return [
        _fit(layer, head, products[layer, head][keys, queries], keys, queries)
        for layer in range(products.shape[0])
        for head in range(products.shape[1])
    ]


def _fit(layer: int, head: int, values: Array, keys: Groups, queries: Groups) -> HeadPositions:
    distances = queries - keys
    spread = float(np.std(_without_means(values, queries)))
    translation, phi = _unexplained(values, queries, [distances])
    limits = [limit for limit in RANGES if limit < distances.max()] or [0]
    # A range is long enough if the fit with a distance of its own for more pairs is no better.
    localities = {
        limit: _unexplained(values, queries, [np.minimum(distances, limit + 1)])[0]
        for limit in limits
    }
    periods = range(1, min(MAX_PERIOD, int(distances.max())) + 1)
    combined: dict[tuple[int, int], float] = {}
    for period in periods:
        residues = (queries % period) * period + keys % period
        for limit in limits:
            near = np.minimum(distances, limit + 1)
            combined[period, limit] = _unexplained(values, queries, [residues, near])[0]
            if combined[period, limit] < 1e-9:
                break
    least = min(combined.values())
    period, limit = min(
        (pair for pair, deviation in combined.items() if deviation <= least + ENOUGH),
        key=lambda pair: pair[0] ** 2 + pair[1],
    )
    far = distances > limit
    residues = (queries % period) * period + keys % period
    periodicity = _unexplained(values[far], queries[far], [residues[far]])[0] if far.any() else 0.0
    return HeadPositions(
        layer=layer,
        head=head,
        spread=spread,
        phi=phi - phi.mean(),
        translation=translation,
        period=period,
        periodicity=periodicity,
        range=limit,
        locality=localities[limit],
        limit=combined[period, limit],
    )


def _unexplained(
    values: Float[Array, " pairs"],
    queries: Int[Groups, " pairs"],
    families: Sequence[Int[Groups, " pairs"]],
    iterations: int = 50,
) -> tuple[float, Array]:
    """Fit a constant per query plus a constant per group of each family, by backfitting.

    Returns the share of the variance within queries that is left, and the constants of the groups
    of the first family.
    """
    left = _without_means(values, queries)
    total = float(left @ left)
    fitted = np.zeros(int(families[0].max()) + 1)
    if total <= 1e-18 * max(1.0, float(values @ values)):
        return 0.0, fitted
    before = total
    for _ in range(iterations):
        for number, groups in enumerate(families):
            means = _means(left, groups)
            left = left - means[groups]
            if number == 0:
                fitted += means
        left = _without_means(left, queries)
        now = float(left @ left)
        if before - now <= 1e-6 * total:
            break
        before = now
    return min(1.0, float(left @ left) / total), fitted


def _means(values: Array, groups: Groups) -> Array:
    sums = np.bincount(groups, values)
    means: Array = sums / np.maximum(1, np.bincount(groups))
    return means


def _without_means(values: Array, groups: Groups) -> Array:
    return values - _means(values, groups)[groups]
