"""Exact one-sided derivatives of the regularised reconstruction loss at the compiled weights.

At θ^ the loss of every state is zero (eq. 16), and each parameter changes one unit only. With c_j =
Σ_i |W2_ij|, a step ε of a parameter raises the loss (appendix B.8, eq. 35, 39, 46):

    parameter    by |ε| times, for ε > 0             by |ε| times, for ε < 0
    W2_ij        states with g_j = 1                 the same
    b1_j         c_j * states with g_j = 0           c_j * states with g_j = 1
    W1_jk        c_j * those of them with z_k = 1    c_j * those of them with z_k = 1

The regulariser adds ±α (L1), or 2αw (squared L2). These are equalities, not bounds, as long as |ε|
is below 1: the loss is linear on either side, plus αε² for L2. So the point is a strict minimum in
a coordinate if and only if left < 0 < right; for L2, since ε² decides ties, if and only if
left <= 0 <= right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.errors import WeftError
from weft.interpreter.states import Ints, StateSet
from weft.theory.optimum.kinks import KinkCounts, count_kinks, count_kinks_with
from weft.theory.optimum.reconstruction import Construction, Floats, Regulariser, Weights


@dataclass(frozen=True)
class Penalty:
    """The regulariser α R(θ)."""

    alpha: float
    kind: Regulariser = "l1"

    def __post_init__(self) -> None:
        if self.kind not in ("l1", "l2"):
            raise WeftError(f"there is no regulariser '{self.kind}'", remedy="Give l1 or l2")
        if not 0 < self.alpha < np.inf:
            raise WeftError(
                f"alpha is {self.alpha}", remedy="Give a number above 0, as in the paper"
            )

    def left(self, weights: Floats) -> Floats:
        """Its left derivative at some weights (eq. 20)."""
        return self._slope(weights, np.where(weights > 0, 1.0, -1.0))

    def right(self, weights: Floats) -> Floats:
        """Its right derivative at some weights (eq. 21)."""
        return self._slope(weights, np.where(weights < 0, -1.0, 1.0))

    def _slope(self, weights: Floats, signs: Floats) -> Floats:
        return self.alpha * (signs if self.kind == "l1" else 2.0 * weights)

    def is_strict(self, left: Floats, right: Floats) -> NDArray[np.bool_]:
        """Which of these derivatives are those of a strict minimum."""
        if self.kind == "l1":
            return (left < 0) & (right > 0)
        return (left <= 0) & (right >= 0)


@dataclass(frozen=True, eq=False)
class Derivatives:
    """The left and the right derivative of the loss in every parameter."""

    left: Weights
    right: Weights


def one_sided(
    penalty: Penalty, weights: Floats, falling: Ints, rising: Ints
) -> tuple[Floats, Floats]:
    """Both derivatives, from the slopes of the reconstruction loss on either side."""
    return penalty.left(weights) - falling, penalty.right(weights) + rising


def bias_derivatives(
    construction: Construction, counts: KinkCounts, penalty: Penalty
) -> tuple[Floats, Floats]:
    """Both derivatives in every b1_j (eq. 42)."""
    strength = construction.strength
    return one_sided(penalty, construction.biases, strength * counts.fires, strength * counts.near)


def derivatives(construction: Construction, states: StateSet, penalty: Penalty) -> Derivatives:
    """Both derivatives in every parameter, zero ones included: dense, like the weights.

    Example:
        >>> import weft
        >>> from weft.theory.optimum.derivatives import Penalty, derivatives
        >>> from weft.theory.optimum.reconstruction import construct
        >>> from weft.interpreter.states import states_of
        >>> parity = weft.program("parity")
        >>> units = construct(parity.variables, parity.rules)
        >>> slopes = derivatives(units, states_of(parity, ["101", "11"]), Penalty(0.5))
        >>> slopes.left.bias.tolist(), slopes.right.bias.tolist()
        ([-2.5, -4.5, -10.5], [5.5, 9.5, 15.5])
    """
    at = construction.weights()
    fires, near = count_kinks_with(construction, states)
    strength = construction.strength[:, None]
    first = one_sided(penalty, at.first, strength * fires, strength * near)
    counts = count_kinks(construction, states)
    bias = bias_derivatives(construction, counts, penalty)
    firing = np.broadcast_to(counts.fires, at.second.shape)
    second = one_sided(penalty, at.second, firing, firing)
    left, right = zip(first, bias, second, strict=True)
    return Derivatives(Weights(*left), Weights(*right))
