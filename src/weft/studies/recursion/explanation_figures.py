"""Figures of an explanation: dependence, knock-outs, recursion scores, attention weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft.studies.recursion.explanation import RecursionExplanation
from weft.studies.recursion.explanation_heads import (
    Effect,
    Head,
    Score,
    activation,
    parts_of,
    weights_of,
)
from weft.studies.recursion.explanation_replacement import draw_dependence

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_MAPS = 6
"""How many heads have a map of their weights."""
SHORT = {"<start>": "⊢", "<end>": "⊣", "01": "s", "XO": "0", "X1": "1"}
"""Tokens of maps."""


def figures_of(found: RecursionExplanation) -> dict[str, Figure]:
    """All figures that an explanation has, by name."""
    figures: dict[str, Figure] = {}
    if found.dependences is not None:
        figures["dependence"] = draw_dependence(*found.dependences, found.best.name)
    attention = found.attention
    if attention is None or not attention.effects:
        return figures
    figures["knock-outs"] = draw_effects(attention.effects)
    if attention.scores:
        figures["scores"] = draw_scores(attention.scores, attention.recursion_heads)
    maps = draw_attention_maps(found)
    if maps is not None:
        figures["attention"] = maps
    return figures


def draw_effects(effects: list[Effect]) -> Figure:
    """Shares of inputs on which a part of the output changes, by head and knock-out."""
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure as NewFigure

    from weft.studies.plotting import SHADES, style

    stacks = list(dict.fromkeys(each.head.stack for each in effects))
    parts = parts_of(effects)
    rows = [len({each.head for each in effects if each.head.stack == stack}) for stack in stacks]
    with style():
        figure = NewFigure(
            figsize=(7.2, 0.17 * sum(rows) + 1.05 * len(stacks) + 0.4), layout="constrained"
        )
        grid = figure.subplots(len(stacks), 1, squeeze=False, height_ratios=rows)[:, 0]
        shades = ListedColormap(SHADES).with_extremes(bad="white")
        for panel, stack in zip(grid, stacks, strict=True):
            mine = [each for each in effects if each.head.stack == stack]
            image = _draw_stack(panel, mine, parts, shades)
            kind = "" if stack == "cross" else "self-"
            panel.set_ylabel(f"{stack}\n{kind}attention", fontsize=9)
        figure.supxlabel("part of the output, by knock-out", fontsize=10)
        bar = figure.colorbar(image, ax=list(grid), shrink=0.6, pad=0.02)
        bar.set_ticks([0, 0.5, 1], labels=["0", "50", "100"])
        bar.set_label("inputs on which it changes (%)")
        bar.outline.set_visible(False)
    return figure


def _draw_stack(panel: Axes, effects: list[Effect], parts: list[str], shades: Any) -> Any:
    """The effects of the heads of a stack: heads down, parts of the output by knock-out across."""
    heads = list(dict.fromkeys(each.head for each in effects))
    changes = list(dict.fromkeys(each.change for each in effects))
    width = len(parts)
    values = np.full((len(heads), width * len(changes)), np.nan)
    for each in effects:
        column = width * changes.index(each.change)
        for part, share in each.flips.items():
            values[heads.index(each.head), column + parts.index(part)] = share.share
    image = panel.pcolormesh(values, cmap=shades, vmin=0, vmax=1, edgecolors="white", linewidth=0.4)
    panel.grid(visible=False)
    panel.set_ylim(len(heads), 0)
    for number, change in enumerate(changes):
        panel.text(
            width * (number + 0.5), -0.25, change.replace("without ", "without\n"),
            ha="center", va="bottom", fontsize=7.5,
        )  # fmt: skip
        if number:
            panel.axvline(width * number, color="black", linewidth=0.9)
    columns = [at + 0.5 for at in range(values.shape[1])]
    panel.set_xticks(columns, parts * len(changes), rotation=90, fontsize=7)
    names = [f"{head.layer}.{head.head}" for head in heads]
    panel.set_yticks([at + 0.5 for at in range(len(heads))], names, fontsize=7)
    return image


def _separate_stacks(panel: Axes, heads: list[Head]) -> None:
    """Lines between encoder, decoder and cross-attention."""
    for row in range(1, len(heads)):
        if heads[row].stack != heads[row - 1].stack:
            panel.axhline(row, color="black", linewidth=0.9)


def draw_scores(scores: list[Score], chosen: list[Head]) -> Figure:
    """The excess of each head's recursion score, with thresholds."""
    from matplotlib.figure import Figure as NewFigure
    from matplotlib.lines import Line2D

    from weft.studies.plotting import LOOKS, style

    heads = list(dict.fromkeys(each.head for each in scores))
    targets = list(dict.fromkeys(each.target for each in scores))
    places = {head: row for row, head in enumerate(heads)}
    with style():
        figure = NewFigure(figsize=(4.6, 0.17 * len(heads) + 1.5), layout="constrained")
        panel = figure.subplots()
        handles: list[Any] = []
        for number, target in enumerate(targets):
            look, mine = LOOKS[number], [each for each in scores if each.target == target]
            for each in mine:
                height = places[each.head] + 0.5 + 0.24 * (number - (len(targets) - 1) / 2)
                low, high = each.excess - each.error, each.excess + each.error
                panel.plot([low, high], [height, height], color=look.colour, linewidth=1.0)
                filled = look.colour if each.head in chosen and each.above else "white"
                panel.plot(
                    [each.excess], [height], color=look.colour, marker=look.marker,
                    markersize=3.6, markerfacecolor=filled, linestyle="none",
                )  # fmt: skip
            panel.axvline(
                mine[0].threshold, color=look.colour, linewidth=1.0, linestyle=(0, (3, 2))
            )
            named = "start of the run" if target == "start" else "the run"
            handles.append(
                Line2D([], [], color=look.colour, marker=look.marker, linestyle="none", label=named)
            )
        handles.append(
            Line2D([], [], color="#444444", linewidth=1.0, linestyle=(0, (3, 2)), label="threshold")
        )
        panel.set_yticks(
            [at + 0.5 for at in range(len(heads))], [head.name for head in heads], fontsize=7
        )
        panel.set_ylim(len(heads), 0)
        _separate_stacks(panel, heads)
        panel.set_ylabel("head")
        panel.set_xlabel("recursion score minus the null set\n(filled: recursion head)")
        figure.legend(handles=handles, loc="outside upper center", ncols=3, columnspacing=1.0)
    return figure


