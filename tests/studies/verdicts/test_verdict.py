"""Verdicts: the same tests for what is compiled, predicted and trained."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from weft.errors import WeftError
from weft.programs import LIBRARY
from weft.statistics import Share
from weft.studies import Verdict, verdict
from weft.studies.agreement import Answers, agreement
from weft.studies.alta import REFERENCES
from weft.studies.verdicts.report import MEANINGS, figures, markdown, rows, write_verdict
from weft.studies.verdicts.stages import (
    SharedTests,
    model_summary,
    predictions_on,
    stream_stages,
    trace_stages,
)
from weft.studies.verdicts.verdict import load_verdict, task_of_program
from weft.tasks import TASKS, Batch, solved_by, task
from weft.theory import minimal_program
from weft.training import RunStore, TrainingConfig, override, stream_config, trace_config, train
from weft.training.evaluation import Predictions, evaluate
from weft.training.program_task import ProgramTask

SHORT = {"length": 6, "longer": 10}
PROGRAMS = ["parity", "parity-absolute", "parity-sum"]
SETTINGS: dict[str, dict[str, Any]] = {
    "reverse-absolute": {"length": 8, "longer": 9},
    "sort-unique": {"unique": True, "length": 8, "longer": 9},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One model that hardly learned from answers, and one of another setting."""
    runs = tmp_path_factory.mktemp("runs")
    changes = ["parameters.length=6", "parameters.longer=10", "steps=2", "evaluation.size=32"]
    train(override(TrainingConfig(task="parity"), changes), runs=runs, device="cpu")
    train(override(TrainingConfig(task="parity"), [*changes[2:]]), runs=runs, device="cpu")
    return runs


@pytest.fixture(scope="module")
def found(runs: Path) -> Verdict:
    """Three programs, and what was learned."""
    return verdict(PROGRAMS, parameters=SHORT, examples=2000, tests=100, runs=runs)


def test_compiled_programs_are_right_on_every_split(found: Verdict) -> None:
    for name in PROGRAMS:
        stage = found.stage("compiled", name)
        assert stage is not None
        assert {share.share for share in stage.shares.values()} == {1.0}
        assert set(stage.curves) == {"length", "ones"}


def test_predictions_are_those_of_figure_4(found: Verdict) -> None:
    """Relative goes on to all lengths, absolute guesses, sum and modulo knows the ones it saw."""
    relative, absolute, counted = (found.stage("predicted", name) for name in PROGRAMS)
    assert relative is not None
    assert absolute is not None
    assert counted is not None
    assert {share.share for share in relative.shares.values()} == {1.0}
    assert absolute.shares["train"].share == 1.0
    assert absolute.shares["longer"].share < 0.7
    assert "tests do not halt" in absolute.details
    assert counted.shares["train"].share == 1.0
    assert {counted.curves["ones"][ones].share for ones in range(7)} == {1.0}
    assert counted.shares["more-ones"].share < 0.7
    lengths = absolute.curves["length"]
    assert {share.share for length, share in lengths.items() if length <= 6} == {1.0}
    assert lengths[9].share < 1.0


def test_runs_of_the_same_task_are_found_and_no_others(found: Verdict) -> None:
    learned = [stage for stage in found.stages if stage.name == "from answers"]
    assert [stage.subject for stage in learned] == ["nano, default positions, seed 0"]
    assert learned[0].run
    traced = found.stage("from traces", "parity")
    assert traced is not None
    assert traced.details == "not trained yet: weft train parity --traces parity"
    assert traced.reference == {}


def test_the_page_has_all_of_it(found: Verdict, tmp_path: Path) -> None:
    header, table = rows(found)
    counts = {split: found.tests(split) for split in found.splits}
    assert header == [
        "",
        "program or model",
        *(f"{s} (n = {n})" for s, n in counts.items()),
        "details",
    ]
    assert len(table) == 10
    assert table[0][2] == str(Share(counts["train"], counts["train"])).partition(" of ")[0]
    written = write_verdict(found, tmp_path)
    assert [path.name for path in written] == [
        "parity-verdict.md", "parity-verdict.json", "parity-verdict-splits.svg",
        "parity-verdict-length.svg", "parity-verdict-ones.svg",
    ]  # fmt: skip
    assert all(path.stat().st_size > 500 for path in written)
    assert load_verdict(written[1]) == found
    values = json.loads(written[1].read_text())["stages"]
    assert values[0]["name"] == "compiled"
    assert set(values[0]["shares"]["longer"]) == {"share", "right", "n", "low", "high"}
    page = markdown(found)
    assert "| predicted | parity-absolute | 100.0% [" in page
    assert "**warning: fewer than 100 tests of train (" in page
    assert "## Answer by answer" in page
    assert "figure" not in page
    assert "paper" not in page


def test_every_stage_has_the_same_tests(found: Verdict) -> None:
    """A run that was tested on fewer is tested again, on those of the verdict."""
    learned = next(stage for stage in found.stages if stage.name == "from answers")
    for split in found.splits:
        counts = {stage.shares[split].count for stage in found.stages if stage.shares}
        assert counts == {learned.shares[split].count}
    assert learned.shares["longer"].count == 100  # and 32 when it was trained


