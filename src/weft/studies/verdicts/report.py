"""A verdict as a table, a page and figures (figures 4 and 5 of the ALTA paper, for any program)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from weft.files import write_json
from weft.statistics import Share, warnings
from weft.studies.plotting import band, finish, panels, save
from weft.studies.report import markdown_table
from weft.studies.verdicts.stages import Stage, StageName
from weft.studies.verdicts.verdict import Verdict

QUESTIONS = {
    "compiled": "expressible: the program as weights",
    "minimal": "predicted: what training leaves of it",
    "traces": "its feed-forward learned from its traces, the rest compiled",
    "streams": "a whole model learned to follow its traces",
    "end to end": "learned end to end, from answers",
}
COLOURS: dict[StageName, str] = {
    "compiled": "C7",
    "minimal": "C0",
    "traces": "C1",
    "streams": "C4",
    "end to end": "C2",
}
PANELS: dict[str, tuple[StageName, ...]] = {
    "predicted": ("minimal",),
    "learned from traces": ("traces", "streams"),
    "learned end to end": ("end to end",),
}


def rows(found: Verdict) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of the table, as text; n is in the header, the same for all."""
    header = ["", "of", *(f"{split} (n = {found.tests(split):,})" for split in found.splits)]
    table = [_row(found, stage) for stage in found.stages]
    for stages, means in found.seeds():
        label = f"mean of {len(stages)} seeds"
        cells = [means[split].short for split in found.splits]
        of = re.sub(r", seed \d+$", "", stages[0].of)
        table.append([stages[0].name, of, *cells, f"{label}, 95% t interval over seeds"])
    return [*header, "details"], table


def has_paper(found: Verdict) -> bool:
    """Whether there are figures of the paper to compare with."""
    return any(stage.paper for stage in found.stages)


def _row(found: Verdict, stage: Stage) -> list[str]:
    cells: list[str] = [stage.name, stage.of]
    for split in found.splits:
        share = stage.shares[split].short if split in stage.shares else "–"
        paper = f" ({stage.paper[split]:.0%})" if split in stage.paper else ""
        cells.append(share + paper)
    return [*cells, stage.details + (f", run {stage.run}" if stage.run else "")]


def agreements(found: Verdict) -> tuple[list[str], list[list[str]]]:
    """How often learned models answer as minimal programs do: header and rows; maybe none."""
    header = ["learned", "as minimal", *found.splits]
    table = []
    for stage in found.stages:
        for one in stage.agreement:
            label = f"{stage.name} {stage.of}" + (f", run {stage.run}" if stage.run else "")
            some = any(share.count for share in one.misses.values())
            misses = [(" where that is wrong", one.misses)] if some else []
            for what, shares in [("", one.shares), *misses]:
                cells = [str(shares[split]) if split in shares else "–" for split in found.splits]
                table.append([label, f"{one.program}{what}", *cells])
    return header, table


def warnings_of(found: Verdict) -> list[str]:
    """What to bear in mind when reading the table."""
    return warnings((split, Share(0, found.tests(split))) for split in found.splits)


INTERVALS = (
    "Accuracy in %, in square brackets the 95% Wilson interval over the n tests of the split. All "
    "rows have the same tests."
)
AGREEMENT = (
    "How often a learned model gives the answer that the minimal program gives, right or wrong: of "
    "all tests, and of those alone that the minimal program gets wrong."
)


def markdown(found: Verdict, pictures: Sequence[tuple[str, str]] = ()) -> str:
    """The page; `pictures` are files and what they show."""
    header, table = rows(found)
    compared, alike = agreements(found)
    lines = [
        f"# {found.task}: expressible, predicted, learned",
        "",
        *(f"- **{split}**: {told}" for split, told in found.splits.items()),
        "",
        INTERVALS,
        "",
        *markdown_table(header, table),
        "",
        *(f"**{line}**\n" for line in warnings_of(found)),
        *(f"- *{name}*: {told}." for name, told in QUESTIONS.items()),
        *(["- In brackets: what the paper reports."] if has_paper(found) else []),
        "",
        *(["## Answer by answer", "", AGREEMENT, ""] if alike else []),
        *([*markdown_table(compared, alike), ""] if alike else []),
        *(f"![{shown}]({file})\n" for file, shown in pictures),
        "Made by:",
        "",
        f"    {found.command}",
        "",
        *(f"- {told}" for told in found.made),
    ]
    return "\n".join(lines) + "\n"


