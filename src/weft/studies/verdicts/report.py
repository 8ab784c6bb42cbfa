"""A verdict as a table, as a page of Markdown, and as figures."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from weft.files import write_json
from weft.statistics import Share, warnings
from weft.studies.plotting import (
    METHODS,
    REFERENCE_MARKER,
    add_legend,
    axis_label,
    binned,
    draw_line,
    draw_points,
    estimate,
    panels,
    percent_axis,
    save,
    shade_training,
    style,
)
from weft.studies.report import markdown_table
from weft.studies.verdicts.stages import Stage, StageName
from weft.studies.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEANINGS: dict[StageName, str] = {
    "compiled": "the program as compiled weights, which shows that it is expressible",
    "predicted": "the minimal program of the training inputs, which predicts what training finds",
    "from traces": "its feed-forward trained from its traces, the rest compiled",
    "from streams": "a whole Transformer trained to follow its traces",
    "from answers": "a Transformer trained on the task from answers alone",
}

INTERVALS = (
    "Accuracy in %, in square brackets the 95% Wilson interval over the n tests of the split. All "
    "rows have the same tests."
)
AGREEMENT = (
    "How often a trained model gives the answer that the minimal program gives, correct or not: on "
    "all tests, and on those that the minimal program gets wrong."
)


def rows(verdict: Verdict) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of the table, as text; n is in the header, as rows share it."""
    splits = [f"{split} (n = {verdict.tests(split):,})" for split in verdict.splits]
    header = ["", "program or model", *splits, "details"]
    table = [_row(verdict, stage) for stage in verdict.stages]
    for stages, means in verdict.seeds():
        cells = [means[split].short for split in verdict.splits]
        details = f"mean of {len(stages)} seeds, 95% t interval over seeds"
        table.append([stages[0].name, without_seed(stages[0].subject), *cells, details])
    return header, table


def without_seed(subject: str) -> str:
    """A model's description without its seed."""
    return re.sub(r", seed \d+$", "", subject)


def short_name(subject: str) -> str:
    """A name for figures: a program without its file and parameters, at most 28 characters."""
    name = subject.partition("(")[0].rpartition(":")[2]
    return name if len(name) <= 28 else f"{name[:27]}…"


def sources(verdict: Verdict) -> str:
    """Where the reference figures come from; empty if there are none."""
    with_figures = [stage for stage in verdict.stages if stage.reference]
    named = dict.fromkeys(stage.source for stage in with_figures if stage.source)
    return "; ".join(named) or ("reference" if with_figures else "")


def _row(verdict: Verdict, stage: Stage) -> list[str]:
    cells: list[str] = [stage.name, stage.subject]
    for split in verdict.splits:
        share = stage.shares[split].short if split in stage.shares else "–"
        reference = f" ({stage.reference[split]:.0%})" if split in stage.reference else ""
        cells.append(share + reference)
    return [*cells, stage.details + (f", run {stage.run}" if stage.run else "")]


def agreements(verdict: Verdict) -> tuple[list[str], list[list[str]]]:
    """How often trained models answer as minimal programs do: header and rows, maybe none."""
    header = ["trained model", "minimal program", *verdict.splits]
    table = []
    for stage in verdict.stages:
        label = f"{stage.name}: {stage.subject}" + (f", run {stage.run}" if stage.run else "")
        for agreement in stage.agreement:
            parts = [("", agreement.shares)]
            if any(share.count for share in agreement.misses.values()):
                parts.append((", its wrong answers", agreement.misses))
            for suffix, shares in parts:
                cells = [str(shares[split]) if split in shares else "–" for split in verdict.splits]
                table.append([label, f"{agreement.program}{suffix}", *cells])
    return header, table


def warnings_of(verdict: Verdict) -> list[str]:
    """Warnings about splits with few tests."""
    return warnings((split, Share(0, verdict.tests(split))) for split in verdict.splits)


def markdown(verdict: Verdict, pictures: Sequence[tuple[str, str]] = ()) -> str:
    """The page; `pictures` are files with their captions."""
    header, table = rows(verdict)
    compared, alike = agreements(verdict)
    present = {stage.name for stage in verdict.stages}
    meanings = {name: meaning for name, meaning in MEANINGS.items() if name in present}
    source = sources(verdict)
    lines = [
        f"# {verdict.task}: expressible, predicted, learned",
        "",
        *(f"- **{split}**: {description}" for split, description in verdict.splits.items()),
        "",
        INTERVALS,
        "",
        *markdown_table(header, table),
        "",
        *(f"**{line}**\n" for line in warnings_of(verdict)),
        *(f"- *{name}*: {meaning}." for name, meaning in meanings.items()),
        *([f"- In round brackets: {source}."] if source else []),
        "",
        *(["## Answer by answer", "", AGREEMENT, ""] if alike else []),
        *([*markdown_table(compared, alike), ""] if alike else []),
        *(f"![{caption}]({file})\n" for file, caption in pictures),
        *(["Made by:", "", f"    {verdict.command}", ""] if verdict.command else []),
        *(f"- {line}" for line in verdict.made),
    ]
    return "\n".join(lines) + "\n"


