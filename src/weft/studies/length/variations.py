"""Variations of the reference experiments: the regulariser, other encodings, other offsets.

crasp-penalty    coefficients of the regulariser, on a task that C-RASP expresses with local
                 positions, on one that it does not express, and on a formal language
crasp-encodings  rotary positions, ALiBi and T5 biases, for which the theory predicts nothing
crasp-offsets    copying every k-th symbol, which needs a head that looks back k positions
"""

from __future__ import annotations

from typing import Any

from weft.studies.length.algorithmic import (
    PAPER_STEPS,
    SMOKE_LENGTHS,
    small_model,
)
from weft.studies.length.formal import LONGEST, MODEL, RECIPE, language_row, stopping
from weft.studies.length.protocol import (
    COLUMNS,
    NAMES,
    SMOKE,
    SPLITS,
    coefficient_label,
    penalised,
    positional,
    size,
    table_rows,
)
from weft.studies.length.reference import (
    ALGORITHMIC,
    ALGORITHMIC_SOURCE,
    OFFSETS,
    AlgorithmicReference,
    OffsetReference,
)
from weft.studies.study import Row, Scale, Study

LENGTHS = {f"parameters.{name}": value for name, value in SMOKE_LENGTHS.items()}
TINY = "inputs of at most 12, 18 and 24 symbols, one layer of width 16, 20 steps"
LEARNED = {each.task: each for each in ALGORITHMIC if each.positions == "learned"}
LANGUAGE_TASK: dict[str, Any] = {"task": "formal-language", **RECIPE, "steps": 15_000}
"""A formal language among algorithmic tasks: the recipe of `crasp-formal` at the scale `small`."""


def _scales(
    rows: tuple[Row, ...],
    small: dict[str, dict[str, Any]],
    smoke: dict[str, dict[str, Any]],
    description: str,
    seeds: int,
) -> dict[str, Scale]:
    """Scales of rows whose models are the same in `small` and `paper`, which has more seeds."""
    named = {" ".join(row.labels) for row in rows}
    assert named == set(small) == set(smoke)
    return {
        "smoke": Scale(description=TINY, changes={**SMOKE, **LENGTHS}, adapt=smoke),
        "small": Scale(description=description, changes=PAPER_STEPS, seeds=seeds, adapt=small),
        "paper": Scale(description=description, changes=PAPER_STEPS, seeds=5, adapt=small),
    }


# The regulariser

COEFFICIENTS = (0.0, 1e-5, 1e-4, 1e-3)
PENALISED = ("unique-copy", "bit-parity", "tomita-4")


def _penalty_row(name: str, coefficient: float) -> Row:
    label = coefficient_label(coefficient)
    if name == "tomita-4":
        row = language_row(name, "next", "learned", coefficient)
        return Row((name, label), row.changes, row.paper)
    known = LEARNED[name]
    bins = {0.0: known.accuracy, 1e-4: known.regularised}.get(coefficient)
    paper = {} if bins is None else {s: b / 100 for s, b in zip(SPLITS, bins, strict=True)}
    return Row((known.title, label), {"task": name, **penalised(coefficient)}, paper)


def _penalty_model(name: str, smoke: bool) -> dict[str, Any]:
    if name == "tomita-4":
        last = SMOKE_LENGTHS["longest"] if smoke else LONGEST
        where = positional("learned", last + 1)
        if smoke:
            return {"task": "formal-language", **size(1, 1, 16), **where}
        return {**LANGUAGE_TASK, **MODEL, **where}
    if smoke:
        return {**size(1, 1, 16), **positional("learned", table_rows(name, **SMOKE_LENGTHS))}
    return small_model(LEARNED[name])


PENALTY_ROWS = tuple(_penalty_row(name, each) for name in PENALISED for each in COEFFICIENTS)


def _penalty_models(smoke: bool) -> dict[str, dict[str, Any]]:
    names = [name for name in PENALISED for _ in COEFFICIENTS]
    return {
        " ".join(row.labels): _penalty_model(name, smoke)
        for row, name in zip(PENALTY_ROWS, names, strict=True)
    }


CRASP_PENALTY = Study(
    name="crasp-penalty",
    title="The regulariser as a training penalty",
    source=ALGORITHMIC_SOURCE,
    task="binary-majority",
    header=("task", "penalty"),
    rows=PENALTY_ROWS,
    columns=COLUMNS,
    scales=_scales(
        PENALTY_ROWS,
        _penalty_models(smoke=False),
        _penalty_models(smoke=True),
        "absolute positions; unique copy and parity with the model that the paper selected, at "
        "most 30,000 steps, Tomita-4 with 4 layers, 4 heads and width 64, at most 15,000",
        seeds=5,
    ),
    training={"length": (1, 50)},
    notes=(
        "`penalty` is the coefficient of the position term of the regulariser. The paper has 1e-4 "
        "(and 1e-3, in files that repeat rows over seeds and are left out here).",
    ),
)

# Other encodings

ENCODINGS = {"rotary": "rotary", "ALiBi": "alibi", "T5": "t5"}
"""By label, encodings outside the theory."""
ENCODED_LANGUAGES = ("tomita-4", "aa-star", "012-02", "tomita-5")


