"""Sums modulo a number, in any base, of any length, in both orders of digits."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.programs.modular import NAMES, ModularSum
from weft.tasks import task


def written(number: int, base: int) -> str:
    digits = NAMES[number % base]
    while number := number // base:
        digits = NAMES[number % base] + digits
    return digits


def asked(a: int, b: int, base: int, reverse: bool) -> str:
    texts = (written(number, base) for number in (a, b))
    return "+".join(text[::-1] if reverse else text for text in texts)


@settings(max_examples=40, deadline=None)
@given(
    modulus=st.integers(2, 30),
    base=st.integers(2, 20),
    reverse=st.booleans(),
    numbers=st.tuples(st.integers(0, 10**12), st.integers(0, 10**12)),
)
def test_residues_are_those_of_python(
    modulus: int, base: int, reverse: bool, numbers: tuple[int, int]
) -> None:
    program = ModularSum(modulus=modulus, base=base, reverse_operands=reverse)
    text = asked(*numbers, base, reverse)
    assert weft.run(program, text).result == sum(numbers) % modulus
    assert program.task(program.encode(text)) == sum(numbers) % modulus


@pytest.mark.parametrize("modulus", [100, 101, 150])
def test_it_generalises_where_learned_models_do_not(modulus: int) -> None:
    """Moduli that training on four digits gets right, never and a third of the time."""
    rng = random.Random(modulus)
    pairs = [(rng.randrange(10**digits), rng.randrange(10**digits)) for digits in (3, 9, 40)]
    program = weft.program(f"modular-sum(modulus={modulus})")
    results = weft.run_batch(program, [f"{a}+{b}" for a, b in pairs]).results
    assert results == [(a + b) % modulus for a, b in pairs]


@pytest.mark.parametrize("reverse", [False, True])
def test_it_answers_questions_of_the_task(reverse: bool) -> None:
    sums = task("modular-addition", modulus=13, digits=3, longer=8, reverse_operands=reverse)
    program = ModularSum(modulus=13, reverse_operands=reverse)
    for split in ("train", "longer"):
        batch = sums.test_set(split, 20)
        expected = [int("".join(answer)) for _, answer in sums.examples(batch)]
        assert weft.run_batch(program, sums.asked(batch)).results == expected


@pytest.mark.parametrize(
    "parameters",
    [{}, {"reverse_operands": True}, {"modulus": 2, "base": 2}, {"modulus": 12, "base": 3}],
)
def test_every_update_is_proved_from_the_weights(parameters: dict[str, Any]) -> None:
    compiled = weft.compile(ModularSum(**parameters))
    assert weft.prove(compiled).verdict == "proved"
    assert compiled.max_length is None


def test_a_sum_takes_a_layer_for_each_token_but_the_first() -> None:
    for text in ("1+1", "12345+6", "9+" + "9" * 20):
        assert weft.run(ModularSum(), text).layers == len(text) + 1


def test_leading_zeros_and_blanks() -> None:
    program = ModularSum()
    assert weft.run(program, "0012+00").result == 5
    assert program.encode(" 12 + 3 ") == program.encode("s12+3e")


@pytest.mark.parametrize("text", ["", "12", "1+", "+1", "1+2+3", "1-2", "a+1"])
def test_what_is_no_sum_is_refused(text: str) -> None:
    with pytest.raises(weft.WeftError, match="not a sum of two numbers"):
        ModularSum().encode(text)


@pytest.mark.parametrize("parameters", [{"modulus": 1}, {"base": 1}, {"base": 99}])
def test_bad_parameters(parameters: dict[str, int]) -> None:
    with pytest.raises(weft.WeftError, match=r"is 1|is 99"):
        ModularSum(**parameters)  # type: ignore[arg-type]
