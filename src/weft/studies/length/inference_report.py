"""The report of `weft study inference`: R(T_n) term by term, accuracy up to n, and growth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from weft.crasp.regulariser import growth
from weft.statistics import Share, percent
from weft.studies.experiment import Drawing, ExperimentReport, Table
from weft.studies.length.inference import (
    COEFFICIENTS,
    EXAMPLES,
    SIZES,
    SPLITS,
    Evaluated,
    Inference,
    InferenceRow,
    chosen,
)
from weft.studies.plotting import LOOKS, Look, add_legend, draw_line, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Found = Mapping[InferenceRow, Sequence[Evaluated]]
COLUMNS = {
    "layers": "layers", "heads": "heads", "precision": "precision", "rank": "rank",
    "norm": "norm", "position_norm": "max ‖p‖", "position": "position", "total": "R",
}  # fmt: skip
"""The terms of R in the table."""
WITHOUT_PRECISION = "R without precision"


def report_of(
    study: Inference,
    scale: str,
    results: Found,
    places: Sequence[Mapping[str, Any]],
    *,
    complete: bool,
) -> ExperimentReport:
    """The report."""
    layers = ", ".join(f"{layers} with {heads}" for layers, heads in SIZES)
    coefficients = ", ".join(f"{coefficient:g}" for coefficient in COEFFICIENTS)
    return ExperimentReport(
        study=study.name,
        scale=scale,
        title=study.title,
        introduction=(
            f"{study.source}: take T_n from the models of context n that fit all inputs of "
            "length up to n/2 at every offset, with the least regulariser R. A function is "
            "computed by a limit transformer with periodic and local positions exactly if R(T_n) "
            "stays bounded and T_n is, from some n on, right on all lengths up to n. Every "
            "function in C-RASP[periodic, local] has such a limit transformer; for two tasks in "
            "the class and two outside it, the table shows what trained models do. "
            f"Scale `{scale}`: {study.scales[scale].description}.",
            f"Candidates: models without norms with layers and heads {layers}, a size only if no "
            f"smaller one fits; coefficients {coefficients} of all differentiable terms of R in "
            "the loss; trained on up to n/2 symbols at random offsets. A candidate *fits* if it "
            "is right on "
            f"{EXAMPLES} inputs of up to n/2 symbols at every offset. Those that fit are reduced: "
            "value matrices to the least rank, then parameters to the fewest fractional bits, "
            "with which they still fit. T_n is the candidate with the least R. Longer inputs "
            "decide nothing.",
        ),
        tables=(_terms(results), _growth(results)),
        figures=(_drawing(results),) if any(map(chosen, results.values())) else (),
        notes=(
            "n counts symbols of the input; the table of positions also has rows for the tokens "
            "around it. Accuracy is at offset 0, on inputs of more than n/2 symbols, with the "
            "95% Wilson interval.",
            "The minimum is over a few trained candidates, so R(T_n) is an upper bound of the "
            "theory's. A bound that grows does not show that the minimum grows; one that stays "
            "put over these lengths does not show that it is bounded, and two lengths show no "
            "trend. Growth is that of values of any size: a position term of 0.001 adds next to "
            "nothing to R.",
            "If no candidate fits, nothing is known about R(T_n): training may have been too "
            "short, or the models too small. Steps, learning rate and sizes were chosen in trials "
            "by whether models without penalty fit, not by their R.",
            "The theory's models scale logits by the logarithm of the input's length; these do "
            "not. Its precision also covers logits and the values of exp; here it is the bits of "
            "the parameters.",
        ),
        values={
            "sizes": [list(each) for each in SIZES],
            "coefficients": list(COEFFICIENTS),
            "examples": EXAMPLES,
            "rows": [_row_as_dict(row, found) for row, found in results.items()],
            "growth": {
                title: {key: _grown(values) for key, values in by_term.items()}
                for title, by_term in _by_problem(results).items()
            },
        },
        places=tuple(places),
        complete=complete,
    )


def _row_as_dict(row: InferenceRow, found: Sequence[Evaluated]) -> dict[str, Any]:
    best = chosen(found)
    return {
        "task": row.problem.title,
        "inside": row.problem.inside,
        "n": row.context,
        "fit": sum(each.fits for each in found),
        "chosen": None if best is None else best.run,
        "candidates": [each.as_dict() for each in found],
    }


def _terms(results: Found) -> Table:
    header = ("task", "class", "n", "fit", "coefficient", *COLUMNS.values())
    rows = []
    for row, found in results.items():
        best = chosen(found)
        fit = f"{sum(each.fits for each in found)} of {len(found)}"
        cells = ["–"] * (len(COLUMNS) + 3)
        if best is not None:
            cells = [
                f"{best.coefficient:g}",
                *(_number(best.terms[key]) for key in COLUMNS),
                *(_share(best.accuracy[split]) for split in SPLITS),
            ]
        rows.append((*row.labels, fit, *cells))
    return Table(
        title="R(T_n) term by term",
        header=(*header, "n/2 to 3n/4 (%)", "3n/4 to n (%)"),
        rows=tuple(rows),
        labels=2,
    )


def _share(share: Share) -> str:
    return f"{percent(share.share)} {share.interval} n={share.count:,}"


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _by_problem(results: Found) -> dict[str, dict[str, dict[int, float]]]:
    """By task and term, the values by n of the models T_n that there are."""
    values: dict[str, dict[str, dict[int, float]]] = {}
    for row, found in results.items():
        terms = values.setdefault(
            row.problem.title, {key: {} for key in (*COLUMNS, WITHOUT_PRECISION)}
        )
        best = chosen(found)
        if best is not None:
            for key in COLUMNS:
                terms[key][row.context] = float(best.terms[key])
            rest = float(best.terms["total"]) - best.terms["precision"]
            terms[WITHOUT_PRECISION][row.context] = rest
    return values


def _grown(values: Mapping[int, float]) -> str:
    """How values grow over the contexts there are; two do not show a trend."""
    return growth(values) if len(values) > 2 else "unknown"


def _growth_cell(values: Mapping[int, float]) -> str:
    """The last value as a multiple of the first, with a word for the trend if there is one."""
    contexts = sorted(values)
    if len(contexts) < 2:
        return "–"
    trend = f"{growth(values)}, " if len(contexts) > 2 else ""
    ratio = values[contexts[-1]] / values[contexts[0]] if values[contexts[0]] else float("nan")
    return f"{trend}{ratio:.2f}×" if ratio == ratio else "–"


def _growth(results: Found) -> Table:
    keys = {"total": "R", WITHOUT_PRECISION: WITHOUT_PRECISION, "position": "position"}
    inside = {row.problem.title: row.problem.inside for row in results}
    rows = []
    for title, terms in _by_problem(results).items():
        contexts = sorted(terms["total"])
        said = f"{contexts[0]} to {contexts[-1]}" if contexts else "–"
        grown = (_growth_cell(terms[key]) for key in keys)
        rows.append((title, "inside" if inside[title] else "outside", said, *grown))
    return Table(
        title="Growth from the smallest n to the largest",
        header=("task", "class", "n", *keys.values()),
        rows=tuple(rows),
        labels=2,
    )


def _drawing(results: Found) -> Drawing:
    return Drawing(
        name="growth",
        caption="R(T_n), its position term, and accuracy on inputs of n/2 + 1 to n symbols",
        draw=lambda: _figure(results),
    )


def _figure(results: Found) -> Figure:
    """R, the position term and accuracy by n; a line per task."""
    titles = list(dict.fromkeys(row.problem.title for row in results))
    looks = dict(zip(titles, LOOKS, strict=False))
    contexts = sorted({row.context for row in results})
    lowest = 1.0
    figure, axes = panels(3, columns=3, size=(2.2, 2.0), share_y=False)
    for title, look in looks.items():
        best = {
            row.context: each
            for row, found in results.items()
            if row.problem.title == title and (each := chosen(found)) is not None
        }
        if not best:
            continue
        for panel, key in zip(axes[:2], ("total", "position"), strict=True):
            _draw_values(panel, {n: float(each.terms[key]) for n, each in best.items()}, look)
        right = {
            float(n): _joined([each.accuracy[split] for split in SPLITS])
            for n, each in best.items()
        }
        draw_line(axes[2], {n: (share.share, share.interval) for n, share in right.items()}, look)
        lowest = min([lowest, *(share.interval.low for share in right.values())])
    for panel, name in zip(axes, ("R(T_n)", "position term", "accuracy (%)"), strict=True):
        panel.set_title(name)
        panel.set_xscale("log", base=2)
        panel.set_xticks(contexts, [str(n) for n in contexts])
        panel.set_xlim(contexts[0] / 1.2, contexts[-1] * 1.2)
    for panel in axes[:2]:
        panel.set_ylim(bottom=0)
    axes[2].set_ylim(max(0.0, lowest - 0.1 * (1 - lowest)), 1 + 0.1 * (1 - lowest))
    axes[2].yaxis.set_major_formatter(lambda share, _: f"{100 * share:g}")
    figure.supxlabel("context n (symbols)", fontsize=10)
    named = {_legend(title, results): look for title, look in looks.items()}
    add_legend(figure, named)
    return figure


def _legend(title: str, results: Found) -> str:
    """A task with its class, and whether there is anything to draw."""
    rows = [row for row in results if row.problem.title == title]
    described = f"{title} ({'inside' if rows[0].problem.inside else 'outside'})"
    return described if any(chosen(results[row]) for row in rows) else f"{described}: none fits"


def _draw_values(panel: Any, values: Mapping[int, float], look: Look) -> None:
    panel.plot(
        list(values),
        list(values.values()),
        color=look.colour,
        marker=look.marker,
        linestyle=look.dashes,
    )


def _joined(shares: Sequence[Share]) -> Share:
    return Share(sum(share.right for share in shares), sum(share.count for share in shares))
