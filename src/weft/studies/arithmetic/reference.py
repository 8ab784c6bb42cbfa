"""Published accuracies of Xu et al. (2025) by number of digits, in per cent of exact match.

Each value is of one model, most of them MiniGPT with learned absolute positions, tested on up to
10,000 examples per length. Outputs that do not end are left out of the paper's denominators. Where
the paper prints only "0" for all further lengths, these are zeros here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SOURCE = "Xu et al. (2025)"
LENGTHS = tuple(range(1, 10))


@dataclass(frozen=True, kw_only=True)
class Published:
    """What the paper reports for one model.

    Attributes:
        truth: exact match of the true answer by number of digits, in per cent.
        truncated: the same for the operation on the last n digits; empty if it is not reported.
        remark: what differs from our row; empty if nothing is known to.
    """

    truth: Mapping[int, float]
    truncated: Mapping[int, float]
    remark: str = ""


def _by_length(values: tuple[float, ...], first: int = 1) -> dict[int, float]:
    return dict(enumerate(values, first))


def _published(
    truth: tuple[float, ...],
    truncated: tuple[float, ...] = (),
    *,
    first: int = 1,
    remark: str = "",
) -> Published:
    return Published(truth=_by_length(truth, first), truncated=_by_length(truncated), remark=remark)


ALL = (100.0,) * 9
MICRO = "the paper's model is MicroGPT"

PUBLISHED: Mapping[tuple[str, str, str], Published] = {
    ("addition", "–", "D4"): _published((*ALL[:4], 0, 0, 0, 0, 0), ALL),
    ("addition", "–", "D~4"): _published(
        (100, 100, 72.6, 100, 0, 0, 0, 0, 0),
        (100, 99.9, 72.3, 100, 99.7, 99.7, 99.6, 99.7, 99.5),
    ),
    ("addition", "–", "D4+D5"): _published((*ALL[:5], 0, 0, 0, 0), ALL),
    ("modular addition", "100", "D4"): _published(ALL[:6], first=4),
    ("modular addition", "101", "D4"): _published((100, 0.0, 1.2, 0.9, 1.1, 1.0), first=4),
    ("modular addition", "150", "D4"): _published(
        (100, 100, 100, 100, 33.2, 33.6, 32.3, 33.0, 33.7),
        remark="the paper's training set has 1 to 4 digits (D_1234)",
    ),
    ("modular addition", "51", "D4"): _published((99.3, 0.3, 1.8, 1.9, 1.9, 1.6), first=4),
    ("multiplication", "–", "D1+D2"): _published(
        (100, 100, 0.1, 0, 0, 0, 0, 0, 0),
        (100, 99.9, 93.0, 90.1, 86.0, 82.6, 80.6, 78.2, 77.7),
        remark=MICRO,
    ),
    ("multiplication", "–", "D2"): _published(
        (80, 99.4, 0.1, 0, 0, 0, 0, 0, 0),
        (85, 99.4, 98.1, 96.7, 89.0, 88.9, 88.4, 89.8, 88.7),
        remark=MICRO,
    ),
    ("multiplication", "–", "D3"): _published(
        (100, 96.4, 99.0, 0, 0, 0, 0, 0, 0),
        (100, 96.2, 98.8, 98.9, 99.0, 97.9, 97.9, 97.2, 97.1),
    ),
    ("modular multiplication", "50", "D3"): _published(ALL),
    ("modular multiplication", "100", "D3"): _published(ALL),
    ("modular multiplication", "51", "D3"): _published(
        (100, 100, 99.7, 2.6, 2.5, 2.8, 2.4, 2.5, 3.2)
    ),
    ("modular multiplication", "150", "D3"): _published(
        (60, 54.6, 52.4, 52.6, 53.1, 52.7, 53.8, 53.0, 53.3), remark="52.4% in distribution"
    ),
    ("modular multiplication", "200", "D3"): _published(
        (10, 62.7, 63.0, 62.9, 62.2, 61.6, 61.8, 62.5, 62.9), remark="63.0% in distribution"
    ),
    ("modular multiplication", "201", "D3"): _published(
        (80, 78.3, 92.2, 0.7, 0.6, 0.5, 0.6, 0.6, 0.6), remark="92.2% in distribution"
    ),
}
"""By task, modulus and training domain; learned absolute positions, the published layout."""
