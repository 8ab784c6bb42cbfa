"""`weft study inference`: candidates, the choice of T_n, the report, resuming."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft.crasp.regulariser import measure
from weft.errors import WeftError
from weft.files import read_json
from weft.models import Transformer
from weft.statistics import Share
from weft.studies.experiment import Execution, write_experiment
from weft.studies.length import inference
from weft.studies.length.inference import (
    INFERENCE,
    PROBLEMS,
    ROWS,
    SIZES,
    Evaluated,
    InferenceRow,
    chosen,
    drawn_inputs,
    evaluated_from,
)
from weft.studies.plotting import style
from weft.training.launch.executor import LocalProcesses
from weft.training.launch.sweep import Cell
from weft.training.stacked.launch import stacked_sweep
from weft.training.store import Run
from weft.training.supervision import task_of

MAJORITY, TOMITA, PARITY, FLIP_FLOP = PROBLEMS
SMALL = {"steps": "300", "batch": "32", "schedule.warm_up": "20"}
COEFFICIENTS = (0.0, 1e-3)


@pytest.fixture(scope="module", autouse=True)
def _two_coefficients() -> Iterator[None]:
    """A run for each of them takes a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inference, "COEFFICIENTS", COEFFICIENTS)
        yield


def execution(runs: Path, trained: list[Cell] | None = None, **given: str) -> Execution:
    """Runs in one process; `trained` collects the cells that were given to it."""

    def train(cells: Sequence[Cell]) -> Mapping[str, str]:
        if trained is not None:
            trained.extend(cells)
        return stacked_sweep(
            cells, runs=runs, places=8, device="cpu", executor=LocalProcesses(1, ["cpu"])
        )

    return Execution(runs=runs, device="cpu", given={**SMALL, **given}, train=train)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Execution]:
    """Majority on words of at most 8 bits, which the smallest models fit in 300 steps."""
    study = replace(INFERENCE, rows=(InferenceRow(MAJORITY, 16),))
    where = execution(tmp_path_factory.mktemp("runs"))
    study.compute("small", where)
    return study, where


def test_rows_and_lengths() -> None:
    assert [row.labels for row in ROWS][:5] == [
        ("binary majority", "inside", "16"),
        ("binary majority", "inside", "32"),
        ("binary majority", "inside", "64"),
        ("binary majority", "inside", "128"),
        ("Tomita-4", "inside", "16"),
    ]
    assert InferenceRow(PARITY, 32).lengths == {"length": 16, "longer": 24, "longest": 32}
    assert sum(problem.inside for problem in PROBLEMS) == 2


def test_candidates_are_runs_with_all_terms_of_the_regulariser() -> None:
    study = INFERENCE.only(["16", "32", "parity"]).with_seeds(2, 2)
    candidates = study.candidates("small", {})
    assert len(candidates) == 2 * len(SIZES) * len(COEFFICIENTS) * 2
    assert len({each.config.hash for each in candidates}) == len(candidates)
    for each in candidates:
        config = each.config
        assert config.model["positions"] == each.row.context + 3
        assert (config.model["norm"], config.model["example_offsets"]) == ("none", True)
        assert (config.model["layers"], config.model["heads"]) == each.size
        wanted = dict.fromkeys(("position", "position_norm", "norm", "rank"), each.coefficient)
        assert config.penalty.coefficients == (wanted if each.coefficient else {})
        assert config.seed in (2, 3)


def test_the_inputs_that_decide_are_in_distribution_and_cover_short_ones() -> None:
    [candidate, *_] = INFERENCE.only(["16", "Tomita-4"]).candidates("small", {})
    inputs = drawn_inputs(task_of(candidate.config), "train", 512)
    assert len(inputs) == 512
    lengths = inputs.axes["length"]
    assert set(lengths.tolist()) == set(range(1, 9))
    longer = drawn_inputs(task_of(candidate.config), "longer", 300).axes["length"]
    longest = drawn_inputs(task_of(candidate.config), "longest", 300).axes["length"]
    assert set(longer.tolist()) == set(range(9, 13))
    assert set(longest.tolist()) == set(range(13, 17))


