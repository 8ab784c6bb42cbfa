"""What is reported for program trace generation, in per cent of traces that are right as a whole.

The values are those that summaries of the paper give; most cells of its table are not among them.
Our splits have sizes of our own, so the values stand for an ordering of mechanisms, not for targets
(`ORDERINGS`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

SOURCE = "Sun (2025)"
IN_DISTRIBUTION = "train"

PUBLISHED: Mapping[str, Mapping[str, float]] = MappingProxyType({
    "NoPE": {
        "train": 99.8, "longer-programs": 46.5, "longer-traces-1": 91.6, "longer-traces-2": 14.2,
        "more-variables": 94.1, "longer-lists": 90.3,
    },
    "NoPE + Canon": {"longer-programs": 64.8, "longer-lists": 58.0},
    "RoPE": {"longer-traces-1": 78.5, "longer-traces-2": 3.9},
    "NaPE": {"train": 100.0, "longer-traces-2": 93.5},
})  # fmt: skip
"""By mechanism and split."""
AT_MOST: Mapping[str, Mapping[str, float]] = MappingProxyType({
    name: {"longer-traces-2": 40.0} for name in ("ALiBi", "FoX", "PaTH")
} | {"SWAN": {"longer-traces-2": 49.5}})  # fmt: skip
"""Upper bounds: of every other encoding, the paper says that it stays below 40% on the longest
traces, and of SWAN that it has at most 49.5% on any split that is not in distribution."""


@dataclass(frozen=True)
class Ordering:
    """On a split, one mechanism is reported to be better than another."""

    split: str
    better: str
    worse: str


def orderings() -> Iterator[Ordering]:
    """All pairs of mechanisms that the reported values and bounds order."""
    splits = dict.fromkeys(split for values in PUBLISHED.values() for split in values)
    for split in splits:
        if split == IN_DISTRIBUTION:
            continue
        values = {name: row[split] for name, row in PUBLISHED.items() if split in row}
        for better, high in values.items():
            for worse, low in values.items():
                if high > low:
                    yield Ordering(split, better, worse)
            for worse, bounds in AT_MOST.items():
                if split in bounds and high > bounds[split]:
                    yield Ordering(split, better, worse)


ORDERINGS = tuple(orderings())
"""The pairs that the values order; ours are compared with these."""


@dataclass(frozen=True)
class RankAgreement:
    """How many reported pairs our results order the same way.

    Attributes:
        same: how many.
        opposite: how many are ordered the other way.
        tied: how many are equal in our results.
        missing: how many we have no results for.
    """

    same: int
    opposite: int
    tied: int
    missing: int

    @property
    def tau(self) -> float | None:
        """Kendall's rank correlation over these pairs, between -1 and 1; None without any."""
        count = self.same + self.opposite + self.tied
        return (self.same - self.opposite) / count if count else None


def rank_agreement(accuracy: Callable[[str, str], float | None]) -> RankAgreement:
    """Compare our results with the reported orderings.

    Args:
        accuracy: our accuracy of a mechanism on a split; None if there is none that counts.

    Example:
        >>> ours = {("NaPE", "longer-traces-2"): 0.9, ("NoPE", "longer-traces-2"): 0.2}
        >>> found = rank_agreement(lambda name, split: ours.get((name, split)))
        >>> found.same, found.opposite, found.tau
        (1, 0, 1.0)
    """
    counts = {"same": 0, "opposite": 0, "tied": 0, "missing": 0}
    for pair in ORDERINGS:
        high, low = accuracy(pair.better, pair.split), accuracy(pair.worse, pair.split)
        if high is None or low is None:
            counts["missing"] += 1
        else:
            counts["same" if high > low else "opposite" if high < low else "tied"] += 1
    return RankAgreement(**counts)
