"""`weft study ptg` and `weft explain` from training to the report, at the scale `smoke`."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from command_line import execute, weft
from weft.models.factory import build_model
from weft.statistics import Share
from weft.studies.ptg.records import (
    Checkpoint,
    TraceRecords,
    TraceRow,
    TraceRun,
    load_runs,
    merged_runs,
    speed_of,
    waiting_of,
)
from weft.studies.ptg.reference import ORDERINGS, PUBLISHED, rank_agreement
from weft.studies.ptg.report import accuracy_of, tables_of
from weft.studies.ptg.rows import MECHANISMS, SETTINGS, SPLITS, TABLE, covering
from weft.studies.ptg.study import PROGRAM_TRACES
from weft.tasks.program_traces import ProgramTraces
from weft.training import shards
from weft.training.supervision import model_config, task_of

PAGE = Path(__file__).parents[3] / "docs" / "ptg-study.md"


def commands_of_page() -> list[str]:
    """The commands on the study's page."""
    lines = (line.strip() for line in PAGE.read_text("utf-8").splitlines())
    return [line for line in lines if line.startswith("weft study ptg")]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run and the records of the study."""
    folder = tmp_path_factory.mktemp("study")
    runs, file = str(folder / "runs"), str(folder / "records.json")
    arguments = ("study", "ptg", "--scale", "smoke", "--only", "NaPE", "--only", "main")
    shown = weft(*arguments, "--device", "cpu", "--runs", runs, "--records", file)
    assert "Right traces (%) by split" in shown
    return folder


def test_a_row_is_trained_analysed_and_reported_elsewhere(trained: Path) -> None:
    file = trained / "records.json"
    values = json.loads(file.read_text())
    (row,) = values["rows"]
    (run,) = row["runs"]
    assert row["labels"] == ["NaPE", "main"]
    assert run["status"] == "done"
    assert [each["step"] for each in run["checkpoints"]] == [1, 2]
    assert set(run["checkpoints"][-1]["right"]) == set(SPLITS)
    assert {each["split"] for each in run["measured"]["splits"]} == set(SPLITS)
    assert set(run["measured"]["without"]) == {"without ALiBi heads", "without NoPE heads"}
    assert run["tokens_per_second"] > 0
    again = json.loads(weft("study", "ptg", "--from", str(file), "--json"))
    assert again["rows"] == values["rows"]
    assert merged_runs([load_runs(file), load_runs(file)]) == load_runs(file)


def test_a_run_is_explained_with_figures(trained: Path, tmp_path: Path) -> None:
    (name,) = [path.name for path in (trained / "runs").iterdir() if path.name != "program-traces"]
    runs = ("--runs", str(trained / "runs"))
    out = tmp_path / "explanation"
    shown = weft("explain", name[:6], *runs, "--beside", name[:6], "--out", str(out))
    for words in ("NaPE", "first error", "Hazard by statement", "without ALiBi heads", "needed"):
        assert words in shown
    files = {path.name for path in out.iterdir()}
    for stem in ("hazards", "errors", "attention", "distance"):
        assert {f"explanation-{stem}.svg", f"explanation-{stem}.png"} <= files
    values = json.loads((out / "explanation.json").read_text())
    assert len(values["attention"]["heads"]) == 2
    assert values["beside"][0]["attention"] == values["attention"]
    page = (out / "explanation.md").read_text()
    assert all(f"]({name})" in page for name in files if name.endswith(".svg"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["study", "ptg", "--only", "NaP"], "Did you mean 'NaPE'"),
        (["study", "ptg", "--scale", "huge"], "has no scale 'huge'"),
        (["study", "ptg", "--from", "missing.json"], "missing.json"),
        (["study", "ptg", "--only", "T5", "--only", "cut"], "no row is selected"),
        (["study", "ptg", "--scale", "smoke", "--set", "packing=cot"], "packing cannot be 'cot'"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = execute([*arguments, "--device", "cpu"], tmp_path)
    assert done.code == 2
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr


def test_damaged_records_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "records.json"
    for text in ("[]", '{"study": "ptg"}', '{"study": "arithmetic", "format": 1, "rows": []}'):
        file.write_text(text)
        done = execute(["study", "ptg", "--from", str(file)], tmp_path)
        assert done.code == 2
        assert "does not hold the records" in done.stderr


def test_all_rows_make_models_of_one_size() -> None:
    """But for the looped one, whose layers are half as many, and rows that vary the size."""
    import torch

    for scale in ("nano", "tiny", "small", "paper"):
        sizes = {}
        for row, cell in PROGRAM_TRACES.table(scale).cells(scale):
            config = model_config(cell.config, task_of(cell.config))
            with torch.device("meta"):
                model = build_model(config)
            sizes[row.labels] = sum(weight.numel() for weight in model.parameters())
        base = sizes[("NoPE", "main")]
        for labels, size in sizes.items():
            if labels[0] != "looped NoPE" and "parameters" not in labels[1]:
                assert 0.95 < size / base < 1.1, (scale, labels)
        expected = {"nano": 0.17e6, "tiny": 10.7e6, "small": 25.8e6, "paper": 154e6}[scale]
        assert base == pytest.approx(expected, rel=0.05)


def test_runs_have_names_of_their_own_and_the_tokens_that_are_announced() -> None:
    for scale, tokens in (("tiny", 0.15e9), ("small", 0.66e9), ("paper", 4.03e9)):
        cells = PROGRAM_TRACES.table(scale).cells(scale)
        assert len({cell.config.hash for _, cell in cells}) == len(cells)
        for row, cell in cells:
            config = cell.config
            assert config.steps // config.evaluation.every == 10
            assert config.steps * config.pack * config.pack_rows == pytest.approx(tokens, rel=0.01)
            window = 512 if scale == "paper" else 128
            assert config.model.get("window") == (window if row.labels[0] == "SWAN" else None)
    assert len(PROGRAM_TRACES.table("tiny").rows) == len(SETTINGS)
    assert len(PROGRAM_TRACES.table("small").rows) == len(MECHANISMS) == 15


def test_every_split_of_the_study_is_one_of_the_task() -> None:
    for tier in ("nano", "small", "paper"):
        assert set(SPLITS) <= set(ProgramTraces(tier=tier).splits)
    assert {split for values in PUBLISHED.values() for split in values} <= set(SPLITS)
    assert set(PUBLISHED) <= set(MECHANISMS)
    assert {ordering.better for ordering in ORDERINGS} <= set(MECHANISMS)


def run_with(accuracies: dict[str, float], **others: Any) -> TraceRun:
    right = {split: Share(round(1000 * value), 1000) for split, value in accuracies.items()}
    values: dict[str, Any] = {
        "run": f"run{sorted(accuracies.items())}", "seed": 0, "status": "done", "parameters": 10,
        "tokens": 100, "seconds": 2.0, "tokens_per_second": 50.0, "waiting": 0.01,
        "checkpoints": (Checkpoint(step=5, right=right),), "measured": None, **others,
    }  # fmt: skip
    return TraceRun(**values)


def records_with(rows: dict[str, TraceRun]) -> TraceRecords:
    made = [TraceRow(labels=(name, "main"), config={}, runs=(run,)) for name, run in rows.items()]
    return TraceRecords(scale="tiny", rows=tuple(made), places=())


def test_rows_below_99_percent_do_not_count() -> None:
    """Their figures stand in parentheses, and are not compared with the paper's."""
    longest = "longer-traces-2"
    records = records_with(
        {
            "NoPE": run_with({"train": 0.995, longest: 0.2}),
            "NaPE": run_with({"train": 1.0, longest: 0.9}),
            "RoPE": run_with({"train": 0.98, longest: 0.95}),
        }
    )
    tables = {table.title: table for table in tables_of(records)}
    accuracy = tables["Right traces (%) by split"]
    column = accuracy.header.index(SPLITS[longest])
    cells = {row[0]: row[column] for row in accuracy.rows}
    assert cells["RoPE"] == "(95.0 [93.5–96.2])"
    assert cells["NaPE"].startswith("90.0 ")
    found = rank_agreement(accuracy_of(records))
    assert (found.same, found.opposite, found.tied) == (1, 0, 0)
    assert found.missing == len(ORDERINGS) - 1
    assert found.tau == 1.0
    (paper,) = [title for title in tables if "Kendall" in title]
    assert "+1.00 (1 the same way" in paper
    speed = tables["Speed"]
    assert speed.rows[1][speed.header.index("of NoPE")] == "100%"


