"""An explanation of an arithmetic model as text, as values, and as a page with a figure."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

from weft.statistics import Share
from weft.studies.arithmetic.explanation import ArithmeticExplanation
from weft.studies.arithmetic.explanation_carries import FEATURES
from weft.studies.arithmetic.explanation_dependence import Dependence, draw_dependence
from weft.studies.arithmetic.explanation_hypotheses import Support

FIGURE = "dependence"
NAME = "explanation"
SHOWN = 2
"""How many hypotheses beside the truth have a column in the table by length."""

Table = tuple[list[str], list[list[str]]]
"""The header and the rows; all columns but the first are numbers."""


def summary(found: ArithmeticExplanation) -> Iterator[tuple[str, str]]:
    """The main results, each with a word for it."""
    task, best = found.task, found.best
    yield "subject", found.subject
    trained = f"{task.digits} digit{'' if task.digits == 1 else 's'} in training"
    yield "task", f"{task.name}, {trained}, up to {task.longer} in tests"
    yield "computes" if found.supported else "undecided", _verdict(found)
    yield "agreement", f"{best.agreement} outputs, right or wrong"
    yield "accuracy", f"{found.truth.agreement} (agreement with the truth)"
    other = found.runner_up
    if other is not None:
        margin = found.margin
        yield "runner-up", other.hypothesis.name
        agreeing = f"{margin.count:,} outputs that agree with only one of the two"
        yield "margin", f"{margin.right:,} of {agreeing} agree with the best"
    for name, support in found.ranges.items():
        yield name, f"{support.hypothesis.name}: {support.agreement}"
    counts = found.well_formed.values()
    written = Share(sum(each.right for each in counts), sum(each.count for each in counts))
    yield "numbers", f"{written} outputs are numbers that end"
    for mine, _ in found.dependences:
        used = "; ".join(f"{name}: {_places(places)}" for name, places in mine.used.items())
        yield f"uses at {mine.length}", f"places of {used}"


def _verdict(found: ArithmeticExplanation) -> str:
    name = found.best.hypothesis.name
    if not found.supported:
        return f"no hypothesis agrees with most outputs; the best is {name}"
    if found.decided or found.runner_up is None:
        return name
    assert found.runner_up is not None
    return f"{name}, which is not told apart from {found.runner_up.hypothesis.name}"


def _places(places: Sequence[int]) -> str:
    """Places as ranges.

    Example:
        >>> _places([1, 2, 3, 5]), _places([])
        ('1-3, 5', 'none')
    """
    ranges: list[list[int]] = []
    for place in places:
        if ranges and ranges[-1][1] == place - 1:
            ranges[-1][1] = place
        else:
            ranges.append([place, place])
    named = [str(low) if low == high else f"{low}-{high}" for low, high in ranges]
    return ", ".join(named) or "none"


def ranking_table(found: ArithmeticExplanation) -> Table:
    """The hypotheses, best first."""
    header = ["hypothesis", "agreement (95%)", "right"]
    rows = [
        [each.hypothesis.name, each.agreement.short, each.right.percent] for each in found.ranking
    ]
    return header, rows


def same_predictions(found: ArithmeticExplanation) -> list[str]:
    """Which hypotheses predict the same on all questions."""
    names = {each.hypothesis.kind: each.hypothesis.name for each in found.ranking}
    return [
        f"{each.hypothesis.name}: on these questions, the same as {names[each.same_as[0]]}"
        for each in found.ranking
        if each.same_as
    ]


def length_table(found: ArithmeticExplanation) -> Table:
    """Agreement by length: with the truth, and with the best hypotheses that differ from it."""
    shown = [found.truth]
    for each in found.ranking:
        kinds = {one.hypothesis.kind for one in shown}
        if (
            len(shown) <= SHOWN
            and each.hypothesis.kind not in kinds
            and not kinds & {*each.same_as}
        ):
            shown.append(each)
    header = ["digits", "n", "truth", *(_short(each) for each in shown[1:]), "numbers"]
    rows = []
    for length, share in found.truth.by_length.items():
        shares = [each.by_length[length].percent for each in shown]
        trained = " *" if length in found.task.mixture.lengths else ""
        numbers = found.well_formed[length].percent
        rows.append([f"{length}{trained}", f"{share.count:,}", *shares, numbers])
    return header, rows


def _short(support: Support) -> str:
    """A hypothesis in one or two words."""
    hypothesis = support.hypothesis
    kept = f"last {hypothesis.digits}" if hypothesis.digits else "all"
    if hypothesis.kind in ("last", "fewer", "more"):
        return kept
    if hypothesis.kind == "residue" and hypothesis.modulus:
        return f"{kept}, mod {hypothesis.modulus}"
    return hypothesis.kind


def congruence_table(found: ArithmeticExplanation) -> Table:
    """How many outputs are right modulo some numbers."""
    rows = [
        [str(number), share.short, f"{100 / number:.2g}%"]
        for number, share in found.congruences.items()
    ]
    return ["modulo", "right (95%)", "guess"], rows


def carry_table(found: ArithmeticExplanation) -> Table:
    """How much of each output digit the features explain."""
    header = ["place", "n", *(f"{part}: {name}" for name in FEATURES for part in ("R²", "same"))]
    rows = []
    for place in found.carries:
        row = [str(place.place), f"{next(iter(place.explained.values())).accuracy.count:,}"]
        for each in place.explained.values():
            row.append("-" if each.r2 is None else f"{each.r2:.2f}")
            row.append(each.accuracy.percent)
        rows.append(row)
    return header, rows


def lines(found: ArithmeticExplanation, limit: int) -> Iterator[str]:
    """The explanation as text, with at most `limit` rows of each table."""
    for word, value in summary(found):
        yield from wrap(value, 80, initial_indent=f"{word:<12}", subsequent_indent=" " * 12)
    yield ""
    yield from _aligned(*ranking_table(found), limit)
    for sentence in same_predictions(found):
        yield from wrap(sentence, 80, subsequent_indent="  ")
    yield ""
    yield "Agreement by length (* in training)"
    yield from _aligned(*length_table(found), limit)
    yield ""
    yield "Right modulo a number"
    yield from _aligned(*congruence_table(found), limit)
    yield ""
    yield "Output digits explained by carry features: R², and the share with the likeliest"
    yield "digit; for each place the digits of that place, and a carry"
    header, rows = carry_table(found)
    short = [*header[:2], "R²", "digits", "R²", "+ next", "R²", "+ carry"]
    yield from _aligned(short, rows, limit)


def _aligned(header: list[str], rows: list[list[str]], limit: int) -> Iterator[str]:
    """A table whose first column is aligned to the left, and the others to the right."""
    shown = [header, *rows[:limit]]
    widths = [max(len(row[at]) for row in shown) for at in range(len(header))]
    for row in shown:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join(cells).rstrip()
    if len(rows) > limit:
        yield f"and {len(rows) - limit:,} more (--limit)"


def as_dict(found: ArithmeticExplanation) -> dict[str, Any]:
    """The explanation as plain values, for JSON."""
    other = found.runner_up
    return {
        "subject": found.subject,
        "task": found.task.name,
        "digits": found.task.digits,
        "longer": found.task.longer,
        "modulus": found.task.modulus_or_none or None,
        "questions": found.questions,
        "best": found.best.hypothesis.kind,
        "computes": found.best.hypothesis.name,
        "supported": found.supported,
        "decided": found.decided,
        "agreement": found.best.agreement.as_dict(),
        "accuracy": found.truth.agreement.as_dict(),
        "runner_up": None if other is None else other.hypothesis.kind,
        "margin": found.margin.as_dict(),
        "ranking": [_support(each) for each in found.ranking],
        "ranges": {name: _support(support) for name, support in found.ranges.items()},
        "well_formed": _shares(found.well_formed),
        "congruences": _shares(found.congruences),
        "dependence": [
            {"model": mine.as_dict(), "hypothesis": its.as_dict(), "distance": _distance(mine, its)}
            for mine, its in found.dependences
        ],
        "carries": [each.as_dict() for each in found.carries],
    }


def _distance(mine: Dependence, its: Dependence) -> float | None:
    distance = mine.distance(its)
    return None if math.isnan(distance) else distance


def _support(support: Support) -> dict[str, Any]:
    hypothesis = support.hypothesis
    return {
        "hypothesis": hypothesis.kind,
        "name": hypothesis.name,
        "digits": hypothesis.digits or None,
        "modulus": hypothesis.modulus or None,
        "fitted": support.fitted.as_dict(),
        "agreement": support.agreement.as_dict(),
        "by_length": _shares(support.by_length),
        "right": support.right.as_dict(),
        "same_as": support.same_as,
    }


def _shares(shares: dict[int, Share]) -> dict[str, Any]:
    return {str(key): share.as_dict() for key, share in shares.items()}


def page(found: ArithmeticExplanation) -> str:
    """The explanation as a page in Markdown."""
    from weft.studies.report import markdown_table

    task = found.task
    parts = [f"# What a model of {task.name} computes", ""]
    parts += markdown_table(["", "result"], [[word, value] for word, value in summary(found)])
    parts += ["", "## Hypotheses", ""]
    parts += [
        f"Free parameters were chosen on {found.best.fitted.count:,} held-out questions, and "
        f"agreement was measured on {found.best.agreement.count:,} others, with equal shares of "
        "all lengths that have enough questions. `right` is how often the hypothesis itself gives "
        "the true result.",
        "",
        *markdown_table(*ranking_table(found)),
        "",
        *(f"- {sentence}" for sentence in same_predictions(found)),
        "",
        "Agreement by the number of digits of the longest operand (* in training), in %:",
        "",
        *markdown_table(*length_table(found)),
        "",
        "Outputs that are right modulo a number:",
        "",
        *markdown_table(*congruence_table(found)),
        "",
        "## Dependence on single digits",
        "",
        f"![Dependence of the output's digits on the operands' digits]({FIGURE}.svg)",
        "",
        "One digit of an operand is replaced, and the shade is the share of questions on which a "
        "digit of the output changes. Beside the model, the same for the best hypothesis. The "
        "dashed line is the number of digits in training.",
        "",
        "## Carries",
        "",
        "Each digit of the output, predicted from features of its place: `digits` is the sum of "
        "the operands' digits modulo the base, `next` the carry out of the next lower place alone, "
        "`carry` the carry with all that runs into it. R² is the share of the variance explained, "
        "`same` the share of outputs that have the likeliest digit, on held-out questions.",
        "",
        *markdown_table(*carry_table(found)),
    ]
    return "\n".join(parts) + "\n"


def write(found: ArithmeticExplanation, folder: Path) -> list[Path]:
    """Write page, values and figure into a folder; returns the files."""
    from weft.studies.plotting import save

    folder.mkdir(parents=True, exist_ok=True)
    written, values = folder / f"{NAME}.md", folder / f"{NAME}.json"
    written.write_text(page(found), encoding="utf-8")
    text = json.dumps(as_dict(found), ensure_ascii=False, indent=1)
    values.write_text(text + "\n", encoding="utf-8")
    figure = draw_dependence(
        found.dependences, trained=found.task.digits, hypothesis=found.best.hypothesis.name
    )
    return [written, values, save(figure, folder, FIGURE)]
