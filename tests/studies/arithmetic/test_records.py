"""Records: files, merging, and the agreement with the truncated function."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from arithmetic_records import checkpoint, records_of, row_of, run_with, runs_of

from weft.errors import WeftError
from weft.files import read_json
from weft.studies.arithmetic.records import (
    agreement_file,
    arithmetic_task,
    load_runs,
    measure_agreement,
    merged_runs,
)
from weft.studies.arithmetic.rows import DIGITS
from weft.studies.results import curve_from
from weft.tasks.arithmetic import outputs_of, score_outputs
from weft.training import TrainingConfig, train
from weft.training.config import EvaluationConfig
from weft.training.evaluation import decoded
from weft.training.store import Run

SUMS = row_of("addition", "–", "D4")
SHARES = dict.fromkeys(range(1, 10), 0.5)


def test_records_survive_their_file(tmp_path: Path) -> None:
    first = run_with(checkpoint(SHARES, step=1), checkpoint(SHARES, step=2))
    records = records_of(runs_of(SUMS, [first, run_with(seed=1, status="unfinished")]))
    path = tmp_path / "records.json"
    path.write_text(json.dumps({"study": "arithmetic", "scale": "small", **records.as_dict()}))
    loaded = load_runs(path)
    assert loaded.as_dict() == json.loads(json.dumps(records.as_dict()))
    assert loaded.rows[0].runs == records.rows[0].runs


@pytest.mark.parametrize("text", ["[]", "{}", '{"study": "arithmetic", "format": 99, "rows": []}'])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "other.json").write_text(text)
    with pytest.raises(WeftError, match="does not hold the records of the arithmetic study"):
        load_runs(tmp_path / "other.json")


def test_a_run_in_two_files_is_taken_where_it_is_complete() -> None:
    begun = run_with(checkpoint(SHARES, step=1), status="unfinished")
    done = run_with(checkpoint(SHARES, step=9))
    other = run_with(checkpoint(SHARES), seed=1)
    first, second = records_of(runs_of(SUMS, [begun])), records_of(runs_of(SUMS, [other, done]))
    for parts in ([first, second], [second, first]):
        assert merged_runs(parts).rows[0].runs == (done, other)


def test_files_that_do_not_belong_together_are_refused() -> None:
    row = runs_of(SUMS, [])
    with pytest.raises(WeftError, match="different scales: paper, small"):
        merged_runs([records_of(row), records_of(row, scale="paper")])
    changed = replace(row, config={**row.config, "steps": 7})
    with pytest.raises(WeftError, match="different settings for the row addition"):
        merged_runs([records_of(row), records_of(changed)])
    with pytest.raises(WeftError, match="no results to merge"):
        merged_runs([])


def test_only_arithmetic_tasks_are_read() -> None:
    with pytest.raises(WeftError, match="'parity' is not an arithmetic task"):
        arithmetic_task("parity", {})


def test_the_agreement_is_that_of_greedy_decoding(tmp_path: Path) -> None:
    parameters = {"modulus": 2, "domain": "D1", "test_domain": "D~", "longer": 9, "width": 9}
    config = TrainingConfig(
        task="modular-addition",
        parameters=parameters,
        model={"layers": 1, "heads": 1, "width": 16, "hidden": (16,), "position": "none"},
        steps=60,
        batch=32,
        evaluation=EvaluationConfig(every=0, splits=("train",), size=40, batch=100),
    )
    train(config, runs=tmp_path, device="cpu")
    run = Run(tmp_path / config.hash)
    measure_agreement(run, tmp_path, "cpu")
    measured = curve_from(read_json(agreement_file(tmp_path, run.name)))
    task, model = arithmetic_task(config.task, config.parameters), run.model("cpu")
    with model.evaluating():
        for split, length in DIGITS.items():
            tests = task.test_set(split, 40)
            outputs = outputs_of(tests, decoded(model, tests))
            scores = score_outputs(task, tests, outputs)
            assert measured[int(length)].right == scores.truncated.sum()
    assert any(share.right for share in measured.values())  # it learned to write one bit
