"""Losses: label sets by their formulas, and packed batches as their examples one by one."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from training_runs import folder_of, lines, small

from weft.errors import WeftError
from weft.models import Transformer, initialise, preset
from weft.tasks import Batch, pack, score, task
from weft.training import (
    EvaluationConfig,
    TrainingConfig,
    evaluate,
    load_predictions,
    override,
    train,
)
from weft.training.config import LabelSetLoss
from weft.training.data import Tensors, prepared, tensors_of
from weft.training.learner import run, summed_loss


def label_sets(classes: int = 5) -> tuple[torch.Tensor, Batch]:
    """Random logits and a batch of label sets, two of its positions not scored."""
    rng = np.random.default_rng(0)
    legal = rng.random((3, 4, classes)) < 0.4
    legal[..., 2] = True
    targets = np.full((3, 4), 2)
    targets[0, 0] = targets[2, 3] = -1
    legal[0, 0] = False
    tokens = np.zeros((3, 4), dtype=np.int64)
    batch = Batch(tokens=tokens, lengths=np.full(3, 4), targets=targets, legal=legal)
    return torch.tensor(rng.normal(size=(3, 4, classes)) * 3, requires_grad=True), batch


def by_hand(logits: np.ndarray[Any, Any], legal: np.ndarray[Any, Any], kind: str) -> float:
    """The loss at one position, from probabilities."""
    if kind == "binary":
        shares = 1 / (1 + np.exp(-logits))
        return float(-np.mean(np.where(legal, np.log(shares), np.log(1 - shares))))
    shares = np.exp(logits) / np.exp(logits).sum()
    if kind == "uniform":
        return float(-np.mean(np.log(shares[legal])))
    return float(-np.log(shares[legal].sum()))


@pytest.mark.parametrize("kind", ["binary", "uniform", "any"])
@pytest.mark.parametrize("extra", [0, 2])
def test_losses_of_label_sets_follow_their_formulas(kind: LabelSetLoss, extra: int) -> None:
    """A model may have more outputs than the task has classes; these are never legal."""
    logits, batch = label_sets(5)
    legal = batch.legal
    assert legal is not None
    wide = torch.cat([logits, torch.full((3, 4, extra), 0.5, dtype=torch.float64)], -1)
    tensors = tensors_of(batch, preset("nano", vocabulary=5))
    loss = summed_loss(wide, tensors, kind)
    padded = np.concatenate([legal, np.zeros((3, 4, extra), bool)], -1)
    expected = sum(
        by_hand(wide[row, at].detach().numpy(), padded[row, at], kind)
        for row, at in zip(*np.nonzero(batch.scored), strict=True)
    )
    assert float(loss.detach()) == pytest.approx(expected, rel=1e-9)
    loss.backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert bool(logits.grad.isfinite().all())
    assert not bool(logits.grad[0, 0].any())  # which is not scored


def test_sets_are_predicted_by_the_sign_of_logits_or_by_the_largest(tmp_path: Path) -> None:
    dyck = task("dyck", format="next")
    tests = dyck.test_set("train", 40)
    assert tests.legal is not None
    model = initialise(Transformer(preset("nano", vocabulary=len(dyck.vocabulary)))).eval()
    logits = run(model, tensors_of(tests, model.config)).logits.detach().numpy()
    (table,) = evaluate(model, {"train": tests}, batch=7).values()
    assert table.chosen.shape == tests.legal.shape
    assert (table.chosen == (logits > 0))[tests.scored].all()
    assert (table.right == score(tests, logits > 0)).all()
    (largest,) = evaluate(model, {"train": tests}, batch=7, label_sets="any").values()
    assert (largest.right == score(tests, logits.argmax(-1))).all()
    table.save(tmp_path / "train.npz")
    again = load_predictions(tmp_path / "train.npz")
    assert (again.right == table.right).all()
    assert again.batch.content_hash == tests.content_hash


@pytest.mark.parametrize("kind", ["binary", "uniform", "any"])
def test_legal_next_symbols_are_learned(kind: LabelSetLoss, tmp_path: Path) -> None:
    config = TrainingConfig(
        task="dyck",
        parameters={"format": "next"},
        model={"layers": 1, "width": 16, "heads": 2, "hidden": (32,)},
        steps=60,
        batch=32,
        log_every=1,
        evaluation=EvaluationConfig(every=0, size=32),
    )
    config = replace(config, supervision=replace(config.supervision, label_sets=kind))
    result = train(config, runs=tmp_path, device="cpu")
    losses = [record["loss"] for record in lines(folder_of(tmp_path, config))]
    assert result.status == "done"
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.parametrize("name", ["copy", "dyck"])
@pytest.mark.parametrize("position", ["rotary", "learned", "alibi"])
def test_a_packed_batch_has_the_loss_of_its_examples_one_by_one(name: str, position: str) -> None:
    made = task(name, format="next") if name == "dyck" else task(name)
    batch = made.batch("train", seed=0, step=1, size=12)
    config = preset(
        "nano", vocabulary=len(made.vocabulary), position=position, positions=256, dtype="float64"
    )
    model = initialise(Transformer(config))
    packed = pack(batch, 2 * int(batch.lengths.max()))
    assert len(packed) < len(batch)

    def total(part: Batch) -> torch.Tensor:
        tensors = tensors_of(part, config)
        return summed_loss(run(model, tensors).logits, tensors)

    together = total(packed)
    (gradient,) = torch.autograd.grad(together, [model.embedding])
    alone = torch.stack([total(batch.take(slice(n, n + 1)).trimmed()) for n in range(12)]).sum()
    (expected,) = torch.autograd.grad(alone, [model.embedding])
    assert float(together.detach()) == pytest.approx(float(alone.detach()), rel=1e-9)
    torch.testing.assert_close(gradient, expected, rtol=1e-6, atol=1e-9)


def test_training_on_packed_rows_is_training_on_their_examples(tmp_path: Path) -> None:
    plain = small("model.random_offset=0", "steps=6", "log_every=1", "evaluation.size=8")
    packed = replace(plain, pack=64)
    for config in (plain, packed):
        train(config, runs=tmp_path, device="cpu")
    one, other = (lines(folder_of(tmp_path, config)) for config in (plain, packed))
    assert [r["tokens"] for r in one] == [r["tokens"] for r in other]
    assert [r["loss"] for r in one] == pytest.approx([r["loss"] for r in other], rel=1e-4)


def test_a_token_is_not_influenced_by_other_documents() -> None:
    made = task("copy")
    batch = made.batch("train", seed=0, step=1, size=6)
    packed = pack(batch, 3 * int(batch.lengths.max()))
    model = initialise(Transformer(preset("nano", vocabulary=len(made.vocabulary)))).eval()
    before = run(model, tensors_of(packed, model.config)).logits
    assert packed.documents is not None
    changed = replace(packed, tokens=np.where(packed.documents == 0, 4, packed.tokens))
    after = run(model, tensors_of(changed, model.config)).logits
    same = torch.tensor(packed.documents > 0)
    assert torch.equal(before[same], after[same])
    assert not torch.equal(before[~same], after[~same])


def test_rows_may_be_read_as_one_text_or_as_a_stream_that_is_cut() -> None:
    """Unmasked, positions and attention run through the row; cut, rows are full as well."""
    config = small("pack=40", "pack_rows=3", "batch=40", "packing=unmasked")
    made = task(config.task, **config.parameters)
    batch = made.batch("train", seed=config.seed, step=1, size=40)
    whole, rows = pack(batch, 40, rows=3), prepared(made, config, 1)
    assert rows.documents is None
    assert np.array_equal(rows.tokens, whole.tokens)
    assert np.array_equal(rows.targets, whole.targets)
    assert prepared(made, replace(config, packing="masked"), 1).content_hash == whole.content_hash
    stream = prepared(made, replace(config, packing="cut"), 1)
    inside = np.arange(batch.tokens.shape[1]) < batch.lengths[:, None]
    assert stream.documents is None
    assert stream.tokens.flatten().tolist() == batch.tokens[inside].tolist()[:120]
    assert stream.lengths.tolist() == [40] * 3


@pytest.mark.parametrize("packing", ["masked", "unmasked", "cut"])
def test_every_packing_trains(tmp_path: Path, packing: str) -> None:
    config = small("pack=64", "pack_rows=4", f"packing={packing}", "steps=4", "log_every=1")
    config = override(config, ["evaluation.size=8"])
    train(config, runs=tmp_path, device="cpu")
    records = lines(folder_of(tmp_path, config))
    assert len(records) == 4
    assert all(record["tokens"] <= 256 * number for number, record in enumerate(records, 1))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a compiler")
def test_packed_rows_of_a_fixed_number_are_compiled_once(tmp_path: Path) -> None:
    """Documents have other borders in every step, and graphs do not depend on them."""
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    config = small("pack=64", "pack_rows=4", "torch_compile=true", "steps=5", "log_every=1")
    compiled = override(
        config, ["model.kind=decoder", "model.random_offset=0", "evaluation.size=8"]
    )
    plain = override(compiled, ["torch_compile=false"])
    for each in (compiled, plain):
        train(each, runs=tmp_path, device="cpu")
    assert counters["stats"]["unique_graphs"] == 1
    assert not counters["graph_break"]
    losses = [
        [record["loss"] for record in lines(folder_of(tmp_path, each))]
        for each in (compiled, plain)
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_what_cannot_be_packed_is_refused(tmp_path: Path) -> None:
    for changes in (["pack_rows=2"], ["packing=cut"]):
        with pytest.raises(WeftError, match="is for packed batches"):
            train(small(*changes), runs=tmp_path, device="cpu")
    with pytest.raises(WeftError, match="packing cannot be 'maskd'"):
        small("pack=64", "packing=maskd")
    with pytest.raises(WeftError, match="rows of 3 tokens have no room"):
        train(small("pack=3"), runs=tmp_path, device="cpu")
    with pytest.raises(WeftError, match="different numbers of rows"):
        train(small("pack=64", "cuda_graphs=true"), runs=tmp_path, device="cpu")
    with pytest.raises(WeftError, match="supervision by traces does not pack"):
        train(
            small("pack=64", "supervision.by=traces", "supervision.program=parity"),
            runs=tmp_path,
            device="cpu",
        )


def test_batches_move_with_all_their_tensors() -> None:
    _, batch = label_sets()
    tensors = tensors_of(batch, preset("nano", vocabulary=5))
    moved = tensors.map(lambda tensor: tensor.clone())
    assert isinstance(moved, Tensors)
    assert moved.legal is not None
    assert moved.legal is not tensors.legal
