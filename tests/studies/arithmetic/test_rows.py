"""The rows of the arithmetic study: what the issue's grid has, layouts, positions, checkpoints."""

from __future__ import annotations

import pytest

from weft.errors import WeftError
from weft.studies.arithmetic.records import arithmetic_task
from weft.studies.arithmetic.reference import PUBLISHED
from weft.studies.arithmetic.rows import CHECKPOINTS, HEADER, POSITIONS, SCALES, TABLE, covering
from weft.studies.arithmetic.study import ARITHMETIC
from weft.theory.arithmetic.encodings import constant_distance

LABELS = {row.labels for row in TABLE.rows}


def test_rows_have_different_labels_and_no_label_stands_in_two_columns() -> None:
    assert len(LABELS) == len(TABLE.rows)
    columns = [{row.labels[place] for row in TABLE.rows} for place in range(len(HEADER))]
    for number, column in enumerate(columns):
        for other in columns[number + 1 :]:
            assert column & other <= {"–"}


@pytest.mark.parametrize("digits", ["D3", "D4"])
@pytest.mark.parametrize("modulus", [50, 51, 100, 101, 150, 151, 200, 201])
def test_all_moduli_have_a_row_with_absolute_positions(digits: str, modulus: int) -> None:
    usual = ("absolute", "published", "mini", "default", "no gap")
    assert ("modular addition", str(modulus), digits, *usual) in LABELS


def test_every_published_row_has_one_of_ours() -> None:
    with_paper = {row.labels[:3] for row in TABLE.rows if row.paper}
    assert with_paper == set(PUBLISHED)


@pytest.mark.parametrize("scale", ["smoke", "small", "paper"])
def test_tables_of_positions_reach_the_end_of_the_longest_example(scale: str) -> None:
    layouts = {
        (cell.config.task, row.labels[1], row.labels[2]): (row, cell.config)
        for row, cell in TABLE.cells(scale)
    }
    for row, config in layouts.values():
        made = arithmetic_task(config.task, {**config.parameters, "pool": 0})
        longest = made.test_set("digits-9", 4)
        assert longest.tokens.shape[1] + 16 <= POSITIONS, row.labels


def test_relative_encodings_are_trained_on_layouts_with_constant_distances() -> None:
    for row, cell in TABLE.cells("small"):
        made = arithmetic_task(cell.config.task, {**cell.config.parameters, "pool": 0})
        constant = constant_distance(made) is not None
        assert constant == (row.labels[4] != "published")
        if row.labels[3] in ("relative", "T5", "rotary", "abacus"):
            assert constant


@pytest.mark.parametrize("scale", ["tiny", "small", "paper"])
def test_runs_have_twenty_checkpoints(scale: str) -> None:
    for _, cell in TABLE.cells(scale):
        assert cell.config.steps == CHECKPOINTS * cell.config.evaluation.every
        assert cell.config.evaluation.size >= 2000


def test_pools_and_gaps_reach_the_task() -> None:
    configs = {row.labels: cell.config for row, cell in TABLE.cells("small")}
    pools = {labels[6]: config.parameters.get("pool", 0) for labels, config in configs.items()}
    assert pools == {"default": 0, "1k": 1000, "10k": 10_000, "100k": 100_000}
    gaps = {labels[7]: config.parameters.get("restrict") for labels, config in configs.items()}
    assert gaps["high digits"] == "high-digits"
    assert gaps["no gap"] is None


def test_smoke_has_one_row_of_each_kind() -> None:
    few = covering(TABLE.rows)
    for name in ("task", "positions", "order"):
        place = HEADER.index(name)
        assert {row.labels[place] for row in few} == {row.labels[place] for row in TABLE.rows}
    assert any(row.labels[6] != "default" for row in few)
    assert any(row.labels[7] != "no gap" for row in few)
    assert len(few) < 15
    assert len(ARITHMETIC.table("smoke").rows) == len(few)
    assert len(ARITHMETIC.table("small").rows) == len(TABLE.rows)
    assert len(ARITHMETIC.only(["nano"]).table("smoke").rows) == 4  # what is asked for is kept
    assert set(SCALES) == {"smoke", "tiny", "small", "paper"}
    assert len(ARITHMETIC.table("tiny").rows) == 4
    with pytest.raises(WeftError, match="it is for the model nano"):
        ARITHMETIC.only(["mini"]).table("tiny")
