"""The rows of length studies: settings, hashes, shared runs, and the published numbers."""

from __future__ import annotations

import hashlib

import pytest

from weft.automata.languages import TABLE
from weft.studies import LENGTH_STUDIES, STUDIES, study
from weft.studies.length.algorithmic import FALLBACK
from weft.studies.length.disputed import DISPUTED
from weft.studies.length.formal import FEW_WORDS
from weft.studies.length.protocol import coefficient_label, table_rows
from weft.studies.length.reference import ALGORITHMIC, FORMAL, OFFSETS
from weft.tasks import task
from weft.tasks.formal.formal_language import FEW, FormalLanguage
from weft.tasks.formal.machines import COUNTERS
from weft.training.stacked.shape import grouped, obstacle

HASHES = {
    ("parity", "small"): (8, "3fa9bd3478f0"),
    ("parity", "paper"): (24, "b8b455a666fe"),
    ("scan", "small"): (96, "08f82bf3031f"),
    ("scan", "paper"): (96, "e3b56c32c4e3"),
    ("crasp-algorithmic", "small"): (80, "3656352ae37f"),
    ("crasp-algorithmic", "paper"): (80, "249cacd3d9ca"),
}
"""By study and scale, the number of runs and a digest of their names."""


@pytest.mark.parametrize(("name", "scale"), HASHES)
def test_the_names_of_runs_do_not_change(name: str, scale: str) -> None:
    """Where this fails, finished runs would be trained again."""
    one = study(name)
    given = {"parameters.folder": "somewhere"} if one.given else {}
    found = sorted(
        cell.config.hash
        for row, cell in one.cells(scale, given)
        if "penalty" not in one.header or row.labels[one.header.index("penalty")] == "0"
    )
    digest = hashlib.sha256(" ".join(found).encode()).hexdigest()[:12]
    assert (len(found), digest) == HASHES[name, scale]


@pytest.mark.parametrize(
    ("name", "labels", "run"),
    [
        ("crasp-algorithmic", ("unique copy", "absolute", "0"), "cf210632b00a"),
        ("crasp-formal", ("d-3", "next", "absolute", "0"), "b1cc16d18453"),
        ("crasp-disputed", ("ab-or-bbaa", "membership", "absolute", "0"), "051eaa1edce8"),
    ],
)
def test_names_of_single_runs(name: str, labels: tuple[str, ...], run: str) -> None:
    some = study(name).only(labels).with_seeds(0, 1)
    assert [cell.config.hash for row, cell in some.cells("small") if row.labels == labels] == [run]


def test_studies_share_runs() -> None:
    """A row that two studies have in common is trained once."""

    def runs(name: str, *labels: str) -> set[str]:
        found = {
            cell.config.hash for row, cell in study(name).cells("small") if row.labels == labels
        }
        assert found
        return found

    copy = runs("crasp-algorithmic", "unique copy", "absolute", "0")
    assert runs("crasp-penalty", "unique copy", "0") == copy
    assert runs("crasp-offsets", "1", "50/100/150", "absolute") < copy  # fewer seeds
    penalised = runs("crasp-algorithmic", "unique copy", "absolute", "1e-4")
    assert runs("crasp-penalty", "unique copy", "1e-4") == penalised
    formal = runs("crasp-formal", "tomita-4", "next", "absolute", "0")
    assert runs("crasp-penalty", "tomita-4", "0") > formal


def test_rows_that_fell_back_to_twelve_layers_are_smaller_and_the_page_says_so() -> None:
    big = {each.title: each for each in ALGORITHMIC if each.big and each.positions == "none"}
    assert {*big} == {"interleaved majority", "parity", "addition"}
    assert sum(each.big for each in ALGORITHMIC) == 4
    for row, cell in study("crasp-algorithmic").cells("small"):
        fell_back = (row.labels[0] in big and row.labels[1] == "none") or row.labels[
            0
        ] == "addition"
        assert (cell.config.model["layers"] == 4 and cell.config.model["width"] == 256) >= fell_back
        if fell_back:
            assert cell.config.model["hidden"] == tuple(FALLBACK["model.hidden"])
            assert cell.config.optimiser.lr == FALLBACK["optimiser.lr"]
    assert "12 layers" in study("crasp-algorithmic").scale("small").description
    full = {cell.config.model["layers"] for _, cell in study("crasp-algorithmic").cells("paper")}
    assert full == {1, 2, 4, 12}


