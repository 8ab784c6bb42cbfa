"""What the heads of trained models do with positions, and what a task needs of them.

A task that is predicted to generalise with absolute positions has a program, and the program's
positional predicates say which heads a model must have: one that counts evenly over all positions
(uniform), one that attends to j = i - d, or one that tells residues modulo m apart. If a seed fails
though it is predicted to succeed, its heads are matched to these, and what no head does is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.studies.length.records import HeadRole

if TYPE_CHECKING:
    from weft.models.transformer import Transformer

MISFIT = 0.5
"""A head whose position products are less well explained than this matches nothing."""
WEAK = 0.05
"""Products that vary by less than this, in logits, do not tell positions apart."""


@dataclass(frozen=True)
class Needs:
    """The heads that the known program of a task needs.

    Attributes:
        distances: a head that attends to j = i - d for each of these d.
        period: residues modulo this are needed; 1 for none.
        uniform: whether a head that ignores positions is needed.
    """

    distances: tuple[int, ...] = ()
    period: int = 1
    uniform: bool = False

    def __str__(self) -> str:
        parts = [f"a head at j = i - {distance}" for distance in self.distances]
        parts += [f"positions modulo {self.period}"] if self.period > 1 else []
        parts += ["a uniform head"] if self.uniform else []
        return ", ".join(parts) or "nothing of positions"


ALGORITHMIC_NEEDS = {
    "binary-majority": Needs(uniform=True),
    "letter-majority": Needs(uniform=True),
    "interleaved-majority": Needs(period=3),
    "sorting": Needs(uniform=True),
    "unique-copy": Needs(distances=(1,)),
}
"""By task, what its C-RASP program needs; tasks without a program are left out."""


def needs_of(config: Mapping[str, Any]) -> Needs | None:
    """What the program of a run's task needs, by its config as plain values.

    Of a regular language, the smallest unfolding says it: a head for each symbol that is looked
    back at, and a period. The last symbol itself needs no head.

    Returns:
        None if no program is known, or if there is none.

    Example:
        >>> asked = {"language": "tomita-4", "target": "membership"}
        >>> str(needs_of({"task": "formal-language", "parameters": asked}))
        'a head at j = i - 1, a head at j = i - 2'
    """
    parameters = config["parameters"]
    if config["task"] != "formal-language":
        needs = ALGORITHMIC_NEEDS.get(config["task"])
        stride = parameters.get("stride", 1)
        return Needs(distances=(stride,)) if needs and stride > 1 else needs
    from weft.automata import LANGUAGES

    if parameters["language"] not in LANGUAGES:
        return Needs(uniform=True)  # the counter languages have programs without positions
    return _language_needs(parameters["language"], parameters.get("target", "next"))


@cache
def _language_needs(name: str, target: str) -> Needs | None:
    from weft.automata import language
    from weft.theory.length.legal import legal_unfolding
    from weft.theory.length.unfolding import unfold

    dfa = language(name).dfa
    if target == "next":
        found = legal_unfolding(dfa)
    else:
        unfolding = unfold(dfa)
        found = None if unfolding is None else (unfolding.period, unfolding.window)
    if found is None:
        return None
    period, window = found
    return Needs(
        distances=tuple(range(1, window + 1)),
        period=period,
        uniform=period == 1 and not window,
    )


def head_roles(model: Transformer) -> tuple[HeadRole, ...]:
    """The roles of all heads of a model with learned positions."""
    from weft.crasp.position_products import fit_positions

    roles = []
    for fit in fit_positions(model):
        near = fit.phi[: fit.range + 1]
        best = int(np.argmax(near))
        prefers = len(fit.phi) > fit.range + 1 and near[best] - np.median(fit.phi) > WEAK
        roles.append(
            HeadRole(
                layer=fit.layer + 1,
                head=fit.head + 1,
                description=fit.description,
                spread=round(fit.spread, 4),
                distance=best if prefers and fit.limit <= MISFIT and fit.spread >= WEAK else None,
                period=fit.period if fit.limit <= MISFIT and fit.spread >= WEAK else 1,
                misfit=round(fit.limit, 4),
            )
        )
    return tuple(roles)


def missing(heads: Sequence[HeadRole], needs: Needs) -> list[str]:
    """What no head does, of what a task needs.

    A period may be read off the table directly, so for a period this is evidence only.

    Example:
        >>> one = HeadRole(layer=1, head=1, description="prefers i - 1", spread=1.0, distance=1,
        ...                period=1, misfit=0.1)
        >>> missing([one], Needs(distances=(1, 2)))
        ['no head attends to j = i - 2']
    """
    lacking = [
        f"no head attends to j = i - {distance}"
        for distance in needs.distances
        if all(head.distance != distance for head in heads)
    ]
    if needs.period > 1 and all(head.period % needs.period for head in heads):
        lacking.append(f"no head tells positions modulo {needs.period} apart")
    if needs.uniform and all(head.spread >= WEAK for head in heads):
        lacking.append("no head is uniform over positions")
    return lacking
