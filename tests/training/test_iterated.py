"""Iterated steps: a model that is right, one that errs at a step, one that never ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft.errors import WeftError
from weft.recursion import Notation, decode_term, definition, encode_term, iterate
from weft.tasks import task
from weft.tasks.batch import Batch
from weft.tasks.formats import END
from weft.tasks.recursion import Recursion
from weft.training import iterated
from weft.training.iterated import iterate_steps

FIRST = 4


def stepper(made: Recursion, wrong_at: int | None = None, ends: bool = True) -> Any:
    """In place of a model's outputs: the next term by the calculus.

    Args:
        made: the task.
        wrong_at: terms with so many XO in front of the call are copied instead.
        ends: whether outputs end.
    """
    function = definition("successor")
    notation = Notation(order=made.order)

    def outputs(model: Any, batch: Batch, longest: int = 0, rows: int = 0) -> Any:
        aligned = made.format == "tag"
        read = batch.tokens if batch.source is None else batch.source
        written = []
        for question in read.tolist():
            names = [made.vocabulary[token] for token in question if token]
            words = [name for name in names if name != "_"]
            term = decode_term(words, function.result, notation, function.functions)
            for _ in range(made.unroll):
                after = next(iterate(term), None)
                term = term if after is None else after.after
            answer = encode_term(term, notation)
            place = words.index(function.token)
            before = place if made.order == "constructor" else len(words) - 1 - place
            numbers = [made.vocabulary.index(name) for name in answer]
            if before == wrong_at:
                numbers = [made.vocabulary.index(name) for name in words]
            end = [END] if ends else []
            fill = [made.vocabulary.index("_")] * (len(names) - len(numbers)) if aligned else end
            written.append([*numbers, *fill])
        width = max(map(len, written))
        return np.array([row + [0] * (width - len(row)) for row in written])

    return outputs


def made(**parameters: Any) -> Recursion:
    found = task("recursion", part="step", length=8, longer=10, **parameters)
    assert isinstance(found, Recursion)
    return found


@pytest.mark.parametrize(
    "parameters",
    [{}, {"order": "natural"}, {"format": "tag"}, {"unroll": 2}, {"unroll": 3, "order": "natural"}],
)
def test_a_right_model_reduces_every_term(
    monkeypatch: pytest.MonkeyPatch, parameters: dict[str, Any]
) -> None:
    steps = made(**parameters)
    monkeypatch.setattr(iterated, "greedy_outputs", stepper(steps))
    found = iterate_steps(None, steps, "all-carry-longer", 10)  # type: ignore[arg-type]
    assert found.share.right == found.share.count == 2
    assert found.per_step.share == 1
    assert found.errors == {}
    rounds = found.axes["depth"] + 1
    assert found.steps.tolist() == (-(-rounds // steps.unroll)).tolist()


def test_the_first_wrong_step_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = made()
    monkeypatch.setattr(iterated, "greedy_outputs", stepper(steps, wrong_at=3))
    found = iterate_steps(None, steps, "longer", 60)  # type: ignore[arg-type]
    depth = found.axes["depth"]
    assert ((found.first_error == 4) == (depth >= 3)).all()
    assert found.right.sum() == (depth < 3).sum()
    assert found.errors == {4: int((depth >= 3).sum())}
    made_steps = np.minimum(depth + 1, 4).sum()
    assert (found.per_step.right, found.per_step.count) == (
        made_steps - (depth >= 3).sum(),
        made_steps,
    )
    assert all(share.share == (at < 3) for at, share in found.by("depth").items())


def test_an_output_without_an_end_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = made()
    monkeypatch.setattr(iterated, "greedy_outputs", stepper(steps, ends=False))
    found = iterate_steps(None, steps, "train", 10)  # type: ignore[arg-type]
    assert found.errors == {1: 10}


def test_only_models_of_steps_are_iterated() -> None:
    values = task("recursion")
    assert isinstance(values, Recursion)
    with pytest.raises(WeftError, match="part=evaluate"):
        iterate_steps(None, values, "train", 1)  # type: ignore[arg-type]
