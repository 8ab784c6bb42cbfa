"""The rows and scales of the arithmetic study, as settings of runs.

Models are those of Xu et al. (2025): LayerNorm, gelu, no biases, tied embeddings, learned absolute
positions, operands and results padded with zeros. Encodings that depend on the distance are trained
with all numbers in the same digit order, so that the distances between digits of a place are
constant; in the published layout, where only the result is reversed, they are not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from weft.studies.arithmetic.reference import PUBLISHED, SOURCE
from weft.studies.study import Row, Scale, Study
from weft.tasks.task import TRAIN

HEADER = ("task", "modulus", "trained on", "positions", "order", "model", "pool", "gap")
LONGEST = 9
"""The longest tests, in digits."""
DIGITS = {f"digits-{length}": str(length) for length in range(1, LONGEST + 1)}
"""By split of one length, the title of its column."""
CHECKPOINTS = 20
"""Evaluations of a run at the scales `small` and `paper`."""
POSITIONS = 128
"""Rows of a table of positions or distances; the longest example has 84 tokens."""

ENCODINGS: Mapping[str, Mapping[str, Any]] = {
    "absolute": {"model.position": "learned", "model.positions": POSITIONS},
    "relative": {"model.position": "distance", "model.positions": POSITIONS},
    "T5": {"model.position": "t5"},
    "rotary": {"model.position": "rotary"},
    "no positions": {"model.position": "none"},
    "abacus": {
        "model.position": "abacus",
        "model.positions": POSITIONS,
        "model.random_offset": 16,
    },
}
"""By label, the settings of a positional encoding. The offset trains abacus places up to 9."""
ORDERS: Mapping[str, Mapping[str, Any]] = {
    "published": {"parameters.reverse_result": True},
    "reversed": {"parameters.reverse_operands": True, "parameters.reverse_result": True},
    "plain": {},
}
"""By label, the digit order: operands most and results least significant digit first; both least;
both most."""
GAPS = {"high digits": "high-digits", "even digits": "even-digits", "no carries": "no-carries"}
POOLS = {"1k": 1000, "10k": 10_000, "100k": 100_000}
DEFAULT_POOL, NO_GAP, NO_MODULUS = "default", "no gap", "–"
MODULI = (50, 51, 100, 101, 150, 151, 200, 201)
FIRST_MODULI = (100, 101, 150)
"""The moduli of the rows that vary something else."""
PRODUCT_MODULI = (50, 51, 100, 150, 200, 201)
VARIED = (
    ("relative", "plain"),
    ("relative", "reversed"),
    ("T5", "plain"),
    ("T5", "reversed"),
    ("rotary", "plain"),
    ("rotary", "reversed"),
    ("no positions", "reversed"),
    ("abacus", "reversed"),
)
"""Encodings and orders besides absolute positions in the published order."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a row trains.

    Attributes:
        task: name of the task.
        domain: the training domain.
        modulus: the modulus; 0 for none.
        positions: label of the positional encoding.
        order: label of the digit order.
        model: preset of the model.
        pool: label of the pool.
        gap: label of the training gap.
    """

    task: str
    domain: str
    modulus: int = 0
    positions: str = "absolute"
    order: str = "published"
    model: str = "mini"
    pool: str = DEFAULT_POOL
    gap: str = NO_GAP

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of its row."""
        return (
            self.task.replace("-", " "),
            str(self.modulus) if self.modulus else NO_MODULUS,
            self.domain,
            self.positions,
            self.order,
            self.model,
            self.pool,
            self.gap,
        )

    @property
    def changes(self) -> dict[str, Any]:
        """The settings of its runs, but for the scale's."""
        changes: dict[str, Any] = {
            "task": self.task,
            "preset": self.model,
            "parameters.domain": self.domain,
            "parameters.test_domain": "D~" if self.modulus else "D",
            **ENCODINGS[self.positions],
            **ORDERS[self.order],
        }
        if self.modulus:
            changes["parameters.modulus"] = self.modulus
        if self.pool in POOLS:
            changes["parameters.pool"] = POOLS[self.pool]
        if self.gap in GAPS:
            changes["parameters.restrict"] = GAPS[self.gap]
        return changes

    @property
    def row(self) -> Row:
        """The row, with the figures of the paper if it reports this setting."""
        task, modulus, domain = self.labels[:3]
        known = PUBLISHED.get((task, modulus, domain))
        usual = self.labels[3:] == Setting(task=self.task, domain=self.domain).labels[3:]
        if known is None or not usual:
            return Row(self.labels, self.changes)
        paper = {f"digits-{length}": value / 100 for length, value in known.truth.items()}
        return Row(self.labels, self.changes, paper)


