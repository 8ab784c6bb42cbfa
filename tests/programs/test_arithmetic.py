"""Sums, differences, comparisons and products are those of Python's whole numbers."""

from __future__ import annotations

import itertools
import operator
import random
from collections.abc import Callable
from typing import Any

import pytest

import weft

OPERATIONS: dict[str, tuple[str, Callable[[int, int], Any]]] = {
    "addition": ("+", operator.add),
    "subtraction": ("-", operator.sub),
    "comparison": ("?", lambda a, b: "=" if a == b else "<" if a < b else ">"),
    "multiplication": ("*", operator.mul),
}
operations = pytest.mark.parametrize("name", OPERATIONS)


def pairs() -> list[tuple[int, int]]:
    """All numbers of one digit, borders where carries and borrows run far, and random ones."""
    rng = random.Random(5)
    borders = [0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 9999]
    found = [*itertools.product(range(10), repeat=2), *itertools.product(borders, repeat=2)]
    for digits in (2, 3, 5, 8):
        found += [(rng.randrange(10**digits), rng.randrange(10**digits)) for _ in range(40)]
    return found


@operations
def test_results_are_those_of_python(name: str) -> None:
    sign, right_answer = OPERATIONS[name]
    inputs = [f"{a}{sign}{b}" for a, b in pairs()]
    expected = [right_answer(a, b) for a, b in pairs()]
    assert weft.run_batch(weft.program(name), inputs).results == expected


@operations
def test_long_numbers_are_no_different(name: str) -> None:
    sign, right_answer = OPERATIONS[name]
    rng = random.Random(6)
    digits = 12 if name == "multiplication" else 60
    a, b = rng.randrange(10**digits), rng.randrange(10**digits)
    assert weft.run_batch(weft.program(name), [f"{a}{sign}{b}"]).results == [right_answer(a, b)]


@operations
def test_compiled_weights_give_the_same(name: str) -> None:
    from weft.compiler.check import compare

    sign, _ = OPERATIONS[name]
    program = weft.program(name)
    inputs = [f"{a}{sign}{b}" for a, b in pairs()[::19]]
    expected = weft.run_batch(program, inputs, trace=True)
    assert compare(weft.compile(program).model, program, expected) is None


@operations
def test_every_update_is_proved_from_the_weights(name: str) -> None:
    from weft.compiler.proof import prove

    compiled = weft.compile(weft.program(name))
    assert prove(compiled.model, compiled.program, compiled.certificate).proved
    assert compiled.max_length is None


@operations
def test_blanks_and_marks_are_taken(name: str) -> None:
    sign, right_answer = OPERATIONS[name]
    program = weft.program(name)
    plain = program.encode(f"12{sign}3")
    assert program.encode(f" 12 {sign} 3 ") == plain
    assert program.encode("".join(plain)) == plain
    assert program.task(plain) == right_answer(12, 3)


@operations
@pytest.mark.parametrize(
    "given", ["", "12", "1{0}2{0}3", "{0}", "1{0}", "{0}2", "a{0}b", "1.5{0}2"]
)
def test_what_is_no_pair_of_numbers_is_refused_with_an_example(name: str, given: str) -> None:
    sign, _ = OPERATIONS[name]
    with pytest.raises(weft.WeftError) as caught:
        weft.program(name).encode(given.format(sign))
    assert "of two numbers" in str(caught.value)
    assert f"12{sign}34" in str(caught.value)


def layers(name: str, text: str) -> int:
    return weft.run(weft.program(name), text).layers


@pytest.mark.parametrize("digits", [1, 2, 5, 9])
def test_sums_and_differences_of_n_digits_take_n_plus_2_layers(digits: int) -> None:
    for text in ("9" * digits, "1" + "0" * (digits - 1)):
        assert layers("addition", f"{text}+{text[::-1]}") == digits + 2
        assert layers("subtraction", f"{text}-{text[::-1]}") == digits + 2


def test_comparison_halts_when_the_first_digits_differ() -> None:
    assert layers("comparison", "1" + "7" * 40 + "?2" + "7" * 40) == 2
    assert layers("comparison", "77712?77721") == 5
    assert layers("comparison", "777?777") == 5


@pytest.mark.parametrize(("a", "b"), [(0, 0), (7, 123), (305, 12), (99, 99), (1000, 5)])
def test_products_take_as_many_layers_as_is_said(a: int, b: int) -> None:
    m, n, total = len(str(a)), len(str(b).lstrip("0")), sum(map(int, str(a)))
    assert layers("multiplication", f"{a}*{b}") == (m + total + 2) + (2 * m + n + 3)


def test_a_negative_difference_shows_its_minus_where_the_sign_was() -> None:
    assert weft.run(weft.program("subtraction"), "12-345").outputs == (0, 0, 0, 0, 10, 3, 3, 3, 0)
    assert weft.run(weft.program("subtraction"), "12-12").result == 0
