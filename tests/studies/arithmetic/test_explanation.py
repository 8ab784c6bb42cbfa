"""`weft explain` of arithmetic runs: a model's own outputs, reports, and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import weft
from weft.errors import WeftError
from weft.models import Transformer, initialise, preset
from weft.statistics import Share
from weft.studies import explain
from weft.studies.arithmetic.explanation import (
    ArithmeticExplanation,
    explain_arithmetic,
    explain_function,
)
from weft.studies.arithmetic.explanation_hypotheses import operation
from weft.studies.arithmetic.explanation_model import answer_of, decode
from weft.studies.arithmetic.explanation_report import page
from weft.tasks import task
from weft.tasks.arithmetic import Arithmetic, outputs_of, score_outputs
from weft.training import EvaluationConfig, Run, RunStore, TrainingConfig, train
from weft.training.evaluation import decoded

BITS: dict[str, Any] = {"base": 2, "modulus": 3, "digits": 5, "longer": 7}
TINY: dict[str, Any] = {"layers": 1, "width": 16, "heads": 2, "hidden": (32,)}


def config(name: str = "modular-addition", **changes: Any) -> TrainingConfig:
    values: dict[str, Any] = {
        "parameters": BITS, "model": TINY, "steps": 30, "batch": 8,
        "evaluation": EvaluationConfig(every=0, size=16, splits=("train", "digits-7")),
    }  # fmt: skip
    return TrainingConfig(task=name, **(values | changes))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    runs = tmp_path_factory.mktemp("runs")
    result = train(config(), runs=runs, device="cpu")
    assert result.status == "done"
    return RunStore(runs).find(config().hash)


@pytest.fixture(scope="module")
def found(run: Run) -> ArithmeticExplanation:
    result = explain(run, inputs=300)
    assert isinstance(result, ArithmeticExplanation)
    return result


def bits() -> Arithmetic:
    made = task("modular-addition", **BITS)
    assert isinstance(made, Arithmetic)
    return made


def test_a_trained_run_is_explained_end_to_end(run: Run, found: ArithmeticExplanation) -> None:
    """Its accuracy is that of the scores, on the half of the questions that tests."""
    made, right = bits(), list[bool]()
    answered: Any = run.model(task=made)
    for length in range(1, 8):
        try:
            tests = made.test_set(f"digits-{length}", 300 // 7)
        except WeftError:
            continue
        outputs = outputs_of(tests, decoded(answered, tests))
        scores = score_outputs(made, tests, outputs)
        right += scores.value[1::2].tolist()
    assert found.truth.agreement == Share.of(right)
    assert found.best.fitted.right == max(each.fitted.right for each in found.ranking)
    assert {mine.length for mine, _ in found.dependences} == {5, 7}


def test_text_values_and_page_say_the_same(found: ArithmeticExplanation, tmp_path: Path) -> None:
    paths = found.write(tmp_path / "new" / "folder")
    assert [path.name for path in paths] == [
        "explanation.md", "explanation.json", "dependence.svg",
    ]  # fmt: skip
    values = json.loads(paths[1].read_text())
    assert values["computes"] == found.best.hypothesis.name
    assert values["agreement"] == found.best.agreement.as_dict()
    assert [each["hypothesis"] for each in values["ranking"]] == [
        each.hypothesis.kind for each in found.ranking
    ]
    text = "\n".join(found.lines(100))
    for each in found.ranking:
        assert each.hypothesis.name in text
        assert each.agreement.short in text
        assert each.agreement.short in page(found)
    assert paths[0].read_text() == page(found)
    assert "(dependence.svg)" in page(found)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert f"and {len(found.ranking) - 1} more (--limit)" in list(found.lines(1))


@pytest.mark.parametrize("parameters", [
    {}, {"width": 8}, {"reverse_operands": True, "reverse_result": True}, {"format": "seq2seq"},
    {"scratchpad": "carries"},
])  # fmt: skip
def test_decoding_in_batches_is_decoding_one_by_one(parameters: dict[str, Any]) -> None:
    """With a cache, and with an encoder, against one forward pass per token without batches."""
    name = "addition"
    made = task(name, digits=3, longer=5, **parameters)
    assert isinstance(made, Arithmetic)
    encodes = parameters.get("format") == "seq2seq"
    vocabulary = 4 + len(made.symbols)
    kind = {"kind": "encoder-decoder"} if encodes else {}
    settings = preset("nano", vocabulary=vocabulary, **kind)
    model = initialise(Transformer(settings), seed=3).eval()
    tests = made.test_set("longer", 40)
    outputs = decode(model, tests, rows=16)
    for row in range(0, 40, 8):
        one = tests.take(slice(row, row + 1))
        expected = outputs_of(one, decoded(model, one))[0]
        ends = np.flatnonzero(expected == 2)
        length = int(ends[0]) + 1 if len(ends) else len(expected)
        assert outputs[row, :length].tolist() == expected[:length].tolist()
    operands = made.operands(tests)
    numbers = answer_of(made, model, rows=16)(operands)
    assert (numbers.well_formed == made.results(outputs).well_formed).all()


def test_the_command_prints_and_writes_the_explanation(
    run: Run, found: ArithmeticExplanation, tmp_path: Path
) -> None:
    runs, out = str(run.folder.parent), tmp_path / "out"
    command = ["explain", run.name[:6], "--runs", runs, "--inputs", "300"]
    printed = json.loads(weft(*command, "--json", "--out", str(out)))
    assert printed == json.loads(json.dumps(found.as_dict()))
    assert json.loads((out / "explanation.json").read_text()) == printed
    assert (out / "dependence.svg").exists()
    text = weft(*command)
    assert text.splitlines()[0] == f"subject     {run.name}, done"
    assert [line.rstrip() for line in text.splitlines()] == list(found.lines(100))


def test_all_arithmetic_tasks_can_be_explained() -> None:
    for name in ("addition", "subtraction", "multiplication", "sum-of-three", "multiply-add",
                 "modular-addition", "modular-multiplication"):  # fmt: skip
        made = task(name, digits=2, longer=3)
        assert isinstance(made, Arithmetic)
        found = explain_function(made, operation(made), inputs=120, subject=name)
        assert found.best.hypothesis.kind == "operation"
        assert found.truth.agreement.share == 1
        assert json.loads(json.dumps(found.as_dict()))["subject"] == name


def refused(run: Run, said: str, **options: Any) -> None:
    with pytest.raises(WeftError, match=said) as caught:
        explain_arithmetic(run, **options)
    assert "\n" not in caught.value.line


def test_runs_that_cannot_be_explained_say_why(run: Run, tmp_path: Path) -> None:
    refused(run, "10 inputs are too few for 7 lengths. Give at least 28", inputs=10)
    evaluation = EvaluationConfig(every=0, size=16)
    parity = config("parity", parameters={}, evaluation=evaluation, steps=1)
    train(parity, runs=tmp_path, device="cpu")
    refused(RunStore(tmp_path).find(parity.hash), "trained parity, which is not an arithmetic task")
    tokens = config(parameters={"modulus": 7}, evaluation=evaluation, steps=1)
    train(tokens, runs=tmp_path, device="cpu")
    one = RunStore(tmp_path).find(tokens.hash)
    refused(one, "one token per number, and so no digits .* parameters.digits=3")
    with pytest.raises(WeftError, match="one token per number"):
        explain(one)
    whole = config(steps=2)
    train(whole, runs=tmp_path, device="cpu")
    unfinished = RunStore(tmp_path).find(whole.hash)
    (unfinished.folder / "result.json").unlink()
    refused(RunStore(tmp_path).find(whole.hash), "is not finished. Resume it")
