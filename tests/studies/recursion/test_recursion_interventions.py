"""Interventions on a model that is made by hand find exactly what it depends on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hand_made import POSITIONS, copying_model

from weft.models import Transformer, initialise, preset
from weft.studies.recursion import explanation_heads
from weft.studies.recursion.explanation import RecursionExplanation, explain_model
from weft.studies.recursion.explanation_heads import (
    activation,
    heads_of,
    knock_outs,
    recursion_heads,
    recursion_scores,
    weights_of,
)
from weft.studies.recursion.explanation_model import AskedModel
from weft.studies.recursion.explanation_positions import position_interventions
from weft.studies.recursion.explanation_replacement import dependence_of, replacements
from weft.studies.recursion.explanation_resume import resumable
from weft.studies.recursion.explanation_subjects import SuccessorSubject
from weft.tasks.recursion import Recursion
from weft.theory.recursion import copy_machine, successor_machine

SUBJECT = SuccessorSubject("natural")


def task(**changes: object) -> Recursion:
    return Recursion(**({"order": "natural", "shortest": 2, "length": 8, "longer": 9} | changes))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def found() -> RecursionExplanation:
    explanation_heads_shuffles = explanation_heads.SHUFFLES
    explanation_heads.SHUFFLES = 8
    try:
        return explain_model(AskedModel(task(), copying_model(task()), SUBJECT), inputs=120)
    finally:
        explanation_heads.SHUFFLES = explanation_heads_shuffles


def test_the_model_is_found_to_copy(found: RecursionExplanation) -> None:
    assert found.best.kind == "copy"
    assert found.best.agreement.share == found.best.recall.share == 1.0
    assert found.explains_failures
    asked = zip(found.questions.inputs, found.questions.outputs, strict=True)
    # 01 alone has a share of 1 wherever it is looked for, and so the output does not end.
    assert all(output == (None if given == ("01",) else given) for given, output in asked)


def test_replacing_a_token_changes_this_token_of_the_output_alone(
    found: RecursionExplanation,
) -> None:
    assert found.dependences is not None
    mine, its = found.dependences
    expected = np.eye(mine.length)
    expected[:, 0] = np.nan  # 01 has no other constructor of its arity
    np.testing.assert_array_equal(mine.changed, expected)
    assert mine.distance(its) == 0
    for source, row in mine.by_part.items():
        same = {"start": "flip"}.get(source, source)
        for part, share in row.items():
            assert share.share == (1.0 if part == same else 0.0), (source, part)


def test_the_head_that_copies_is_the_only_causal_one(found: RecursionExplanation) -> None:
    attention = found.attention
    assert attention is not None
    assert {each.head.name for each in attention.effects if each.causal()} == {"cross 0.0"}
    mine = {each.change: each.flips for each in attention.effects if each.head.name == "cross 0.0"}
    assert mine["without copy"]["copy"].share == 1.0
    assert mine["without run"]["run"].share == 1.0
    assert mine["without start"]["run"].right == mine["without start"]["copy"].right == 0
    assert mine["without copy"]["flip"].right == 0
    others = [each for each in attention.effects if each.head.name != "cross 0.0"]
    assert all(share.right == 0 for each in others for share in each.flips.values())


def test_mean_weights_of_a_head_that_attends_by_position_are_its_own() -> None:
    """At one length the weights of this head are the same for all inputs."""
    asked = AskedModel(task(), copying_model(task()), SUBJECT)
    inputs = SUBJECT.examples(7, 30)
    effects = knock_outs(asked, asked.laid_out(inputs, inputs))
    means = [each for each in effects if each.change == "mean"]
    assert len(means) == len(heads_of(asked)) == 6
    assert all(share.right == 0 for each in means for share in each.flips.values())
    uniform = next(
        each for each in effects if (each.head.name, each.change) == ("cross 0.0", "uniform")
    )
    assert uniform.flips["copy"].share == 1.0


def test_outputs_follow_positions(found: RecursionExplanation) -> None:
    assert found.attention is not None
    assert [each.intervention for each in found.attention.following] == ["shift", "swap", "output"]
    for each in found.attention.following:
        assert each.position.count >= 15
        assert each.position.share == 1.0, each.intervention
        assert each.token.share == 0.0


def test_a_head_that_attends_by_position_is_no_recursion_head(
    found: RecursionExplanation,
) -> None:
    """It attends to the run from within the run, but does so whatever the tokens are."""
    assert found.attention is not None
    scores = {(each.head.name, each.target): each for each in found.attention.scores}
    assert scores["cross 0.0", "run"].score > 0.8
    # Parts of other inputs are other positions: the null set has the same score.
    assert abs(scores["cross 0.0", "run"].excess) < 1e-6
    assert found.attention.recursion_heads == []


def test_a_head_that_finds_the_run_is_a_recursion_head() -> None:
    """The same model with a head that attends to X1 by content, but only from an X1 of the output.

    Copied parts hold no X1, so that X1 is the run, and the token before it in the output.
    """
    made = task()
    model = copying_model(made)
    tokens = len(made.vocabulary)
    zero, one = made.vocabulary.index("XO"), made.vocabulary.index("X1")
    with torch.no_grad():
        cross = model.layers[0].cross
        assert cross is not None
        cross.query[1, one, 0], cross.key[1, one, 0] = 40.0, 40.0
        cross.value[1, one, 0] = 3.0  # X1 is there,
        cross.output[1, 0, tokens + POSITIONS + zero] = 2.0  # so XO is written
    asked = AskedModel(made, model, SUBJECT)
    inputs = [
        ("01", *("XO",) * (length - 1 - depth), *("X1",) * depth)
        for length in (8, 10, 12) for depth in range(1, length - 2)
    ]  # fmt: skip
    outputs = [successor_machine("natural")(number) for number in inputs]
    batches = asked.laid_out(inputs, outputs)
    scores, effects = recursion_scores(asked, batches), knock_outs(asked, batches)
    assert "cross 0.1" in [head.name for head in recursion_heads(scores, effects)]
    assert "cross 0.0" not in [each.head.name for each in scores if each.above]


@pytest.mark.parametrize("kind", ["seq2seq", "lm", "tag"])
def test_parts_name_the_slots_of_every_format(kind: str) -> None:
    made = task(format=kind)
    settings = preset(
        "nano", vocabulary=len(made.vocabulary), layers=1, width=16, heads=2, hidden=(16,),
        kind={"seq2seq": "encoder-decoder", "lm": "decoder", "tag": "encoder"}[kind],
    )  # fmt: skip
    asked = AskedModel(made, initialise(Transformer(settings), seed=0).eval(), SUBJECT)
    number, output = ("01", "XO", "X1"), ("01", "X1", "XO")
    laid = asked.laid_out([number], [output])[0]
    batch, parts = laid.batch, laid.parts

    def named(values: np.ndarray | None) -> list[str]:
        assert values is not None
        return [parts.names[each] for each in values[0]]

    targets = [made.answers[each] for each in batch.targets[0][batch.targets[0] >= 0]]
    predicted = [name for name in named(parts.predicted) if name]
    assert predicted == ["copy", "flip", "run", "end"]
    if kind == "tag":
        assert targets == [*output, "_"]
        assert named(parts.tokens) == ["copy", "start", "run", "mark"]
    elif kind == "lm":
        assert targets == [*output, "<end>"]
        assert named(parts.tokens) == [
            "copy", "start", "run", "mark", "own copy", "own flip", "own run",
        ]  # fmt: skip
    else:
        assert named(parts.source) == ["copy", "start", "run"]
        assert named(parts.tokens) == ["mark", "own copy", "own flip", "own run"]
    assert set(weights_of(asked, laid))
    assert knock_outs(asked, [laid])
    assert [each.intervention for each in position_interventions(asked, [laid])] == (
        []
        if kind == "tag"
        else [each.intervention for each in position_interventions(asked, [laid])]
    )


def test_dependence_of_machines_is_that_of_their_rules() -> None:
    """A copy depends on the same token; of the successor, a run depends on what is behind it."""
    asked = replacements(SUBJECT, SUBJECT.examples(6, 40))
    copy = dependence_of(SUBJECT, lambda inputs: [copy_machine()(x) for x in inputs], asked)
    assert np.nansum(copy.changed) == np.trace(np.nan_to_num(copy.changed)) == 5
    true = dependence_of(SUBJECT, lambda inputs: [successor_machine()(x) for x in inputs], asked)
    known = np.nan_to_num(true.changed)
    assert not np.tril(known[:6], -1).any(), "no token depends on one further left"
    assert known[5, 5] == 1
    assert (np.diff(known[1:6, 5]) >= 0).all(), "the last token decides most about its neighbours"


@pytest.mark.parametrize("changes", [
    {}, {"format": "lm"}, {"format": "tag"}, {"norm": "post", "loops": 2},
    {"inject": True, "loops": 2},
])  # fmt: skip
def test_a_pass_that_begins_at_a_layer_is_the_rest_of_a_complete_one(
    changes: dict[str, Any],
) -> None:
    settings = {name: value for name, value in changes.items() if name != "format"}
    made = task(format=changes.get("format", "seq2seq"))
    kind = {"seq2seq": "encoder-decoder", "lm": "decoder", "tag": "encoder"}[made.format]
    config = preset(
        "nano", vocabulary=len(made.vocabulary), layers=2, width=16, heads=2, hidden=(16,),
        kind=kind, position="learned", positions=32, **settings,
    )  # fmt: skip
    asked = AskedModel(made, initialise(Transformer(config), seed=2).eval(), SUBJECT)
    inputs = [*SUBJECT.examples(5, 9), *SUBJECT.examples(7, 9)]
    laid = asked.laid_out(inputs, [SUBJECT.truth(number) for number in inputs])[0]
    passes = resumable(asked, laid)
    np.testing.assert_array_equal(passes.predicted, asked.predictions(laid))
    changed = 0
    for head in heads_of(asked):
        name = activation(asked, head.stack, head.layer)

        def hook(called: str, tensor: Any, name: str = name, which: int = head.head) -> Any:
            if called != name:
                return tensor
            weights = tensor.clone()
            weights[:, which] = -9 * weights[:, which].flip(-1)
            return weights

        with torch.no_grad():
            resumed, complete = (
                passes.logits(head.stack, head.layer, hook),
                asked.logits(laid, hook),
            )
            torch.testing.assert_close(resumed, complete)
            changed += int((resumed - asked.logits(laid)).abs().max() > 1e-4)
    assert changed > len(heads_of(asked)) / 2, "changes show in the logits"
