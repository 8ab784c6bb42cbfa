"""Plans: which variables a program takes from left to right, and how many values they have.

That plans compute what the interpreter does is tested in test_bridge.py.
"""

from __future__ import annotations

import pytest

from weft.crasp import CraspProgram, library
from weft.crasp.bridge.left_to_right import Plan
from weft.crasp.syntax.builder import CraspBuilder, count, if_else, minimum, previous, symbol

A, B = symbol("a"), symbol("b")


def sizes(program: CraspProgram, length: int) -> dict[str, int]:
    """The variables other than lines, with their numbers of values."""
    plan = Plan(program, length)
    own = {"symbol", "stage", *(line.variable for line in plan.lines.values())}
    return {name: v.size for name, v in plan.variables.items() if name not in own}


@pytest.mark.parametrize(
    ("name", "stages"),
    [("majority", 1), ("dyck-1", 2), ("tomita-4", 1), ("tomita-7", 4), ("ends-in-b", 1)],
)
def test_one_stage_per_level_of_counting(name: str, stages: int) -> None:
    assert len(Plan(library.load(name), 9).stages) == stages


def test_counts_are_compared_by_their_difference() -> None:
    assert sizes(library.load("majority"), 9) == {"count_1": 2 * 9 + 1}


@pytest.mark.parametrize("length", [9, 90])
def test_sums_that_only_grow_stop_at_the_last_threshold(length: int) -> None:
    assert sizes(library.load("at-most", ones=5), length) == {"count_1": 7}  # 6 and more are one
    assert not Plan(library.load("at-most", ones=5), length).bounded


def test_a_threshold_beyond_the_length_does_not_matter() -> None:
    plan = Plan(library.load("at-most", ones=50), 9)
    assert plan.variables["count_1"].size == 10
    assert plan.bounded


def test_multiples_and_opposites_share_a_running_sum() -> None:
    p = CraspBuilder("ab")
    p.less = count(A) < count(B)
    p.more = count(B) < count(A)
    p.twice = count(A) + count(A) <= count(B) + count(B) + 1
    assert sizes(p.build(), 4) == {"count_1": 9}


def test_count_lines_hold_every_value() -> None:
    p = CraspBuilder("ab")
    p.ones = count(A)
    p.chosen = if_else(B, count(A), -2)
    p.few = minimum(p.ones, 3) + if_else(previous(A), 1, 0)
    p.accept = p.ones >= 1
    plan = Plan(p.build(), 6)
    assert plan.variables["ones"].size == 7
    assert plan.variables["chosen"].size == 9
    assert plan.lines["chosen"].shift == -2
    assert plan.bounded


def test_booleans_at_a_distance_are_passed_on() -> None:
    plan = Plan(library.load("tomita-4"), 9)
    assert {name for name in plan.carried if name.startswith("held")} == {"held_1", "held_1_before"}
    assert plan.variables["held_1"].initial == (1, 0)
