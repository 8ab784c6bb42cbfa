"""Formal languages, with and without learned positions (Huang et al. 2025, section 5.2).

At each prefix of a word, the model predicts the set of symbols that may come next. All rows have
one model and one recipe, which was fixed before any run. Besides the paper's seventeen languages
there are counter languages, for which the paper's repository has neither code nor runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from weft.automata.languages import TABLE
from weft.studies.length.protocol import (
    COLUMNS,
    NAMES,
    PENALTY,
    SMOKE,
    SPLITS,
    TRAINING,
    coefficient_label,
    penalised,
    positional,
    size,
)
from weft.studies.length.reference import FORMAL, FORMAL_SOURCE
from weft.studies.study import Row, Scale, Study
from weft.tasks.formal.machines import COUNTERS

LONGEST = 150
MODEL = size(4, 4, 64)
"""The model of all rows."""
RECIPE: dict[str, Any] = {**TRAINING, "optimiser.lr": 1e-3, "evaluation.every": 3000}
TINY: dict[str, Any] = {
    "steps": 6000,
    "batch": 32,
    "evaluation.every": 1000,
    "evaluation.size": 1000,
    "tf32": False,
}
"""The scale `tiny`, for a CPU."""
SMOKE_LENGTHS = {"length": 8, "longer": 16, "longest": 24}
PAPER = {each.language: each for each in FORMAL}
FEW_WORDS = frozenset(
    ("tomita-1", "tomita-2", "aa-star", "aaaa-star", "abab", "anbn", "anbncn", "4-count")
)
"""Languages with at most 50 words in distribution, of which one or two are for validation."""
HEADER = ("language", "target", "positions", "penalty")
ENCODINGS = {label: encoding for encoding, label in NAMES.items()}


def language_row(language: str, target: str, encoding: str, coefficient: float = 0.0) -> Row:
    """A row: a language, what is asked, and an encoding; the paper's accuracy if it has the row."""
    asked: dict[str, Any] = {
        "parameters.language": language,
        "parameters.target": target,
        **penalised(coefficient),
    }
    if target == "membership":
        asked["model.tied"] = False  # the two classes are not tokens
    labels = (language, target, NAMES[encoding], coefficient_label(coefficient))
    if language not in PAPER or target != "next" or coefficient:
        return Row(labels, asked)  # the paper's column with the regulariser never trained with it
    known = PAPER[language]
    bins = known.learned if encoding == "learned" else known.none
    return Row(labels, asked, {s: value / 100 for s, value in zip(SPLITS, bins, strict=True)})


def stopping(language: str) -> dict[str, Any]:
    """When runs of a language stop early: never, if one or two words would decide it."""
    return {"stop.accuracy": None} if language in FEW_WORDS else {}


def positions_of(
    rows: Iterable[Row], longest: int, model: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """The model of every row and when it stops; a learned table has one row for <start>."""
    return {
        " ".join(row.labels): {
            **model,
            **positional(ENCODINGS[row.labels[2]], longest + 1),
            **stopping(row.labels[0]),
        }
        for row in rows
    }


def scales_of(rows: Iterable[Row]) -> dict[str, Scale]:
    """The scales of a study of formal languages; all have one recipe."""
    rows = tuple(rows)
    recipe = (
        "4 layers, 4 heads, width 64, at most {} steps of 64 fresh words, AdamW at 1e-3 with "
        "weight decay 0.01 and linear decay, stopped at 100% of a validation set in distribution, "
        "checked every 3,000 steps"
    )
    adapt = positions_of(rows, LONGEST, MODEL)
    return {
        "smoke": Scale(
            description="words of at most 8, 16 and 24 symbols, one layer of width 16, 20 steps",
            changes={**SMOKE, **{f"parameters.{name}": n for name, n in SMOKE_LENGTHS.items()}},
            adapt=positions_of(rows, SMOKE_LENGTHS["longest"], size(1, 1, 16)),
        ),
        "tiny": Scale(
            description=(
                "2 layers, 2 heads, width 32, at most 6,000 steps of 32 fresh words, AdamW at 1e-3 "
                "with weight decay 0.01 and linear decay, stopped at 100% of a validation set in "
                "distribution, checked every 1,000 steps; up to 1,000 tests of each bin"
            ),
            changes={**RECIPE, **TINY},
            seeds=3,
            adapt=positions_of(rows, LONGEST, size(2, 2, 32)),
        ),
        "small": Scale(
            description=recipe.format("15,000"),
            changes={**RECIPE, "steps": 15_000},
            seeds=3,
            adapt=adapt,
        ),
        "paper": Scale(
            description=recipe.format("30,000"),
            changes={**RECIPE, "steps": 30_000},
            seeds=5,
            adapt=adapt,
        ),
    }


NOTES = (
    "Accuracy is exact match at all prefixes of a word.",
    "Languages with at most 50 words in distribution train for all steps, since only one or two "
    "words are left for validation.",
    "The paper trains on fixed sets of words of other lengths, and its labels and bins have "
    "defects; its pattern is comparable, its numbers are not. Its column with the regulariser is "
    "left out: there, the regulariser was never part of the loss.",
    "The re-run of 2026 has one model per row, absolute positions, the best of a search that stops "
    "when it finds one that is right on all lengths.",
)

ROWS = (
    *(language_row(each.name, "next", encoding) for each in TABLE for encoding in NAMES),
    *(language_row(name, "next", encoding) for name in COUNTERS for encoding in NAMES),
    *(language_row(each.name, "next", "learned", PENALTY) for each in TABLE),
)

CRASP_FORMAL = Study(
    name="crasp-formal",
    title="Length generalisation on formal languages",
    source=FORMAL_SOURCE,
    task="formal-language",
    header=HEADER,
    rows=ROWS,
    columns=COLUMNS,
    scales=scales_of(ROWS),
    training={"length": (1, 50)},
    notes=NOTES,
)