def predictions(answers: list[int], right: list[int]) -> Answers:
    """Answers to tests of one token, each with one target."""
    targets = np.array(right)[:, None]
    batch = Batch(tokens=0 * targets, lengths=np.ones(len(right), np.int64), targets=targets)
    chosen = np.array(answers)[:, None]
    one = Predictions(split="longer", batch=batch, chosen=chosen, loss=0.0)
    return Answers(predictions={"longer": one}, names=("even", "odd"), form="tags")


def test_agreement_is_counted_example_by_example() -> None:
    """Both are right on two of four, and yet agree on two tests alone, one of them a miss."""
    right = [0, 0, 1, 1]
    predicted, learned = predictions([0, 1, 1, 0], right), predictions([0, 1, 0, 1], right)
    found = agreement("parity", predicted, learned)
    assert found is not None
    assert found.shares["longer"] == Share(2, 4)
    assert found.misses["longer"] == Share(1, 2)
    failed = agreement("parity", predictions([0, -2, 1, -2], right), predictions([0] * 4, right))
    assert failed is not None
    assert (failed.shares["longer"], failed.misses["longer"]) == (Share(1, 4), Share(0, 2))
    assert agreement("parity", predicted, replace(learned, form="text")) is None


def test_learned_models_are_compared_with_the_minimal_program(found: Verdict, runs: Path) -> None:
    """By running minimal program and model on one test at a time."""
    learned = next(stage for stage in found.stages if stage.name == "from answers")
    assert [one.program for one in learned.agreement] == PROGRAMS
    inner = task("parity", **SHORT)
    asked = ProgramTask(inner=inner, program=weft.program("parity-sum"))
    left = minimal_program(asked.program, list(asked.inputs(0, 2000)))
    model = RunStore(runs).find(learned.run).model()
    tests = inner.test_set("more-ones", 100)
    alike, missed = [], []
    for row, (question, (_, answer)) in enumerate(
        zip(inner.asked(tests), inner.examples(tests), strict=True)
    ):
        predicted = str(weft.run(left.program, question).result)
        one = evaluate(model, {"one": tests.take(slice(row, row + 1))})["one"]
        (chosen,) = one.chosen[one.batch.targets >= 0]
        alike.append(inner.answers[chosen] == predicted)
        missed.append((predicted,) != answer)
    assert learned.agreement[2].shares["more-ones"] == Share.of(alike)
    wrong = [same for same, miss in zip(alike, missed, strict=True) if miss]
    assert learned.agreement[2].misses["more-ones"] == Share.of(wrong)
    compiled = found.stage("compiled", "parity")
    assert compiled is not None
    assert compiled.agreement == ()


def test_runs_that_differ_in_their_seed_have_a_mean(found: Verdict) -> None:
    learned = next(stage for stage in found.stages if stage.name == "from answers")
    more = {split: Share(share.count, share.count) for split, share in learned.shares.items()}
    other = replace(learned, run="other", shares=more)
    both = replace(found, stages=(*found.stages, other))
    ((stages, means),) = both.seeds()
    assert [stage.run for stage in stages] == [learned.run, "other"]
    assert means["longer"].mean == pytest.approx((learned.shares["longer"].share + 1) / 2)
    assert rows(both)[1][-1][-1] == "mean of 2 seeds, 95% t interval over seeds"
    assert both.as_dict()["seeds"][0]["splits"]["longer"]["seeds"] == 2


def test_references_stand_beside_their_own_setting() -> None:
    """Table 2 of the ALTA paper is about strings of at most 20 bits in training."""
    here = Path("nowhere")
    ours = SharedTests(task("parity"), 5)
    [result] = trace_stages("parity-absolute(positions=40)", ours, {}, here, references=REFERENCES)
    assert result.stage.reference == {"train": 1.0, "longer": 0.52, "more-ones": 0.51}
    assert result.stage.source == "ALTA paper, table 2"
    for tests, name in ((SharedTests(task("parity", **SHORT), 5), "parity"), (ours, "parity-sum")):
        [result] = trace_stages(name, tests, {}, here, references=REFERENCES)
        assert (result.stage.reference, result.stage.source) == ({}, "")
    [result] = trace_stages("parity", ours, {}, here)
    assert result.stage.reference == {}


def test_models_are_described_in_a_few_words() -> None:
    shared = ["model.layers=1", "model.loops=8", "model.position=t5", "seed=2"]
    config = override(TrainingConfig(task="parity"), shared)
    assert model_summary(config) == "8 layers, shared, t5, seed 2"


def test_every_task_of_a_program_is_found() -> None:
    for name, kind in TASKS.items():
        for one in set(kind.programs) - {"dyck"}:
            assert task_of_program(one, SETTINGS.get(one, {})) == (name, {})
    assert task_of_program("turing", {}) == ("program", {"program": "turing"})
    assert task_of_program("dyck", {})[0] == "program"  # which asks for the bracket that closes
    with pytest.raises(WeftError, match="no program 'turnig'"):
        task_of_program("turnig", {})


