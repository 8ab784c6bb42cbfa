"""SCAN from answers: ALTA paper, appendix D.4, table 5 and figure 18.

Does depth help an encoder-decoder to generalise on SCAN, as the program that solves it would need?
In the paper it does not, for any split and positional encoding.
"""

from __future__ import annotations

from typing import Any

from weft.studies.alta import SHARED, model_of
from weft.studies.study import Picture, Row, Scale, Study

LAYERS = ("2", "6", "16", "32", "64", "128", "256")

PAPER = {
    ("length", "yes", "relative"): (11, 10, 9, 7, 7, 7, 5),
    ("length", "yes", "absolute"): (8, 9, 7, 5, 5, 6, 4),
    ("length", "no", "relative"): (9, 9, 11, 10, 10),
    ("length", "no", "absolute"): (9, 6, 7, 6, 4),
    ("mcd1", "yes", "relative"): (5, 3, 2, 4, 3, 3, 2),
    ("mcd1", "yes", "absolute"): (4, 1, 3, 2, 2, 2, 1),
    ("mcd1", "no", "relative"): (4, 4, 3, 2, 2),
    ("mcd1", "no", "absolute"): (5, 2, 1, 1, 2),
    ("mcd2", "yes", "relative"): (9, 13, 9, 5, 4, 7, 3),
    ("mcd2", "yes", "absolute"): (5, 6, 2, 2, 2, 2, 2),
    ("mcd2", "no", "relative"): (13, 7, 4, 5, 4),
    ("mcd2", "no", "absolute"): (4, 4, 2, 2, 1),
    ("mcd3", "yes", "relative"): (12, 12, 6, 5, 7, 2, 3),
    ("mcd3", "yes", "absolute"): (3, 4, 3, 3, 3, 2, 2),
    ("mcd3", "no", "relative"): (8, 8, 7, 3, 2),
    ("mcd3", "no", "absolute"): (4, 5, 2, 3, 1),
}
"""Table 5, in %, by split, weight sharing and positions: one figure per number of layers."""

COLUMNS = {"train": "held out of training", "test": "test"}


def _changes(split: str, shared: str, position: str, layers: str) -> dict[str, Any]:
    """Rows differ in the encoder's positional encoding; the decoder's is relative in all."""
    absolute = {"model.encoder_position": "learned", "model.positions": 64}
    return {
        "parameters.split": split,
        **model_of(layers, shared, "relative"),
        **(absolute if position == "absolute" else {}),
    }


def _rows() -> tuple[Row, ...]:
    return tuple(
        Row((*labels, layers), _changes(*labels, layers), {"test": share / 100})
        for labels, shares in PAPER.items()
        for layers, share in zip(LAYERS, shares, strict=False)
    )


SMALL = Scale(
    description=(
        "width 128, hidden layer 512, 8 heads of 16, fan-in initialisation, batches of 256, "
        "AdamW (0.9, 0.99) at 1e-3 with cosine decay, 6,000 steps"
    ),
    changes={
        **SHARED,
        "model.width": 128,
        "model.heads": 8,
        "model.hidden": [512],
        "initial": "fan-in",
        "optimiser.lr": 1e-3,
        "optimiser.betas": [0.9, 0.99],
        "schedule.warm_up": 500,
        "steps": 6000,
    },
)

FULL = Scale(
    description=(
        "as in the paper: width 128, hidden layer 512, 8 heads of 128, Adafactor at 5e-4, 100,000 "
        "steps; batches of 256, which the paper does not state"
    ),
    changes={
        **SHARED,
        "model.width": 128,
        "model.heads": 8,
        "model.key_width": 128,
        "model.value_width": 128,
        "model.hidden": [512],
        "optimiser.name": "adafactor",
        "optimiser.lr": 5e-4,
        "optimiser.weight_decay": 0.0,
        "schedule.name": "constant",
        "steps": 100_000,
    },
)

SCAN = Study(
    name="scan",
    title="SCAN, trained from answers",
    source="ALTA paper, table 5 and figure 18",
    task="scan",
    header=("split", "shared", "positions", "layers"),
    rows=_rows(),
    columns=COLUMNS,
    scales={"small": SMALL, "paper": FULL},
    figures=(
        Picture(
            "depth", "Test accuracy by number of layers (figure 18 of the paper)", "depth", "split"
        ),
    ),
    notes=(
        "Layers are counted in the encoder; the decoder has the same number.",
        "Positions are those of the encoder, a learned table or T5 biases, as in the paper; the "
        "decoder has T5 biases.",
        "2% of the training commands are held out as tests in distribution.",
    ),
    given={"parameters.folder": "the folder with the published files of the MCD splits"},
)
