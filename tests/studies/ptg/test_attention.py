"""Which tokens a value needs, by their text; and attention summed up by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import trace_models

from weft.errors import WeftError
from weft.models import LSTM, initialise, preset
from weft.ptg.interpreter import Machine
from weft.ptg.language import Comparison, Item, Length, Product, Sum, Value, shown
from weft.ptg.lines import Line, lines_of
from weft.ptg.parser import parse
from weft.studies.ptg.attention import PLACES, attention_mass, head_slopes, read_tokens
from weft.tasks.program_traces import ProgramTraces


def operands(line: Line, state: dict[str, Value]) -> list[str]:
    """The values that a line reads, as text."""

    def flat(name: str) -> list[str]:
        value = state[name]
        return [shown(item) for item in value] if isinstance(value, tuple) else [shown(value)]

    match line.expression:
        case str(name) | Sum(name, _, _) | Length(name):
            return flat(name)
        case Item(name, int(index)):
            return [flat(name)[index]]
        case Item(name, index):
            return flat(name) + flat(str(index))
        case Product(left, right) | Comparison(left, _, right):
            return flat(left) + (flat(right) if isinstance(right, str) else [])
    return []


@pytest.mark.parametrize(
    "options",
    [{}, {"multiplication": True, "variable_index": True, "random_labels": True}],
    ids=str,
)
def test_needed_tokens_hold_the_values_that_statements_read(options: dict[str, Any]) -> None:
    task = ProgramTraces(tier="nano", **options)
    batch = task.test_set("longer-traces-1", 15)
    for row in range(15):
        tokens = batch.tokens[row, : batch.lengths[row]]
        reading = read_tokens(task, tokens)
        source, inputs = task.program_of(tokens)
        program = parse(source, task.language)
        lines, machine = lines_of(program), Machine(program, inputs)
        by_step: dict[int, list[int]] = {}
        for number, step in enumerate(reading.steps):
            by_step.setdefault(step, []).append(number)
        before: list[dict[str, Value]] = [{}]
        executed = [0]
        while machine.line:
            before.append(dict(machine.state))
            executed.append(machine.line)
            machine.step()
        for step, numbers in by_step.items():
            line, state = lines[executed[step] - 1], before[step]
            for number in numbers:
                assert all(place <= reading.queries[number] for place in reading.needed[number])
                needed = task.decode(tokens[list(reading.needed[number])])
                if reading.lines[number] != line.number or reading.queries[number] < 0:
                    raise AssertionError
                label = task.vocabulary[int(tokens[reading.queries[number]])]
                if label == "L" or _is_label(task, tokens, reading.queries[number]):
                    tested = lines[executed[step - 1] - 1]
                    assert needed == shown(state[tested.target])
                elif line.kind in ("append", "pop"):
                    values = state[line.target]
                    assert isinstance(values, tuple)
                    literal = {""} if isinstance(line.expression, int) else set()
                    assert (
                        needed
                        in {shown(item) for item in values} | set(operands(line, state)) | literal
                    )
                else:
                    assert needed == "".join(operands(line, state))


def _is_label(task: ProgramTraces, tokens: Any, query: int) -> bool:
    """Whether the token after a query is a digit of a line label."""
    place = query
    while task.vocabulary[int(tokens[place])].isdigit():
        place -= 1
    return task.vocabulary[int(tokens[place])] == "L"


def test_every_token_has_a_place() -> None:
    task, batch = trace_models.nano(), trace_models.examples()
    for row in range(len(batch)):
        tokens = batch.tokens[row, : batch.lengths[row]]
        reading = read_tokens(task, tokens)
        parts = {
            place: task.decode(tokens[reading.regions == number])
            for number, place in enumerate(PLACES)
        }
        assert parts["start"] == "<start><trace>"
        assert parts["program"].startswith("L1 def f(")
        assert parts["program"].endswith("return\n")
        assert parts["call"].startswith("f(")
        assert parts["call"].endswith(")\n")
        assert parts["trace"] == task.trace_of(tokens)
        for number in range(1, parts["program"].count("\n") + 1):
            inside = (reading.regions == PLACES.index("program")) & (
                reading.line_of_token == number
            )
            assert task.decode(tokens[inside]).startswith(f"L{number} ")


def test_attention_is_summed_up_right() -> None:
    """Against the patterns of one example, query by query; shares of a softmax add up to 1."""
    task, batch = trace_models.nano(), trace_models.examples("train", 12).take(slice(3, 4))
    made = trace_models.model(position="nape")
    found = attention_mass(made, task, batch)
    assert [(head.layer, head.head) for head in found.heads] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    tokens = batch.tokens[0, : batch.lengths[0]]
    reading = read_tokens(task, tokens)
    _, cache = made.run_with_cache(torch.from_numpy(tokens)[None])
    assert found.queries == len(reading.queries)
    assert sum(found.reached.values()) == sum(bool(needed) for needed in reading.needed)
    for head in found.heads:
        pattern = cache[f"blocks.{head.layer}.attn.hook_pattern"][0, head.head].detach().numpy()
        sums = dict.fromkeys(PLACES, 0.0)
        needed = 0.0
        for number, query in enumerate(reading.queries):
            for key in range(query + 1):
                place = PLACES[reading.regions[key]]
                if place == "program" and reading.line_of_token[key] == reading.lines[number]:
                    place = "program line"
                if place == "trace" and reading.line_of_token[key] == reading.steps[number]:
                    place = "this line"
                sums[place] += float(pattern[query, key])
            needed += float(pattern[query, list(reading.needed[number])].sum())
        for place, total in sums.items():
            assert head.mass[place] == pytest.approx(total / found.queries, abs=1e-5)
        assert head.needed == pytest.approx(needed / sum(found.reached.values()), abs=1e-5)
        assert sum(head.mass.values()) == pytest.approx(1.0, abs=1e-4)
        weighted = sum(head.by_distance[end] * count for end, count in found.reached.items())
        assert weighted == pytest.approx(needed, abs=1e-4)


def test_slopes_of_heads() -> None:
    assert head_slopes(trace_models.model(position="nape")) == (0.0625, 0.0)
    assert head_slopes(trace_models.model(position="rotary")) is None
    assert np.isclose(head_slopes(trace_models.model(position="alibi")) or 0, [2**-4, 2**-8]).all()


def test_an_lstm_has_no_heads() -> None:
    lstm = initialise(LSTM(preset("nano", architecture="lstm", width=8, vocabulary=200)))
    with pytest.raises(WeftError, match="has no attention heads"):
        attention_mass(lstm, trace_models.nano(), trace_models.examples())