QUICK = {"successor", "parity-sum", "dyck", "turing"}
"""Categorical, with numbers, with a task of its own kind, and with none."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
        for name in LIBRARY
        if name not in ("addition", "scan")
    ],
)
def test_there_is_a_verdict_on_every_program(name: str, tmp_path: Path) -> None:
    """On tests of its task, or else of its own samples."""
    found = verdict([name], examples=60, tests=5, runs=tmp_path, device="cpu")
    compiled = found.stage("compiled", name)
    assert compiled is not None
    assert {share.share for share in compiled.shares.values()} == {1.0}
    assert found.stage("predicted", name) is not None
    assert found.task in (name, *solved_by(name))


def test_programs_of_different_tasks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match="rule-110 does not take the inputs of recursion: "):
        verdict(["successor", "rule-110"], runs=tmp_path)
    with pytest.raises(WeftError, match="does not take the inputs of reverse: "):
        verdict(["reverse-absolute"], "reverse", runs=tmp_path)


def test_runs_from_traces_and_streams_are_found_whatever_else_they_differ_in(
    tmp_path: Path,
) -> None:
    """All of the program on this task, the best first; those of others are not."""
    short = ["steps=3", "evaluation.size=16"]
    config = override(trace_config("parity", "parity", small=True), [*short, "batch=8"])
    config = replace(config, parameters=SHORT)
    learned = override(config, ["steps=600", "batch=64"])
    for one in (config, learned, replace(config, parameters={})):
        train(one, runs=tmp_path, device="cpu")
    tests = SharedTests(task("parity", **SHORT), 20)
    tested = trace_stages("parity", tests, SHORT, tmp_path)
    found = [one.stage for one in tested]
    assert [stage.run for stage in found] == [learned.hash, config.hash]
    assert found[0].shares["train"].share > 0.9 > found[1].shares["train"].share
    assert found[1].details.startswith("hidden 64 x 64, sampled by counts, seed 0, 3 steps")
    streams = override(stream_config("parity", "parity"), [*short, "batch=4"])
    streams = replace(streams, parameters=SHORT)
    train(streams, runs=tmp_path, device="cpu")
    followed = stream_stages("parity", tests, SHORT, tmp_path)
    assert [one.stage.run for one in followed] == [streams.hash]
    assert not stream_stages("parity-absolute", tests, SHORT, tmp_path)


def test_predictions_of_a_run_are_used_if_its_tests_are_those_of_the_verdict(
    tmp_path: Path,
) -> None:
    """The beginning of a larger test set is used as it is; other tests are evaluated."""
    changes = ["parameters.length=6", "parameters.longer=10", "steps=2", "evaluation.size=32"]
    config = override(TrainingConfig(task="parity"), changes)
    train(config, runs=tmp_path, device="cpu")
    run = RunStore(tmp_path).find(config.hash)
    inner = task("parity", **SHORT)
    fewer = {"longer": inner.test_set("longer", 20)}
    known = predictions_on(run, inner, fewer)
    np.testing.assert_array_equal(
        known["longer"].chosen[:, -1], run.predictions("longer").chosen[:20, -1]
    )
    again = evaluate(run.model(), fewer)["longer"]
    np.testing.assert_array_equal(known["longer"].right, again.right)
    more = predictions_on(run, inner, {"longer": inner.test_set("longer", 50)})
    assert more["longer"].share.count == 50
    for checkpoint in run.folder.glob("checkpoint-*"):
        shutil.rmtree(checkpoint)
    assert predictions_on(run, inner, {"longer": inner.test_set("longer", 50)}) == {}
    assert predictions_on(run, inner, fewer)["longer"].share == known["longer"].share


RESULTS = Path(__file__).parents[3] / "docs" / "results"


def test_the_committed_page_is_that_of_its_values() -> None:
    """On equal tests, `parity-count` is learned as predicted to the example."""
    found = load_verdict(RESULTS / "parity-verdict.json")
    pictures = [(f"parity-verdict-{name}.svg", caption) for name, caption, _ in figures(found)]
    assert (RESULTS / "parity-verdict.md").read_text() == markdown(found, pictures)
    for stage in found.stages:
        assert {share.count for share in stage.shares.values()} <= {2048}
    counted = [s for s in found.stages if s.name == "from traces" and "count" in s.subject]
    assert counted
    for stage in counted:
        [one] = stage.agreement
        assert {share.share for share in one.shares.values()} == {1.0}
        assert one.misses["longer"].count > 100


def test_results_of_version_0_1_are_loaded_with_the_names_of_today() -> None:
    found = load_verdict(RESULTS / "parity-verdict-gpu.json")
    assert {stage.name for stage in found.stages} <= set(MEANINGS)
    first = found.stages[0]
    assert (first.name, first.subject, first.run) == ("from traces", "parity", "01dcf8551423")
    assert first.reference == {"train": 1.0, "longer": 1.0, "more-ones": 1.0}
    assert first.shares["longer"] == Share(2048, 2048)
    page = markdown(found)
    assert "| from streams | parity | 100.0% [" in page
    assert "- In round brackets: reference." in page