def bits_of(value: float) -> int:
    """The fractional bits of a number, by doubling it until it is whole."""
    bits = 0
    while value != int(value):
        value, bits = 2 * value, bits + 1
    return bits


def test_terms_of_a_fitting_candidate_against_numpy(finished: tuple[Any, Execution]) -> None:
    """R of the reduced model, derived from its weights once more in float64."""
    study, where = finished
    candidates = study.candidates("small", where.given)
    evaluated = {
        each: evaluated_from(read_json(path))
        for each in candidates
        if (path := where.runs / "inference" / each.hash / "result.json").exists()
    }
    candidate, result = next((each, one) for each, one in evaluated.items() if one.fits)
    model = Run(where.runs / candidate.config.hash).model()
    assert isinstance(model, Transformer)
    assert measure(model).as_dict() == result.trained
    reduced = inference.reduce(
        model,
        lambda tried: inference.fits_at_all_offsets(
            tried, drawn_inputs(task_of(candidate.config), "train", 512)
        ),
    )
    weights = {n: w.detach().double().numpy() for n, w in reduced.model.named_parameters()}
    table = weights["position.parts.learned.table"]
    names = [f"layers.{layer}.attention." for layer in range(candidate.layers)]
    position, rank = 0.0, 0
    for name in names:
        for head in range(candidate.heads):
            query, key, value, output = (
                weights[name + part][head] for part in ("query", "key", "value", "output")
            )
            scores = (table @ query) @ (table[0] @ key) / math.sqrt(query.shape[1])
            position += float((scores**2).sum())
            rank = max(rank, int(np.linalg.matrix_rank(value @ output, rtol=1e-4)))
    norms = [
        np.linalg.norm(part, 2) if part.ndim == 2 else np.linalg.norm(part)
        for name, weight in weights.items()
        if name != "position.parts.learned.table"
        for part in (weight if weight.ndim == 3 else [weight])
    ]
    precision = max(bits_of(float(value)) for each in weights.values() for value in each.flat)
    terms = result.terms
    assert (terms["layers"], terms["heads"], terms["rank"]) == (*candidate.size, rank)
    assert terms["precision"] == precision <= (result.bits or 0)
    assert terms["norm"] == pytest.approx(max(norms))
    assert terms["position_norm"] == pytest.approx(np.linalg.norm(table, axis=1).max())
    assert terms["position"] == pytest.approx(position)
    wanted = sum(candidate.size) + precision + rank + max(norms)
    wanted += np.linalg.norm(table, axis=1).max() + position
    assert terms["total"] == pytest.approx(wanted)


def test_larger_sizes_are_not_tried_once_a_size_fits(finished: tuple[Any, Execution]) -> None:
    study, where = finished
    report = study.report("small", where)
    assert report.complete
    [row] = report.values["rows"]
    assert {(each["layers"], each["heads"]) for each in row["candidates"]} == {(1, 1)}
    assert row["fit"] >= 1
    best = min(
        (each for each in row["candidates"] if each["fits"]),
        key=lambda each: each["terms"]["total"],
    )
    assert row["chosen"] == best["run"]


def test_a_finished_study_trains_nothing_again(
    finished: tuple[Any, Execution], monkeypatch: pytest.MonkeyPatch
) -> None:
    study, where = finished
    again: list[Cell] = []

    def evaluated(*arguments: object) -> None:
        raise AssertionError("a candidate was evaluated again")

    monkeypatch.setattr(inference, "evaluate_candidate", evaluated)
    study.compute("small", execution(where.runs, again))
    assert again == []


def test_an_evaluation_that_was_cut_off_is_repeated_without_training(
    finished: tuple[Any, Execution],
) -> None:
    study, where = finished
    before = study.report("small", where).values["rows"]
    lost = sorted((where.runs / "inference").glob("*/result.json"))[0]
    lost.unlink()
    assert not study.report("small", where).complete
    study.compute("small", where)
    assert study.report("small", where).values["rows"] == before


