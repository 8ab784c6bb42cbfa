"""Steps of traces against the interpreter, and first errors against greedy decoding."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import trace_models

from weft.models import Transformer, initialise, preset
from weft.ptg.interpreter import Machine
from weft.ptg.lines import lines_of
from weft.ptg.parser import parse
from weft.studies.ptg.hazards import Hazards, hazards_of, merged, per_step_accuracy, rate_text
from weft.studies.ptg.steps import (
    KINDS,
    NO_LIST,
    RIGHT,
    at_risk,
    first_errors,
    step_table,
    steps_before_error,
)
from weft.tasks.batch import Batch
from weft.tasks.program_traces import ProgramTraces
from weft.training.evaluation import evaluate


def machine_steps(task: ProgramTraces, tokens: Any) -> list[tuple[int, str, int, int]]:
    """Line, kind, list length and bound variables of each step, by running the program."""
    source, inputs = task.program_of(tokens)
    program = parse(source, task.language)
    machine, kinds = Machine(program, inputs), [line.kind for line in lines_of(program)]
    found: list[tuple[int, str, int, int]] = []
    while machine.line:
        step = machine.step()
        length = len(step.value) if isinstance(step.value, tuple) else NO_LIST
        found.append((step.line, kinds[step.line - 1], length, len(machine.state)))
    return [*found, (0, "end", NO_LIST, len(machine.state))]


FORMATS: list[dict[str, Any]] = [
    {},
    {"step_index": True, "reversed_digits": True},
    {"random_labels": True},
    {"level": "characters", "context": 700},
]


@pytest.mark.parametrize("options", FORMATS, ids=str)
def test_steps_are_those_of_the_interpreter(options: dict[str, Any]) -> None:
    task = ProgramTraces(tier="nano", **options)
    batch = task.test_set("longer-lists", 20)
    table = step_table(task, batch)
    rows = zip(table.line, table.kind, table.list_length, table.variables, strict=True)
    found = [(int(a), KINDS[b], int(c), int(d)) for a, b, c, d in rows]
    expected = [
        step
        for row in range(20)
        for step in machine_steps(task, batch.tokens[row, : batch.lengths[row]])
    ]
    assert found == expected
    assert table.lengths.tolist() == (batch.axes["steps"] + 1).tolist()


def test_every_token_belongs_to_the_step_that_writes_it() -> None:
    task, batch = trace_models.nano(), trace_models.examples()
    table = step_table(task, batch)
    for row in range(len(batch)):
        texts = task.trace_of(batch.tokens[row, : batch.lengths[row]]).split("\n")
        steps = table.tokens[row]
        assert ((steps >= 0) == (batch.targets[row] >= 0)).all()
        for step in range(int(table.lengths[row])):
            text = task.decode(batch.targets[row, steps == step])
            assert text == (f"{texts[step]}\n" if step < table.lengths[row] - 1 else "<end>")


def brute_first_error(batch: Batch, chosen: Any, row: int) -> int:
    for place in range(batch.tokens.shape[1]):
        if batch.targets[row, place] >= 0 and batch.targets[row, place] != chosen[row, place]:
            return place
    return RIGHT


def corrupted(batch: Batch, share: float) -> Any:
    random = np.random.default_rng(0).random(batch.targets.shape)
    return np.where((batch.targets >= 0) & (random > share), batch.targets, 1)


def test_first_errors_and_hazards_are_counted_right() -> None:
    """Against loops over examples, steps and tokens."""
    task, batch = trace_models.nano(), trace_models.examples("train", 40)
    table, chosen = step_table(task, batch), corrupted(batch, 0.01)
    errors = first_errors(table, batch, chosen)
    right = errors.right.tolist()
    assert 0 < sum(right) < 40
    reached, failed = at_risk(table, errors)
    seen: list[tuple[bool, bool]] = []
    for row in range(40):
        place = brute_first_error(batch, chosen, row)
        assert int(errors.place[row]) == place
        count = int(table.lengths[row])
        step = RIGHT if place == RIGHT else int(table.tokens[row, place])
        assert int(errors.step[row]) == step
        assert int(steps_before_error(table, errors)[row]) == (count if step == RIGHT else step)
        seen += [(step in (RIGHT,) or n <= step, n == step) for n in range(count)]
    assert list(zip(reached.tolist(), failed.tolist(), strict=True)) == seen
    hazards = hazards_of(table, errors)
    assert (hazards.total.right, hazards.total.count) == (int(failed.sum()), int(reached.sum()))
    assert hazards.total.right == 40 - sum(right)
    for axis, column in (("step", table.step), ("variables", table.variables)):
        for value, share in hazards.curves[axis].items():
            here = column == value
            assert share.count == int((here & reached).sum())
            assert share.right == int((here & failed).sum())
    lists = hazards.curves["list length"]
    assert sum(share.count for share in lists.values()) == int(
        (reached & (table.list_length >= 0)).sum()
    )
    assert sum(share.right for share in hazards.kinds.values()) == hazards.total.right
    assert Hazards.from_dict(hazards.as_dict()) == hazards
    twice = merged([hazards, hazards])
    assert twice.total.count == 2 * hazards.total.count
    assert twice.kinds["while"].right == 2 * hazards.kinds["while"].right


def test_rates_have_two_digits_and_no_exponent() -> None:
    rates = {0: "0", 0.000123: "0.00012", 3.44: "3.4", 120.4: "120", 9512: "9,500", 1e4: "10,000"}
    assert {rate: rate_text(rate) for rate in rates} == rates


def test_the_accuracy_per_step_of_a_trace() -> None:
    assert per_step_accuracy(0.5, 1) == pytest.approx(0.5)
    assert per_step_accuracy(0.25, 2) == pytest.approx(0.5)
    assert per_step_accuracy(0.0, 9) == 0.0


@pytest.mark.parametrize("position", ["none", "nape"])
def test_one_pass_is_right_exactly_where_greedy_decoding_is(position: str) -> None:
    """Two dozen examples as the model itself would write them, a token of every third changed."""
    made = trace_models.model(seed=2, position=position)
    written = trace_models.as_written_by(made, trace_models.examples("train", 24))
    tokens, targets = written.tokens.copy(), written.targets.copy()
    for row in range(0, 24, 3):
        place = int(written.prompt[row]) + row % 5
        targets[row, place] = (targets[row, place] + 1) % made.config.outputs
        tokens[row, place + 1] = targets[row, place]
    batch = replace(written, tokens=tokens, targets=targets)
    predictions = evaluate(made, {"train": batch}, batch=7)["train"]
    expected = [trace_models.decoded_right(made, batch, row) for row in range(24)]
    assert predictions.right.tolist() == expected
    assert 12 <= sum(expected) <= 16  # of the others, one wrong token was what came next anyway
    wrong = batch.scored & (predictions.chosen != batch.targets)
    for row in range(24):
        prompt = int(batch.prompt[row])
        made_tokens = trace_models.greedy(made, batch.tokens[row].tolist(), prompt, 12)
        wanted = batch.targets[row, prompt - 1 : prompt + 11].tolist()
        differs = [a != b for a, b in zip(made_tokens, wanted, strict=True)]
        first = differs.index(True) if True in differs else None
        found = np.flatnonzero(wrong[row])
        assert (None if not len(found) else int(found[0]) - prompt + 1) == first


def test_long_rows_are_evaluated_together_with_others_of_their_length() -> None:
    """In another order than they come, and with the same predictions."""
    made = trace_models.model()
    batch = trace_models.examples("train", 12)
    whole = evaluate(made, {"train": batch}, batch=12)["train"]
    some = evaluate(made, {"train": batch}, batch=5)["train"]
    assert np.array_equal(whole.chosen * batch.scored, some.chosen * batch.scored)
    assert some.loss == pytest.approx(whole.loss, rel=1e-5)


@pytest.mark.slow
def test_one_pass_is_greedy_decoding_for_a_model_that_has_learned_some_traces() -> None:
    """Trained on 24 examples until it writes about half of them right."""
    task, batch = trace_models.nano(), trace_models.examples("train", 24)
    config = preset("nano", vocabulary=len(task.vocabulary), **trace_models.SIZE, position="nape")
    made = initialise(Transformer(config), seed=0)
    tokens, targets = torch.from_numpy(batch.tokens), torch.from_numpy(batch.targets)
    optimiser = torch.optim.AdamW(made.parameters(), lr=5e-3)
    for step in range(400):
        loss = torch.nn.functional.cross_entropy(
            made(tokens).logits.flatten(0, 1), targets.flatten(), ignore_index=-1
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % 10 == 9:
            right = evaluate(made.eval(), {"train": batch})["train"].right
            made.train()
            if 8 <= right.sum() <= 16:
                break
    assert 8 <= right.sum() <= 16
    expected = [trace_models.decoded_right(made.eval(), batch, row) for row in range(24)]
    assert right.tolist() == expected
