"""Exact match, by one teacher-forced pass, is what greedy decoding gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from training_runs import folder_of, small

from weft.models import Transformer, generate, initialise, preset
from weft.tasks import Batch, task
from weft.training import evaluate, load_predictions, train
from weft.training.evaluating import decoded, forced

ALPHABET = 8


def copying(rng: np.random.Generator, size: int) -> Batch:
    """A word of one to four letters, a mark (1), and the word again up to an end mark (2)."""
    tokens, targets = np.zeros((size, 10), dtype=np.int64), np.full((size, 10), -1)
    words = rng.integers(3, ALPHABET, (size, 4))
    lengths = rng.integers(1, 5, size)
    for row, (word, length) in enumerate(zip(words, lengths, strict=True)):
        text = [*word[:length], 1, *word[:length]]
        tokens[row, : len(text)] = text
        targets[row, length : 2 * length + 1] = [*word[:length], 2]
    whole = 2 * lengths + 1
    return Batch(tokens=tokens, lengths=whole, targets=targets, axes={"length": lengths})


@pytest.fixture(scope="module")
def decoder() -> Transformer:
    """A decoder that copies some words right and others wrong."""
    model = initialise(Transformer(preset("nano", vocabulary=ALPHABET, position="rotary")))
    optimiser, rng = torch.optim.AdamW(model.parameters(), lr=3e-3), np.random.default_rng(0)
    for _ in range(60):
        batch = copying(rng, 64)
        logits = model(torch.tensor(batch.tokens)).logits
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), torch.tensor(batch.targets).flatten(), ignore_index=-1
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model


def test_one_pass_is_right_exactly_where_greedy_decoding_is(decoder: Transformer) -> None:
    batch = copying(np.random.default_rng(1), 200)
    found = evaluate(decoder, {"train": batch}, batch=64)["train"]
    greedy = []
    for row in range(len(batch)):
        prompt, asked = int(batch.prompt[row]), batch.targets[row][batch.targets[row] >= 0]
        said = generate(decoder, torch.tensor(batch.tokens[row : row + 1, :prompt]), len(asked))
        greedy.append(said[0, prompt:].tolist() == asked.tolist())
    assert 0.1 < np.mean(greedy) < 0.9, "the test wants both"
    assert found.right.tolist() == greedy
    own = decoded(decoder.eval(), batch)
    assert ((own == batch.targets) | (batch.targets < 0)).all(1).tolist() == greedy


def test_randomised_positions_are_decoded() -> None:
    config = preset("nano", vocabulary=ALPHABET, position="randomised+rotary", positions=32)
    model = initialise(Transformer(config)).eval()
    assert not forced(model)
    batch = copying(np.random.default_rng(1), 5)
    found = evaluate(model, {"train": batch})["train"]
    for row in range(len(batch)):
        prompt, count = int(batch.prompt[row]), int((batch.targets[row] >= 0).sum())
        said = generate(model, torch.tensor(batch.tokens[row : row + 1, :prompt]), count)
        chosen = found.chosen[row, prompt - 1 : prompt - 1 + count]
        assert chosen.tolist() == said[0, prompt:].tolist()


def test_one_pass_of_an_encoder_decoder_is_greedy_decoding_too() -> None:
    config = preset("nano", vocabulary=6, position="rotary", kind="encoder-decoder")
    model = initialise(Transformer(config)).eval()
    with torch.no_grad():  # large weights: answers that depend on everything
        for weight in model.parameters():
            weight.mul_(4)
    rng = np.random.default_rng(0)
    source, size = rng.integers(1, 6, (300, 5)), 300
    batch = Batch(
        tokens=np.concatenate([np.ones((size, 1)), source[:, :2]], 1).astype(np.int64),
        lengths=np.full(size, 3),
        targets=source[:, :3],
        source=source,
        source_lengths=rng.integers(1, 6, size),
    )
    found = evaluate(model, {"train": batch}, batch=100)["train"]
    greedy = (decoded(model, batch) == batch.targets).all(1)
    assert 0 < greedy.sum() < size
    assert found.right.tolist() == greedy.tolist()


def test_the_loss_is_the_mean_over_all_targets(decoder: Transformer) -> None:
    batch = copying(np.random.default_rng(2), 30)
    with torch.no_grad():
        logits = decoder(torch.tensor(batch.tokens)).logits.double().log_softmax(-1).numpy()
    rows, columns = np.nonzero(batch.targets >= 0)
    wanted = -logits[rows, columns, batch.targets[rows, columns]].mean()
    assert evaluate(decoder, {"x": batch}, batch=7)["x"].loss == pytest.approx(wanted, rel=1e-5)


def test_predictions_keep_their_axes(tmp_path: Path) -> None:
    config = small("steps=30", "log_every=10")
    result = train(config, runs=tmp_path, device="cpu")
    parity = task("parity", format="tag")
    for split in parity.tested:
        path = folder_of(tmp_path, config) / f"predictions/{split}.npz"
        found = load_predictions(path)
        tests = parity.test_set(split, 32)
        assert found.split == split
        assert found.batch.content_hash == tests.content_hash
        assert found.accuracy == result.accuracy[split]
        assert found.loss == result.loss[split]
        lengths = found.batch.axes["length"]
        for length, share in found.by("length").items():
            assert share.count == (lengths == length).sum()
            assert share.right == found.right[lengths == length].sum()
        with np.load(path, allow_pickle=False) as stored:
            assert stored["right"].tolist() == found.right.tolist()
            assert set(stored["axis.ones"]) == set(tests.axes["ones"])
