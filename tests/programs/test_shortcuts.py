"""Shortcuts of the successor: what each writes, and on which numbers that is wrong."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.compiler.check import check
from weft.compiler.proof import prove
from weft.programs.shortcuts import SHORTCUTS, SuccessorShortcut
from weft.theory.recursion.successor_machines import shortcut_machine

NUMBERS = range(1, 1 << 10)


def digits(number: int) -> str:
    """A number with 01 as `2` in front, XO as 0 and X1 as 1."""
    return "2" + f"{number:b}"[1:]


def rewritten(number: int, shortcut: str, bound: int, all_carry: str) -> str:
    """What a shortcut makes of a number, on strings of digits."""
    text = digits(number)
    trailing = len(text) - len(text.rstrip("1"))
    longest = max(map(len, re.findall("1+", text)), default=0)
    carries = {
        "run": trailing,
        "bounded": min(trailing, bound),
        "longest": longest if trailing else 0,
        "fixed": min(bound, len(text) - 1) if trailing else 0,
    }[shortcut]
    head, flipped = text[: len(text) - carries - 1], text[len(text) - carries - 1]
    carried = {"short": "2", "flip": "1", "right": "20"}[all_carry]
    return head + (carried if flipped == "2" else "1") + "0" * carries


def outputs(program: weft.Program, numbers: list[int], order: str) -> list[str]:
    """What a program writes, as digits with the most significant first."""
    names = {"01": "2", "XO": "0", "X1": "1"}
    results = weft.run_batch(program, [str(number) for number in numbers]).results
    return ["".join(names[word] for word in text.split())[:: ORDERS[order]] for text in results]


ORDERS = {"natural": 1, "constructor": -1}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shortcut", SHORTCUTS)
def test_it_writes_what_its_definition_says(shortcut: str, order: str) -> None:
    for all_carry, bound in (("short", 3), ("flip", 1), ("right", 0)):
        program = SuccessorShortcut(shortcut, all_carry, bound, order)
        expected = [rewritten(number, shortcut, bound, all_carry) for number in NUMBERS]
        assert outputs(program, list(NUMBERS), order) == expected


@settings(max_examples=15, deadline=None)
@given(
    shortcut=st.sampled_from(SHORTCUTS),
    order=st.sampled_from(sorted(ORDERS)),
    bound=st.integers(0, 9),
    all_carry=st.sampled_from(["short", "flip", "right"]),
    number=st.integers(1, 2**40)
    | st.builds(lambda n, m: (n << m) - 1, st.integers(1, 63), st.integers(0, 40)).filter(bool),
)
def test_it_writes_what_its_definition_says_of_long_numbers(
    shortcut: str, order: str, bound: int, all_carry: str, number: int
) -> None:
    program = SuccessorShortcut(shortcut, all_carry, bound, order)
    assert outputs(program, [number], order) == [rewritten(number, shortcut, bound, all_carry)]
    tokens = program.encode(str(number))
    assert program.task(tokens) == weft.run(program, tokens).result


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shortcut", SHORTCUTS)
def test_it_is_the_state_machine_of_the_same_name(shortcut: Any, order: Any) -> None:
    for all_carry, bound in (("short", 2), ("flip", 4), ("right", 1)):
        program = SuccessorShortcut(shortcut, all_carry, bound, order)
        machine = shortcut_machine(shortcut, all_carry, bound, order)  # type: ignore[arg-type]
        inputs = [program.encode(str(number)) for number in range(1, 300)]
        results = weft.run_batch(program, inputs).results
        assert results == [" ".join(machine(tuple(tokens[1:-1]))) for tokens in inputs]


def failures(**parameters: object) -> set[int]:
    """The numbers on which a shortcut does not give the successor."""
    made = outputs(SuccessorShortcut(**parameters), list(NUMBERS), "natural")  # type: ignore[arg-type]
    return {
        number for number, text in zip(NUMBERS, made, strict=True) if text != digits(number + 1)
    }


def test_the_unbounded_detector_fails_on_numbers_without_xo_alone() -> None:
    assert failures(shortcut="run") == {2**n - 1 for n in range(1, 11)}
    assert failures(shortcut="run", all_carry="flip") == failures(shortcut="run")
    assert not failures(shortcut="run", all_carry="right")


def test_the_bounded_detector_fails_on_longer_runs_as_well() -> None:
    deep = {n for n in NUMBERS if n % 16 == 15 and n > 15}
    assert failures(shortcut="bounded", bound=3) == deep | failures(shortcut="run")


def test_decoys_fool_the_longest_run_detector() -> None:
    decoy = 0b1011101  # 01 XO X1 X1 X1 XO X1
    assert decoy in failures(shortcut="longest")
    assert decoy not in failures(shortcut="run") | failures(shortcut="bounded")
    assert 0b1011100 not in failures(shortcut="longest")  # it does not end with X1


def test_a_shortcut_takes_the_tokens_of_the_successor() -> None:
    for order in ORDERS:
        shortcut, true = SuccessorShortcut(order=order), weft.program(f"successor(order={order})")
        assert shortcut.tokens == true.tokens
        assert shortcut.encode("23") == true.encode("23")


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"shortcut": "none"}, "Choose run, bounded, longest, fixed"),
        ({"all_carry": "long"}, "Choose short, flip or right"),
        ({"bound": -1}, "Give at least 0"),
        ({"order": "left"}, "Choose constructor or natural"),
    ],
)
def test_what_is_no_shortcut_is_refused(parameters: dict[str, object], match: str) -> None:
    with pytest.raises(weft.WeftError, match=match):
        SuccessorShortcut(**parameters)  # type: ignore[arg-type]


@pytest.mark.parametrize("shortcut", SHORTCUTS)
def test_its_weights_do_the_same_and_are_proved(shortcut: str) -> None:
    compiled = weft.compile(SuccessorShortcut(shortcut, bound=2), max_length=16)
    assert prove(compiled.model, compiled.program, compiled.certificate).verdict == "proved"
    assert check(compiled, samples=12, max_length=12).difference is None