def draw_attention_maps(found: RecursionExplanation) -> Figure | None:
    """Attention weights of the heads with the highest recursion scores, on one input."""
    from matplotlib.figure import Figure as NewFigure

    from weft.studies.plotting import SHADES, add_attention_legend, shade_of, style

    attention, asked = found.attention, found.model
    assert attention is not None
    heads = _shown_heads(found)
    example = _example(found)
    if asked is None or example is None or not heads:
        return None
    given, output = found.questions.inputs[example], found.questions.outputs[example] or ()
    laid = asked.laid_out([given], [output])[0]
    weights = weights_of(asked, laid)
    batch = laid.batch
    read = [asked.task.vocabulary[each] for each in batch.tokens[0, : batch.lengths[0]]]
    source = read if batch.source is None else list(given)
    with style():
        columns = 3
        rows = -(-len(heads) // columns)
        cell = max(1.9, 0.13 * max(len(read), len(source)) + 0.5)
        figure = NewFigure(figsize=(columns * cell + 0.4, rows * (cell + 0.45) + 0.6))
        grid = figure.subplots(rows, columns, squeeze=False).flatten()
        for panel, head in zip(grid, heads, strict=False):
            queries = source if head.stack == "encoder" else read
            keys = read if head.stack == "decoder" else source
            values = weights[activation(asked, head.stack, head.layer)][0, head.head]
            _draw_map(panel, values.tolist(), queries, keys, SHADES, shade_of)
            star = " *" if head in attention.recursion_heads else ""
            panel.set_title(head.name + star, pad=16)
        for panel in grid[len(heads) :]:
            panel.set_visible(False)
        figure.subplots_adjust(
            left=0.07, right=0.98, top=1 - 0.5 / figure.get_figheight(),
            bottom=0.75 / figure.get_figheight(), wspace=0.25, hspace=0.34,
        )  # fmt: skip
        add_attention_legend(figure)
    return figure


def _shown_heads(found: RecursionExplanation) -> list[Head]:
    """The heads with the highest excess, or those with the largest effects."""
    attention = found.attention
    assert attention is not None
    values: dict[Head, float] = {}
    if attention.scores:
        for each in attention.scores:
            known = values.get(each.head, -np.inf)
            values[each.head] = max(known, each.excess)
    else:
        for effect in attention.effects:
            largest = max((s.share for s in effect.flips.values() if s.count), default=0.0)
            values[effect.head] = max(values.get(effect.head, 0.0), largest)
    return sorted(values, key=lambda head: -values[head])[:MOST_MAPS]


def _example(found: RecursionExplanation) -> int | None:
    """The input to draw: one of middle length with a middle run, and a right output if any is."""
    middle = min(found.task.length, 12)
    best: tuple[float, int] | None = None
    for row, (given, output) in enumerate(
        zip(found.questions.inputs, found.questions.outputs, strict=True)
    ):
        if output is None:
            continue
        run = found.subject.input_parts(given).count("run")
        cost = (
            abs(len(given) - middle) + abs(run - middle / 3) + 5 * (not found.questions.right[row])
        )
        if best is None or cost < best[0]:
            best = cost, row
    return None if best is None else best[1]


def _draw_map(
    panel: Axes,
    weights: list[list[float]],
    queries: list[str],
    keys: list[str],
    shades: tuple[str, ...],
    shade_of: Any,
) -> None:
    """A map of weights, queries down and keys across, with their tokens."""
    from matplotlib.colors import ListedColormap

    values = [[shade_of(weight) for weight in row[: len(keys)]] for row in weights[: len(queries)]]
    panel.pcolormesh(
        np.array(values), cmap=ListedColormap(shades), vmin=-0.5, vmax=len(shades) - 0.5
    )
    panel.grid(visible=False)
    panel.set(xlim=(0, len(keys)), ylim=(len(queries), 0), xticks=[], yticks=[])
    panel.set_xlabel("key", fontsize=8, labelpad=2)
    panel.set_ylabel("query", fontsize=8, labelpad=15)
    middle: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 6.5}
    for place, token in enumerate(keys):
        panel.text(place + 0.5, -0.6, SHORT.get(token, token), **middle)
    for place, token in enumerate(queries):
        panel.text(-0.6, place + 0.5, SHORT.get(token, token), **middle)
    for spine in panel.spines.values():
        spine.set(visible=True, color="#999999", linewidth=0.8)
