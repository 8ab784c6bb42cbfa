"""The recursion study: its rows, its records, its tables and figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from weft.errors import WeftError
from weft.statistics import Share
from weft.studies.experiment import Execution, write_experiment
from weft.studies.recursion.records import (
    IteratedRecord,
    RecursionRecords,
    RecursionRun,
    RowRuns,
    SplitRecord,
    load_runs,
    merged_runs,
)
from weft.studies.recursion.report import tables_of
from weft.studies.recursion.rows import ROWS, SCALES, SHARES, TRACES, at_scale, covering
from weft.studies.recursion.study import RECURSION
from weft.tasks import task
from weft.training.supervision import model_config, task_of

PLACE = {"commit": "abc", "device": "cpu", "python": "3.12", "torch": "2.6"}
NATURAL = next(row for row in ROWS if row.setting.order == "natural")


def record(share: float, count: int = 100, depths: int = 4) -> SplitRecord:
    right = round(share * count)
    curve = {depth: Share(right, count) for depth in range(depths)}
    return SplitRecord(share=Share(right, count), depth=curve)


def run(shares: Mapping[str, float], seed: int = 0, status: str = "done", **more: Any) -> Any:
    splits = {split: record(share) for split, share in shares.items()}
    return RecursionRun(run=f"run{seed}{hash(str(shares)) % 1000}", seed=seed, status=status,
                        step=100, seconds=60.0, splits=splits, **more)  # fmt: skip


def runs_of(row: Any, *runs: RecursionRun) -> RowRuns:
    return RowRuns(labels=row.labels, config={"task": "recursion"}, runs=runs)


def tables(*rows: RowRuns) -> dict[str, Any]:
    return {table.title.partition(" (")[0]: table for table in tables_of(rows)}


def records_file(path: Path, *rows: RowRuns) -> Path:
    records = RecursionRecords(scale="small", rows=rows, places=(PLACE,))
    path.write_text(json.dumps({"study": "recursion", "scale": "small", **records.as_dict()}))
    return path


def test_rows_are_what_the_study_is_about() -> None:
    labels = [row.labels for row in ROWS]
    assert len(set(labels)) == len(labels)
    several = [row for row in ROWS if row.setting.seeds]
    assert [row.labels[:2] for row in several] == [
        ("successor", "natural"), ("successor", "constructor"), ("pre-order", "constructor"),
        ("in-order", "constructor"), ("post-order", "constructor"),
    ]  # fmt: skip
    assert {row.labels[2] for row in ROWS} == {"evaluate", "step", TRACES}
    successor = [row.setting for row in ROWS if row.setting.is_successor]
    assert {each.factor for each in successor} == {0.25, 0.5, 1, 2}
    assert {each.positions for each in successor} >= {"absolute", "relative", "none"}
    sizes = {
        (row.setting.heads, row.setting.layers)
        for row in ROWS
        if row.labels[0] == "in-order" and row.labels[2] == "evaluate"
    }
    assert sizes == {(heads, layers) for heads in (2, 4, 8) for layers in (1, 2, 4)}
    for function in ("successor", "reverse", "evaluate"):
        models = {row.setting.model for row in ROWS if row.setting.function == function}
        assert {"encoder-decoder", "decoder", "LSTM"} <= models


@pytest.mark.parametrize("scale", SCALES)
def test_every_run_has_a_config_of_its_own(scale: str) -> None:
    cells = [cell for row in at_scale(ROWS, scale) for cell in row.cells(scale, None)]
    assert len({cell.config.hash for cell in cells}) == len(cells)
    seeds = SCALES[scale].seeds
    assert len(NATURAL.cells(scale, None)) == seeds
    assert [cell.config.seed for cell in NATURAL.cells(scale, (3, 2))] == [3, 4]


def test_every_row_has_a_model_and_a_task() -> None:
    for row in at_scale(ROWS, "tiny"):
        (cell, *_) = row.cells("tiny", None)
        if row.setting.learns == TRACES:
            task(cell.config.task, **cell.config.parameters)
            continue
        made = task_of(cell.config)
        model = model_config(cell.config, made)
        assert model.kind in ("encoder-decoder", "decoder", "encoder")
        assert model.width == 64


def test_smoke_covers_every_kind() -> None:
    chosen = covering(ROWS)
    for part in ("function", "model", "positions", "learns", "cases"):
        values = {getattr(row.setting, part) for row in chosen}
        assert values == {getattr(row.setting, part) for row in ROWS}


def test_records_survive_a_file_and_are_merged(tmp_path: Path) -> None:
    steps = IteratedRecord(whole=record(0.5), per_step=Share(9, 10), errors={2: 1})
    one = runs_of(NATURAL, run({"train": 1.0}, iterated={"train": steps}))
    other = runs_of(NATURAL, run({"train": 0.5}, seed=1))
    first = load_runs(records_file(tmp_path / "one.json", one))
    assert first.rows == (one,)
    merged = merged_runs([first, load_runs(records_file(tmp_path / "two.json", other))])
    assert [each.seed for each in merged.rows[0].runs] == [0, 1]
    (tmp_path / "no.json").write_text('{"study": "arithmetic"}')
    with pytest.raises(WeftError, match="recursion study"):
        load_runs(tmp_path / "no.json")


def test_seeds_are_averaged_and_poor_runs_listed() -> None:
    row = runs_of(NATURAL, run({"train": 1.0, "deep": 0.0}), run({"train": 0.9, "deep": 1.0}, 1))
    found = tables(row)
    header = found["Exact match"].header
    line = dict(zip(header, found["Exact match"].rows[0], strict=True))
    assert line["deep"] == "50.0 [0.0–100.0] n=100"
    assert line["seeds"] == "2"
    poor = found["Runs below 99% in distribution"].rows
    assert [each[1] for each in poor] == ["1"]
    failed = tables(runs_of(NATURAL, run({"train": 1.0}), run({}, 1, status="failed")))
    assert failed["Exact match"].rows[0][8] == "1, 1 failed"


def test_the_smallest_share_that_repairs_a_split() -> None:
    usual = runs_of(NATURAL, run({"train": 1.0, "all-carry": 0.0}))
    rows = [usual]
    for row in ROWS:
        setting = row.setting
        if setting.cases == "all-carry":
            share = {"0.1%": 0.5, "1%": 0.99, "5%": 1.0, "20%": 1.0}[setting.share]
            rows.append(runs_of(row, run({"train": 1.0, "all-carry": share})))
    assert len(rows) == 1 + len(SHARES)
    title = "Smallest share of added cases with at least 99% on a split"
    lines = {line[:2]: line[2] for line in tables(*rows)[title].rows}
    assert lines[("all-carry", "all-carry")] == "1%"
    assert lines[("all-carry", "train")] == "0%"


def test_the_report_puts_supervision_side_by_side(tmp_path: Path) -> None:
    whole = IteratedRecord(whole=record(0.75), per_step=Share(99, 100), errors={3: 25})
    step = next(row for row in ROWS if row.setting.learns == "step")
    traces = next(row for row in ROWS if row.setting.learns == TRACES)
    file = records_file(
        tmp_path / "records.json",
        runs_of(NATURAL, run({"train": 1.0, "deep": 0.25})),
        runs_of(step, run({"train": 1.0, "deep": 1.0}, iterated={"train": whole, "deep": whole})),
        runs_of(traces, run({"train": 1.0, "deep": 1.0})),
    )
    report = RECURSION.from_files([file]).report("small", Execution(runs=tmp_path))
    by_title = {table.title.partition(":")[0]: table for table in report.tables}
    lines = by_title["Which supervision gives recursion"].rows
    deep = {line[2]: line[4] for line in lines if line[3] == "deep"}
    assert {name: text.split()[0] for name, text in deep.items()} == {
        "evaluate": "25.0", "step": "75.0", TRACES: "100.0",
    }  # fmt: skip
    assert by_title["Atomic steps, iterated"].rows[0][-1] == "3: 25"
    pytest.importorskip("matplotlib")
    files = {path.name for path in write_experiment(report, "weft study recursion", tmp_path)}
    assert "recursion-small-depth.svg" in files


def test_single_steps_are_not_shown_as_solutions() -> None:
    step = next(row for row in ROWS if row.setting.learns == "step")
    found = tables(runs_of(step, run({"train": 1.0})))
    assert not any(title.startswith("First recursion depth") for title in found)
    assert any(title.startswith("Exact match") for title in found)


def test_rows_are_selected_by_label() -> None:
    chosen = RECURSION.only(["in-order", "step"]).rows
    assert [row.labels[:3] for row in chosen] == [("in-order", "constructor", "step")]
    with pytest.raises(WeftError, match="no row"):
        RECURSION.only(["sideways"])