def _settings() -> Iterable[Setting]:
    """All settings, the most informative first."""
    modular, product = "modular-addition", "modular-multiplication"
    order = sorted(MODULI, key=lambda modulus: modulus not in FIRST_MODULI)
    for domain in ("D3", "D4"):
        for modulus in order:
            yield Setting(task=modular, domain=domain, modulus=modulus)
    for modulus in FIRST_MODULI:
        for positions, digit_order in VARIED:
            yield Setting(
                task=modular,
                domain="D3",
                modulus=modulus,
                positions=positions,
                order=digit_order,
            )
    for domain in ("D4", "D~4", "D4+D5"):
        yield Setting(task="addition", domain=domain)
    for positions, digit_order in (("absolute", "plain"), ("absolute", "reversed"), *VARIED):
        yield Setting(task="addition", domain="D4", positions=positions, order=digit_order)
    for domain in ("D2", "D1+D2", "D3"):
        yield Setting(task="multiplication", domain=domain)
        for digit_order in ("plain", "reversed"):
            yield Setting(
                task="multiplication", domain=domain, positions="relative", order=digit_order
            )
    for modulus in PRODUCT_MODULI:
        yield Setting(task=product, domain="D3", modulus=modulus)
    for model in ("nano", "micro"):
        for modulus in FIRST_MODULI:
            yield Setting(task=modular, domain="D3", modulus=modulus, model=model)
        yield Setting(task="addition", domain="D4", model=model)
    for pool in POOLS:
        yield Setting(task="addition", domain="D4", pool=pool)
        yield Setting(task=modular, domain="D3", modulus=150, pool=pool)
    for gap in GAPS:
        yield Setting(task="addition", domain="D4", gap=gap)


SETTINGS = tuple(_settings())

COMMON: dict[str, Any] = {
    "parameters.longer": LONGEST,
    "parameters.width": LONGEST,
    "model.activation": "gelu",
    "model.norm_type": "layer",
    "model.norm_bias": False,
    "model.biases": False,
    "model.tied": True,
    "optimiser.lr": 1e-3,
    "optimiser.betas": [0.9, 0.99],
    "optimiser.weight_decay": 0.1,
    "optimiser.clip": 1.0,
    "schedule.warm_up": 100,
    "evaluation.splits": [TRAIN, *DIGITS],
    "evaluation.size": 2000,
    "evaluation.batch": 1000,
    "log_every": 100,
    "tf32": True,
}
"""What all runs share, as published."""
SMALL_STEPS = 40_000
NANO_RATE = 3e-3
QUICK: dict[str, Any] = {"initial": "fan-in", "model.tied": False}
"""With weights of standard deviation 0.02 and tied embeddings, the smallest model stays at uniform
digits for thousands of steps; with these settings it learns sums modulo 100 in 1,000."""
PAPER_STEPS = {"addition": 8_000_000, "multiplication": 20_000_000}
PAPER_POOLS = {"addition": 100_000, "multiplication": 500_000}


