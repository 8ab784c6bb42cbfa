"""Figures of the explanation of a model of program traces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from weft.studies.plotting import LOOKS, Look, add_legend
from weft.studies.ptg.attention import PLACES, AttentionMass, HeadMass
from weft.studies.ptg.figures import MOST_LINES, draw_errors, draw_hazards
from weft.studies.ptg.hazards import merged

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from weft.studies.ptg.explanation import Subject, TraceExplanation

Picture = tuple[str, str, Callable[[], "Figure"]]
"""Name, caption, and what draws it."""
COLUMNS = ("needed", *PLACES)


def figures_of(found: TraceExplanation) -> list[Picture]:
    """The figures that have something to show."""
    hazards = (
        {
            "in distribution": found.splits["train"].hazards,
            **{split: each.hazards for split, each in found.splits.items() if split != "train"},
        }
        if "train" in found.splits
        else {split: e.hazards for split, e in found.splits.items()}
    )
    grouped = {"all splits": merged(list(hazards.values()))}
    grouped |= {split: hazards[split] for split in list(hazards) if split in SHOWN}
    pictures: list[Picture] = [
        (
            "hazards",
            "Hazard of a first error against sizes of the state",
            lambda: draw_hazards(dict(list(grouped.items())[:MOST_LINES])),
        )
    ]
    errors = {split: each.categories for split, each in found.splits.items() if each.categories}
    if errors:
        pictures.append(
            ("errors", "First errors by category and split", lambda: draw_errors(errors))
        )
    subjects = [each for each in (found.subject, *found.beside) if each.attention is not None]
    if subjects:
        pictures.append(
            (
                "attention",
                "Attention of each head by place, for queries that predict a value",
                lambda: draw_mass(subjects),
            )
        )
        pictures.append(
            (
                "distance",
                "Attention of the best head on the needed tokens, by their distance",
                lambda: draw_distance(subjects),
            )
        )
    return pictures


SHOWN = ("in distribution", "longer-traces-2", "longer-programs", "more-variables", "longer-lists")
"""The splits whose hazards are drawn beside those over all splits."""


def draw_mass(subjects: Sequence[Subject]) -> Figure:
    """A map per run: heads down, places across."""
    from matplotlib.figure import Figure

    most = max(len(_mass(subject).heads) for subject in subjects)
    height = min(9.0, 1.5 + 0.16 * most)
    width = 1.0 + 2.3 * len(subjects)
    figure = Figure(figsize=(max(3.6, width), height), layout="constrained")
    axes = figure.subplots(1, len(subjects), squeeze=False)[0]
    image = None
    for panel, subject in zip(axes, subjects, strict=True):
        heads = _mass(subject).heads
        values = [[head.needed, *(head.mass[place] for place in PLACES)] for head in heads]
        image = panel.imshow(values, vmin=0, vmax=1, cmap="Blues", aspect="auto")
        panel.set_xticks(range(len(COLUMNS)), COLUMNS, rotation=60, ha="right", fontsize=8)
        panel.set_yticks(range(len(heads)), [_label(head) for head in heads], fontsize=6)
        if len(heads) > 40:
            per_layer = len(heads) // (heads[-1].layer + 1)
            starts = range(0, len(heads), per_layer)
            panel.set_yticks(
                starts, [f"layer {heads[start].layer}" for start in starts], fontsize=8
            )
        panel.axvline(0.5, color="#444444", linewidth=0.8)
        panel.grid(visible=False)
        panel.set_title(subject.name, fontsize=8)
    axes[0].set_ylabel("head (layer.head, slope if any)", fontsize=9)
    if image is not None:
        figure.colorbar(image, ax=list(axes), label="share of attention", shrink=0.6)
    return figure


def _label(head: HeadMass) -> str:
    slope = "" if head.slope is None else f"  {head.slope:.2g}"
    return f"{head.layer}.{head.head}{slope}"


def _mass(subject: Subject) -> AttentionMass:
    assert subject.attention is not None
    return subject.attention


def draw_distance(subjects: Sequence[Subject]) -> Figure:
    """Needed attention by distance: the best head of each run; of NaPE, of each kind of head."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6, 2.9), layout="constrained")
    panel = figure.subplots()
    looks: dict[str, Look] = {}
    curves: dict[str, dict[int, float]] = {}
    for subject in subjects:
        heads = _mass(subject).heads
        sloped = [head for head in heads if head.slope]
        flat = [head for head in heads if not head.slope]
        if sloped and flat:
            curves[f"{subject.name}: NoPE heads"] = best_by_distance(flat)
            curves[f"{subject.name}: ALiBi heads"] = best_by_distance(sloped)
        else:
            curves[subject.name] = best_by_distance(heads)
    for (name, curve), look in zip(curves.items(), LOOKS, strict=False):
        looks[name] = look
        panel.plot(
            list(curve), list(curve.values()), color=look.colour, marker=look.marker,
            linestyle=look.dashes,
        )  # fmt: skip
    panel.set_xscale("log", base=2)
    ends = sorted({end for curve in curves.values() for end in curve})
    panel.set_xticks(ends, [str(end) for end in ends])
    panel.minorticks_off()
    panel.set_ylim(-0.03, 1.03)
    panel.set_xlabel("distance to the needed token (up to, in tokens)")
    panel.set_ylabel("attention on it, best head")
    add_legend(figure, looks, intervals=False)
    return figure


def best_by_distance(heads: Sequence[HeadMass]) -> dict[int, float]:
    """For each range of distances the largest share of attention that one of the heads gives."""
    ends = sorted({end for head in heads for end in head.by_distance})
    return {end: max(head.by_distance.get(end, 0.0) for head in heads) for end in ends}
