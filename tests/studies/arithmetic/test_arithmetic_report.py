"""The report: tables, the list of runs below 99%, misses, the figure, records as a source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from arithmetic_records import checkpoint, records_of, row_of, run_with, runs_of

from weft.errors import WeftError
from weft.studies.arithmetic.comparison import compared
from weft.studies.arithmetic.figure import title_of
from weft.studies.arithmetic.records import ArithmeticRecords
from weft.studies.arithmetic.report import tables_of
from weft.studies.arithmetic.study import ARITHMETIC
from weft.studies.experiment import Execution, Table, write_experiment

TRUNCATED = dict.fromkeys((1, 2, 3, 4), 1.0) | {5: 0.0} | dict.fromkeys(range(6, 10), 0.01)
MODULO_101 = row_of("modular addition", "101", "D4")


def tables(*rows: object) -> dict[str, Table]:
    """The tables by title."""
    return {table.title: table for table in tables_of(compared(rows))}  # type: ignore[arg-type]


def saved(records: ArithmeticRecords, path: Path) -> Path:
    """Records in a file, as --records writes them."""
    values = {"study": "arithmetic", "scale": records.scale, **records.as_dict()}
    path.write_text(json.dumps(values))
    return path


def test_prediction_measurement_and_paper_stand_below_each_other() -> None:
    row = runs_of(MODULO_101, [run_with(checkpoint(TRUNCATED), truncated=0.998)])
    lines = tables(row)["Exact match (%) by number of digits"].rows
    assert [line[1] for line in lines] == [
        "predicted",
        "measured",
        "agreement with the truncated function",
        "paper",
    ]
    predicted, measured, agreement, paper = lines
    assert predicted[4:] == ("100", "100", "100", "100", "0", "1.01", "0.99", "0.99", "0.99")
    assert measured[2:4] == ("2,000", "100.0 [99.8–100.0]")
    assert measured[9] == "1.0 [0.6–1.5]"
    assert agreement[4].startswith("99.8 [")
    assert paper[4:] == ("–", "–", "–", "100", "0", "1.2", "0.9", "1.1", "1")


def test_several_seeds_are_averaged() -> None:
    runs = [run_with(checkpoint({**TRUNCATED, 9: x}), seed=seed) for seed, x in enumerate((0, 1))]
    line = tables(runs_of(MODULO_101, runs))["Exact match (%) by number of digits"].rows[1]
    assert line[1] == "measured, 2 seeds"
    assert line[-1] == "50.0 [0.0–100.0]"


def test_a_run_below_99_per_cent_is_listed_and_not_dropped() -> None:
    row = runs_of(MODULO_101, [run_with(checkpoint(TRUNCATED, train=0.6))])
    shown = tables(row)
    assert "Predictions that came true" not in shown
    assert shown["Runs below 99% in distribution"].rows[0][3].startswith("60.0%")
    assert shown["Exact match (%) by number of digits"].rows[1][3].startswith("60.0 [")


def test_misses_are_listed_with_a_reason() -> None:
    wrong = run_with(checkpoint({**TRUNCATED, 7: 0.5}), truncated=0.4)
    shown = tables(runs_of(MODULO_101, [wrong]))
    (miss,) = shown["Predictions that did not come true"].rows
    assert miss[1:4] == ("0", "7", "0.99")
    assert miss[-1] == "agrees with the truncated function on 40.0%: computes something else"
    came_true = dict(shown["Predictions that came true"].rows)
    assert came_true["with a modulus"].endswith("of 9")


def test_an_unfinished_run_is_shown_as_such() -> None:
    shown = tables(runs_of(MODULO_101, [run_with(status="unfinished")]))
    assert shown["Exact match (%) by number of digits"].rows[1][1] == "unfinished"


def test_records_of_two_machines_make_one_page_with_a_figure(tmp_path: Path) -> None:
    sums = row_of("addition", "–", "D4", "relative", "reversed")
    one = records_of(runs_of(MODULO_101, [run_with(checkpoint(TRUNCATED))]))
    two = records_of(runs_of(sums, [run_with(checkpoint(dict.fromkeys(range(1, 10), 1.0)))]))
    files = [saved(one, tmp_path / "one.json"), saved(two, tmp_path / "two.json")]
    execution = Execution(runs=tmp_path / "runs")
    study = ARITHMETIC.from_files(files)
    study.compute("small", execution)
    report = study.report("smoke", execution)
    assert report.complete
    assert report.scale == "small"  # that of the records
    page, values, figure = write_experiment(report, "weft study arithmetic", tmp_path / "out")
    text = page.read_text()
    assert "| modular addition, 101, D4, absolute, published, mini | predicted |" in text
    assert [row["labels"][0] for row in json.loads(values.read_text())["rows"]] == [
        "modular addition",
        "addition",
    ]
    assert figure.read_text().startswith("<?xml")
    fewer = study.only(["relative"]).report("small", execution)
    assert [row["labels"] for row in fewer.values["rows"]] == [list(sums.labels)]
    with pytest.raises(WeftError, match="no row of arithmetic has the label 'x'"):
        study.only(["x"])


def test_panels_are_named_by_what_is_unusual() -> None:
    sums = row_of("addition", "–", "D4", "relative", "reversed")
    each = compared([runs_of(MODULO_101, []), runs_of(sums, [])])
    assert [title_of(row) for row in each] == ["sum mod 101, D4\n", "sum, D4\nrelative, reversed"]
