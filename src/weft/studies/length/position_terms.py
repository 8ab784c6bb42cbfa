"""`weft study position-terms`: which position terms can be learned from short windows?

The experiment of Huang et al. (2025), appendix G.2, whose fits are `weft.studies.length.
position_fits`. In the paper, terms that are local need width, terms that are periodic prefer few
dimensions, and terms that are neither extend to longer windows at no width.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from weft.config import override
from weft.errors import check_known
from weft.studies.experiment import Drawing, Execution, ExperimentReport, Table, place_of
from weft.studies.length.position_fits import (
    TARGETS,
    FitConfig,
    FitResult,
    check_windows,
    read_fit,
    run_fits,
)
from weft.studies.plotting import LOOKS, TRAINING_COLOUR, add_legend, panels
from weft.studies.study import Scale, reseeded, rows_with

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "position-terms"
WIDTHS = (32, 256)
KINDS = {
    "j=i-1": "local", "j=i-5": "local", "j=i-25": "local", "j>i-2": "local",
    "i-j=0 mod 3": "periodic", "i-j=2 mod 5": "periodic",
    "j<i": "neither", "i-j prime": "neither",
}  # fmt: skip
"""What the theory calls each target."""

Losses = tuple[float, float, float]
PAPER_WINDOW = 50
PAPER: Mapping[tuple[str, int], Losses] = {
    ("j=i-1", 32): (0.012, 496, 755), ("j=i-1", 256): (5e-6, 0.21, 0.33),
    ("j=i-5", 32): (0.027, 333, 607), ("j=i-5", 256): (4e-6, 0.20, 0.32),
    ("j=i-25", 32): (2e-6, 0.72, 1.07), ("j=i-25", 256): (5e-6, 0.16, 0.28),
    ("j>i-2", 32): (0.008, 304, 415), ("j>i-2", 256): (4e-5, 0.35, 0.55),
    ("i-j=0 mod 3", 32): (3e-6, 0.001, 0.005), ("i-j=0 mod 3", 256): (4e-4, 2.8, 6.9),
    ("i-j=2 mod 5", 32): (3e-6, 3e-6, 3e-6), ("i-j=2 mod 5", 256): (4e-5, 2.0, 4.7),
    ("j<i", 32): (0.071, 230, 369), ("j<i", 256): (4e-4, 5.6, 16.4),
    ("i-j prime", 32): (0.052, 7.9, 18), ("i-j prime", 256): (7e-5, 3.7, 7.2),
}  # fmt: skip
"""The published test losses on windows of 50, 100 and 150."""


@dataclass(frozen=True)
class FitRow:
    """A row of the table.

    Attributes:
        target: a name in `TARGETS`.
        width: dimensions of the position vectors.
    """

    target: str
    width: int

    @property
    def labels(self) -> tuple[str, ...]:
        """Its cells in the columns target, kind and width."""
        return (self.target, KINDS[self.target], str(self.width))


ROWS = tuple(FitRow(target, width) for target in TARGETS for width in WIDTHS)

SCALES = {
    "smoke": Scale(
        "20 steps, windows of 30 from 100 positions",
        {"steps": 20, "positions": 100, "window": 30, "batch": 16},
    ),
    "small": Scale("3,000 steps instead of 15,000, otherwise as in the paper", {"steps": 3000}),
    "paper": Scale(
        "as in the paper: windows of 50 from 200 positions, 64 per step, 15,000 steps of Adam at "
        "1e-3",
        {},
    ),
}


@dataclass(frozen=True)
class PositionTerms:
    """The study; see the module. Its cells are fits, in `runs/position-terms/HASH`."""

    rows: tuple[FitRow, ...] = ROWS
    seeds: tuple[int, int] | None = None
    name: str = NAME
    title: str = "Position terms learned from short windows"
    source: str = "Huang et al. (2025), appendix G.2"

    @property
    def scales(self) -> Mapping[str, Scale]:
        """The scales by name."""
        return SCALES if self.seeds is None else reseeded(SCALES, *self.seeds)

    def only(self, wanted: Sequence[str]) -> Self:
        """The study with only the rows that have these labels."""
        return replace(self, rows=rows_with(self.rows, wanted, self.name))

    def with_seeds(self, first: int, count: int) -> Self:
        """The study with these seeds in every scale."""
        return replace(self, seeds=(first, count))

    def fits(self, scale: str, given: Mapping[str, Any]) -> dict[FitRow, list[FitConfig]]:
        """The fits of each row, one per seed."""
        check_known(scale, self.scales, f"the study {self.name} has no scale '{scale}'")
        chosen = self.scales[scale]
        seeds = range(chosen.first_seed, chosen.first_seed + chosen.seeds)
        fits = {
            row: [
                override(
                    FitConfig(target=row.target, width=row.width),
                    {**chosen.changes, "seed": seed, **given},
                )
                for seed in seeds
            ]
            for row in self.rows
        }
        for each in fits[self.rows[0]]:  # rows differ in target and width only
            check_windows(each)
        return fits

    def compute(self, scale: str, execution: Execution) -> None:
        """Compute all fits that are not finished."""
        configs = [each for some in self.fits(scale, execution.given).values() for each in some]
        execution.started(sum(config.steps for config in configs))
        run_fits(
            configs,
            execution.runs / self.name,
            device=execution.device,
            progress=execution.progress,
        )

    def report(self, scale: str, execution: Execution) -> ExperimentReport:
        """The losses so far, with the paper's beside them where the setting is the paper's."""
        folder = execution.runs / self.name
        lines = [
            _line(row, configs, folder)
            for row, configs in self.fits(scale, execution.given).items()
        ]
        config = lines[0].configs[0]
        seeds = sorted({each.seed for line in lines for each in line.configs})
        return ExperimentReport(
            study=self.name,
            scale=scale,
            title=self.title,
            introduction=(
                f"{self.source}, at the scale `{scale}`: {self.scales[scale].description}. Each "
                "row fits p_i Wq Wk^T p_j, for j <= i, to 2 log "
                f"{config.window} where the target holds and 0 elsewhere. Training sees windows "
                f"of {config.window} positions; tests are all windows of each length. There is no "
                "task and no softmax.",
                "Mean squared error by length of the test window, "
                + (
                    f"one seed, {seeds[0]}: the variation over seeds is unknown. "
                    if len(seeds) == 1
                    else f"the median of {len(seeds)} seeds and, in brackets, the smallest and "
                    "largest. "
                )
                + "The paper has one seed per row.",
            ),
            tables=(_table(lines),),
            figures=(_drawing(lines, config),) if any(line.results for line in lines) else (),
            notes=NOTES,
            values={"settings": _settings(config), "rows": [line.as_dict() for line in lines]},
            places=tuple(
                place
                for line in lines
                for each in line.configs
                for place in place_of(folder / each.hash)
            ),
            complete=all(len(line.results) == len(line.configs) for line in lines),
        )


NOTES = (
    "The loss includes 0.01 times the mean square of each parameter tensor, and initial values "
    "are uniform, as in the published code.",
    "Random numbers are ours: a row has the protocol of the paper, not its seed.",
)


@dataclass(frozen=True)
class _Line:
    """A row with its results.

    Attributes:
        row: the row.
        configs: its fits.
        results: the results of those that are finished, by seed.
    """

    row: FitRow
    configs: tuple[FitConfig, ...]
    results: Mapping[int, FitResult]

    @property
    def paper(self) -> dict[int, float]:
        """The published losses by length; none for windows of another length."""
        if self.configs[0].window != PAPER_WINDOW:
            return {}
        published = PAPER[self.row.target, self.row.width]
        return {PAPER_WINDOW * (number + 1): loss for number, loss in enumerate(published)}

    def losses(self, length: int) -> list[float]:
        """The test loss at a length, by seed."""
        return [result.test[length] for result in self.results.values()]

    def as_dict(self) -> dict[str, Any]:
        """The row for JSON."""
        return {
            "target": self.row.target,
            "kind": KINDS[self.row.target],
            "width": self.row.width,
            "paper": self.paper,
            "fits": {config.seed: config.hash for config in self.configs},
            "test": {seed: dict(result.test) for seed, result in self.results.items()},
            "history": {
                seed: [
                    {"step": record["step"], "loss": record["loss"]} for record in result.history
                ]
                for seed, result in self.results.items()
            },
            "seconds": {seed: result.seconds for seed, result in self.results.items()},
        }


def _line(row: FitRow, configs: Sequence[FitConfig], folder: Path) -> _Line:
    finished = {
        config.seed: read_fit(folder / config.hash)
        for config in configs
        if (folder / config.hash / "result.json").exists()
    }
    return _Line(row, tuple(configs), finished)


def _settings(config: FitConfig) -> dict[str, Any]:
    """What all fits share."""
    varied = ("target", "width", "seed")
    return {name: value for name, value in vars(config).items() if name not in varied}


def _table(lines: Sequence[_Line]) -> Table:
    lengths = lines[0].configs[0].lengths[::2]
    published = any(line.paper for line in lines)
    header = ["target", "kind", "width"]
    for length in lengths:
        header += [f"window {length}", *(["paper"] if published else [])]
    rows = []
    for line in lines:
        cells = list(line.row.labels)
        for length in lengths:
            cells.append(_summary(line.losses(length)))
            cells += [_number(line.paper[length])] if published else []
        rows.append((*cells, f"{sum(each.seconds for each in line.results.values()) / 60:.1f}"))
    return Table(title="Test loss", header=(*header, "minutes"), rows=tuple(rows), labels=3)


def _summary(losses: Sequence[float]) -> str:
    """One loss, or the median of several with their range."""
    if not losses:
        return "unfinished"
    if len(losses) == 1:
        return _number(losses[0])
    low, high = _number(min(losses)), _number(max(losses))
    return f"{_number(statistics.median(losses))} [{low} to {high}]"


def _number(loss: float) -> str:
    """A loss with two significant digits, or as a whole number if it is large."""
    return f"{loss:,.0f}" if loss >= 10 else f"{loss:.2g}"


def _drawing(lines: Sequence[_Line], config: FitConfig) -> Drawing:
    return Drawing(
        name="length",
        caption="Test loss by length of the window, for every target and both widths",
        draw=lambda: _figure(lines, config),
    )


def _figure(lines: Sequence[_Line], config: FitConfig) -> Figure:
    """A panel per target: the loss by length of the window, ours and the paper's."""
    targets = list(dict.fromkeys(line.row.target for line in lines))
    widths = sorted({line.row.width for line in lines})
    looks = dict(zip(widths, LOOKS, strict=False))
    figure, axes = panels(len(targets), size=(1.75, 1.6))
    for panel, target in zip(axes, targets, strict=True):
        panel.axvspan(
            0.8 * config.window, 1.02 * config.window, color=TRAINING_COLOUR, zorder=0, lw=0
        )
        for line in lines:
            if line.row.target == target and line.results:
                _draw_losses(panel, line, looks[line.row.width])
        panel.set_title(f"{target} ({KINDS[target]})", fontsize=9)
        panel.set_yscale("log")
        panel.set_xlim(0.8 * config.window, 3.15 * config.window)
        panel.set_xticks(config.lengths[::2])
    figure.supxlabel("length of the test window (positions)", fontsize=10)
    figure.supylabel("mean squared error", fontsize=10)
    published = any(line.paper for line in lines)
    add_legend(
        figure,
        {f"width {width}": look for width, look in looks.items()},
        intervals=False,
        training=True,
        reference_line="thin: Huang et al. (2025)" if published else "",
    )
    return figure


def _draw_losses(panel: Axes, line: _Line, look: Any) -> None:
    lengths = line.configs[0].lengths
    middle = [statistics.median(line.losses(length)) for length in lengths]
    panel.plot(lengths, middle, color=look.colour, marker=look.marker, linestyle=look.dashes)
    if len(line.results) > 1:
        low = [min(line.losses(length)) for length in lengths]
        high = [max(line.losses(length)) for length in lengths]
        panel.fill_between(lengths, low, high, color=look.colour, alpha=0.22, linewidth=0)
    if line.paper:
        panel.plot(list(line.paper), list(line.paper.values()), color=look.colour, linewidth=0.8)


POSITION_TERMS = PositionTerms()
