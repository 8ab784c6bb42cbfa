"""The explanation of a model of program traces as text, as a page, and as figures."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from weft.interpreter.trace import plain
from weft.ptg.first_errors import CATEGORIES
from weft.statistics import Share
from weft.studies.ptg.analysis import total_errors
from weft.studies.ptg.attention import PLACES, AttentionMass, HeadMass
from weft.studies.ptg.hazards import merged, rate_text
from weft.studies.ptg.records import FITTED
from weft.tasks.task import TRAIN

if TYPE_CHECKING:
    from weft.studies.ptg.explanation import TraceExplanation

NAME = "explanation"
Table = tuple[list[str], list[list[str]]]
"""The header and the rows; all columns but the first are numbers."""
PER = 10_000


def summary(found: TraceExplanation) -> Iterator[tuple[str, str]]:
    """The main results, each with a word for it."""
    yield "run", f"{found.subject.run}, {found.status}"
    yield "model", f"{found.subject.mechanism}, {found.parameters:,} parameters"
    trained = found.splits.get(TRAIN)
    if trained is not None:
        counts = "" if trained.right.share >= FITTED else f"; below {FITTED:.0%}, so other "
        counts += "" if trained.right.share >= FITTED else "figures say little about the mechanism"
        yield "trained", f"{trained.right} in distribution{counts}"
    total = merged([each.hazards for each in found.splits.values()]).total
    low, high = total.interval.low * PER, total.interval.high * PER
    yield (
        "hazard",
        f"{rate_text(total.share * PER)} [{rate_text(low)}–{rate_text(high)}] first errors per "
        f"{PER:,} steps, all splits",
    )
    categories = Counter(
        {name: sum(kinds.values()) for name, kinds in _errors(found).items()}
    ).most_common(3)
    if categories:
        count = sum(sum(kinds.values()) for kinds in _errors(found).values())
        shown = ", ".join(f"{name} {100 * number / count:.0f}%" for name, number in categories)
        yield "errors", f"{shown} of {count:,} first errors"
    best = best_head(found.subject.attention)
    if best is not None:
        yield (
            "best head",
            f"layer {best.layer}, head {best.head}: {best.needed:.0%} of its attention is on the "
            "tokens that a value needs",
        )


def _errors(found: TraceExplanation) -> dict[str, Counter[str]]:
    return total_errors(list(found.splits.values()))


def best_head(mass: AttentionMass | None) -> HeadMass | None:
    """The head that gives the needed tokens most attention."""
    heads = () if mass is None else mass.heads
    return max(heads, key=lambda head: head.needed, default=None)


def split_table(found: TraceExplanation) -> Table:
    """Accuracy, hazard, and how far wrong traces get, by split."""
    header = ["split", "n", "right (95%)", "steps", f"errors/{PER // 1000}k steps", "median right"]
    rows = []
    for split, each in found.splits.items():
        hazard = each.hazards.total.share * PER
        middle = f"{each.before_error[1]:.0f}" if each.before_error else "–"
        rows.append(
            [
                split,
                f"{each.right.count:,}",
                each.right.short,
                f"{each.steps:.0f}",
                rate_text(hazard),
                middle,
            ]
        )
    return header, rows


def error_table(found: TraceExplanation) -> Table:
    """First errors by category and the kinds of statements that they are in."""
    errors = _errors(found)
    rows = []
    for category in CATEGORIES:
        kinds = errors.get(category)
        if kinds:
            shown = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common(4))
            rows.append([category, f"{sum(kinds.values()):,}", shown])
    rows.sort(key=lambda row: -int(row[1].replace(",", "")))
    return ["first error", "n", "in"], rows


def kind_table(found: TraceExplanation) -> Table:
    """Hazards by the kind of statement, over all splits."""
    kinds = merged([each.hazards for each in found.splits.values()]).kinds
    rows = [
        [
            kind,
            f"{share.count:,}",
            f"{share.right:,}",
            rate_text(share.share * PER),
            _range(share),
        ]
        for kind, share in sorted(kinds.items(), key=lambda item: -item[1].share)
        if share.count
    ]
    return ["statement", "steps", "errors", f"per {PER:,}", "95%"], rows


def _range(share: Share) -> str:
    return f"{rate_text(share.interval.low * PER)}–{rate_text(share.interval.high * PER)}"


def head_table(mass: AttentionMass) -> Table:
    """Where heads look, those first that find what values need."""
    header = ["layer.head", "slope", "needed", *PLACES]
    rows = []
    for head in sorted(mass.heads, key=lambda head: -head.needed):
        slope = "–" if head.slope is None else f"{head.slope:.3g}"
        places = [f"{100 * head.mass[place]:.0f}" for place in PLACES]
        rows.append([f"{head.layer}.{head.head}", slope, f"{100 * head.needed:.0f}", *places])
    return header, rows


def without_table(found: TraceExplanation) -> Table:
    """The model without some of its heads."""
    header = ["split", "all heads", *found.without]
    rows = [
        [split, each.right.percent, *(shares[split].percent for shares in found.without.values())]
        for split, each in found.splits.items()
    ]
    return header, rows


def lines(found: TraceExplanation, limit: int) -> Iterator[str]:
    """The explanation as text, with at most `limit` rows of each table."""
    for word, value in summary(found):
        yield f"{word:<12}{value}"
    yield ""
    yield from aligned(*split_table(found), limit)
    yield ""
    yield "First errors: what is wrong, and in which statements"
    yield from aligned(*error_table(found), limit, words=True)
    yield ""
    yield "Hazard by statement, over all splits"
    yield from aligned(*kind_table(found), limit)
    if found.without:
        yield ""
        yield "Right traces (%) without some heads"
        yield from aligned(*without_table(found), limit)
    mass = found.subject.attention
    if mass is not None:
        yield ""
        yield f"Attention (%) of queries that predict a value, n = {mass.queries:,}"
        yield from aligned(*head_table(mass), limit)


def aligned(
    header: list[str], rows: list[list[str]], limit: int, *, words: bool = False
) -> Iterator[str]:
    """A table whose first column is aligned to the left, the others to the right.

    With `words`, the last column is text and aligned to the left as well.
    """
    shown = [header, *rows[:limit]]
    widths = [max(len(row[at]) for row in shown) for at in range(len(header))]
    for row in shown:
        cells = [row[0].ljust(widths[0])]
        cells += [text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)]
        if words:
            cells[-1] = row[-1]
        yield "  ".join(cells).rstrip()
    if len(rows) > limit:
        yield f"and {len(rows) - limit:,} more (--limit)"


def page(found: TraceExplanation, figures: Sequence[tuple[str, str]]) -> str:
    """The explanation as a page in Markdown; figures are files with their captions."""
    from weft.studies.report import markdown_table

    parts = [f"# What a {found.subject.mechanism} model of program traces does", ""]
    parts += markdown_table(["", "result"], [[word, value] for word, value in summary(found)])
    parts += ["", "## Splits", "", *markdown_table(*split_table(found)), ""]
    parts += [
        "`steps` is the mean number of steps of a trace, `median right` how many steps of wrong "
        "traces are right before the first error.",
        "",
        "## First errors",
        "",
        *markdown_table(*error_table(found)),
        "",
        "Hazard by kind of statement: first errors among the steps that are reached without one.",
        "",
        *markdown_table(*kind_table(found)),
        "",
    ]
    if found.without:
        parts += ["## Heads removed", "", *markdown_table(*without_table(found)), ""]
    mass = found.subject.attention
    if mass is not None:
        parts += [
            "## Attention",
            "",
            "Share of attention (%) of the queries that predict a token of a value, on the needed "
            "tokens (those that hold what the statement reads, where it was last written), the "
            "line of the program that is executed, the rest of the program, the call, earlier "
            f"lines of the trace, this line and marks; {mass.examples} examples, "
            f"{mass.queries:,} queries.",
            "",
            *markdown_table(*head_table(mass)),
            "",
        ]
    parts += [f"![{caption}]({file})\n" for file, caption in figures]
    return "\n".join(parts)


def write(found: TraceExplanation, folder: Path) -> list[Path]:
    """Write page, values and figures into a folder; returns the files."""
    from weft.studies.plotting import save, style
    from weft.studies.ptg.explanation_figures import figures_of

    folder.mkdir(parents=True, exist_ok=True)
    written, values = folder / f"{NAME}.md", folder / f"{NAME}.json"
    pictures: list[Path] = []
    shown: list[tuple[str, str]] = []
    with style():
        for name, caption, draw in figures_of(found):
            path = save(draw(), folder, f"{NAME}-{name}")
            pictures.append(path)
            shown.append((path.name, caption))
    written.write_text(page(found, shown), encoding="utf-8")
    text = json.dumps(plain(found.as_dict()), ensure_ascii=False, indent=1)
    values.write_text(f"{text}\n", encoding="utf-8")
    return [written, values, *pictures]
