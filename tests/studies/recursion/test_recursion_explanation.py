"""`weft explain` of recursion runs: machines are recognised, and nothing else is."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from command_line import weft
from weft.errors import WeftError
from weft.studies import explain
from weft.studies.recursion import explanation_heads
from weft.studies.recursion.explanation import (
    RecursionExplanation,
    explain_function,
    explain_recursion,
    questions_of,
    subject_of,
)
from weft.studies.recursion.explanation_model import AskedModel
from weft.studies.recursion.explanation_ranking import Answer, Runs, Support, rank
from weft.studies.recursion.explanation_report import page
from weft.tasks.batch import Batch
from weft.tasks.recursion import Recursion
from weft.theory.recursion import (
    copy_machine,
    shortcut_machine,
    successor,
    successor_candidates,
    successor_machine,
)
from weft.training import EvaluationConfig, Run, RunStore, TrainingConfig, train
from weft.training.config import OptimiserConfig
from weft.training.evaluation import decoded

Word = tuple[str, ...]
NATURAL = Recursion(order="natural", shortest=3, length=9, longer=10)


def batched(machine: Callable[[Word], Word]) -> Answer:
    return lambda inputs: [machine(given) for given in inputs]


RUNS = {order: Runs() for order in ("natural", "constructor")}
"""What machines write, shared by all tests."""


def ranked(task: Recursion, answer: Answer, inputs: int = 160) -> list[Support]:
    subject = subject_of(task)
    fit, test = questions_of(task, subject, answer, inputs).halves()
    return rank(subject, fit, test, RUNS[task.order] if task.definition == "successor" else None)


def planted(order: Any) -> dict[str, Callable[[Word], Word]]:
    """A machine of each kind, with middle parameters."""
    kinds: dict[str, list[Any]] = {}
    for each in successor_candidates(order, 9):
        kinds.setdefault(each.kind, []).append(each.machine)
    return {kind: machines[2 * len(machines) // 5] for kind, machines in kinds.items()}


@pytest.mark.parametrize("order", ["natural", pytest.param("constructor", marks=pytest.mark.slow)])
def test_each_shipped_machine_is_recognised(order: Any) -> None:
    task = Recursion(order=order, shortest=3, length=9, longer=10)
    for kind, machine in planted(order).items():
        ranking = ranked(task, batched(machine))
        best = ranking[0]
        assert kind == best.kind or kind in best.same_as or best.kind in next(
            each.same_as for each in ranking if each.kind == kind
        ), (kind, best.kind)  # fmt: skip
        assert best.agreement.share == 1.0
        if best.recall.count:
            assert best.recall.share == best.precision.share == 1.0


def test_decoys_unmask_the_longest_run_detector_alone() -> None:
    task = Recursion(order="natural", length=12, longer=13)
    asked = questions_of(task, subject_of(task), batched(successor_machine()), 400)
    decoys = [
        word for word, group in zip(asked.inputs, asked.groups, strict=True) if group == "decoy"
    ]
    assert len(decoys) >= 10
    wrong = {
        kind: sum(machine(word) != successor(word) for word in decoys)
        for kind, machine in {
            "run": shortcut_machine("run", "short"), "flip": shortcut_machine("run", "flip"),
            "longest": shortcut_machine("longest", "short"),
        }.items()
    }  # fmt: skip
    assert wrong["run"] == wrong["flip"] == 0 < wrong["longest"]


# What is not a machine is not explained


def scrambled(seed: int) -> Callable[[Word], Word]:
    """A function whose outputs say nothing about its inputs."""

    def answer(given: Word) -> Word:
        drawn = random.Random(f"{seed} {given}")
        return tuple(drawn.choice(("01", "XO", "X1")) for _ in given)

    return answer


def mostly_right(given: Word) -> Word:
    """The truth, but for a tenth of all inputs without any rule."""
    lucky = random.Random(" ".join(given)).random() < 0.9
    return successor(given) if lucky else scrambled(1)(given)


def half_and_half(given: Word) -> Word:
    """On all-carry inputs and deep ones, one of many wrong outputs."""
    if given[-2:] != ("X1", "X1"):
        return successor(given)
    return (*successor(given)[:-2], *random.Random(str(given)).choices(("XO", "X1"), k=2), "X1")


@pytest.mark.parametrize(
    "function", [scrambled(0), mostly_right, pytest.param(half_and_half, marks=pytest.mark.slow)]
)
def test_a_function_without_rules_is_not_explained(function: Callable[[Word], Word]) -> None:
    found = explain_function(NATURAL, batched(function), inputs=160)
    assert found.failed > 5
    assert not found.explains_failures
    assert found.best.recall.share < 0.3
    told = next(line for line in found.lines(0) if line.startswith("failures"))
    assert "no machine explains them" in told or "not explained" in told
    if function is not mostly_right and function is not half_and_half:
        assert not found.supported


def test_another_function_is_not_taken_for_the_successor() -> None:
    """The successor of the successor, and the predecessor, agree with no machine."""

    def twice(given: Word) -> Word:
        return successor(successor(given))

    def before(given: Word) -> Word:
        number = int("".join("1" if token != "XO" else "0" for token in given), 2) - 1
        return tuple("01" if place == 0 else {"0": "XO", "1": "X1"}[bit]
                     for place, bit in enumerate(f"{number:b}"))  # fmt: skip

    for function in (twice, before):
        ranking = ranked(NATURAL, batched(function))
        assert ranking[0].agreement.interval.low < 0.5
        assert ranking[0].recall.interval.low < 0.5


def test_a_machine_with_recall_but_no_precision_explains_nothing() -> None:
    """A copy is wrong everywhere, and so right about a model that copies where it fails."""

    def copies_deep_inputs(given: Word) -> Word:
        return given if given[-3:] == ("X1",) * 3 else successor(given)

    ranking = ranked(NATURAL, batched(copies_deep_inputs))
    copy = next(each for each in ranking if each.kind == "copy")
    assert copy.recall.share == 1.0
    assert copy.precision.interval.low < 0.5
    assert ranking[0].kind != "copy"


def test_outputs_that_do_not_end_agree_with_nothing() -> None:
    found = explain_function(NATURAL, lambda inputs: [None for _ in inputs], inputs=60)
    assert set(found.kinds) == {"too long"}
    assert found.best.agreement.right == 0
    assert found.fitted is None
    assert not found.supported
    assert list(found.lines(10))


# Fitted rules


def test_fitted_rules_are_better_than_every_machine_that_does_not_know_the_rule() -> None:
    """A rule of the same words that no shipped machine has: a run ends at the first XO."""

    def strange(given: Word) -> Word:
        made = successor(given)
        return (*made[:-1], "X1") if len(given) > 7 and given[-1] == "X1" else made

    found = explain_function(NATURAL, batched(strange), inputs=200)
    assert found.fitted is not None
    assert found.fitted_is_better
    assert found.fitted.recall.share > 0.8 > found.best.recall.share
    assert "better than the best machine" in "\n".join(found.lines(3))


def test_fitted_rules_are_not_better_than_the_planted_machine() -> None:
    planted = shortcut_machine("bounded", "flip", 3)
    found = explain_function(NATURAL, batched(planted), inputs=200)
    assert found.best.recall.share == found.best.precision.share == 1.0
    assert found.explains_failures
    assert found.fitted_is_better is False
    assert len(found.remainder) == 0
    assert "not better" in "\n".join(found.lines(3))


# Traversals and other functions


@pytest.mark.parametrize("notation", ["flat", pytest.param("empty", marks=pytest.mark.slow)])
def test_the_shortcut_of_pre_order_is_said_to_be_the_same(notation: Any) -> None:
    task = Recursion(definition="pre-order", notation=notation, shortest=2, length=6, longer=8)
    subject = subject_of(task)
    drop = next(each.machine for each in subject.candidates([]) if each.kind == "drop")
    found = explain_function(task, batched(drop), inputs=80)
    assert found.best.kind == "pre-order"
    assert "drop" in [each.kind for each in found.ranking if "pre-order" in each.same_as]
    assert "the same on these inputs: values in the order of the input" in " ".join(
        " ".join(found.lines(0)).split()
    )


@pytest.mark.slow
def test_bounded_traversals_are_recognised() -> None:
    task = Recursion(definition="in-order", notation="flat", shortest=2, length=8, longer=10)
    subject = subject_of(task)
    asked = questions_of(task, subject, lambda inputs: [()] * len(inputs), 80).inputs
    for each in subject.candidates(asked):
        if each.name in (
            "in-order of the first 3 levels", "in-order, subtrees from level 3 in input order",
            "values in the order of the input", "post-order",
        ):  # fmt: skip
            best = ranked(task, batched(each.machine), 80)[0]
            assert best.name == each.name
            assert best.recall.share == 1.0


def test_other_functions_have_their_definition() -> None:
    task = Recursion(definition="reverse", notation="flat", shortest=2, length=6, longer=8)
    subject = subject_of(task)
    found = explain_function(task, batched(subject.truth), inputs=60)
    assert (found.best.kind, found.fitted, found.dependences) == ("definition", None, None)
    copied = explain_function(task, batched(copy_machine()), inputs=60)
    assert copied.best.kind == "copy"


# Trained models


def config(**changes: Any) -> TrainingConfig:
    values: dict[str, Any] = {
        "parameters": {"order": "natural", "shortest": 3, "length": 7, "longer": 8, **changes},
        "model": {"layers": 1, "width": 16, "heads": 2, "hidden": (32,)}, "steps": 60, "batch": 8,
        "optimiser": OptimiserConfig(lr=1e-2),
        "evaluation": EvaluationConfig(every=0, size=8, splits=("train",)),
    }  # fmt: skip
    return TrainingConfig(task="recursion", **values)


@pytest.fixture(autouse=True)
def _few_shuffles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explanation_heads, "SHUFFLES", 4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("runs")
    for kind in ("seq2seq", "lm", "tag"):
        assert train(config(format=kind), runs=runs, device="cpu").status == "done"
    return runs


def run_of(folder: Path, kind: str) -> Run:
    return RunStore(folder).find(config(format=kind).hash)


def tagged(model: Any, batch: Batch) -> Any:
    """The classes of a tagging encoder for one row."""
    tokens = torch.from_numpy(batch.tokens)
    with torch.no_grad():
        return model(tokens, torch.from_numpy(batch.lengths)).logits[0].argmax(-1).numpy()


@pytest.mark.parametrize("kind", ["seq2seq", "lm", "tag"])
def test_a_trained_model_is_explained_by_its_own_outputs(folder: Path, kind: str) -> None:
    run = run_of(folder, kind)
    found = explain(run, inputs=60)
    assert isinstance(found, RecursionExplanation)
    task = found.task
    model: Any = run.model(task=task)
    asked = AskedModel(task, model, found.subject)
    for given, output in list(zip(found.questions.inputs, found.questions.outputs, strict=True))[
        ::9
    ]:
        room = found.subject.truth(given) + ("XO",) * (0 if kind == "tag" else 8)
        batch = asked.lay_out([given], [room])
        classes = decoded(model, batch)[0] if kind != "tag" else tagged(model, batch)
        names = [task.answers[each] for each in classes[batch.scored[0]]]
        if kind == "tag":
            assert output is not None
            assert names == [*output, *["_"] * (len(names) - len(output))]
        elif output is not None and len(output) < len(names):
            assert names[: len(output) + 1] == [*output, "<end>"]
        else:
            assert "<end>" not in names
    assert found.attention is not None
    assert bool(found.attention.effects) == (found.attention.inputs > 0)
    assert found.attention.inputs > 0 or kind == "lm", "an output of these models ends"
    values = found.as_dict()
    json.dumps(values)
    assert values["ranking"][0]["kind"] == found.best.kind


def test_text_page_and_values_say_the_same(folder: Path, tmp_path: Path) -> None:
    found = explain_recursion(run_of(folder, "seq2seq"), inputs=60)
    paths = found.write(tmp_path / "new" / "folder")
    assert [path.name for path in paths] == [
        "explanation.md", "explanation.json", "dependence.svg", "knock-outs.svg", "scores.svg",
        "attention.svg",
    ]  # fmt: skip
    values, text = json.loads(paths[1].read_text()), "\n".join(found.lines(100))
    assert values["computes"] == found.best.name
    assert values["agreement"] == found.best.agreement.as_dict()
    assert all(len(line) <= 80 for line in text.splitlines())
    figures = {path.stem: path.name for path in paths[2:]}
    assert paths[0].read_text() == page(found, figures)
    for each in found.ranking:
        assert each.agreement.short in page(found, figures)
    assert "more (--limit)" in "\n".join(found.lines(1))
    assert all((tmp_path / "new" / "folder" / f"{name}.png").exists() for name in figures)


def test_command_line(folder: Path) -> None:
    run = run_of(folder, "seq2seq")
    shown = weft("explain", run.name, "--runs", str(folder), "--inputs", "40", "--json")
    assert json.loads(shown)["task"] == "successor, natural order"
    refused = weft("explain", run.name, "--runs", str(folder), "--inputs", "3", code=2)
    assert "3 inputs are too few" in refused


def test_other_runs_are_refused(folder: Path, tmp_path: Path) -> None:
    other = TrainingConfig(
        task="copy", parameters={"length": 4, "longer": 6}, steps=1, batch=2,
        model={"layers": 1, "width": 8, "heads": 1, "hidden": (8,)},
        evaluation=EvaluationConfig(every=0, size=4),
    )  # fmt: skip
    train(other, runs=tmp_path, device="cpu")
    with pytest.raises(WeftError, match="not a recursion task"):
        explain_recursion(RunStore(tmp_path).find(other.hash))
