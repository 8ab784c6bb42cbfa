"""What models write by themselves, and which errors it is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import trace_models

from weft.errors import WeftError
from weft.models import generate
from weft.ptg.tokens import END
from weft.studies.ptg import continuation
from weft.studies.ptg.analysis import SplitAnalysis, analysis_of, category_of, programs_right
from weft.studies.ptg.continuation import check_tokens, model_trace, written_lines
from weft.studies.ptg.steps import FirstErrors, first_errors, step_table
from weft.training.evaluation import Predictions, evaluate


def test_a_models_trace_is_what_it_generates() -> None:
    """Up to `<end>` or the end of the context; whatever it writes that is not text is refused."""
    task, batch, seen = trace_models.nano(), trace_models.examples(), 0
    for seed in range(6):
        made = trace_models.model(seed=seed)
        tokens = batch.tokens[seed]
        prompt = tokens[: int(batch.prompt[seed])].tolist()
        source, inputs = task.program_of(tokens)
        expected = generate(made, torch.tensor([prompt]), 20, stop=END)[0, len(prompt) :].tolist()
        ended = END in expected
        expected = expected[: expected.index(END)] if ended else expected
        if min(expected, default=4) < 4:
            with pytest.raises(WeftError, match="which is not text"):
                model_trace(made, task, source, inputs, limit=20)
            continue
        found = model_trace(made, task, source, inputs, limit=20)
        assert found.tokens == tuple(expected)
        assert found.text == task.decode(expected)
        assert found.ended == ended
        seen += 1
    assert seen


def test_unknown_and_special_tokens_are_named_with_their_line() -> None:
    task = trace_models.nano()
    line = list(task.tokeniser.encode("L2,a:1\n"))
    check_tokens(task, line)
    with pytest.raises(WeftError, match=r"line 2 of the model's trace has <pad>"):
        check_tokens(task, [*line, 0])
    beyond = len(task.vocabulary)
    with pytest.raises(WeftError, match=rf"line 1 .* has the unknown token {beyond}"):
        check_tokens(task, [beyond])


def test_a_program_that_fills_the_context_is_refused() -> None:
    task = trace_models.nano()
    body = "".join(f"\ta = {number % 10}\n" for number in range(60))
    with pytest.raises(WeftError, match="tokens, the context 384"):
        model_trace(trace_models.model(), task, f"def f(a):\n{body}\treturn\n", {"a": 1})


def test_wrong_lines_are_continued_as_the_model_would(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(continuation, "MAX_LINE", 6)
    task, batch = trace_models.nano(), trace_models.examples("train", 6)
    made = trace_models.model(seed=4)
    predictions = evaluate(made, {"train": batch})["train"]
    errors = first_errors(step_table(task, batch), batch, predictions.chosen)
    rows = np.flatnonzero(~errors.right)
    lines = written_lines(made, task, batch, predictions.chosen, rows, errors.place[rows])
    newline = task.vocabulary.index("\n")
    for row, line in zip(rows.tolist(), lines, strict=True):
        place = int(errors.place[row])
        tokens = [*batch.tokens[row, : place + 1].tolist(), int(predictions.chosen[row, place])]
        for _ in range(6):
            if tokens[-1] in (newline, END):
                break
            logits = made(torch.tensor([tokens])).logits[0, -1]
            tokens.append(int(logits.argmax()))
        written = "".join(task.vocabulary[token] for token in tokens[int(batch.prompt[row]) :])
        assert line == written.removesuffix("\n").split("\n")[-1]


LINES = {
    "wrong line": lambda text: text.replace("L", "L9", 1),
    "early end": lambda text: "<end>",
    "malformed": lambda text: "",
}


@pytest.mark.parametrize("category", LINES)
def test_categories_of_lines(category: str) -> None:
    """An empty line is malformed; `<end>` at the start of a line is an early end."""
    task, batch = trace_models.nano(), trace_models.examples()
    tokens = batch.tokens[0, : batch.lengths[0]]
    lines = task.trace_of(tokens).split("\n")
    found, kind = category_of(task, tokens, 1, LINES[category](lines[1]))
    assert found == category
    source, _ = task.program_of(tokens)
    assert kind
    last = len(lines) - 1
    assert category_of(task, tokens, last, "L2,a:1") == ("late end", "return")
    assert category_of(task, tokens, last, "<pad>")[0] == "late end"
    assert source


def test_the_right_line_in_other_tokens_is_malformed() -> None:
    """The name of a counter can be written letter by letter."""
    task, batch = trace_models.nano(), trace_models.examples("longer-traces-1", 1)
    tokens = batch.tokens[0, : batch.lengths[0]]
    lines = task.trace_of(tokens).split("\n")
    step = next(number for number, line in enumerate(lines) if "cnt" in line)
    assert category_of(task, tokens, step, lines[step]) == ("malformed", "counter start")


def test_programs_are_right_if_they_are_on_all_inputs() -> None:
    batch = trace_models.nano().test_set("same-program", 300)
    place = np.full(300, -1)
    errors = FirstErrors(place=place, step=place.copy())
    share = programs_right(batch, errors)
    assert share is not None
    assert (share.right, share.count) == (100, 100)
    wrong = [3, 103, 250]  # two inputs of program 3, one of program 50
    place[wrong] = 5
    share = programs_right(batch, FirstErrors(place=place, step=place.copy()))
    assert share is not None
    assert (share.right, share.count) == (98, 100)
    assert programs_right(trace_models.examples(), FirstErrors(place=place, step=place)) is None


def test_an_analysis_is_what_its_json_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(continuation, "MAX_LINE", 4)
    task, made = trace_models.nano(), trace_models.model(seed=1)
    batch = task.test_set("same-program", 20)
    predictions = evaluate(made, {"same-program": batch})["same-program"]
    found = analysis_of(task, predictions, made, looked_at=3)
    assert SplitAnalysis.from_dict(found.as_dict()) == found
    assert sum(found.categories.values()) == sum(found.statements.values()) == 3
    assert found.right.count == 20
    assert found.programs is not None
    assert found.hazards.total.right == 20 - found.right.right


def test_a_perfect_model_has_no_errors() -> None:
    task, batch = trace_models.nano(), trace_models.examples()
    predictions = Predictions(split="train", batch=batch, chosen=batch.targets, loss=0.0)
    found = analysis_of(task, predictions)
    assert found.right.share == 1
    assert found.before_error == ()
    assert found.errors == {}
    assert found.hazards.total.right == 0
