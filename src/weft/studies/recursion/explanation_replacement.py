"""Which input tokens does each output token depend on: replacement of single tokens.

One token of an input is replaced by each other token that leaves a valid input, everything else is
kept, and the function is asked again. The dependency of output token k on input token j is the
share of these questions on which output token k changes; a token that is there in one output and
not in the other has changed. Outputs are decoded anew, so a dependency may run through earlier
output tokens. All inputs have one length, and all recursion depths that this length allows occur
equally often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from weft.statistics import Share
from weft.studies.recursion.explanation_ranking import Answer
from weft.studies.recursion.explanation_subjects import Subject
from weft.tasks.arrays import Bools, Ints
from weft.theory.recursion.state_machines import Word

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Replacements:
    """Inputs of one length, and the same with one token replaced.

    Attributes:
        inputs: the inputs.
        changed: the inputs with one token replaced.
        rows: of each of these, which input it comes from.
        places: of each of these, which token was replaced, from 0.
    """

    inputs: list[Word]
    changed: list[Word]
    rows: Ints
    places: Ints

    @property
    def length(self) -> int:
        """The number of tokens of each input."""
        return len(self.inputs[0])


@dataclass(frozen=True, eq=False)
class Dependence:
    """Dependency of output tokens on input tokens.

    Attributes:
        length: the number of tokens of the inputs.
        changed: output token, input token: the share of questions on which it changes; not a
            number if the input token cannot be replaced.
        counts: input token: the number of questions.
        by_part: input part, output part: the share of questions on which a token of the output part
            changes, if one of the input part is replaced. Parts are those of the unchanged input.
    """

    length: int
    changed: Floats
    counts: Ints
    by_part: dict[str, dict[str, Share]]

    def distance(self, other: Dependence) -> float:
        """The mean absolute difference between two matrices of the same questions."""
        height = max(len(self.changed), len(other.changed))
        mine, its = (_heightened(each.changed, height) for each in (self, other))
        known = ~np.isnan(mine) & ~np.isnan(its)
        return float(np.abs(mine - its)[known].mean()) if known.any() else float("nan")

    def as_dict(self) -> dict[str, Any]:
        """The values for JSON."""
        return {
            "length": self.length,
            "changed": [[None if np.isnan(v) else float(v) for v in row] for row in self.changed],
            "n": self.counts.tolist(),
            "by_part": {
                name: {part: share.as_dict() for part, share in row.items()}
                for name, row in self.by_part.items()
            },
        }


def replacements(subject: Subject, inputs: Sequence[Word]) -> Replacements:
    """All inputs that come from some inputs of one length by replacing a token."""
    changed: list[Word] = []
    rows, places = [], []
    for row, given in enumerate(inputs):
        for place in range(len(given)):
            for token in subject.replacements(given, place):
                changed.append((*given[:place], token, *given[place + 1 :]))
                rows.append(row)
                places.append(place)
    return Replacements(
        list(inputs), changed, np.array(rows, dtype=np.int64), np.array(places, dtype=np.int64)
    )


def dependence_of(subject: Subject, answer: Answer, asked: Replacements) -> Dependence:
    """The dependency matrix of a function.

    Example:
        >>> from weft.studies.recursion.explanation_replacement import dependence_of, replacements
        >>> from weft.studies.recursion.explanation_subjects import SuccessorSubject
        >>> subject = SuccessorSubject("natural")
        >>> asked = replacements(subject, [("01", "XO", "X1"), ("01", "X1", "XO")])
        >>> found = dependence_of(subject, lambda inputs: [each for each in inputs], asked)
        >>> found.changed[:, 1:].tolist()  # of a function that copies
        [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    outputs = answer([*asked.inputs, *asked.changed])
    made = [() if output is None else output for output in outputs]
    before, after = made[: len(asked.inputs)], made[len(asked.inputs) :]
    width = max(1, max(map(len, made), default=0))
    tokens: dict[str, int] = {}
    rows = _numbered(before, width, tokens)[asked.rows]
    differs = rows != _numbered(after, width, tokens)
    changed = np.full((width, asked.length), np.nan)
    counts = np.bincount(asked.places, minlength=asked.length)
    for place in np.flatnonzero(counts):
        changed[:, place] = differs[asked.places == place].mean(axis=0)
    return Dependence(
        asked.length, changed, counts, _by_part(subject, asked, before, differs, width)
    )


def _by_part(
    subject: Subject, asked: Replacements, before: Sequence[Word], differs: Bools, width: int
) -> dict[str, dict[str, Share]]:
    """The share of questions on which each part of the output changes, by part of the input."""
    read = [subject.input_parts(given) for given in asked.inputs]
    written = [
        subject.output_parts(given, width)[:width]
        for given, _ in zip(asked.inputs, before, strict=True)
    ]
    names = list(dict.fromkeys(part for row in written for part in row))
    parts = np.array([[names.index(part) for part in row] for row in written], dtype=np.int64)
    replaced = np.array([read[row][place] for row, place in zip(asked.rows, asked.places)])  # noqa: B905
    found: dict[str, dict[str, Share]] = {}
    for source in dict.fromkeys(replaced.tolist()):
        chosen = replaced == source
        of = parts[asked.rows[chosen]].reshape(-1, width)
        found[source] = {}
        for number, name in enumerate(names):
            there = (of == number).any(axis=1)
            hit = (differs[chosen] & (of == number)).any(axis=1)
            found[source][name] = Share.of(hit[there])
    return found


def _numbered(words: Sequence[Word], width: int, tokens: dict[str, int]) -> Ints:
    """Words as numbers from 1 (b l), with 0 beyond their ends."""
    rows = np.zeros((len(words), width), dtype=np.int64)
    for row, word in enumerate(words):
        rows[row, : len(word)] = [tokens.setdefault(token, len(tokens) + 1) for token in word]
    return rows


def _heightened(values: Floats, height: int) -> Floats:
    """A matrix with rows of zeros up to a height; columns that are unknown stay unknown."""
    added = np.where(np.isnan(values[:1]), np.nan, 0.0).repeat(height - len(values), axis=0)
    return np.concatenate([values, added])


def draw_dependence(mine: Dependence, its: Dependence, name: str) -> Figure:
    """The dependency matrix of a model beside that of a machine.

    Args:
        mine: the model's.
        its: the machine's, on the same questions.
        name: the name of the machine.
    """
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure as NewFigure

    from weft.studies.plotting import SHADES, style

    height = max(len(mine.changed), len(its.changed))
    with style():
        figure = NewFigure(figsize=(6.8, 3.4), layout="constrained")
        shades = ListedColormap(SHADES).with_extremes(bad="white")
        panels = figure.subplots(1, 2, sharey=True)
        for panel, each, title in zip(panels, (mine, its), ("model", name), strict=True):
            image = panel.pcolormesh(_heightened(each.changed, height), cmap=shades, vmin=0, vmax=1)
            panel.set_title("\n".join(wrap(title, 30)))
            panel.grid(visible=False)
            panel.set_aspect("equal")
            panel.set_ylim(height, 0)
            columns = range(0, each.length, 1 if each.length <= 10 else 2)
            panel.set_xticks([at + 0.5 for at in columns], [str(at + 1) for at in columns])
            rows = range(0, height, 1 if height <= 10 else 2)
            panel.set_yticks([at + 0.5 for at in rows], [str(at + 1) for at in rows])
        panels[0].set_ylabel("output token")
        figure.supxlabel("input token that is replaced (white: cannot be)", fontsize=10)
        bar = figure.colorbar(image, ax=panels, shrink=0.8, pad=0.02)
        bar.set_ticks([0, 0.5, 1], labels=["0", "50", "100"])
        bar.set_label("output token changes\n(% of questions)")
        bar.outline.set_visible(False)
    return figure
