"""Configs of runs that learn from traces: table 1 of the ALTA paper, and smaller ones.

                 hidden      batch   steps    lr     optimiser   noise
parity           2 x 128     256     50,000   1e-2   Adafactor   0.1
parity-absolute  4 x 4,096   256     50,000   1e-4   Adam        0.1
parity-count     4 x 4,096   256    400,000   1e-4   Adam        0.1

Learning rates rise for 100 steps and then fall exponentially to a hundredth, as in the paper's
code; first weights are He's, activations ReLU. Other programs take the first line. The smaller ones
differ in more than size, and other programs have a line of their own; docs/traces.md has what was
measured of all.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.training.config import (
    EvaluationConfig,
    OptimiserConfig,
    OptimiserName,
    ScheduleConfig,
    StopConfig,
    TrainingConfig,
)
from weft.training.supervision import SupervisionConfig, Weighing

DIVERGENCE = 30.0
"""First losses are large where numbers are, and may rise before they fall."""


@dataclass(frozen=True)
class Row:
    """A line of the table: the hidden layers of a feed-forward, and how it is trained.

    Rates fall to a share of `floor`; with `spread`, units begin at states and not at zero; with
    `rounded`, variables are set to their nearest values between layers when the model runs.
    """

    hidden: tuple[int, ...]
    steps: int
    lr: float
    optimiser: OptimiserName
    weigh: Weighing = "counts"
    batch: int = 256
    floor: float = 0.01
    spread: bool = False
    rounded: bool = False


TABLE_1 = {
    "parity": Row((128,) * 2, 50_000, 1e-2, "adafactor"),
    "parity-absolute": Row((4096,) * 4, 50_000, 1e-4, "adamw"),
    "parity-count": Row((4096,) * 4, 400_000, 1e-4, "adamw"),
}
SMALL = {
    "parity": Row((64,) * 2, 2_000, 1e-2, "adamw"),
    "parity-absolute": Row((1024,) * 2, 6_000, 1e-3, "adamw", "states"),
    "parity-count": Row(
        (4096,),
        70_000,
        3e-4,
        "adamw",
        "states",
        batch=128,
        floor=0.003,
        spread=True,
        rounded=True,
    ),
}
OTHERS = Row((512,) * 2, 4_000, 3e-3, "adamw", "states")
"""What is small for any other program."""


def trace_config(task: str, program: str, *, small: bool = False) -> TrainingConfig:
    """A run that learns a program's feed-forward from its traces.

    Args:
        task: on whose inputs, and what is evaluated.
        program: whose traces, by name.
        small: a smaller feed-forward and fewer steps.

    Example:
        >>> from weft.training import trace_config
        >>> trace_config("parity", "parity-absolute(positions=40)").model["hidden"]
        (4096, 4096, 4096, 4096)
    """
    name = program.partition("(")[0].strip()
    row = SMALL.get(name, OTHERS) if small else TABLE_1.get(name, TABLE_1["parity"])
    return TrainingConfig(
        task=task,
        supervision=SupervisionConfig(
            by="traces",
            program=program,
            weigh=row.weigh,
            spread=row.spread,
            rounded=row.rounded,
        ),
        model={"hidden": row.hidden},
        optimiser=OptimiserConfig(
            name=row.optimiser, lr=row.lr, betas=(0.9, 0.999), weight_decay=0.0, clip=0.0
        ),
        schedule=ScheduleConfig(name="exponential", warm_up=100, floor=row.floor),
        steps=row.steps,
        batch=row.batch,
        log_every=100,
        evaluation=EvaluationConfig(every=0),
        stop=StopConfig(divergence=DIVERGENCE),
    )


def stream_config(task: str, program: str) -> TrainingConfig:
    """A run in which a whole Transformer learns to follow a program's traces.

    One looped layer with a norm after each part, so that its stream keeps its size however often it
    is run; offsets of one have biases of their own and all others share one on each side, so that
    no distance is new in longer inputs; and noise, so that the stream comes back to where it was.

    Example:
        >>> from weft.training import stream_config
        >>> stream_config("parity", "parity").supervision.by
        'streams'
    """
    return TrainingConfig(
        task=task,
        supervision=SupervisionConfig(by="streams", program=program, noise=1.0),
        model={
            "width": 64, "heads": 4, "hidden": (128,), "activation": "relu", "biases": True,
            "norm": "post", "position": "none", "offsets": 1, "sink": True,
        },
        initial="gpt2",
        optimiser=OptimiserConfig(lr=3e-3, weight_decay=0.01),
        schedule=ScheduleConfig(warm_up=100, floor=0.05),
        steps=10_000,
        batch=64,
        evaluation=EvaluationConfig(every=2_000),
    )  # fmt: skip
