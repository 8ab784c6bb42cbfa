"""The paper's selection of models and seeds."""

from __future__ import annotations

from pathlib import Path

import pytest
from length_records import row_records, seed_record, study_records

from weft.errors import WeftError
from weft.studies import study
from weft.studies.length.records import fits_in_range
from weft.studies.length.selection import (
    BY_LABEL,
    GRID,
    Candidate,
    fits,
    next_round,
    select,
    swept,
    with_models,
)
from weft.studies.study import Study
from weft.training import train
from weft.training.store import Run

LABELS = ("unique copy", "absolute", "0")
NAME = "crasp-algorithmic-sweep"


def test_the_grid_is_the_papers() -> None:
    assert len(GRID) == 3 * 3 * 3 * 2 == len(BY_LABEL)
    assert {each.layers for each in GRID} == {each.heads for each in GRID} == {1, 2, 4}


def test_a_swept_study_has_every_model_once_and_keeps_the_rest_of_each_row() -> None:
    one = study("crasp-algorithmic").only(["unique copy", "absolute", "0"])
    cells = [cell for _, cell in swept(one).cells("small")]
    assert len({cell.config.hash for cell in cells}) == 54
    assert all(cell.config.model["positions"] == 302 for cell in cells)
    shapes = {
        (c.config.model["layers"], c.config.model["width"], c.config.optimiser.lr) for c in cells
    }
    assert len(shapes) == 3 * 3 * 2
    paper = {cell.config.hash for _, cell in one.cells("small")}
    assert len(paper & {cell.config.hash for cell in cells}) == 1  # the selected model, seed 0


def _swept(**accuracy: tuple[float, bool]) -> object:
    rows = [
        row_records((*LABELS, label.replace("_", " ")), [seed_record(0, longer, fits=fits)])
        for label, (longer, fits) in accuracy.items()
    ]
    return select(study_records(NAME, rows))


def test_the_best_model_that_fits_is_selected_and_ties_go_to_the_simplest() -> None:
    models = {
        "4l4h256_1e-3": (0.99, False),  # the best, but it does not fit
        "2l2h64_1e-3": (0.9, True),
        "2l1h256_1e-4": (0.9, True),  # as good, with fewer heads
        "1l1h16_1e-3": (0.5, True),
    }
    assert _swept(**models) == {LABELS: Candidate(2, 1, 256, 1e-4)}
    assert _swept(**{"1l1h16_1e-3": (1.0, False)}) == {}


def test_only_the_records_of_a_grid_can_be_selected_from() -> None:
    with pytest.raises(WeftError, match="not those of a grid"):
        select(study_records("crasp-algorithmic", [row_records(LABELS, [seed_record(0)])]))


def test_chosen_models_are_trained_and_other_rows_keep_theirs() -> None:
    one = study("crasp-algorithmic").only(["unique copy", "absolute"])
    changed = with_models(one, {LABELS: Candidate(4, 2, 16, 1e-4)})
    before = {row.labels: cell.config for row, cell in one.cells("small")}
    after = {row.labels: cell.config for row, cell in changed.cells("small")}
    other = ("unique copy", "absolute", "1e-4")
    assert after[other] == before[other]
    assert (after[LABELS].model["layers"], after[LABELS].optimiser.lr) == (4, 1e-4)
    assert after[LABELS].model["positions"] == before[LABELS].model["positions"]


def _tiny() -> Study:
    """A row whose runs end at once."""
    return study("crasp-algorithmic").only(["binary majority", "none", "0"]).with_seeds(0, 6)


def test_seeds_are_trained_until_enough_of_them_fit(tmp_path: Path, monkeypatch) -> None:
    """Of the seeds 0 to 5, pretend that 1 and 4 fit."""
    fitting = {1, 4}
    monkeypatch.setattr(
        "weft.studies.length.selection.fits",
        lambda run: run.result is not None and run.config.seed in fitting,
    )
    trained: list[list[int]] = []
    while cells := next_round(_tiny(), "smoke", tmp_path, 2, {"steps": "1"}):
        trained.append([cell.config.seed for cell in cells])
        for cell in cells:
            train(cell.config, runs=tmp_path, device="cpu")
    assert trained == [[0, 1], [2], [3], [4]]


def test_rounds_end_at_the_limit_of_seeds_and_failed_runs_are_not_tried_for_ever(
    tmp_path: Path,
) -> None:
    tried: set[str] = set()
    rounds = 0
    while cells := next_round(_tiny(), "smoke", tmp_path, 4, {}, tried):
        tried |= {cell.config.hash for cell in cells}  # none of them leaves a result
        rounds += 1
    assert (rounds, len(tried)) == (2, 6)


def test_a_run_fits_if_it_ended_well_and_fits_in_distribution(tmp_path: Path) -> None:
    ((_, cell),) = _tiny().with_seeds(0, 1).cells("smoke", {"steps": "1"})
    run = Run(tmp_path / cell.config.hash)
    assert not fits(run)
    train(cell.config, runs=tmp_path, device="cpu")
    run = Run(tmp_path / cell.config.hash)
    assert run.result is not None
    assert fits(run) == fits_in_range(run.result.best, run.result.accuracy["train"])
