"""Tables and pages of length studies, from records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from length_records import row_records, seed_record, study_records

from weft.statistics import Mean, Share
from weft.studies import study
from weft.studies.length.records import HeadRole, load_records
from weft.studies.length.report import (
    failures,
    length_page,
    length_rows,
    length_table,
    write_length_report,
)

PAGES = Path(__file__).parents[3] / "docs" / "results"
COPY = ("unique copy", "absolute", "0")
STUDY = study("crasp-algorithmic")
UNIFORM = HeadRole(
    layer=1, head=1, description="uniform", spread=0.0, distance=None, period=1, misfit=0.0
)
LOOKS_BACK = HeadRole(
    layer=2, head=1, description="prefers i - 1", spread=3.0, distance=1, period=1, misfit=0.1
)


def copies(*seeds: object) -> object:
    return study_records("crasp-algorithmic", [row_records(COPY, seeds)])  # type: ignore[arg-type]


def test_all_seeds_that_ended_are_averaged_unless_the_papers_rule_is_asked_for() -> None:
    accuracies = {0: (0.5, False), 1: (1.0, True), 2: (0.9, True), 3: (0.8, True)}
    records = copies(
        *(seed_record(seed, longer, fits=fits) for seed, (longer, fits) in accuracies.items()),
        seed_record(4, 0.0, status="nan"),
    )
    (all_,) = length_rows(STUDY, records)
    assert [seed.seed for seed in all_.counted] == [0, 1, 2, 3]
    assert not all_.fitted
    (two,) = length_rows(STUDY, records, keep=2)
    assert [seed.seed for seed in two.counted] == [1, 2]
    assert two.fitted
    header, (line,) = length_table(STUDY, [two])
    cells = dict(zip(header[:5], line[:5], strict=True))
    assert cells == {
        "task": "unique copy", "positions": "absolute", "penalty": "0", "C-RASP": "yes",
        "fit": "3 of 4",
    }  # fmt: skip
    assert str(Mean((Share(200, 200), Share(180, 200)))) in line
    assert "99.9%" in line  # the paper's
    none_fits = copies(seed_record(0, 0.5, fits=False))
    (row,) = length_rows(STUDY, none_fits, keep=2)
    assert [seed.seed for seed in row.counted] == [0]
    assert not row.fitted


def test_seeds_that_fail_though_predicted_to_succeed_are_explained() -> None:
    records = copies(
        seed_record(0, 0.94, heads=[UNIFORM]),
        seed_record(1, 0.95, heads=[UNIFORM]),
        seed_record(2, 0.5, heads=[UNIFORM, LOOKS_BACK]),
        seed_record(3, 1.0, fits=False),
    )
    lines = list(failures(length_rows(STUDY, records)))
    assert len(lines) == 3  # 95% is enough
    assert "seed 0: 94.0%" in lines[0]
    assert "The program needs a head at j = i - 1. No head attends to j = i - 1." in lines[0]
    assert "Head 1.1: uniform." in lines[0]
    assert "No head that it needs is missing." in lines[1]
    assert "seed 3: does not fit in distribution: 90.0% [85.1–93.4] of the tests." in lines[2]


def test_failures_of_rows_that_are_predicted_to_fail_are_not_listed() -> None:
    labels = ("repeat copy", "absolute", "0")
    row = row_records(labels, [seed_record(0, 0.0)], task="repeat-copy")
    assert not list(failures(length_rows(STUDY, study_records("crasp-algorithmic", [row]))))


def test_without_the_theorys_parser_predictions_are_left_open(monkeypatch) -> None:
    def missing(config: object) -> dict[str, str]:
        raise ModuleNotFoundError("No module named 'lark'", name="lark")

    monkeypatch.setattr("weft.studies.length.predictors.predictions", missing)
    (row,) = length_rows(STUDY, copies(seed_record(0)))
    assert row.predicted == "?"


def test_the_re_run_stands_beside_absolute_positions_only() -> None:
    formal = study("crasp-formal")
    asked = {"language": "d-4", "target": "next"}
    rows = [
        row_records(
            ("d-4", "next", label, "0"),
            [seed_record(0)],
            task="formal-language",
            position=position,
            parameters=asked,
        )
        for label, position in (("absolute", "learned"), ("none", "none"))
    ]
    found = length_rows(formal, study_records("crasp-formal", rows))
    header, lines = length_table(formal, found)
    assert header[-1] == "2026"
    assert [line[-1] for line in lines] == ["100 / 100 / 98.3", ""]


def test_a_page_says_which_settings_were_changed() -> None:
    records = replace(copies(seed_record(0)), command="weft study x --set steps=9 --set batch=2")
    page = length_page(STUDY, records, length_rows(STUDY, records))
    assert "Changed for all runs: steps=9, batch=2." in page


def test_a_page_has_table_figure_failures_and_source(tmp_path: Path) -> None:
    records = copies(seed_record(0, 0.5, heads=[UNIFORM]), seed_record(1))
    written = write_length_report(STUDY, records, tmp_path)
    page, values, figure = written
    assert load_records(values) == records
    text = page.read_text()
    rows = length_rows(STUDY, records)
    pictures = [(figure.name, "Accuracy by length")]
    assert text == length_page(STUDY, records, rows, pictures=pictures)
    for wanted in (
        "2 of 2",
        "over 2 seeds",
        "Seeds 0 to 1",
        "## Seeds that fail",
        "Commit abc; cpu",
    ):
        assert wanted in text
    assert figure.read_text().startswith("<?xml")
    assert "4 layers, 4 heads and width 256" in text  # in place of 12 layers


@pytest.mark.parametrize("path", sorted(PAGES.glob("crasp-*.json")), ids=lambda path: path.stem)
def test_committed_pages_are_those_of_their_records(path: Path) -> None:
    records = load_records(path)
    one = study(records.study)
    pictures = [(f"{path.stem}-length.svg", "Accuracy by length")]
    page = length_page(one, records, length_rows(one, records), pictures=pictures)
    assert path.with_suffix(".md").read_text() == page
