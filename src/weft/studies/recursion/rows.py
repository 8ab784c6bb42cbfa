"""The rows and scales of the recursion study, as settings of runs.

The published setting is a small encoder-decoder on the binary successor, in two orders, and on tree
traversals; sizes and numbers of the paper are not known, so these are our own. Every other row
changes one thing: what is supervised, the learning rate's factor C, the positional encoding, heads
and layers, the kind of model, or how often rare cases occur in training.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from weft.config import override
from weft.errors import WeftError, check_known
from weft.studies.study import NOTHING, Scale
from weft.training.config import TrainingConfig
from weft.training.launch.sweep import Cell
from weft.training.traces.recipes import trace_config

SOURCE = "Zhang et al. (2024)"
HEADER = ("function", "order", "learns", "model", "positions", "C", "size", "rare cases")
"""The columns of labels."""
FUNCTIONS = {"evaluate": "expressions"}
"""Labels of definitions whose names say too little."""
TRAVERSALS = ("pre-order", "in-order", "post-order")
MODELS: Mapping[str, Mapping[str, Any]] = {
    "encoder-decoder": {"parameters.format": "seq2seq"},
    "decoder": {"parameters.format": "lm"},
    "tagging encoder": {"parameters.format": "tag"},
    "LSTM": {"parameters.format": "lm", "model.architecture": "lstm"},
}
POSITIONS: Mapping[str, Mapping[str, Any]] = {
    "absolute": {"model.position": "learned"},
    "relative": {"model.position": "t5"},
    "rotary": {"model.position": "rotary"},
    "none": {"model.position": "none"},
}
TABLE = 512
"""Rows of a table of absolute positions."""
TRACES = "traces"
SHARES = {"0.1%": 0.001, "1%": 0.01, "5%": 0.05, "20%": 0.2}
USUAL = "as they come"
TREE_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a row trains.

    Attributes:
        function: the definition.
        order: of the constructors.
        learns: the part of the task, or `traces` of the library's program.
        model: the kind of model.
        positions: the positional encoding.
        factor: C of the learning rate.
        heads: per layer.
        layers: of the encoder and of the decoder.
        cases: `all-carry` or `deep`, if they are added to the training set.
        share: how many, as a label.
        seeds: whether it is one of the rows with several seeds.
    """

    function: str = "successor"
    order: str = "natural"
    learns: str = "evaluate"
    model: str = "encoder-decoder"
    positions: str = "absolute"
    factor: float = 1.0
    heads: int = 4
    layers: int = 2
    cases: str = ""
    share: str = ""
    seeds: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of its row."""
        program = self.learns == TRACES
        return (
            FUNCTIONS.get(self.function, self.function),
            self.order,
            self.learns,
            "looped, compiled attention" if program else self.model,
            "–" if program or self.model == "LSTM" else self.positions,
            "–" if program else f"{self.factor:g}",
            "–" if program else f"{self.layers} x {self.heads}",
            f"{self.share} {self.cases}" if self.cases else USUAL,
        )

    @property
    def is_successor(self) -> bool:
        """Whether it is about binary numbers."""
        return self.function == "successor"

    @property
    def kind(self) -> str:
        """What its inputs are: numbers, expressions or other terms."""
        if self.is_successor:
            return "numbers"
        return "expressions" if self.function == "evaluate" else "terms"

    @property
    def program(self) -> str:
        """The program whose traces it learns from."""
        if self.is_successor:
            return f"successor(order={self.order})"
        return f"tree-walk(order={self.function.removesuffix('-order')}, letters={TREE_LETTERS})"

    def changes(self, scale: str) -> dict[str, Any]:
        """The settings of its runs at a scale, but for the seed."""
        found: dict[str, Any] = {
            "parameters.definition": self.function,
            "parameters.order": self.order,
            **SIZES[scale][self.kind],
        }
        if not self.is_successor and self.function != "evaluate":
            found["parameters.notation"] = "flat"
        if self.learns == TRACES:
            return found
        found |= {
            **COMMON,
            **SCALES[scale].changes,
            **found,
            **MODELS[self.model],
            "parameters.part": self.learns,
            "schedule.factor": self.factor,
        }
        if self.model == "LSTM":
            width = found["model.width"]
            found = {key: value for key, value in found.items() if not key.startswith("model.")}
            found |= {"model.architecture": "lstm", "model.width": width}
            found |= {"model.layers": self.layers}
            found.pop("initial")
        else:
            found |= {
                **POSITIONS[self.positions],
                "model.heads": min(self.heads, found.get("model.heads", self.heads)),
                "model.layers": min(self.layers, found.get("model.layers", self.layers)),
            }
            if self.positions == "absolute":
                found["model.positions"] = TABLE
        if self.cases:
            name = {"all-carry": "deepest_share", "deep": "deep_share"}[self.cases]
            found[f"parameters.{name}"] = SHARES[self.share]
        return found

    def config(self, scale: str, seed: int, given: Mapping[str, Any] = NOTHING) -> TrainingConfig:
        """The config of a run."""
        changes = {**self.changes(scale), "seed": seed, **given}
        if self.learns != TRACES:
            return override(TrainingConfig(task="recursion"), changes)
        start = trace_config("recursion", self.program, small=True)
        return override(start, {**TRACE_SIZES[scale], **changes})


def _settings() -> Iterable[Setting]:
    """All settings, the most informative first."""
    main = [Setting(order=order, seeds=True) for order in ("natural", "constructor")]
    main += [Setting(function=name, order="constructor", seeds=True) for name in TRAVERSALS]
    yield from main
    for each in main:
        yield replace(each, learns="step", seeds=False)
    for each in main:
        yield replace(each, learns=TRACES, seeds=False)
    for order in ("natural", "constructor"):
        for factor in (0.25, 0.5, 2.0):
            yield Setting(order=order, factor=factor)
        for positions in ("relative", "rotary", "none"):
            yield Setting(order=order, positions=positions)
    for heads in (2, 4, 8):
        for layers in (1, 2, 4):
            if (heads, layers) != (4, 2):  # which is among the first rows
                yield Setting(function="in-order", order="constructor", heads=heads, layers=layers)
    for model in ("decoder", "tagging encoder", "LSTM"):
        yield Setting(model=model)
    for model in MODELS:
        yield Setting(function="reverse", order="constructor", model=model)
    for model in ("encoder-decoder", "decoder", "LSTM"):
        yield Setting(function="evaluate", order="constructor", model=model)
    for cases in ("all-carry", "deep"):
        for share in SHARES:
            yield Setting(cases=cases, share=share)


COMMON: dict[str, Any] = {
    "model.activation": "relu",
    "model.norm": "pre",
    "model.norm_type": "layer",
    "model.biases": True,
    "initial": "fan-in",
    "optimiser.betas": [0.9, 0.98],
    "optimiser.weight_decay": 0.0,
    "optimiser.clip": 1.0,
    "schedule.name": "inverse-sqrt",
    "evaluation.every": 0,
    "log_every": 100,
}
"""What all runs from answers share."""

SIZES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "smoke": {
        "numbers": {"parameters.length": 8, "parameters.longer": 12},
        "terms": {"parameters.shortest": 1, "parameters.length": 3, "parameters.longer": 4,
                  "parameters.pool": 1024},
        "expressions": {"parameters.length": 5, "parameters.longer": 7, "parameters.pool": 1024},
    },
    "tiny": {
        "numbers": {"parameters.length": 14, "parameters.longer": 28},
        "terms": {"parameters.shortest": 1, "parameters.length": 5, "parameters.longer": 8},
        "expressions": {"parameters.length": 7, "parameters.longer": 11},
    },
    "small": {
        "numbers": {"parameters.length": 20, "parameters.longer": 40},
        "terms": {"parameters.shortest": 1, "parameters.length": 10, "parameters.longer": 16},
        "expressions": {"parameters.length": 11, "parameters.longer": 15},
    },
    "full": {
        "numbers": {"parameters.length": 20, "parameters.longer": 40},
        "terms": {"parameters.shortest": 1, "parameters.length": 10, "parameters.longer": 16},
        "expressions": {"parameters.length": 11, "parameters.longer": 15},
    },
}  # fmt: skip
"""By scale, the sizes of binary numbers in constructors, and of trees, lists and expressions."""

TRACE_SIZES: Mapping[str, Mapping[str, Any]] = {
    "smoke": {"steps": 4, "evaluation.size": 20, "supervision.examples": 50, "log_every": 2},
    "tiny": {"steps": 2000, "evaluation.size": 200, "supervision.examples": 4000},
    "small": {"evaluation.size": 500},
    "full": {"evaluation.size": 500},
}
"""By scale, how long runs from traces are."""

SCALES = {
    "smoke": Scale(
        description="one layer of width 16, 4 steps; its accuracies mean nothing",
        changes={
            "model.width": 16,
            "model.heads": 1,
            "model.layers": 1,
            "model.hidden": [16],
            "steps": 4,
            "batch": 8,
            "schedule.warm_up": 2,
            "evaluation.size": 20,
            "log_every": 2,
        },
    ),
    "tiny": Scale(
        description=(
            "width 64, feed-forward 256, 2,500 steps of 64 new examples, warm-up 1,000; numbers of "
            "4 to 14 constructors, tests up to 28; terms of size 1 to 5, tests up to 8"
        ),
        changes={
            "model.width": 64,
            "model.hidden": [256],
            "steps": 2500,
            "batch": 64,
            "schedule.warm_up": 1000,
            "evaluation.size": 500,
        },
        seeds=2,
    ),
    "small": Scale(
        description=(
            "width 128, feed-forward 512, 20,000 steps of 128 new examples, warm-up 4,000; numbers "
            "of 4 to 20 constructors, tests up to 40; terms of size 1 to 10, tests up to 16"
        ),
        changes={
            "model.width": 128,
            "model.hidden": [512],
            "steps": 20_000,
            "batch": 128,
            "schedule.warm_up": 4000,
            "evaluation.size": 2000,
            "tf32": True,
        },
        seeds=5,
    ),
    "full": Scale(
        description=(
            "as small, but 100,000 steps: width 128, feed-forward 512, batches of 128, warm-up "
            "4,000; numbers of 4 to 20 constructors, tests up to 40; terms of size 1 to 10, tests "
            "up to 16"
        ),
        changes={
            "model.width": 128,
            "model.hidden": [512],
            "steps": 100_000,
            "batch": 128,
            "schedule.warm_up": 4000,
            "evaluation.size": 5000,
            "tf32": True,
        },
        seeds=5,
    ),
}


@dataclass(frozen=True)
class RecursionRow:
    """A row of the study: its labels and what it trains."""

    labels: tuple[str, ...]
    setting: Setting

    def cells(
        self, scale: str, seeds: tuple[int, int] | None, given: Mapping[str, Any] = NOTHING
    ) -> list[Cell]:
        """Its runs; `seeds` are the first seed and how many, if the user gave them."""
        check_known(scale, SCALES, f"the study recursion has no scale '{scale}'")
        first, count = seeds or (0, SCALES[scale].seeds if self.setting.seeds else 1)
        return [
            Cell({"seed": seed}, self.setting.config(scale, seed, given))
            for seed in range(first, first + count)
        ]


ROWS = tuple(RecursionRow(setting.labels, setting) for setting in _settings())
"""All rows."""


def at_scale(rows: tuple[RecursionRow, ...], scale: str) -> tuple[RecursionRow, ...]:
    """The rows that a scale has: `smoke` one of each kind, and `tiny` those for a CPU.

    A row that the user selected by labels is kept, whatever the scale.
    """
    if rows != ROWS:
        return rows
    if scale == "smoke":
        return covering(rows)
    if scale != "tiny":
        return rows
    kept = tuple(row for row in rows if row.setting.learns != TRACES or row.setting.is_successor)
    if not kept:
        raise WeftError("no row is left", remedy="Select others, or another --scale")
    return kept


def covering(rows: Iterable[RecursionRow]) -> tuple[RecursionRow, ...]:
    """The first rows that together have every function, model, encoding and kind of supervision.

    Example:
        >>> len(covering(ROWS)) < len(ROWS) / 2
        True
    """
    seen: set[str] = set()
    chosen = []
    for row in rows:
        setting = row.setting
        kinds = {setting.function, setting.order, setting.model, setting.positions}
        kinds |= {f"learns {setting.learns}", f"cases {setting.cases}"}
        if setting.learns == TRACES and not setting.is_successor:
            continue  # compiling takes longer than everything else
        if not kinds <= seen:
            seen |= kinds
            chosen.append(row)
    return tuple(chosen)