def write_verdict(found: Verdict, folder: Path) -> list[Path]:
    """Write page, values and figures into a folder; gives the files."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = [("bars", "Accuracy by split (figure 4)", bars(found))]
    for axis in sorted({axis for stage in found.stages for axis in stage.curves}):
        drawn.append((axis, f"Accuracy by {axis} (figure 5)", by_axis(found, axis)))
    stem = re.sub(r"[^\w-]+", "-", found.task).strip("-") + "-verdict"
    pictures = [(save(figure, folder, f"{stem}-{name}"), shown) for name, shown, figure in drawn]
    page, values = folder / f"{stem}.md", folder / f"{stem}.json"
    page.write_text(markdown(found, [(path.name, shown) for path, shown in pictures]), "utf-8")
    write_json(values, found.as_dict())
    return [page, values, *(path for path, _ in pictures)]


def bars(found: Verdict) -> Any:
    """A group of bars for each program, in a panel for each split; the paper's as marks."""
    names = list(dict.fromkeys(stage.of for stage in found.stages if stage.name != "end to end"))
    met = {stage.name for stage in found.stages if stage.name != "end to end"}
    kinds = [kind for kind in COLOURS if kind in met]
    width = 0.8 / len(kinds)
    figure, places = panels(len(found.splits))
    for place, split in zip(places, found.splits, strict=True):
        for shift, kind in enumerate(kinds):
            chosen = [found.stage(kind, name) for name in names]
            found_shares = [None if one is None else one.shares.get(split) for one in chosen]
            shares = [0.0 if share is None else share.share for share in found_shares]
            at = [number + width * (shift - (len(kinds) - 1) / 2) for number in range(len(names))]
            place.bar(at, shares, width=0.9 * width, color=COLOURS[kind], label=kind)
            for x, share in zip(at, found_shares, strict=True):
                if share is not None:
                    low, high = share.interval.low, share.interval.high
                    place.plot([x, x], [low, high], color="black", linewidth=0.8)
            for x, one in zip(at, chosen, strict=True):
                if one is not None and split in one.paper:
                    place.plot([x], [one.paper[split]], marker="_", color="black", markersize=9)
        place.set_xticks(range(len(names)), [name.partition("(")[0] for name in names], fontsize=7)
        finish(
            place,
            split,
            "",
            "accuracy (dash: the paper's)",
            top=1.2,
            beside=len(kinds),
        )
    return figure


def _drawn(found: Verdict) -> list[Stage]:
    """Of each program the first of a kind; all models that learned end to end."""
    return [
        one
        for one in found.stages
        if one.name == "end to end" or found.stage(one.name, one.of) is one
    ]


def by_axis(found: Verdict, axis: str) -> Any:
    """Accuracy along an axis: what was predicted, and what was learned in which way."""
    shown = {
        title: [one for one in _drawn(found) if one.name in kinds and one.curves.get(axis)]
        for title, kinds in PANELS.items()
    }
    shown = {title: stages for title, stages in shown.items() if stages}
    figure, places = panels(len(shown))
    for place, (title, stages) in zip(places, shown.items(), strict=True):
        for stage in stages:
            curve = stage.curves[axis]
            dashes = "--" if stage.name == "streams" else "-"
            name = stage.of if stage.name != "streams" else f"{stage.of}, whole model"
            band(place, curve, dashes, label=name)
        finish(place, title, axis, "accuracy, 95% interval")
    return figure
