"""Predictions in words fit a screen and name what decides them."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from weft.tasks import task
from weft.theory.arithmetic import predict_arithmetic, sentences, table_rows

TASKS: list[tuple[str, dict[str, Any], str]] = [
    ("modular-addition", {"modulus": 150, "digits": 4}, "learned"),
    ("modular-addition", {"modulus": 101, "domain": "D~4", "longer": 12}, "learned"),
    ("modular-multiplication", {"modulus": 51, "domain": "D1+D2+D3"}, "learned"),
    ("modular-addition", {"modulus": 100, "digits": 4}, "rotary"),
    ("addition", {"domain": "D~4", "test_domain": "D"}, "learned"),
    ("addition", {"restrict": "no-carries", "longer": 12}, "t5"),
    ("multiplication", {}, "none"),
    ("subtraction", {"base": 2}, "absolute"),
]


@pytest.mark.parametrize(("name", "parameters", "encoding"), TASKS)
def test_a_prediction_fits_a_screen(name: str, parameters: dict[str, Any], encoding: str) -> None:
    found = predict_arithmetic(task(name, **parameters), encoding=encoding)
    header, rows = table_rows(found)
    assert [len(row) for row in rows] == [len(header)] * len(found.rows)
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    assert sum(widths) + 2 * len(widths) <= 80
    lines = [line for text in sentences(found) for line in textwrap.wrap(text, 80)]
    assert len(lines) + len(rows) + 3 <= 36
    assert all(text.endswith(".") for text in sentences(found))
    assert header[2] == found.distribution
    assert [row[2] for row in rows] == [row.by[found.distribution].text for row in found.rows]


def test_what_is_said_of_a_truncated_sum() -> None:
    found = sentences(predict_arithmetic(task("modular-addition", modulus=101, domain="D4")))
    assert found[0] == (
        "modular-addition modulo 101, trained on D4 (coin), learned absolute positions: right as "
        "often as the truncated function above 4 digits."
    )
    assert "p' = 101 divides A + B" in found[1]
    assert found[2] == (
        "The first length above 4 digits at which it can be right is 6; the limit for long "
        "numbers is 0.99%."
    )


def test_what_is_said_of_a_gap() -> None:
    found = sentences(predict_arithmetic(task("addition", domain="D~4", test_domain="D")))
    assert any(
        "At 3 digits, 54.95% of tests need a pattern that training does not exercise, such as "
        "digits and a carry that add up to 1 at place 4." in text
        for text in found
    )


@pytest.mark.parametrize(
    ("parameters", "encoding", "reason"),
    [
        ({"width": 10}, "t5", "T5's buckets merge the distance 23 with others"),
        ({"width": 10, "reverse_result": True}, "rotary", "opposite directions"),
        ({}, "distance", "numbers are not padded"),
        ({}, "none", "without positional encoding"),
        ({"scratchpad": "carries"}, "learned", "scratchpad"),
    ],
)
def test_what_is_said_if_nothing_is_known(
    parameters: dict[str, Any], encoding: str, reason: str
) -> None:
    found = predict_arithmetic(task("addition", **parameters), encoding=encoding)
    assert found.verdict == "unknown"
    assert found.at(6).text == "unknown"
    assert "unknown above 5 digits" in sentences(found)[0]
    assert reason in sentences(found)[1]
