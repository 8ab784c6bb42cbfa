"""The compiled feed-forward and its loss, as the ALTA paper's appendix B states them.

    g(θ, z) = W1 z + b1,   h = σ(g) with σ(x) = max(0, min(1, x)),   f(θ, z) = W2 h + z   (2 to 4)
    W1_jk = [constraint k is in rule j],   b1_j = 1 - N_j,   W2: -1 old, +1 new value    (8 to 10)
    L(θ, D, α) = α R(θ) + Σ_n ||f(θ, z^n) - f(θ^, z^n)||_1                               (15, 17)

R is the sum of magnitudes of W1, b1 and W2, or of their squares (remark in B.6). There is one
hidden unit per rule, and one value per constraint; resets of heads' outputs are left out (B.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from weft.errors import WeftError
from weft.interpreter.states import Ints
from weft.language.program import Program, Variable
from weft.language.ranges import Categorical, show_value
from weft.language.rules import Rule, check_defined, single_valued

Floats = NDArray[np.float64]
Regulariser = Literal["l1", "l2"]


@dataclass(frozen=True, eq=False)
class Weights:
    """θ = <W1, b1, W2>, or one number for each of its entries."""

    first: Floats
    bias: Floats
    second: Floats


@dataclass(frozen=True, eq=False)
class Construction:
    """The units of a rule set: which dimensions each reads and writes.

    Attributes:
        variables: the program's variables; their values are the dimensions, side by side.
        rules: one per unit, each with one value per constraint.
    """

    variables: Mapping[str, Variable]
    rules: tuple[Rule, ...]

    def __len__(self) -> int:
        return len(self.rules)

    @cached_property
    def starts(self) -> dict[str, int]:
        """The first dimension of every variable."""
        sizes = [len(variable) for variable in self.variables.values()]
        return dict(zip(self.variables, np.cumsum([0, *sizes]).tolist(), strict=False))

    @property
    def width(self) -> int:
        """N_Z: the number of dimensions."""
        return sum(len(variable) for variable in self.variables.values())

    def dimension(self, name: str, value: Any) -> int:
        """m(k, v) of eq. 1."""
        return self.starts[name] + self.variables[name].range.codes[value]

    def describe(self, dimension: int) -> str:
        """A dimension as `variable=value`."""
        name = max(
            (n for n, start in self.starts.items() if start <= dimension),
            key=self.starts.__getitem__,
        )
        value = self.variables[name].range.values[dimension - self.starts[name]]
        return f"{name}={show_value(value)}"

    @cached_property
    def reads(self) -> Ints:
        """For every unit the dimensions of its constraints, padded with -1."""
        longest = max((len(rule.antecedent) for rule in self.rules), default=0)
        reads = np.full((len(self), longest), -1, np.int64)
        for unit, rule in enumerate(self.rules):
            for place, (name, (value,)) in enumerate(rule.antecedent):
                reads[unit, place] = self.dimension(name, value)
        return reads

    @cached_property
    def constraints(self) -> Ints:
        """N_j: the number of constraints of each rule."""
        count: Ints = (self.reads >= 0).sum(1)
        return count

    @property
    def biases(self) -> Floats:
        """b1 (eq. 9)."""
        return 1.0 - self.constraints.astype(np.float64)

    @cached_property
    def writes(self) -> tuple[Ints, Ints]:
        """For every unit the dimensions of the old and the new value; -1 if there is none."""
        old = [self.dimension(rule.variable, rule.old) for rule in self.rules]
        new = [-1 if r.is_reset else self.dimension(r.variable, r.new) for r in self.rules]
        return np.array(old, np.int64), np.array(new, np.int64)

    @cached_property
    def strength(self) -> Ints:
        """Σ_i |W2_ij|: 2, less for resets (1) and for rules whose new value is the old one (0)."""
        old, new = self.writes
        return np.where(old == new, 0, np.where(new < 0, 1, 2)).astype(np.int64)

    def weights(self) -> Weights:
        """θ^ (eq. 8 to 10)."""
        units = np.arange(len(self))
        first = np.zeros((len(self), self.width))
        rows, places = np.nonzero(self.reads >= 0)
        first[rows, self.reads[rows, places]] = 1.0
        second = np.zeros((self.width, len(self)))
        old, new = self.writes
        second[old, units] -= 1.0
        kept = new >= 0
        second[new[kept], units[kept]] += 1.0
        return Weights(first, self.biases, second)


def require_categorical(program: Program) -> None:
    """Raise a `WeftError` unless all variables are categorical, as the appendix assumes (B.1)."""
    for name, variable in program.variables.items():
        if not isinstance(variable.range, Categorical):
            raise WeftError(
                f"'{name}' is a {type(variable.range).__name__.lower()}; the theorems on compiled "
                "weights hold for categorical variables only",
                subject=program.name,
                where=variable.where,
                remedy="Choose a program all of whose variables are categorical",
            )


def paper_rules(rules: Iterable[Rule], *, resets: bool = False) -> Iterator[Rule]:
    """Expand rules to the paper's form: one value per constraint, without the resets of heads.

    Example:
        >>> import weft
        >>> from weft.theory.optimum.reconstruction import paper_rules
        >>> len(list(paper_rules(weft.program("addition").rules)))
        16420
    """
    for rule in rules:
        if not rule.is_reset or resets:
            check_defined(rule, "no unit that reads one-hot values")
            yield from single_valued(rule)


def construct(
    variables: Mapping[str, Variable], rules: Iterable[Rule], *, resets: bool = False
) -> Construction:
    """The units of these rules, expanded to one value per constraint."""
    return Construction(variables, tuple(paper_rules(rules, resets=resets)))