def write_verdict(verdict: Verdict, folder: Path) -> list[Path]:
    """Write page, values and figures into a folder; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = re.sub(r"[^\w-]+", "-", verdict.task).strip("-") + "-verdict"
    pictures = [
        (save(figure, folder, f"{stem}-{name}"), caption)
        for name, caption, figure in figures(verdict)
    ]
    page, values = folder / f"{stem}.md", folder / f"{stem}.json"
    captions = [(path.name, caption) for path, caption in pictures]
    page.write_text(markdown(verdict, captions), "utf-8")
    write_json(values, verdict.as_dict())
    return [page, values, *(path for path, _ in pictures)]


def figures(verdict: Verdict) -> list[tuple[str, str, Figure]]:
    """All figures of a verdict, each with its name and caption."""
    axes = sorted({axis for stage in verdict.stages for axis in stage.curves})
    drawn = [(axis, f"Accuracy by {axis_label(axis)}", by_axis(verdict, axis)) for axis in axes]
    return [("splits", "Accuracy by split", by_split(verdict)), *drawn]


def _by_subject(verdict: Verdict, names: Collection[str]) -> dict[str, dict[str, list[Stage]]]:
    """By subject and name of stage, its runs: the seeds of the first recipe."""
    subjects: dict[str, dict[str, list[Stage]]] = {}
    for stage in verdict.stages:
        if stage.name in names and stage.shares:
            stages = subjects.setdefault(without_seed(stage.subject), {})
            known = stages.setdefault(stage.name, [stage])
            if stage is not known[0] and stage.recipe and stage.recipe == known[0].recipe:
                known.append(stage)
    return subjects


def by_split(
    verdict: Verdict, splits: Sequence[str] = (), names: Collection[str] = tuple(METHODS)
) -> Figure:
    """A dot plot: a row for each program or model, a panel for each split, a look per stage.

    Args:
        verdict: what to draw.
        splits: which splits; all by default.
        names: which stages.
    """
    subjects = _by_subject(verdict, names)
    chosen = list(splits) or list(verdict.splits)
    present = {
        name: look for name, look in METHODS.items() if any(name in s for s in subjects.values())
    }
    source = sources(verdict) if "from traces" in names else ""
    with style():
        height = 0.2 * sum(len(stages) + 1 for stages in subjects.values()) + 0.3
        figure, axes = panels(len(chosen), columns=len(chosen), size=(1.75, height))
        figure.set_figwidth(figure.get_figwidth() + 1.2)
        for panel, split in zip(axes, chosen, strict=True):
            ticks, bottom = {}, 0.0
            for subject, stages in subjects.items():
                top = bottom
                for name, seeds in sorted(stages.items(), key=lambda s: list(METHODS).index(s[0])):
                    mean, interval = estimate([stage.shares[split] for stage in seeds])
                    draw_points(panel, bottom, mean, interval, METHODS[name])
                    if split in seeds[0].reference:
                        panel.plot([seeds[0].reference[split]], [bottom], **REFERENCE_MARKER)
                    bottom += 1
                ticks[(top + bottom - 1) / 2] = short_name(subject)
                bottom += 1
            panel.set_yticks(list(ticks), list(ticks.values()))
            panel.set_ylim(bottom - 1, -1)
            panel.tick_params(axis="y", length=0)
            panel.grid(axis="y", visible=False)
            panel.set_title(split)
            percent_axis(panel, "x")
        figure.supxlabel("accuracy (%)", fontsize=10)
        add_legend(figure, present, lines=False, reference=source)
    return figure


def by_axis(verdict: Verdict, axis: str) -> Figure:
    """Accuracy along an axis: a panel for each program or model, a line for each stage."""
    subjects = _by_subject(verdict, [name for name in METHODS if name != "compiled"])
    subjects = {s: stages for s, stages in subjects.items() if _curves(stages, axis)}
    present = {
        name: look for name, look in METHODS.items() if any(name in s for s in subjects.values())
    }
    bounds = verdict.training.get(axis)
    with style():
        figure, axes = panels(len(subjects))
        for panel, (subject, stages) in zip(axes, subjects.items(), strict=True):
            shade_training(panel, bounds)
            for name, curves in _curves(stages, axis).items():
                draw_line(panel, binned(curves, bounds and bounds[1]), METHODS[name])
            panel.set_title(short_name(subject), fontsize=9)
            percent_axis(panel)
        figure.supxlabel(axis_label(axis), fontsize=10)
        figure.supylabel("accuracy (%)", fontsize=10)
        add_legend(figure, present, training=bounds is not None)
    return figure


def _curves(stages: dict[str, list[Stage]], axis: str) -> dict[str, list[dict[int, Share]]]:
    curves = {
        name: [stage.curves[axis] for stage in seeds if stage.curves.get(axis)]
        for name, seeds in stages.items()
    }
    return {name: some for name, some in curves.items() if some}
