"""Training configs for supervision by traces: table 1 of the ALTA paper, and smaller recipes.

                 hidden      batch   steps    lr     optimiser   noise
parity           2 x 128     256     50,000   1e-2   Adafactor   0.1
parity-absolute  4 x 4,096   256     50,000   1e-4   Adam        0.1
parity-count     4 x 4,096   256    400,000   1e-4   Adam        0.1

The learning rate warms up for 100 steps and then decays exponentially to a hundredth, as in the
paper's code, with He initialisation and ReLU. Other programs use the first line. The smaller
recipes differ in more than size, and other programs have a recipe of their own; docs/traces.md has
measurements of all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from weft.training.config import (
    EvaluationConfig,
    OptimiserConfig,
    OptimiserName,
    SampleBy,
    ScheduleConfig,
    StopConfig,
    SupervisionConfig,
    TrainingConfig,
)

DIVERGENCE = 30.0
"""Initial losses are large if the program has numbers, and may rise before they fall."""


@dataclass(frozen=True)
class TraceRecipe:
    """The hidden layers of a feed-forward and how it is trained; fields as in `TrainingConfig`."""

    hidden: tuple[int, ...]
    steps: int
    lr: float
    optimiser: OptimiserName
    sample_by: SampleBy = "counts"
    batch: int = 256
    floor: float = 0.01
    init_at_states: bool = False
    round_between_layers: bool = False


TABLE_1 = {
    "parity": TraceRecipe((128,) * 2, 50_000, 1e-2, "adafactor"),
    "parity-absolute": TraceRecipe((4096,) * 4, 50_000, 1e-4, "adamw"),
    "parity-count": TraceRecipe((4096,) * 4, 400_000, 1e-4, "adamw"),
}
SMALL = {
    "parity": TraceRecipe((64,) * 2, 2_000, 1e-2, "adamw"),
    "parity-absolute": TraceRecipe((1024,) * 2, 6_000, 1e-3, "adamw", "states"),
    "parity-count": TraceRecipe(
        (4096,),
        70_000,
        3e-4,
        "adamw",
        "states",
        batch=128,
        floor=0.003,
        init_at_states=True,
        round_between_layers=True,
    ),
}
OTHERS = TraceRecipe((512,) * 2, 4_000, 3e-3, "adamw", "states")
"""The small recipe for any other program."""
BY_ERRORS = replace(OTHERS, sample_by="errors", round_between_layers=True)
"""The small recipe for programs with rare states, or whose errors add up over many layers."""
SMALL |= dict.fromkeys(
    ("addition", "multiplication", "modular-sum", "tree-traversal", "tree-walk"),
    BY_ERRORS,
)


def trace_config(task: str, program: str, *, small: bool = False) -> TrainingConfig:
    """The config of a run that trains a program's feed-forward on its traces.

    Args:
        task: the task whose inputs are traced and which is evaluated.
        program: the program, by name.
        small: a smaller feed-forward and fewer steps.

    Example:
        >>> from weft.training import trace_config
        >>> trace_config("parity", "parity-absolute(positions=40)").model["hidden"]
        (4096, 4096, 4096, 4096)
    """
    name = program.partition("(")[0].strip()
    recipe = SMALL.get(name, OTHERS) if small else TABLE_1.get(name, TABLE_1["parity"])
    return TrainingConfig(
        task=task,
        supervision=SupervisionConfig(
            by="traces",
            program=program,
            sample_by=recipe.sample_by,
            init_at_states=recipe.init_at_states,
            round_between_layers=recipe.round_between_layers,
        ),
        model={"hidden": recipe.hidden},
        optimiser=OptimiserConfig(
            name=recipe.optimiser, lr=recipe.lr, betas=(0.9, 0.999), weight_decay=0.0, clip=0.0
        ),
        schedule=ScheduleConfig(name="exponential", warm_up=100, floor=recipe.floor),
        steps=recipe.steps,
        batch=recipe.batch,
        log_every=100,
        evaluation=EvaluationConfig(every=0),
        stop=StopConfig(divergence=DIVERGENCE),
    )


def stream_config(task: str, program: str) -> TrainingConfig:
    """The config of a run that trains a whole Transformer to follow a program's traces.

    One looped layer with post-norm, so that the residual stream keeps its scale however often the
    layer runs; offsets of one have biases of their own and all others share one per side, so that
    no distance is new in longer inputs; and noise, so that the model learns to correct errors.

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