def test_ranks_are_correlated_as_by_definition() -> None:
    reverse = rank_agreement(lambda name, split: -list(MECHANISMS).index(name))
    forward = rank_agreement(lambda name, split: list(MECHANISMS).index(name))
    assert reverse.tau == -(forward.tau or 0)
    assert rank_agreement(lambda name, split: 0.5).tau == 0
    assert rank_agreement(lambda name, split: None).tau is None


def test_of_two_files_the_run_that_got_further_counts() -> None:
    early = records_with({"NoPE": run_with({"train": 0.5}, status="unfinished", tokens=10)})
    late = records_with({"NoPE": run_with({"train": 0.5})})
    for order in ([early, late], [late, early]):
        (row,) = merged_runs(order).rows
        assert row.runs == late.rows[0].runs
    other = replace(late, rows=(replace(late.rows[0], config={"steps": 3}),))
    with pytest.raises(Exception, match="different settings for the row NoPE main"):
        merged_runs([late, other])


def test_speeds_leave_out_the_first_records() -> None:
    metrics = [{"tokens_per_second": 1.0, "waiting": 0.9}] + [
        {"tokens_per_second": float(n), "waiting": 0.1} for n in range(100, 110)
    ]
    assert speed_of(metrics) == 105.0
    assert waiting_of(metrics) == pytest.approx(0.1)
    assert speed_of([]) == 0.0
    assert waiting_of([{"tokens_per_second": 1.0}]) is None


def test_weights_of_the_paper_scale_fit_into_small_files() -> None:
    assert shards.MAX_BYTES < 16 * 2**20


@pytest.mark.parametrize("line", commands_of_page())
def test_commands_of_the_page_select_rows(line: str) -> None:
    words = shlex.split(line)
    only = [value for option, value in pairwise(words) if option == "--only"]
    scales = [value for option, value in pairwise(words) if option == "--scale"]
    assert PROGRAM_TRACES.only(only).rows
    assert set(scales) <= set(TABLE.scales)


@pytest.mark.slow
def test_smoke_trains_one_row_of_each_kind(tmp_path: Path) -> None:
    where = ("--runs", str(tmp_path / "runs"), "--out", str(tmp_path / "out"))
    weft("study", "ptg", "--scale", "smoke", "--device", "cpu", *where)
    values = json.loads((tmp_path / "out" / "ptg-smoke.json").read_text())
    assert len(values["rows"]) == len(covering(TABLE.rows))
    assert all(run["status"] == "done" for row in values["rows"] for run in row["runs"])