def _paper(setting: Setting) -> dict[str, Any]:
    """The paper's settings for a row."""
    kind = "multiplication" if "multiplication" in setting.task else "addition"
    steps = PAPER_STEPS[kind]
    changes: dict[str, Any] = {"steps": steps, "evaluation.every": steps // CHECKPOINTS}
    if kind == "multiplication":
        changes |= {"model.dropout": 0.1, "schedule.name": "constant"}
    else:
        changes |= {"model.dropout": 0.2, "schedule.name": "cosine", "schedule.floor": 0.1}
    if setting.pool == DEFAULT_POOL:
        larger = setting.task == "modular-addition" and setting.domain == "D4"
        changes["parameters.pool"] = 1_000_000 if larger else PAPER_POOLS[kind]
    if setting.domain in ("D2", "D1+D2"):  # 9,900 pairs: a pool would repeat them
        changes.pop("parameters.pool", None)
    if setting.task != "multiplication":  # whose results are as wide as both operands
        changes["parameters.result_width"] = 21
    return changes


def _small(setting: Setting) -> dict[str, Any]:
    """The learning rate of a row."""
    return {"optimiser.lr": NANO_RATE} if setting.model == "nano" else {}


SCALES = {
    "smoke": Scale(
        description="one layer of width 16, 4 steps; its accuracies mean nothing",
        changes={
            **COMMON,
            "model.layers": 1,
            "model.heads": 1,
            "model.width": 16,
            "model.hidden": [32],
            "steps": 4,
            "batch": 16,
            "evaluation.every": 2,
            "evaluation.size": 50,
            "log_every": 2,
            "tf32": False,
        },
    ),
    "tiny": Scale(
        description=(
            "the rows of the model nano, 2,000 steps of 64 new examples, AdamW at 3e-3 with cosine "
            "decay to a tenth, numbers padded to 9 digits, no dropout, fan-in initialisation, "
            f"embeddings not tied, {CHECKPOINTS} checkpoints"
        ),
        changes={
            **COMMON,
            **QUICK,
            "optimiser.lr": NANO_RATE,
            "steps": 2000,
            "batch": 64,
            "evaluation.every": 2000 // CHECKPOINTS,
            "tf32": False,
        },
    ),
    "small": Scale(
        description=(
            f"{SMALL_STEPS:,} steps of 256 new examples (of the pool, if the row has one), AdamW "
            "at 1e-3 (nano at 5e-3) with cosine decay to a tenth, numbers padded to 9 digits, no "
            f"dropout, fan-in initialisation, embeddings not tied, {CHECKPOINTS} checkpoints"
        ),
        changes={
            **COMMON,
            **QUICK,
            "steps": SMALL_STEPS,
            "batch": 256,
            "evaluation.every": SMALL_STEPS // CHECKPOINTS,
        },
        adapt={" ".join(setting.labels): _small(setting) for setting in SETTINGS},
    ),
    "paper": Scale(
        description=(
            "the paper's settings: operands padded to 20 and results to 21 digits (products: 40), "
            "batches of 64 "
            "from a fixed pool, dropout 0.2 and cosine decay over 8,000,000 steps (products: 0.1, "
            f"a constant rate and 20,000,000 steps), {CHECKPOINTS} checkpoints, 10,000 tests"
        ),
        changes={
            **COMMON,
            "batch": 64,
            "parameters.width": 20,
            "evaluation.size": 10_000,
        },
        adapt={" ".join(setting.labels): _paper(setting) for setting in SETTINGS},
    ),
}

TABLE = Study(
    name="arithmetic",
    title="Which digits and moduli carry over",
    source=SOURCE,
    task="addition",
    header=HEADER,
    rows=tuple(setting.row for setting in SETTINGS),
    columns={TRAIN: "in distribution", **DIGITS},
    scales=SCALES,
)
"""The runs of the study as a table."""


def covering(rows: Iterable[Row]) -> tuple[Row, ...]:
    """The first rows that together have every task and every encoding, a pool and a gap.

    Example:
        >>> from weft.studies.arithmetic.rows import TABLE
        >>> len(covering(TABLE.rows))
        11
    """
    seen: set[str] = set()
    chosen = []
    for row in rows:
        task, _, _, positions, _, _, pool, gap = row.labels
        kinds = {task, positions, f"pool: {pool != DEFAULT_POOL}", f"gap: {gap != NO_GAP}"}
        if not kinds <= seen:
            seen |= kinds
            chosen.append(row)
    return tuple(chosen)
