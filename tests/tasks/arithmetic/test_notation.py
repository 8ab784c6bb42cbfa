"""Reading what a model writes: every answer is read back, and what is no number is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.tasks import task
from weft.tasks.arithmetic import Arithmetic, answers_of
from weft.tasks.arithmetic.digits import (
    added,
    chain,
    digit_lengths,
    digits_of,
    digits_of_integers,
    integers,
    residues,
    truncated,
)
from weft.tasks.formats import END

MODES: list[dict[str, Any]] = [
    {},
    {"reverse_result": True},
    {"longer": 6, "digits": 5, "width": 6},
    {"longer": 6, "digits": 5, "width": 6, "reverse_result": True},
    {"scratchpad": "carries"},
    {"scratchpad": "carries", "reverse_result": True, "longer": 6, "width": 7},
]


def made_task(name: str, **given: Any) -> Arithmetic:
    made = task(name, **given)
    assert isinstance(made, Arithmetic)
    return made


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("name", ["addition", "subtraction", "multiplication", "modular-addition"])
@settings(max_examples=20, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(0, 99_999), st.integers(0, 99_999)), min_size=1,
                     max_size=4), behind=st.lists(st.integers(0, 13), max_size=4))  # fmt: skip
def test_answers_are_read_back(
    name: str, mode: dict[str, Any], rows: list[tuple[int, int]], behind: list[int]
) -> None:
    more = {"modulus": 97, "representation": "digits"} if "modular" in name else {}
    made = made_task(name, **{"longer": 6, **mode, **more})
    answers = answers_of(made.examples_of(rows))
    found = made.results(np.pad(answers, ((0, 0), (0, len(behind)))))
    assert found.well_formed.all()
    read_back = zip(integers(found.digits, 10), found.negative, strict=True)
    values = [-number if negative else number for number, negative in read_back]
    exact = [made.operation.exact(*row) for row in rows]
    assert values == ([n % 97 for n in exact] if more else exact)
    for row, answer in enumerate(answers):
        end = int(np.argmax(answer == END)) + 1
        longer = np.concatenate([answer[:end], behind]).astype(np.int64)[None]
        assert integers(made.results(longer).digits, 10) == [abs(values[row])]


def read(name: str, text: str, **given: Any) -> int | None:
    """The number in an output, or None; `;` is <end>."""
    made = made_task(name, **given)
    tokens = [END if symbol == ";" else made.vocabulary.index(symbol) for symbol in text]
    found = made.results(np.array([tokens], dtype=np.int64))
    if not found.well_formed[0]:
        assert not found.negative[0]
        assert not found.digits.any()
        return None
    value = integers(found.digits, made.base)[0]
    return -value if found.negative[0] else value


PADDED = {"longer": 3, "digits": 2, "width": 3}


@pytest.mark.parametrize(
    ("name", "given", "text", "value"),
    [
        ("addition", {}, "65;", 65),
        ("addition", {}, "65;99;", 65),
        ("addition", {}, "065;", 65),
        ("addition", {}, "65", None),  # no end
        ("addition", {}, ";65", None),  # no digit
        ("addition", {}, "6+5;", None),
        ("addition", {}, "6=5;", None),
        ("addition", {}, "+65;", None),
        ("addition", {"reverse_result": True}, "56;", 65),
        ("subtraction", {}, "-22;", -22),
        ("subtraction", {}, "22;", 22),
        ("subtraction", {}, "22-;", None),
        ("subtraction", {}, "--22;", None),
        ("subtraction", {}, "-;", None),
        ("subtraction", {"reverse_result": True}, "22-;", -22),
        ("subtraction", {"reverse_result": True}, "-22;", None),
        ("subtraction", PADDED, "+022;", 22),
        ("subtraction", PADDED, "-022;", -22),
        ("subtraction", PADDED, "022;", None),  # padded results have a sign
        ("addition", {"scratchpad": "carries"}, "110:125;", 125),
        ("addition", {"scratchpad": "carries"}, "125;", None),  # no scratchpad
        ("addition", {"scratchpad": "carries"}, "11:0:125;", None),
        ("addition", {"scratchpad": "carries"}, "1+0:125;", 125),  # the result alone is read
        (
            "modular-addition", {"scratchpad": "carries", "digits": 2, "modulus": 100},
            "110:125:25;", 25,
        ),
        (
            "modular-addition", {"scratchpad": "carries", "digits": 2, "modulus": 100},
            "110:125;", None,
        ),
        ("addition", {"base": 16}, "ff;", 255),
    ],
)  # fmt: skip
def test_outputs_are_numbers_or_not(
    name: str, given: dict[str, Any], text: str, value: int | None
) -> None:
    assert read(name, text, **given) == value


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 15), min_size=1, max_size=12), st.sampled_from(MODES))
def test_any_tokens_can_be_read(tokens: list[int], mode: dict[str, Any]) -> None:
    """Against a regular expression."""
    import re

    made = made_task("subtraction", **{"longer": 6, **mode})
    names = made.vocabulary
    tokens = [min(token, len(names) - 1) for token in tokens]
    text = "".join(";" if token == END else {0: "p", 1: "s"}.get(token, names[token])
                   for token in tokens)  # fmt: skip
    sign = "[-+]" if made.width else "-?"
    number = f"[0-9]+{sign}" if made.reverse_result else f"{sign}[0-9]+"
    work = "[^:;]*:" if made.scratchpad == "carries" else ""
    expected = re.match(f"{work}{number};", text) is not None
    assert bool(made.results(np.array([tokens])).well_formed[0]) == expected


# Numbers as digits


@given(st.integers(2, 1000), st.lists(st.integers(0, 10**18), min_size=1, max_size=5))
def test_digits_of_numbers(base: int, numbers: list[int]) -> None:
    digits = digits_of(np.array(numbers), base, 60)
    assert (digits == digits_of_integers(numbers, base, 60)).all()
    assert integers(digits, base) == numbers
    assert integers(truncated(digits, 3), base) == [number % base**3 for number in numbers]
    for modulus in (2, 97, 2**31):
        assert residues(digits, base, modulus).tolist() == [n % modulus for n in numbers]
    lengths = [len(np.base_repr(n, base)) if base <= 36 else None for n in numbers]
    if base <= 36:
        assert digit_lengths(digits).tolist() == lengths


@given(st.integers(2, 40), st.lists(st.tuples(st.integers(0, 10**12), st.integers(0, 10**12)),
                                    min_size=1, max_size=5))  # fmt: skip
def test_sums_of_digits(base: int, pairs: list[tuple[int, int]]) -> None:
    a, b = (digits_of_integers([pair[side] for pair in pairs], base, 45) for side in (0, 1))
    total, carries = added(a, b, base)
    assert integers(total, base) == [x + y for x, y in pairs]
    wanted = [[x % base**k + y % base**k >= base**k for k in range(1, 46)] for x, y in pairs]
    assert carries.tolist() == wanted
    runs = [max(len(run) for run in "".join(" 1"[c] for c in row).split(" ")) for row in wanted]
    assert chain(carries).tolist() == runs
