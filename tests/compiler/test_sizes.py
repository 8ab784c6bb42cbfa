"""How small compiled models are: the figures that are promised."""

from __future__ import annotations

import time

import pytest

import paper_listings as listings
import weft
from weft.programs.subleq.program import Subleq


def test_parity_has_the_papers_seven_units_at_level_0_and_at_most_four_at_level_2() -> None:
    assert weft.compile(weft.program("parity"), level=0).hidden_units == 7
    assert weft.compile(weft.program("parity")).hidden_units <= 4


def test_sum_and_modulo_with_counts_up_to_20_has_31_rules_at_level_0() -> None:
    assert weft.compile(weft.program("parity-sum(ones=20)"), level=0).rules == 31


def test_addition_has_at_most_120_units_for_every_length() -> None:
    start = time.process_time()
    compiled = weft.compile(weft.program("addition"))
    assert time.process_time() - start < 2
    assert compiled.hidden_units <= 120
    assert compiled.max_length is None


def test_addition_at_level_0_has_as_many_units_as_the_released_compiler_emits() -> None:
    assert weft.compile(listings.figures_12_13(), level=0).hidden_units == 16_466
    assert weft.compile(weft.program("addition"), level=0).hidden_units == 16_465  # a phase less


def test_subleq_grows_with_the_number_of_values() -> None:
    units = {
        values: weft.compile(Subleq(16, -(values // 2), values - values // 2 - 1)).hidden_units
        for values in (32, 128)
    }
    assert units[128] <= 5 * units[32]


def test_subleq_rules_grow_with_the_cube_of_the_number_of_values() -> None:
    rules = {n: len(Subleq(8, -(n // 2), n // 2 - 1).rules) for n in (16, 32, 64)}
    assert 5 < rules[32] / rules[16] < 9
    assert 5 < rules[64] / rules[32] < 9


@pytest.mark.parametrize(("values", "seconds"), [(32, 10), (64, 20)])
def test_subleq_is_compiled_quickly(values: int, seconds: float) -> None:
    start = time.process_time()
    weft.compile(Subleq(16, -(values // 2), values // 2 - 1))
    assert time.process_time() - start < seconds