def test_sums_of_the_published_tables() -> None:
    """Added up from the tables of reference, column by column."""
    learned = [each.accuracy for each in ALGORITHMIC if each.positions == "learned"]
    assert [round(sum(bins[place] for bins in learned), 2) for place in range(3)] == [
        799.7, 631.69, 542.66,
    ]  # fmt: skip
    assert [round(sum(bins.learned[place] for bins in FORMAL), 1) for place in range(3)] == [
        1574.2, 1293.2, 1246.3,
    ]  # fmt: skip
    assert [round(sum(bins.none[place] for bins in FORMAL), 1) for place in range(3)] == [
        1348.8, 915.0, 874.7,
    ]  # fmt: skip
    assert round(sum(each.rerun[2] for each in FORMAL), 1) == 1507.9
    assert round(sum(sum(each.none) for each in OFFSETS), 1) == 805.9


def test_flags_of_the_paper_are_those_of_table_a() -> None:
    inside = {(each.task, each.positions) for each in ALGORITHMIC if each.predicted}
    every = {"binary-majority", "letter-majority", "sorting"}
    learned = every | {"interleaved-majority", "unique-copy"}
    assert inside == {(t, "none") for t in every} | {(t, "learned") for t in learned}


def test_every_language_is_there_with_and_without_positions_and_with_the_regulariser() -> None:
    labels = [row.labels for row in study("crasp-formal").rows]
    names = [each.name for each in TABLE]
    for positions in ("absolute", "none"):
        plain = [
            name for name, target, p, c in labels if (target, p, c) == ("next", positions, "0")
        ]
        assert plain == [*names, *COUNTERS]
    assert [name for name, _, p, c in labels if (p, c) == ("absolute", "1e-4")] == names


@pytest.mark.parametrize("name", [one.name for one in LENGTH_STUDIES])
def test_tables_of_positions_are_long_enough_and_runs_can_be_stacked(name: str) -> None:
    for row, cell in study(name).cells("smoke"):
        config = cell.config
        assert not obstacle(config), row.labels
        if config.model["position"] == "learned":
            assert config.model["positions"] == table_rows(config.task, **config.parameters)
            assert config.model["example_offsets"]
        label = dict(zip(study(name).header, row.labels, strict=True)).get("penalty", "0")
        assert coefficient_label(config.penalty.position) == label


def test_rows_of_one_shape_share_a_stack() -> None:
    """With and without positions, with and without the regulariser."""
    some = study("crasp-algorithmic").only(["binary majority"])
    groups, alone = grouped([cell.config for _, cell in some.cells("small")])
    assert [len(group) for group in groups] == [15]
    assert not alone


def test_all_studies_have_three_scales_and_those_of_languages_one_for_a_cpu() -> None:
    for one in LENGTH_STUDIES:
        tiny = ["tiny"] if one.task == "formal-language" else []
        assert list(one.scales) == ["smoke", *tiny, "small", "paper"]
        assert STUDIES[one.name] is one


def test_languages_with_few_words_train_for_all_steps() -> None:
    """Where one or two words are for validation, they decide nothing."""
    few = set()
    for name in (*(each.name for each in TABLE), *COUNTERS, *DISPUTED):
        made = task("formal-language", language=name)
        assert isinstance(made, FormalLanguage)
        if made.word_count(made.splits["train"]) <= FEW:
            few.add(name)
    assert few == FEW_WORDS
    for name in ("crasp-formal", "crasp-encodings"):
        for row, cell in study(name).cells("small"):
            assert (cell.config.stop.accuracy is None) == (row.labels[0] in few), row.labels
