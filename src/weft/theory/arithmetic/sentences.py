"""A prediction in words and as a table, for the terminal."""

from __future__ import annotations

from weft.theory.arithmetic.accuracy import ArithmeticPrediction, per_cent

PLAIN = {"learned": "learned absolute positions", "none": "no positional encoding"}


def table_rows(
    prediction: ArithmeticPrediction,
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The header and rows of a table by length, in per cent; the task's own tests come first."""
    names = list(prediction.rows[0].by)
    names.sort(key=lambda name: name != prediction.distribution)
    header = ("digits", "", *names)
    rows = [
        (str(row.length), row.where, *(row.by[name].text for name in names))
        for row in prediction.rows
    ]
    return header, rows


def sentences(prediction: ArithmeticPrediction) -> list[str]:
    """The prediction in words, one sentence or two per line; the verdict comes first."""
    lines = [_headline(prediction), f"Why: {prediction.reason}."]
    if prediction.limit is not None and prediction.verdict != "perfect":
        lines.append(_upward(prediction))
    lines += _coverage(prediction)
    lines.append(
        "D~: all operands have exactly that many digits. D: at least one has; the coin of the "
        "published sampler draws pairs of two such operands twice as often as uniform draws."
    )
    if prediction.distribution == "L":
        lines.append("L: the longest operand has that many digits, the others 1 to as many.")
    return [*lines, *prediction.provisos]


def _headline(prediction: ArithmeticPrediction) -> str:
    subject = prediction.task
    if prediction.modulus:
        subject += f" modulo {prediction.modulus}"
    if prediction.base != 10:
        subject += f" in base {prediction.base}"
    encoding = PLAIN.get(prediction.encoding, f"{prediction.encoding} positions")
    above = f"above {_digits(prediction.digits)}"
    verdict = {
        "perfect": f"right at all lengths {above}",
        "truncated": f"right as often as the truncated function {above}",
        "fails": f"fails {above}",
        "unknown": f"unknown {above}",
    }[prediction.verdict]
    return f"{subject}, trained on {prediction.training}, {encoding}: {verdict}."


def _upward(prediction: ArithmeticPrediction) -> str:
    """The first length at which it can be right, and the limit."""
    first, above = prediction.first_nonzero, f"above {_digits(prediction.digits)}"
    if first is None:
        return f"It is never right {above}, on tests of {prediction.distribution}."
    text = f"The first length {above} at which it can be right is {first}"
    assert prediction.limit is not None
    about = "" if prediction.limit_is_exact else "about "
    text += f"; the limit for long numbers is {about}{per_cent(prediction.limit)}%"
    if prediction.approximation is not None and prediction.limit_is_exact:
        text += f" (product over prime powers: {per_cent(prediction.approximation)}%)"
    return f"{text}."


def _coverage(prediction: ArithmeticPrediction) -> list[str]:
    """Which lengths need patterns that training does not exercise."""
    length = prediction.uncovered_from
    if length is None:
        return []
    found = prediction.at(length)
    text = (
        f"At {_digits(length)}, {per_cent(found.uncovered)}% of tests need a pattern that training "
        "does not exercise"
    )
    if prediction.missing:
        text += f", such as {prediction.missing}"
    return [f"{text}. Ranges are from all of these wrong to all right."]


def _digits(count: int) -> str:
    return f"{count} digit{'s' * (count > 1)}"
