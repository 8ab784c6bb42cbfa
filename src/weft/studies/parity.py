"""Parity from answers: ALTA paper, appendix D.1, table 3 and figures 9 to 11.

Do Transformers trained on parity from answers alone generalise to longer strings? In the paper they
do not: with relative positional encodings they generalise only to longer strings that have no more
ones than those in training, and with absolute ones not at all.
"""

from __future__ import annotations

from typing import Any, Literal

from weft.studies.alta import SHARED, model_of
from weft.studies.study import Picture, Row, Scale, Study

PAPER = {
    ("8", "no", "relative"): (1.0, 0.60, 0.51),
    ("8", "yes", "relative"): (1.0, 0.65, 0.52),
    ("40", "no", "relative"): (1.0, 0.55, 0.51),
    ("40", "yes", "relative"): (1.0, 0.54, 0.48),
    ("8", "no", "absolute"): (1.0, 0.49, 0.50),
    ("8", "yes", "absolute"): (1.0, 0.50, 0.52),
    ("40", "no", "absolute"): (1.0, 0.50, 0.51),
    ("40", "yes", "absolute"): (1.0, 0.52, 0.51),
}
"""Table 3, by layers, weight sharing, positions: length at most 20, over 20, ones over 20."""

COLUMNS = {"train": "length ≤ 20", "longer": "length > 20", "more-ones": "ones > 20"}


def _adapted(layers: str, *_: str) -> dict[str, Any]:
    """A learning rate at which small models of this depth train stably, and enough steps."""
    if layers == "40":
        return {"optimiser.lr": 5e-4, "steps": 15_000}
    return {"optimiser.lr": 1e-3, "steps": 30_000}


SMALL = Scale(
    description=(
        "width 64, hidden layer 256, 2 heads of 32, fan-in initialisation, batches of 128, AdamW "
        "(0.9, 0.99) with cosine decay, 8 layers at most 30,000 steps (at 1e-3), 40 layers at most "
        "15,000 (at 5e-4), stopped at 99.9% accuracy in distribution"
    ),
    changes={
        **SHARED,
        "model.width": 64,
        "model.heads": 2,
        "model.hidden": [256],
        "initial": "fan-in",
        "optimiser.betas": [0.9, 0.99],
        "schedule.warm_up": 500,
        "batch": 128,
        "stop.accuracy": 0.999,
    },
    adapt={" ".join(labels): _adapted(*labels) for labels in PAPER},
)

FULL = Scale(
    description=(
        "as in the paper: width 512, hidden layer 2,048, 6 heads of 64, Adafactor at 5e-4, 50,000 "
        "steps; batches of 256, which the paper does not state"
    ),
    changes={
        **SHARED,
        "model.width": 512,
        "model.heads": 6,
        "model.key_width": 64,
        "model.value_width": 64,
        "model.hidden": [2048],
        "optimiser.name": "adafactor",
        "optimiser.lr": 5e-4,
        "optimiser.weight_decay": 0.0,
        "schedule.name": "constant",
        "steps": 50_000,
    },
    seeds=3,
)


def _picture(name: str, caption: str, kind: Literal["accuracy", "chosen"], axis: str) -> Picture:
    return Picture(name, caption, kind, "positions", axis)


PARITY = Study(
    name="parity",
    title="Parity, trained from answers",
    source="ALTA paper, table 3 and figures 9 to 11",
    task="parity",
    header=("layers", "shared", "positions"),
    rows=tuple(
        Row(labels, model_of(*labels), dict(zip(COLUMNS, paper, strict=True)))
        for labels, paper in PAPER.items()
    ),
    columns=COLUMNS,
    scales={"small": SMALL, "paper": FULL},
    drawn=("train", "longer"),
    training={"length": (1, 20), "ones": (0, 20)},
    figures=(
        _picture("length", "Accuracy by length (figure 9 of the paper)", "accuracy", "length"),
        _picture("ones", "Accuracy by number of ones (figure 10 of the paper)", "accuracy", "ones"),
        _picture("chosen", "Strings predicted as odd (figure 11 of the paper)", "chosen", "ones"),
    ),
    notes=(
        "Relative positions are T5 biases, absolute ones a learned table; the paper does not say "
        "which.",
        "Tests in distribution are held out of training; a test set has up to 4,096 strings.",
    ),
)
