"""Dependency matrices of functions that are known, against counts over all inputs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from weft.studies.arithmetic.explanation_dependence import (
    dependence,
    dependence_of,
    draw_dependence,
    interventions,
)
from weft.studies.arithmetic.explanation_hypotheses import operation
from weft.studies.plotting import svg_of
from weft.tasks import task
from weft.tasks.arithmetic import Addition, Arithmetic, ModularAddition, Subtraction
from weft.tasks.arithmetic.digits import digit_lengths
from weft.tasks.arithmetic.notation import Numbers


def test_each_intervention_changes_one_digit_and_keeps_lengths() -> None:
    rng = np.random.default_rng(0)
    changes = interventions(rng, count=50, length=4, operands=3, base=10)
    assert changes.changed == 12
    drawn = [each[:50] for each in changes.operands]
    for place in range(12):
        rows = slice(50 * (place + 1), 50 * (place + 2))
        differs = [(each[rows] != before) for each, before in zip(changes.operands, drawn)]  # noqa: B905
        flat = np.concatenate(differs, axis=1)
        assert flat[:, place].all()
        assert flat.sum() == 50
    for each in changes.operands:
        assert (digit_lengths(each) == 4).all()
        assert each.min() >= 0
        assert each.max() <= 9


@pytest.mark.parametrize("base", [2, 3, 7])
def test_a_replaced_digit_is_uniform_among_the_others(base: int) -> None:
    changes = interventions(np.random.default_rng(0), count=6000, length=2, operands=2, base=base)
    units = changes.operands[0][:, 0]
    shift = (units[6000:12000] - units[:6000]) % base
    counts = np.bincount(shift, minlength=base)
    assert counts[0] == 0
    assert counts[1:] == pytest.approx(6000 / (base - 1), rel=0.1)


def test_a_sum_depends_on_digits_as_often_as_carries_run() -> None:
    """Against all pairs of 2-digit numbers and all replacements, in base 4."""
    base, numbers = 4, range(4, 16)
    hits, total = np.zeros((3, 4)), np.zeros(4)
    for a, b in product(numbers, repeat=2):
        for place in range(4):
            which, power = divmod(place, 2)
            value = (a, b)[which]
            old = value // base**power % base
            for new in range(int(power == 1), base):
                if new == old:
                    continue
                other = (a, b)[1 - which]
                after = value + (new - old) * base**power + other
                before = a + b
                total[place] += 1
                for digit in range(3):
                    hits[digit, place] += (
                        before // base**digit % base != after // base**digit % base
                    )
    changes = interventions(np.random.default_rng(0), count=20_000, length=2, operands=2, base=base)
    found = dependence_of(operation(Addition(base=base)), changes)
    assert found.changed == pytest.approx(hits / total, abs=0.015)


def test_truncation_is_seen_as_digits_that_are_not_used() -> None:
    rng = np.random.default_rng(0)
    sums = Addition(domain="D2")
    changes = interventions(rng, count=300, length=5, operands=2, base=10)
    found = dependence_of(operation(sums, 2), changes)
    assert found.used == {"a": [1, 2], "b": [1, 2]}
    assert not found.output[[2, 3, 4, 7, 8, 9]].any()
    whole = dependence_of(operation(sums), changes)
    assert whole.used == {"a": [1, 2, 3, 4, 5], "b": [1, 2, 3, 4, 5]}
    assert whole.distance(whole) == 0
    assert whole.distance(found) == found.distance(whole) > 0.05
    residue = ModularAddition(domain="D2", modulus=100)
    assert dependence_of(operation(residue), changes).used == {"a": [1, 2], "b": [1, 2]}


def test_a_change_of_sign_is_a_change_of_the_output() -> None:
    def sign(operands: list[np.ndarray]) -> Numbers:  # type: ignore[type-arg]
        return operation(Subtraction())(operands)

    changes = interventions(np.random.default_rng(0), count=400, length=1, operands=2, base=2)
    found = dependence(changes, sign(list(changes.operands)))
    assert found.output.tolist() == [1, 1]


def test_outputs_that_are_no_number_are_left_out() -> None:
    changes = interventions(np.random.default_rng(0), count=40, length=2, operands=2, base=10)
    whole = operation(Addition())(changes.operands)
    written = np.ones(len(whole.digits), dtype=np.bool_)
    written[:10] = False
    written[40:80] = False
    found = dependence(changes, Numbers(whole.digits, whole.negative, written))
    assert found.counts.tolist() == [0, 30, 30, 30]
    assert np.isnan(found.changed[:, 0]).all()
    assert found.as_dict()["output"][0] is None
    assert found.used == {"a": [2], "b": [1, 2]}


def test_the_figure_has_a_matrix_for_each_length_and_is_the_same_again() -> None:
    found = task("addition", domain="D2", longer=5)
    assert isinstance(found, Arithmetic)
    pairs = []
    for length in (2, 5):
        changes = interventions(
            np.random.default_rng(0), count=40, length=length, operands=2, base=10
        )
        one = dependence_of(operation(found), changes)
        pairs.append((one, dependence_of(operation(found, 2), changes)))
    figures = [draw_dependence(pairs, trained=2, hypothesis="the last 2 digits") for _ in "ab"]
    meshes = [panel.collections[0] for panel in figures[0].axes[:4]]
    shapes = [np.shape(mesh.get_array()) for mesh in meshes]
    assert shapes == [(3, 4), (3, 4), (6, 10), (6, 10)]
    shown = np.asarray(meshes[2].get_array())
    assert (shown == pairs[1][0].changed).all()
    assert svg_of(figures[0]) == svg_of(figures[1])
