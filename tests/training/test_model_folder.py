"""The model folder of a run: its weights are the run's, and it answers what was evaluated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import weft
from weft.models.files import read_description
from weft.tasks import Task, task
from weft.tasks.formats import END
from weft.training import RunStore, TrainingConfig, override, train
from weft.training.evaluation import decoded

TINY = ["steps=2", "batch=4", "evaluation.size=4", "evaluation.splits=train"]
SMALL = ["model.width=8", "model.heads=2", "model.hidden=8", "model.layers=1"]


def trained(folder: Path, name: str, *changes: str) -> Path:
    config = override(TrainingConfig(task=name), [*TINY, *changes])
    assert train(config, runs=folder, device="cpu").status == "done"
    return folder / config.hash


LSTM = ["model.architecture=lstm", "model.width=8", "model.layers=1"]
FORMATS = {
    "a class": ("parity", []),
    "tags": ("dyck", []),
    "a class behind a mark": ("modular-addition", ["parameters.modulus=11"]),
    "a continuation": ("addition", ["parameters.digits=2", "parameters.longer=3"]),
    "a translation": ("copy", ["parameters.format=seq2seq", "parameters.longer=21"]),
    "words": ("scan", []),
    "an LSTM": ("addition", ["parameters.digits=2", "parameters.longer=3", *LSTM]),
}


def expected(task: Task, run: Path) -> list[tuple[str, str, bool]]:
    """Questions, the answers that evaluation decodes for them, and whether these are complete.

    Evaluation decodes as many tokens as the right answer has, the model until it ends.
    """
    model, tests = weft.load(run), task.test_set("train", 4)
    greedy = None if tests.source is None and not tests.continues else decoded(model, tests)
    names, space = task.answers, "" if all(len(s) == 1 for s in task.symbols) else " "
    found = []
    for place, question in enumerate(task.asked(tests)):
        asked = tests.targets[place] >= 0
        if greedy is None or not (task.format != "tag" and END in tests.targets[place]):
            one = tests.take(slice(place, place + 1)).trimmed()
            logits = model(torch.tensor(one.tokens)).logits
            chosen = logits.argmax(-1)[0].numpy()[asked[: logits.shape[1]]].tolist()
            complete = True
        else:
            chosen = greedy[place][asked].tolist()
            complete = END in chosen
            chosen = chosen[: chosen.index(END)] if complete else chosen
        assert isinstance(question, str)
        found.append((question, space.join(names[number] for number in chosen), complete))
    return found


@pytest.mark.parametrize("kind", FORMATS)
def test_a_trained_model_answers_what_evaluation_decodes(kind: str, tmp_path: Path) -> None:
    name, parameters = FORMATS[kind]
    sizes = [] if kind == "an LSTM" else SMALL
    run = trained(tmp_path, name, *sizes, *parameters)
    config = RunStore(tmp_path).runs()[0].config
    model = weft.load(run)
    for question, answer, complete in expected(task(config.task, **config.parameters), run):
        given = model.answer(question)
        if kind == "tags":  # of names with several letters
            given = given.replace(" ", "")
        assert given == answer if complete else given.startswith(answer), question


def test_the_folder_holds_the_weights_of_the_run(tmp_path: Path) -> None:
    run = trained(tmp_path, "parity", *SMALL, "ema=0.5")
    model, other = weft.load(run), RunStore(tmp_path).runs()[0].model()
    for name, tensor in other.state_dict().items():
        assert torch.equal(model.state_dict()[name], tensor), name
    description = read_description(run)
    assert description.kind == "trained"
    assert description.training is not None
    assert description.training["run"] == run.name
    card = (run / "model" / "card.md").read_text()
    assert "| accuracy, train | " in card
    assert "(n = 4)" in card


def test_a_model_of_a_programs_output_reads_what_the_program_reads(tmp_path: Path) -> None:
    run = trained(tmp_path, "program", *SMALL, "parameters.program=parity")
    model = weft.load(run)
    tokens = torch.tensor([[3, 2, 1, 2]])  # s 1 0 1, one place behind padding
    outputs = model(tokens).logits[0].argmax(-1).tolist()
    assert model.answer("101") == str(outputs[-1])
    with pytest.raises(weft.WeftError, match="has 21 tokens, the model is made for at most 20"):
        model.answer("1" * 20)


@pytest.mark.parametrize("rounded", [True, False])
def test_a_model_trained_from_traces_reads_what_its_program_reads(
    rounded: bool, tmp_path: Path
) -> None:
    changes = ["supervision.by=traces", "supervision.program=parity"]
    run = trained(tmp_path, "parity", *changes, f"supervision.round_between_layers={rounded}")
    model, tokens = weft.load(run), torch.tensor([[2, 1, 0, 1]])
    assert (model.between_layers is not None) == rounded
    output = RunStore(tmp_path).runs()[0].model()(tokens)
    assert torch.equal(model(tokens).stream, output.stream)
    assert model.answer("101") == str(output.logits[0, -1].argmax().item())


def test_inputs_beyond_the_task_are_refused(tmp_path: Path) -> None:
    model = weft.load(trained(tmp_path, "parity", *SMALL, "model.vocabulary=9"))
    with pytest.raises(weft.WeftError, match="has 41 tokens, the model is made for at most 40"):
        model.answer("1" * 41)
    with pytest.raises(weft.WeftError, match="there is no token '2'"):
        model.answer("012")
    with pytest.raises(weft.WeftError, match="there is no token '<unused"):
        model.answer("<unused 6> 1")
    assert model.answer("1" * 40) in ("0", "1")
    assert model.answer("") in ("0", "1")  # the start mark alone


def test_a_run_that_has_not_ended_has_no_model(tmp_path: Path) -> None:
    run = trained(tmp_path, "parity", *SMALL)
    np.testing.assert_equal(sorted(path.name for path in (run / "model").iterdir()),
                            ["card.md", "config.json", "model.safetensors"])  # fmt: skip
    for path in sorted((run / "model").iterdir()):
        path.unlink()
    (run / "model").rmdir()
    with pytest.raises(weft.WeftError, match="is a training run without a model"):
        weft.load(run)
