"""The recursion study says which machine explains the failures of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from weft.statistics import Share
from weft.studies.experiment import Execution
from weft.studies.recursion.machine_records import (
    MachineRecord,
    best_machines,
    has_machines,
    machines_file,
    measure_machines,
    stored_machines,
)
from weft.studies.recursion.records import (
    RecursionRecords,
    RecursionRun,
    RowRuns,
    SplitRecord,
    load_runs,
    merged_runs,
)
from weft.studies.recursion.report import machine_table
from weft.studies.recursion.rows import ROWS, TRACES
from weft.studies.recursion.study import RECURSION
from weft.tasks.recursion import Recursion
from weft.theory.recursion import shortcut_machine, successor, traversal_machine
from weft.training import Run, train
from weft.training.launch.sweep import Cell

NATURAL = next(row for row in ROWS if row.setting.order == "natural")
TASK = Recursion(order="natural", length=9, longer=10)


def test_a_planted_machine_explains_its_failures() -> None:
    planted = shortcut_machine("bounded", "flip", 3)
    found = {each.sizes: each for each in best_machines(TASK, lambda x: [*map(planted, x)], 200)}
    assert list(found) == ["all", "shorter", "trained", "longer"]
    whole = found["all"]
    assert whole.machine == planted.name
    assert whole.agreement.share == whole.recall.share == whole.precision.share == 1.0
    assert whole.explains_failures
    assert not whole.is_true
    assert set(whole.wrong) == {"flip", *(f"run off by -{k}" for k in range(1, 7))}


def test_a_function_that_is_right_has_no_failures() -> None:
    for each in best_machines(TASK, lambda x: [*map(successor, x)], 80):
        assert each.is_true
        assert each.agreement.share == 1.0
        assert (each.recall.count, dict(each.wrong)) == (0, {})
        assert not each.explains_failures


def test_a_traversal_that_is_cut_is_recognised() -> None:
    task = Recursion(definition="in-order", notation="flat", shortest=2, length=8, longer=9)
    planted = traversal_machine("in-order", bound="cut", depth=3)
    whole, *_ = best_machines(task, lambda x: [*map(planted, x)], 80)
    assert whole.machine == planted.name
    assert whole.explains_failures


def test_values_of_the_successor_and_of_traversals_have_machines(tmp_path: Path) -> None:
    def run_of(setting: Any) -> Run:
        config = setting.config("smoke", 0)
        folder = tmp_path / config.hash
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps(config.as_dict()))
        return Run(folder)

    for setting in {(s.function, s.learns): s for s in (row.setting for row in ROWS)}.values():
        if setting.learns == TRACES:
            continue  # needs a program to be compiled; runs from traces are not from answers
        expected = setting.learns == "evaluate" and setting.function not in ("reverse", "evaluate")
        assert has_machines(run_of(setting)) == expected, setting


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


def test_the_study_compares_each_run_once(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trained(cells: Sequence[Cell]) -> Mapping[str, str]:
        return {c.config.hash: train(c.config, runs=runs, device="cpu").status for c in cells}

    study = RECURSION.only(NATURAL.labels).with_seeds(0, 1)
    execution = Execution(runs=runs, device="cpu", train=trained)
    study.compute("smoke", execution)
    ((cell,),) = [row.cells("smoke", (0, 1)) for row in study.rows]
    run = Run(runs / cell.config.hash)
    found = stored_machines(run, runs)
    assert {each.sizes for each in found} >= {"all", "trained", "longer"}
    assert found[0].wrong, "four steps teach nothing"
    monkeypatch.setattr("weft.studies.recursion.machine_records.best_machines", None)
    study.compute("smoke", execution)  # would fail if it compared again

    report = study.report("smoke", execution)
    table = next(each for each in report.tables if each.title.startswith("Which machine"))
    assert [line[8] for line in table.rows] == [each.sizes for each in found]
    file = tmp_path / "records.json"
    file.write_text(json.dumps(report.as_dict("weft study recursion")))
    assert load_runs(file).rows[0].runs[0].machines == found
    elsewhere = study.from_files([file]).report("smoke", Execution(runs=tmp_path))
    assert elsewhere.tables == report.tables


def test_too_few_inputs_leave_a_problem(runs: Path, tmp_path: Path) -> None:
    config = NATURAL.setting.config("smoke", 0)
    assert train(config, runs=runs, device="cpu").status == "done"
    run = Run(runs / config.hash)
    measure_machines(run, tmp_path, "cpu", inputs=3)
    assert stored_machines(run, tmp_path) == ()
    assert "too few" in json.loads(machines_file(tmp_path, run.name).read_text())["problem"]


# Records and tables

RECORD = MachineRecord(
    sizes="trained", machine="run detector, all-carry one token short", is_true=False, same_as=(),
    agreement=Share(99, 100), recall=Share(9, 10), precision=Share(9, 9), wrong={"short": 19},
)  # fmt: skip


def run(seed: int, *machines: MachineRecord) -> RecursionRun:
    splits = {"train": SplitRecord(share=Share(99, 100), depth={})}
    return RecursionRun(run=f"run{seed}", seed=seed, status="done", step=1, seconds=1.0,
                        splits=splits, machines=machines)  # fmt: skip


def row_of(*found: RecursionRun) -> RowRuns:
    return RowRuns(labels=NATURAL.labels, config={"task": "recursion"}, runs=found)


def test_seeds_with_the_same_machine_share_a_line() -> None:
    few = replace(RECORD, recall=Share(1, 10), wrong={"other": 20})
    none = replace(RECORD, recall=Share(0, 0), precision=Share(0, 0), wrong={})
    copied = replace(RECORD, sizes="all", machine="copy", agreement=Share(5, 100), same_as=("b",))
    row = row_of(run(0, RECORD), run(1, copied, few), run(2, none), run(3))
    table = machine_table([row])
    assert [line[7:] for line in table.rows] == [
        (
            "1", "all", "undecided: copy (or 1 that writes the same)", "5.0 [2.2–11.2] n=100",
            "90.0 [59.6–98.2] n=10", "100.0 [70.1–100.0] n=9", "yes", "short 19",
        ),
        (
            "0, 1, 2", "trained", RECORD.machine, "99.0 [94.6–99.8] n=100",
            "50.0 [0.0–100.0] n=10", "100.0 [70.1–100.0] n=9", "1 of 2", "other 20, short 19",
        ),
    ]  # fmt: skip
    assert len({len(line) for line in (table.header, *table.rows)}) == 1
    (line,) = machine_table([row_of(run(2, none))]).rows
    assert line[-4:] == ("–", "–", "no failures", "–")
    assert not machine_table([row_of(run(3))]).rows


@pytest.mark.parametrize(
    ("recall", "precision", "is_true", "said"),
    [
        (Share(4, 4), Share(4, 4), False, "yes"),
        (Share(3, 3), Share(9, 9), False, "too few"),
        (Share(9, 9), Share(3, 3), False, "too few"),
        (Share(9, 9), Share(4, 9), False, "no"),
        (Share(0, 2), Share(0, 0), True, "no"),
    ],
)
def test_what_counts_as_explained(
    recall: Share, precision: Share, is_true: bool, said: str
) -> None:
    found = replace(RECORD, recall=recall, precision=precision, is_true=is_true)
    (line,) = machine_table([row_of(run(0, found))]).rows
    assert line[-2] == said


def test_records_without_machines_load_and_give_way(tmp_path: Path) -> None:
    def file(name: str, row: RowRuns, *, old: bool = False) -> Path:
        values = RecursionRecords(scale="small", rows=(row,), places=()).as_dict()
        if old:
            for each in values["rows"][0]["runs"]:
                del each["machines"]
        path = tmp_path / name
        path.write_text(json.dumps({"study": "recursion", "scale": "small", **values}))
        return path

    old = load_runs(file("old.json", row_of(run(0)), old=True))
    assert old.rows[0].runs[0].machines == ()
    new = load_runs(file("new.json", row_of(run(0, RECORD))))
    for parts in ([old, new], [new, old]):
        assert merged_runs(parts).rows[0].runs[0].machines == (RECORD,)