def test_the_page_has_every_term(finished: tuple[Any, Execution], tmp_path: Path) -> None:
    study, where = finished
    report = study.report("small", where)
    page, values, figure = write_experiment(report, "weft study inference", tmp_path)
    header = page.read_text().partition("| task ")[2].splitlines()[0]
    for term in ("precision", "rank", "norm", "max ‖p‖", "position", "R"):
        assert f" {term} |" in header
    assert read_json(values)["rows"][0]["n"] == 16
    assert figure.exists()


def made(total: float, *, fits: bool = True, context: int = 16) -> Evaluated:
    terms = {
        "layers": 1, "heads": 1, "precision": 3, "rank": 1, "norm": 1.0, "position_norm": 1.0,
        "position": total - 8, "total": total,
    }  # fmt: skip
    accuracy = {"longer": Share(9, 10), "longest": Share(context, 100)}
    return Evaluated(
        run="r", layers=1, heads=1, coefficient=0.0, seed=0, status="done", fits=fits,
        terms=terms, trained=terms, bits=3, accuracy=accuracy,
    )  # fmt: skip


def test_the_least_regulariser_among_those_that_fit_is_chosen() -> None:
    assert chosen([made(9), made(8.5, fits=False), made(8.7)]) == made(8.7)
    assert chosen([made(8.5, fits=False)]) is None
    assert chosen([]) is None
    assert evaluated_from(made(9).as_dict()) == made(9)


def test_growth_over_the_contexts_that_have_a_model() -> None:
    from weft.studies.length.inference_report import report_of

    results = {
        InferenceRow(TOMITA, 16): [made(20), made(21)],
        InferenceRow(TOMITA, 32): [made(20)],
        InferenceRow(TOMITA, 64): [made(20)],
        InferenceRow(FLIP_FLOP, 16): [made(20)],
        InferenceRow(FLIP_FLOP, 32): [made(40), made(30, fits=False)],
        InferenceRow(FLIP_FLOP, 64): [made(80)],
        InferenceRow(MAJORITY, 16): [made(20)],
        InferenceRow(MAJORITY, 32): [made(30)],
        InferenceRow(PARITY, 16): [made(9, fits=False)],
    }
    report = report_of(INFERENCE, "small", results, [], complete=True)
    grown = {row[0]: row[3:] for row in report.tables[1].rows}
    assert grown["Tomita-4"][0] == "bounded, 1.00×"
    assert grown["flip-flop"][0] == "linear, 4.00×"
    assert grown["binary majority"][0] == "1.50×"  # two contexts show no trend
    assert report.values["growth"]["binary majority"]["total"] == "unknown"
    assert grown["parity"] == ("–", "–", "–")
    assert report.tables[0].rows[-1][3:5] == ("0 of 1", "–")
    with style():
        assert len(report.figures[0].draw().axes) == 3


def test_a_run_that_diverged_counts_as_not_fitting(tmp_path: Path) -> None:
    study = replace(INFERENCE, rows=(InferenceRow(MAJORITY, 16),))
    where = execution(tmp_path, **{"optimiser.lr": "1e6", "optimiser.clip": "0", "steps": "20"})
    study.compute("small", where)
    report = study.report("small", where)
    assert report.complete
    [row] = report.values["rows"]
    assert (row["fit"], row["chosen"]) == (0, None)
    assert len(row["candidates"]) == len(SIZES) * len(COEFFICIENTS)


def test_bad_input(tmp_path: Path) -> None:
    where = Execution(runs=tmp_path)
    with pytest.raises(WeftError, match="has no scale 'big'"):
        INFERENCE.report("big", where)
    with pytest.raises(WeftError, match="no row of inference has the label '48'"):
        INFERENCE.only(["48"])
    with pytest.raises(WeftError, match=r"varies 'penalty.norm' itself"):
        INFERENCE.report("small", replace(where, given={"penalty.norm": "1"}))
    with pytest.raises(WeftError, match=r"varies 'model.layers' itself"):
        INFERENCE.report("small", replace(where, given={"model.layers": "3"}))
