"""The rows and scales of the study of program traces, as settings of runs.

Every row is trained with the same data, order of examples, schedule and number of tokens as the
others of its scale. Documents are packed into rows of the context's length, whole, and kept apart
by a mask; positions restart with each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from weft.studies.ptg.reference import PUBLISHED, SOURCE
from weft.studies.study import NOTHING, Row, Scale, Study
from weft.tasks.task import TRAIN

TASK = "program-traces"
HEADER = ("mechanism", "variation")
MAIN = "main"
"""The variation of rows that differ in the mechanism alone."""
CHECKPOINTS = 10
"""Evaluations of a run."""

SPLITS: Mapping[str, str] = {
    TRAIN: "in distribution",
    "longer-programs": "longer programs",
    "longer-traces-1": "longer traces 1",
    "longer-traces-2": "longer traces 2",
    "more-variables": "more variables",
    "longer-lists": "longer lists",
    "matched-length": "matched length",
    "more-loops": "more loops",
    "longer-lists-matched": "longer lists, matched",
    "same-program": "same program",
}
"""By split, the title of its column."""

MECHANISMS: Mapping[str, Mapping[str, Any]] = {
    "NoPE": {},
    "RoPE": {"model.position": "rotary"},
    "ALiBi": {"model.position": "alibi"},
    "NaPE": {"model.position": "nape"},
    "FoX": {"model.attention": "forgetting"},
    "NoPE + Canon": {"model.canon": "ABCD"},
    "NaPE + Canon": {"model.position": "nape", "model.canon": "ABCD"},
    "PaTH": {"model.attention": "path"},
    "stick-breaking": {"model.attention": "stick-breaking"},
    "entmax": {"model.attention": "entmax"},
    "SWAN": {"model.attention": "swan", "model.position": "rotary"},
    "T5": {"model.position": "t5"},
    "log-scaled": {"model.attention": "log-scaled"},
    "looped NoPE": {"model.loops": 2},
    "LSTM": {"model.architecture": "lstm"},
}
"""By label, the settings of a mechanism, in the order in which they are trained."""
CENTRAL = ("NoPE", "RoPE", "NaPE")

SHARES = {"no sloped heads": 0.0, "1/4 sloped": 0.25, "3/4 sloped": 0.75, "all sloped": 1.0}
SLOPES = ("harmonic", "geometric")
PACKINGS = ("unmasked", "cut")
RICHER = "multiplication, index"
LONG = "context 8,192"
SIZES: Mapping[str, Mapping[str, Any]] = {
    "26M parameters": {"preset": "small"},
    "39M parameters": {"preset": "small", "model.layers": 12},
}
"""Larger models for the data of the scale tiny."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a row trains.

    Attributes:
        mechanism: label of the mechanism.
        variation: what else differs from the main row of the mechanism.
        changes: the settings for it.
        resized: whether these determine the size of the model.
    """

    mechanism: str
    variation: str = MAIN
    changes: Mapping[str, Any]
    resized: bool = False

    @property
    def labels(self) -> tuple[str, str]:
        """The labels of its row."""
        return self.mechanism, self.variation

    @property
    def row(self) -> Row:
        """The row, with the figures of the paper if it reports them."""
        known = PUBLISHED.get(self.mechanism, {}) if self.variation == MAIN else {}
        paper = {split: value / 100 for split, value in known.items()}
        return Row(self.labels, {**MECHANISMS[self.mechanism], **self.changes}, paper)


def _settings() -> Iterator[Setting]:
    """All settings, the most informative first."""
    for name in MECHANISMS:
        yield Setting(mechanism=name, changes={})
    for label, share in SHARES.items():
        yield Setting(mechanism="NaPE", variation=label, changes={"model.slope_share": share})
    for slopes in SLOPES:
        yield Setting(mechanism="NaPE", variation=slopes, changes={"model.slopes": slopes})
    for name in ("NoPE", "NaPE"):
        for size, changes in SIZES.items():
            yield Setting(mechanism=name, variation=size, changes=changes, resized=True)
    for packing in PACKINGS:
        for name in CENTRAL:
            yield Setting(mechanism=name, variation=packing, changes={"packing": packing})
    for name in CENTRAL:
        richer = {"parameters.multiplication": True, "parameters.variable_index": True}
        yield Setting(mechanism=name, variation=RICHER, changes=richer)
    longer = {
        "parameters.tier": "paper",
        "parameters.context": 8192,
        "pack": 8192,
        "pack_rows": 4,
        "batch": 48,
    }
    yield Setting(mechanism="NaPE", variation=LONG, changes=longer)


SETTINGS = tuple(_settings())

COMMON: dict[str, Any] = {
    "optimiser.lr": 1e-3,
    "optimiser.betas": [0.9, 0.95],
    "optimiser.weight_decay": 0.1,
    "optimiser.clip": 1.0,
    "schedule.warm_up": 500,
    "evaluation.splits": list(SPLITS),
    "evaluation.size": 1024,
    "evaluation.batch": 64,
    "log_every": 50,
}
GPU: dict[str, Any] = {"bf16": True, "tf32": True, "torch_compile": True}


def _sized(
    tier: str, context: int, rows: int, examples: int, steps: int, **others: Any
) -> dict[str, Any]:
    """The settings of a scale: tokens per step are `context` times `rows`."""
    return {
        **COMMON,
        "parameters.tier": tier,
        "pack": context,
        "pack_rows": rows,
        "batch": examples,
        "steps": steps,
        "evaluation.every": max(1, steps // CHECKPOINTS),
        **others,
    }


def _adapted(
    window: int,
    recurrent: Mapping[str, Any],
    looped: Mapping[str, Any],
    *,
    compiled: bool = True,
    shape: Mapping[str, Any] = NOTHING,
) -> dict[str, dict[str, Any]]:
    """Further settings of single rows.

    Args:
        window: SWAN's.
        recurrent: the size of the LSTM.
        looped: the layers of the looped model.
        compiled: whether the scale compiles layers, which an LSTM's cannot be.
        shape: the size of all models but the LSTM.
    """
    changes: dict[str, dict[str, Any]] = {}
    for setting in SETTINGS:
        of: dict[str, Any] = {} if setting.resized else dict(shape)
        if setting.mechanism == "SWAN":
            of["model.window"] = window
        elif setting.mechanism == "looped NoPE":
            of |= looped
        elif setting.mechanism == "LSTM":
            of = {**recurrent, "torch_compile": False} if compiled else dict(recurrent)
        changes[" ".join(setting.labels)] = of
    return changes


SCALES = {
    "smoke": Scale(
        description="one layer of width 16, 2 steps; its accuracies mean nothing",
        changes=_sized(
            "nano", 384, 2, 5, 2,
            **{
                "evaluation.every": 1, "evaluation.size": 8, "log_every": 1,
                "schedule.warm_up": 1,
            },
        ),
        adapt=_adapted(
            16, {"model.layers": 1, "model.width": 16}, {"model.layers": 1}, compiled=False,
            shape={
                "model.layers": 1, "model.heads": 2, "model.width": 16, "model.hidden": [32],
            },
        ),
    ),
    "nano": Scale(
        description=(
            "for a CPU: contexts of 384 tokens, programs of 6 to 13 lines, 3 layers of width 64 "
            "with 4 heads, 2,500 steps of 8 rows of 384 tokens (7.7M tokens), AdamW at 3e-3"
        ),
        changes=_sized(
            "nano", 384, 8, 18, 2500,
            **{"optimiser.lr": 3e-3, "schedule.warm_up": 100, "evaluation.size": 256},
        ),
        adapt=_adapted(
            32, {"model.layers": 2, "model.width": 96}, {"model.layers": 2}, compiled=False,
            shape={
                "model.layers": 3, "model.heads": 4, "model.width": 64, "model.hidden": [176],
            },
        ),
    ),
    "tiny": Scale(
        description=(
            "11M parameters (6 layers of width 384), contexts of 1,024 tokens, 4,600 steps of 32 "
            "rows (0.15B tokens), AdamW at 1e-3 with warm-up over 500 steps and cosine decay to a "
            f"tenth, bf16, {CHECKPOINTS} checkpoints"
        ),
        changes=_sized("small", 1024, 32, 88, 4600, preset="mini", **GPU),
        adapt=_adapted(
            128, {"model.layers": 2, "model.width": 832}, {"model.layers": 3}
        ),
    ),
    "small": Scale(
        description=(
            "26M parameters (8 layers of width 512), contexts of 1,024 tokens, 20,000 steps of 32 "
            "rows (0.66B tokens), AdamW at 1e-3 with warm-up over 500 steps and cosine decay to a "
            f"tenth, bf16, {CHECKPOINTS} checkpoints"
        ),
        changes=_sized("small", 1024, 32, 88, 20_000, preset="small", **GPU),
        adapt=_adapted(
            128, {"model.layers": 3, "model.width": 1024}, {"model.layers": 4}
        ),
    ),
    "paper": Scale(
        description=(
            "154M parameters (12 layers of width 1,024 with 16 heads), contexts of 4,096 tokens, "
            "61,440 steps of 16 rows (4.03B tokens; the paper's 20,480 steps have 48 rows, which "
            "do not fit into the memory of one GPU), AdamW at 1e-3 with warm-up over 500 steps and "
            f"cosine decay to a tenth, bf16, {CHECKPOINTS} checkpoints"
        ),
        changes=_sized(
            "paper", 4096, 16, 72, 61_440, preset="154m", **{**GPU, "evaluation.batch": 16}
        ),
        adapt=_adapted(
            512, {"model.layers": 4, "model.width": 2176}, {"model.layers": 6}
        ),
    ),
}  # fmt: skip

TABLE = Study(
    name="ptg",
    title="Program traces: which mechanism survives longer executions",
    source=SOURCE,
    task=TASK,
    header=HEADER,
    rows=tuple(setting.row for setting in SETTINGS),
    columns=SPLITS,
    scales=SCALES,
)
"""The runs of the study as a table."""


def main_rows(rows: Iterable[Row]) -> tuple[Row, ...]:
    """The rows that vary the mechanism alone."""
    return tuple(row for row in rows if row.labels[1] == MAIN)


def covering(rows: Iterable[Row]) -> tuple[Row, ...]:
    """The first rows that together have every mechanism and every variation of small models.

    Example:
        >>> from weft.studies.ptg.rows import TABLE
        >>> len(covering(TABLE.rows))
        24
    """
    seen: set[str] = set()
    chosen = []
    for row in rows:
        mechanism, variation = row.labels
        if variation == LONG or variation in SIZES:
            continue
        varied = {f"{key}: {value}" for key, value in row.changes.items() if "tier" not in key}
        kinds = {mechanism, *varied}
        if not kinds <= seen:
            seen |= kinds
            chosen.append(row)
    return tuple(chosen)
