"""Every arithmetic task, in every notation, against columns added up in plain Python."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from paper_arithmetic import SIGNS, answer_of, digits_of, read, value_of, worked

from weft.tasks import task
from weft.tasks.arithmetic import Arithmetic, answers_of
from weft.tasks.arithmetic.digits import integers

NAMES = list(SIGNS)
MANY = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def parameters(draw: Any, name: str) -> dict[str, Any]:
    """Parameters of a task in any notation, on any domain."""
    digits = draw(st.integers(1, 3))
    longer = digits + draw(st.integers(1, 3))
    given: dict[str, Any] = {"longer": longer, "base": draw(st.sampled_from([2, 3, 10, 16, 40]))}
    kind = draw(st.sampled_from(["", "D", "D~", "D1+D"]))
    if kind == "D1+D":
        given["domain"] = f"D1:1+D{digits}:2"
    else:
        given |= {"digits": digits, "domain": kind}
    if draw(st.booleans()):
        given["width"] = longer + draw(st.integers(0, 2))
        if draw(st.booleans()):
            given["result_width"] = 3 * given["width"] + 12
    for name_of_flag in ("reverse_operands", "reverse_result"):
        given[name_of_flag] = draw(st.booleans())
    given["scratchpad"] = draw(st.sampled_from(["none", "carries"]))
    given["sampler"] = draw(st.sampled_from(["coin", "uniform"]))
    given["test_domain"] = draw(st.sampled_from(["auto", "D", "D~", "L"]))
    if name.startswith("modular"):
        given["modulus"] = draw(st.sampled_from([2, 7, 97, 150, 2**31]))
    else:
        given["format"] = draw(st.sampled_from(["lm", "seq2seq"]))
    return given


def assert_as_by_hand(made: Arithmetic, split: str, given: dict[str, Any], size: int) -> None:
    base = made.base
    batch = made.lay_out(made.draw(split, np.random.default_rng(3), size))
    low, high = made.splits[split].axes["digits"]
    truncated = list(made.examples(made.truncated(batch, 2)))
    values_of_rows = list(zip(*(integers(d, base) for d in made.operands(batch)), strict=True))
    results = made.results(answers_of(batch))
    assert results.well_formed.all()
    for row, (question, answer) in enumerate(made.examples(batch)):
        operands = read(question, made.name, base, made.reverse_operands)
        values = tuple(value_of(operand, base) for operand in operands)
        for operand, value in zip(operands, values, strict=True):
            assert len(operand) == (made.width or len(digits_of(value, base)))
        assert list(answer) == answer_of(made.name, values, given), (question, answer)
        assert made.reference(question) == answer
        assert values_of_rows[row] == values
        done = worked(made.name, values, base)
        wanted = done.result % made.modulus_or_none if made.modulus_or_none else done.result
        absolute = integers(results.digits[row : row + 1], base)[0]
        assert (absolute, bool(results.negative[row])) == (abs(wanted), wanted < 0)
        assert truncated[row][0] == question
        cut = tuple(value % base**2 for value in values)
        assert list(truncated[row][1]) == answer_of(made.name, cut, given)
        lengths = [len(digits_of(value, base)) for value in values]
        assert (batch.axes["digits"][row], batch.axes["shortest"][row]) == (
            max(lengths), min(lengths),
        )  # fmt: skip
        assert low <= max(lengths) <= high
        carries = "".join("1" if carry else " " for carry in done.carries)
        assert batch.axes["carries"][row] == carries.count("1")
        assert batch.axes["chain"][row] == max(map(len, re.findall("1+", carries)), default=0)


@pytest.mark.parametrize("name", NAMES)
@MANY
@given(st.data())
def test_answers_axes_and_truncations_are_those_by_hand(name: str, data: st.DataObject) -> None:
    given = data.draw(parameters(name))
    made = task(name, **({"representation": "digits"} if "modulus" in given else {}), **given)
    assert isinstance(made, Arithmetic)
    split = data.draw(st.sampled_from(sorted(made.splits)))
    assert_as_by_hand(made, split, given, 6)


@pytest.mark.parametrize("name", NAMES)
def test_numbers_of_forty_digits(name: str) -> None:
    given = {"longer": 40, "digits": 30, "scratchpad": "carries"}
    given |= {"modulus": 10**9 + 7} if name.startswith("modular") else {}
    made = task(name, **given)
    assert isinstance(made, Arithmetic)
    assert_as_by_hand(made, "digits-40", given, 2)


@pytest.mark.parametrize("name", NAMES)
@MANY
@given(st.data())
def test_any_operands_make_a_question(name: str, data: st.DataObject) -> None:
    """Extremes that are rarely drawn: 0, powers of the base and the numbers before them."""
    given = data.draw(parameters(name))
    made = task(name, **({"representation": "digits"} if "modulus" in given else {}), **given)
    assert isinstance(made, Arithmetic)
    edges = [made.base**k - less for k in range(made.longer + 1) for less in (0, 1)]
    edge = st.sampled_from([value for value in edges if value < made.base**made.longer])
    rows = data.draw(st.lists(st.tuples(*[edge] * made.operation.operands), min_size=1, max_size=5))
    batch = made.examples_of(rows)
    for values, (question, answer) in zip(rows, made.examples(batch), strict=True):
        operands = read(question, name, made.base, made.reverse_operands)
        assert [value_of(operand, made.base) for operand in operands] == list(values)
        assert list(answer) == answer_of(name, values, given)


def shown(made: Arithmetic, *values: int) -> str:
    question, answer = next(made.examples(made.examples_of([values])))
    return f"{''.join(question)}={''.join(answer)}"


@pytest.mark.parametrize(
    ("name", "given", "values", "text"),
    [
        ("addition", {}, (57, 8), "57+8=65"),
        ("addition", {"reverse_operands": True, "reverse_result": True}, (57, 8), "75+8=56"),
        ("addition", {"longer": 3, "digits": 2, "width": 3}, (57, 8), "057+008=0065"),
        (
            "addition",  # the reference's example of the published "prepend" form
            {"longer": 4, "digits": 3, "width": 4, "reverse_result": True},
            (12, 34), "0012+0034=64000",
        ),
        ("addition", {"base": 16}, (255, 1), "ff+1=100"),
        ("subtraction", {}, (3, 25), "3-25=-22"),
        ("subtraction", {"reverse_result": True}, (3, 25), "3-25=22-"),
        ("subtraction", {"longer": 2, "digits": 1, "width": 2}, (25, 3), "25-03=+22"),
        ("subtraction", {}, (7, 7), "7-7=0"),
        ("multiplication", {}, (12, 34), "12*34=408"),
        ("sum-of-three", {}, (5, 60, 7), "5+60+7=72"),
        ("multiply-add", {}, (12, 3, 4), "12*3+4=40"),
        ("modular-addition", {"digits": 4, "modulus": 150}, (9000, 78), "9000+78=78"),
        ("modular-multiplication", {"digits": 3, "modulus": 51}, (100, 3), "100*3=45"),
        ("addition", {"scratchpad": "carries"}, (57, 68), "57+68=110:125"),
        (
            "addition", {"scratchpad": "carries", "reverse_result": True},
            (57, 68), "57+68=011:521",
        ),
        (
            "modular-addition", {"scratchpad": "carries", "digits": 2, "modulus": 100},
            (57, 68), "57+68=110:125:25",
        ),
        ("subtraction", {"scratchpad": "carries"}, (8, 25), "8-25=10:-17"),
    ],
)  # fmt: skip
def test_texts_are_as_documented(
    name: str, given: dict[str, Any], values: tuple[int, ...], text: str
) -> None:
    made = task(name, **given)
    assert isinstance(made, Arithmetic)
    assert shown(made, *values) == text


@pytest.mark.parametrize("name", NAMES)
def test_digits_are_the_tokens_for_abacus(name: str) -> None:
    for base in (2, 10, 16, 50):
        made = task(name, digits=2, base=base, longer=4)
        names = [made.vocabulary[token] for token in made.digit_tokens]
        assert names == [digit for digit in made.symbols if digit.isalnum()]
        assert len(names) == base


@pytest.mark.parametrize("reverse_operands", [False, True])
@pytest.mark.parametrize("reverse_result", [False, True])
def test_places_of_digits_count_from_the_units(
    reverse_operands: bool, reverse_result: bool
) -> None:
    made = task("addition", scratchpad="carries", reverse_operands=reverse_operands,
                reverse_result=reverse_result)  # fmt: skip
    assert isinstance(made, Arithmetic)
    batch = made.examples_of([(157, 68)])
    places = made.digit_places(batch.tokens)[0].tolist()
    three, two = ([1, 2, 3], [1, 2]) if reverse_operands else ([3, 2, 1], [2, 1])
    result = [1, 2, 3] if reverse_result else [3, 2, 1]
    assert places[: batch.lengths[0]] == [*three, 0, *two, 0, *result, 0, *result]


def test_parameters_make_the_same_task_again() -> None:
    for name, changed in [
        ("addition", {"order": "reversed"}),
        ("addition", {"order": "reversed-answer", "domain": "D3:1+D4:2"}),
        ("modular-addition", {}),
        ("modular-addition", {"representation": "digits"}),
        ("modular-multiplication", {"domain": "D~4", "pool": 1000}),
        ("subtraction", {"width": 12, "restrict": "even-digits"}),
    ]:
        made = task(name, **changed)  # type: ignore[arg-type]
        assert task(name, **made.parameters) == made
