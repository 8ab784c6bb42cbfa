"""Scores of predictors: counted by hand, and what is left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from length_records import row_records, seed_record, study_records

from weft.statistics import Share
from weft.studies.length.predictors import PREDICTORS
from weft.studies.length.records import load_records
from weft.studies.length.reference import ALGORITHMIC, FORMAL
from weft.studies.length.scores import (
    CRITERION,
    OURS,
    PAPER_A,
    PAPER_B,
    RERUN,
    VARIED,
    Criterion,
    Outcome,
    published,
    recorded,
    surprises,
    tallies,
    tally,
)
from weft.studies.length.scores_report import outcomes_of, scores_page, write_scores

PAGES = Path(__file__).parents[3] / "docs" / "results"


def outcome(answer: str, longer: float, *, train: float = 1.0, **changes: object) -> Outcome:
    return replace(
        Outcome(
            source=OURS,
            task="task",
            target="",
            positions="none",
            train=train,
            longer=longer,
            longest=longer / 2,
            fits=None,
            seeds=1,
            predicted=dict.fromkeys(PREDICTORS, answer),  # type: ignore[arg-type]
        ),
        **changes,  # type: ignore[arg-type]
    )


def test_answers_are_counted_by_what_happened() -> None:
    rows = [
        outcome("yes", 1.0),
        outcome("yes", 0.95),
        outcome("yes", 0.94),
        outcome("no", 0.5),
        outcome("no", 0.99),
        outcome("unknown", 1.0),
        outcome("–", 0.0),
        outcome("yes", 1.0, train=0.98),  # does not fit
    ]
    found = tally(rows, "C-RASP")
    assert (found.yes, found.no, found.silent) == (Share(2, 3), Share(1, 2), 2)
    assert found.right == Share(3, 5)
    assert [row.longer for row in surprises(rows, "C-RASP")] == [0.94, 0.99]
    strict = Criterion(unfitted="not generalising")
    assert tally(rows, "C-RASP", strict).yes == Share(2, 4)
    assert tally(rows, "C-RASP", Criterion("longest", 0.4)).yes == Share(3, 3)


def test_the_rule_of_the_source_says_whether_models_fit() -> None:
    assert CRITERION.generalised(outcome("yes", 1.0, train=0.999, fits=False)) is None
    assert CRITERION.generalised(outcome("yes", 1.0, train=0.9, fits=True)) is True


def test_published_rows_counted_in_another_way() -> None:
    """From the flags of the paper alone, with none of the deciders."""
    rows = published()
    assert [sum(row.source == name for row in rows) for name in (PAPER_A, PAPER_B, RERUN)] == [
        16, 34, 17,
    ]  # fmt: skip
    fitted = [each for each in ALGORITHMIC if each.accuracy[0] >= 99]
    yes = [each.accuracy[1] >= 95 for each in fitted if each.predicted]
    no = [each.accuracy[1] < 95 for each in fitted if not each.predicted]
    found = tally([row for row in rows if row.source == PAPER_A], "C-RASP")
    assert (found.yes, found.no) == (Share.of(yes), Share.of(no))
    bins = [each.learned for each in FORMAL] + [each.none for each in FORMAL]
    always = tally([row for row in rows if row.source == PAPER_B], "always yes")
    assert always.yes == Share.of([b[1] >= 95 for b in bins if b[0] >= 99])
    rerun = tally([row for row in rows if row.source == RERUN], "always no")
    assert rerun.no == Share.of([each.rerun[1] < 95 for each in FORMAL if each.rerun[0] >= 99])


def test_baselines_add_up() -> None:
    rows = published()
    for criterion in VARIED:
        found = {each.predictor: each for each in tallies(rows, criterion)}
        yes, no = found["always yes"].yes, found["always no"].no
        assert yes.right + no.right == yes.count == no.count
        for each in found.values():
            assert each.yes.count + each.no.count + each.silent == yes.count


def test_records_become_outcomes() -> None:
    copy = row_records(
        ("unique copy", "absolute", "0"),
        [seed_record(0, 0.8), seed_record(1, 1.0), seed_record(2, 0.0, fits=False)],
    )
    none = row_records(
        ("unique copy", "none", "0"), [seed_record(0, 0.2, fits=False)], position="none"
    )
    rotary = row_records(("unique copy", "rotary"), [seed_record(0)], position="rotary")
    unfinished = row_records(("sort", "none", "0"), [seed_record(0, status="nan")], task="sorting")
    one = study_records("crasp-algorithmic", [copy, none, rotary, unfinished])
    again = study_records("crasp-penalty", [replace(copy, labels=("unique copy", "0"))])
    found = recorded([one, again])  # the row that both share counts once
    assert [(row.positions, row.longer, row.fits, row.seeds) for row in found] == [
        ("absolute", 0.9, True, 2),
        ("none", 0.2, False, 1),
    ]
    assert [row.predicted["C-RASP"] for row in found] == ["yes", "no"]
    penalised = replace(copy, config={**copy.config, "penalty": {"position": 1e-4}})
    assert not recorded([study_records("crasp-algorithmic", [penalised])])


def test_rows_of_other_lengths_and_strides_have_names_of_their_own() -> None:
    one = row_records(
        ("3", "128/256/384", "absolute"),
        [seed_record(0)],
        parameters={"stride": 3, "length": 128, "longer": 256, "longest": 384},
    )
    (found,) = recorded([study_records("crasp-offsets", [one])])
    assert found.name == "unique-copy, stride 3, lengths to 128, absolute"


def test_the_page_says_all_of_it(tmp_path: Path) -> None:
    copy = row_records(("unique copy", "absolute", "0"), [seed_record(0, 0.5)])
    records = [study_records("crasp-algorithmic", [copy])]
    written = write_scores(outcomes_of(records), records, tmp_path)
    page = written[0].read_text()
    for wanted in (
        "### Ours: 1 row\n",
        "| ours | unique-copy, absolute | yes | 100.0 | 50.0 | 50.0 |",  # where C-RASP is wrong
        "## What is not independent",
        "`weft study crasp-algorithmic`",
        "at least 95% of the tests of lengths 51–100",
    ):
        assert wanted in page
    assert [path.name for path in written] == ["scores.md", "scores.json", "scores.svg"]


def test_the_committed_page_is_that_of_its_records() -> None:
    files = sorted(PAGES.glob("crasp-*.json"))
    records = [load_records(path) for path in files]
    pictures = [("scores.svg", "How often each predictor's answers came true, by source")]
    assert (PAGES / "scores.md").read_text() == scores_page(outcomes_of(records), records, pictures)