def _encoding_row(name: str, label: str) -> Row:
    if name in ENCODED_LANGUAGES:
        asked = language_row(name, "next", "none").changes
        return Row((name, label), {"task": "formal-language", **asked})
    return Row((LEARNED[name].title, label), {"task": name})


def _encoding_model(name: str, label: str) -> dict[str, Any]:
    where = positional(ENCODINGS[label], 0)
    if name in ENCODED_LANGUAGES:
        return {**LANGUAGE_TASK, **MODEL, **where, **stopping(name)}
    known: AlgorithmicReference = LEARNED[name]
    return {**_without_table(small_model(known)), **where}


def _without_table(model: dict[str, Any]) -> dict[str, Any]:
    dropped = ("model.positions", "model.example_offsets")
    return {key: value for key, value in model.items() if key not in dropped}


ENCODED = tuple((name, label) for name in (*LEARNED, *ENCODED_LANGUAGES) for label in ENCODINGS)
ENCODING_ROWS = tuple(_encoding_row(*each) for each in ENCODED)

CRASP_ENCODINGS = Study(
    name="crasp-encodings",
    title="Positional encodings outside the theory",
    source="tasks of Huang et al. (2025); the encodings are not in the paper",
    task="binary-majority",
    header=("task", "positions"),
    rows=ENCODING_ROWS,
    columns=COLUMNS,
    scales=_scales(
        ENCODING_ROWS,
        {
            " ".join(row.labels): _encoding_model(*each)
            for row, each in zip(ENCODING_ROWS, ENCODED, strict=True)
        },
        {
            " ".join(row.labels): {**size(1, 1, 16), **positional(ENCODINGS[label], 0)}
            for row, (_, label) in zip(ENCODING_ROWS, ENCODED, strict=True)
        },
        "the models of `crasp-algorithmic` and `crasp-formal` at the scale `small` with absolute "
        "positions, with another encoding in their place",
        seeds=3,
    ),
    training={"length": (1, 50)},
    notes=(
        "Outside the theory: C-RASP says nothing about these encodings. The rows with absolute "
        "positions and without are those of `crasp-algorithmic` and `crasp-formal`.",
        "Models were selected for absolute positions, not for these encodings.",
    ),
)

# Other offsets


def _offset_labels(each: OffsetReference, encoding: str) -> tuple[str, str, str]:
    return (
        str(each.stride),
        f"{each.lengths[0]}/{each.lengths[1]}/{each.lengths[2]}",
        NAMES[encoding],
    )


def _lengths(each: OffsetReference) -> dict[str, int]:
    return dict(zip(SMOKE_LENGTHS, each.lengths, strict=True))


def _offset_row(each: OffsetReference, encoding: str) -> Row:
    bins = each.learned if encoding == "learned" else each.none
    return Row(
        _offset_labels(each, encoding),
        {"task": "unique-copy", **({"parameters.stride": each.stride} if each.stride > 1 else {})},
        {split: value / 100 for split, value in zip(SPLITS, bins, strict=True)},
    )


def _offset_model(each: OffsetReference, encoding: str) -> dict[str, Any]:
    lengths = _lengths(each)
    where = positional(encoding, table_rows("unique-copy", stride=each.stride, **lengths))
    given = {f"parameters.{name}": value for name, value in lengths.items()}
    if each.lengths[0] == 50:
        given = {}  # the task's own lengths, so that runs are shared with `crasp-algorithmic`
    model = size(2, 1, 64) if encoding == "learned" else size(5, 4, 256)
    return {**given, **model, **where, "optimiser.lr": 1e-3 if encoding == "learned" else 1e-4}


def _offset_smoke(each: OffsetReference, encoding: str) -> dict[str, Any]:
    more = 0 if each.lengths[0] == 50 else 3
    lengths = {name: value + more for name, value in SMOKE_LENGTHS.items()}
    rows = table_rows("unique-copy", stride=each.stride, **lengths)
    given = {f"parameters.{name}": value for name, value in lengths.items()}
    return {**given, **size(1, 1, 16), **positional(encoding, rows)}


OFFSET_CASES = tuple((each, encoding) for each in OFFSETS for encoding in NAMES)
OFFSET_ROWS = tuple(_offset_row(*case) for case in OFFSET_CASES)

CRASP_OFFSETS = Study(
    name="crasp-offsets",
    title="Copying every k-th of distinct symbols",
    source="Huang et al. (2025), appendix G.7",
    task="unique-copy",
    header=("stride", "lengths", "positions"),
    rows=OFFSET_ROWS,
    columns={"train": "bin 1", "longer": "bin 2", "longest": "bin 3"},
    scales=_scales(
        OFFSET_ROWS,
        {" ".join(_offset_labels(*case)): _offset_model(*case) for case in OFFSET_CASES},
        {" ".join(_offset_labels(*case)): _offset_smoke(*case) for case in OFFSET_CASES},
        "absolute positions with 2 layers, 1 head, width 64 at 1e-3, none with 5 layers, 4 heads, "
        "width 256 at 1e-4, at most 30,000 steps",
        seeds=3,
    ),
    notes=(
        "`lengths` are the longest inputs of the three bins. The paper reports the best "
        "configuration by validation, with dropout 0 or 0.1 and 1,500 steps of warm-up; it does "
        "not name the heads and the learning rate of its models without positions.",
    ),
)
