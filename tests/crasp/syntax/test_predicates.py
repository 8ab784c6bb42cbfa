"""Python functions are predicates only after a check, which says what it checked."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from weft.crasp import Local, Periodic, check_local, check_periodic, local, periodic
from weft.errors import WeftError


@pytest.mark.parametrize(
    ("period", "residues"), [(1, ()), (1, (0,)), (2, (1,)), (6, (0, 1, 4)), (64, (63,))]
)
def test_periodic_functions_are_recognised(period: int, residues: tuple[int, ...]) -> None:
    checked = check_periodic(lambda i: i % period in residues)
    assert checked.predicate == Periodic(period, residues)
    assert str(checked) == (
        f"the function is periodic with period {period}: positions 0 to 1,000, each called twice"
    )


def test_the_smallest_period_is_taken() -> None:
    assert check_periodic(lambda i: i % 6 in (1, 3, 5)).predicate == Periodic(2, (1,))


def test_every_position_up_to_the_last_is_called_twice() -> None:
    called: list[int] = []

    def even(i: int) -> bool:
        called.append(i)
        return i % 2 == 0

    checked = check_periodic(even, up_to=200)
    assert sorted(called) == sorted([*range(201), *range(201)])
    assert checked.predicate.name == "even"
    assert "0 to 200" in checked.statement


@pytest.mark.parametrize("offsets", [(), (0,), (1,), (0, 2, 32)])
def test_local_functions_are_recognised(offsets: tuple[int, ...]) -> None:
    checked = check_local(lambda i, j: i - j in offsets, name="near")
    assert checked.predicate == Local(offsets, "near")
    assert "positions 1 <= j <= i <= 100, each pair called twice" in checked.statement


RANDOM = random.Random(0)


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (lambda: check_periodic(lambda i: i == 900), "it has no period from 1 to 64"),
        (lambda: check_periodic(lambda i: i % 65 == 0), "it has no period from 1 to 64"),
        (
            lambda: check_periodic(lambda i: i > 500),
            "period 64 holds longest, up to 501: it is True there, but not at 437",
        ),
        (lambda: check_periodic(lambda i: RANDOM.random() < 0.5), "it is not deterministic"),
        (lambda: check_periodic(lambda i: 1 // i == 0), "raised ZeroDivisionError"),
        (lambda: check_periodic(lambda i: i % 2), "returned 0. A predicate returns True"),
        (lambda: check_periodic(lambda i: True, up_to=3), "too few to see a period"),
        (lambda: check_periodic(lambda i: True, name="MOD"), "cannot be the name"),
        (lambda: check_local(lambda i, j: i == 2 * j), "it does not depend on i - j alone"),
        (lambda: check_local(lambda i, j: j == 1), "it does not depend on i - j alone"),
        (lambda: check_local(lambda i, j: j < i), "it holds at distance 99"),
        (lambda: check_local(lambda i, j: (i - j) % 2 == 0), "it is not local"),
        (lambda: check_local(lambda i, j: RANDOM.random() < 0.5), "deterministic"),
        (lambda: periodic(2, 2), "residues"),
        (lambda: local(-1), "offsets"),
        (lambda: local(1, "Q_a"), "Q_ is for symbols"),
    ],
)
def test_other_functions_are_refused(check: Callable[[], object], said: str) -> None:
    with pytest.raises(WeftError) as caught:
        check()
    assert said in str(caught.value)
