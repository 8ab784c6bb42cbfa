"""Records: what is kept of runs, files, and how several files are merged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from length_records import row_records, seed_record, study_records

from weft.errors import WeftError
from weft.statistics import Share
from weft.studies import study
from weft.studies.length.records import (
    HeadRole,
    collect_records,
    fits_in_range,
    load_records,
    merged,
    merged_by_study,
)
from weft.training import train
from weft.training.store import Run

LABELS = ("unique copy", "absolute", "0")
HEAD = HeadRole(
    layer=1, head=2, description="prefers i - 1", spread=2.0, distance=1, period=1, misfit=0.1
)


def test_records_survive_their_file(tmp_path: Path) -> None:
    one = study_records("crasp-algorithmic", [row_records(LABELS, [seed_record(0, heads=[HEAD])])])
    one.save(tmp_path / "records.json")
    assert load_records(tmp_path / "records.json") == one


@pytest.mark.parametrize("text", ["[]", '{"format": 99, "rows": []}', '{"rows": []}'])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "other.json").write_text(text)
    with pytest.raises(WeftError, match="does not hold the records"):
        load_records(tmp_path / "other.json")


def test_a_run_in_two_files_is_taken_where_it_is_complete() -> None:
    begun = seed_record(0, 0.1, fits=False, status="unfinished")
    first = study_records("crasp-algorithmic", [row_records(LABELS, [begun, seed_record(1)])])
    other = ("sort", "absolute", "0")
    second = study_records(
        "crasp-algorithmic", [row_records(LABELS, [seed_record(0)]), row_records(other, [])]
    )
    second = replace(second, command="weft study crasp-algorithmic --seeds 1")
    both = merged([first, second, first])
    assert both.command == f"{first.command}\n{second.command}"
    assert [row.labels for row in both.rows] == [LABELS, other]
    assert [seed.status for seed in both.rows[0].seeds] == ["stopped", "stopped"]
    assert merged([second, first]).rows[0].seeds == both.rows[0].seeds


def test_files_that_do_not_belong_together_are_refused() -> None:
    one = study_records("crasp-algorithmic", [row_records(LABELS, [])])
    with pytest.raises(WeftError, match="different studies"):
        merged([one, study_records("crasp-formal", [])])
    with pytest.raises(WeftError, match="different studies"):
        merged([one, study_records("crasp-algorithmic", [], scale="paper")])
    changed = study_records("crasp-algorithmic", [row_records(LABELS, [], task="sorting")])
    with pytest.raises(WeftError, match="different settings for the row unique copy absolute 0"):
        merged([one, changed])
    with pytest.raises(WeftError, match="no results to merge"):
        merged([])


def test_files_of_several_studies_are_merged_by_study_and_scale() -> None:
    one = study_records("crasp-algorithmic", [row_records(LABELS, [seed_record(0)])])
    more = study_records("crasp-algorithmic", [row_records(LABELS, [seed_record(1)])])
    other = study_records("crasp-algorithmic", [], scale="paper")
    found = merged_by_study([one, other, more])
    assert [part.scale for part in found] == ["small", "paper"]
    assert [seed.seed for seed in found[0].rows[0].seeds] == [0, 1]


def test_only_seeds_that_ended_and_fit_are_kept() -> None:
    row = row_records(
        LABELS,
        [
            seed_record(0),
            seed_record(1, fits=False),
            seed_record(2, status="nan"),
            seed_record(3, status="unfinished"),
        ],
    )
    assert [seed.seed for seed in row.complete] == [0, 1]
    assert [seed.seed for seed in row.kept] == [0]


@pytest.mark.parametrize(
    ("best", "tested", "fits"),
    [
        (1.0, 1.0, True),
        (1.0, 0.99, True),
        (1.0, 0.98, False),  # a validation set of one word says little
        (0.9995, 1.0, False),
        (None, 1.0, True),  # a run that does not stop early
        (None, 0.5, False),
    ],
)
def test_a_run_fits_by_validation_and_tests(best: float | None, tested: float, fits: bool) -> None:
    assert fits_in_range(best, tested) == fits


def test_records_are_those_of_the_runs(tmp_path: Path) -> None:
    one = study("crasp-algorithmic").only(["binary majority", "0"])
    cells = [cell for _, cell in one.cells("smoke")]
    for cell in cells:
        train(cell.config, runs=tmp_path, device="cpu")
    found = collect_records(one, "smoke", tmp_path, "command")
    assert [row.labels[1] for row in found.rows] == ["absolute", "none"]
    for row, cell in zip(found.rows, cells, strict=True):
        (seed,) = row.seeds
        run = Run(tmp_path / cell.config.hash)
        assert run.result is not None
        assert seed.accuracy["longer"].share == run.result.accuracy["longer"]
        assert seed.accuracy["longer"].count == 64
        assert sum(share.count for share in seed.curves["length"].values()) == 3 * 64
        assert seed.best == run.result.best
        assert len(seed.heads) == (row.labels[1] == "absolute")
        assert "seed" not in row.config
    more = study("crasp-algorithmic").only(["binary majority"])
    started = collect_records(more, "smoke", tmp_path, "command")
    assert started.rows == found.rows  # rows without runs are left out


def test_what_is_known_of_an_interrupted_run_is_kept(tmp_path: Path) -> None:
    one = study("crasp-algorithmic").only(["binary majority", "none", "0"])
    ((_, cell),) = one.cells("smoke")
    train(cell.config, runs=tmp_path, device="cpu")
    folder = tmp_path / cell.config.hash
    last = Run(folder).evaluations()[-1]
    (folder / "result.json").unlink()
    ((row,),) = (collect_records(one, "smoke", tmp_path, "command").rows,)
    (seed,) = row.seeds
    assert seed.status == "unfinished"
    assert not seed.complete
    assert seed.step == last["step"]
    assert seed.accuracy["longest"] == Share.recovered(last["accuracy"]["longest"], 64)
