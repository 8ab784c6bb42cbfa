"""Exact match, by one teacher-forced pass, is what greedy decoding gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from training_runs import folder_of, small

from weft.models import Transformer, TransformerConfig, generate, initialise, preset
from weft.tasks import Batch, score, task
from weft.training import evaluate, load_predictions, train
from weft.training.data import tensors_of
from weft.training.evaluation import decoded, teacher_forcing_decides

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
    assert not teacher_forcing_decides(model)
    batch = copying(np.random.default_rng(1), 5)
    found = evaluate(model, {"train": batch})["train"]
    for row in range(len(batch)):
        prompt, count = int(batch.prompt[row]), int((batch.targets[row] >= 0).sum())
        said = generate(model, torch.tensor(batch.tokens[row : row + 1, :prompt]), count)
        chosen = found.chosen[row, prompt - 1 : prompt - 1 + count]
        assert chosen.tolist() == said[0, prompt:].tolist()


def halting(how: Literal["sequence", "position"]) -> Transformer:
    """A decoder of random weights that runs one to six layers, by what it reads."""
    config = TransformerConfig(
        vocabulary=ALPHABET, outputs=ALPHABET, width=16, heads=2, hidden=(32,), kind="decoder",
        position="rotary", activation="gelu", layers=1, loops=6, halt=0, halting=how,
    )  # fmt: skip
    model = initialise(Transformer(config), "fan-in", seed=1).eval()
    layer = model.layers[0]
    with torch.no_grad():  # a token halts after 0 to 5 layers: its embedding says when
        layer.attention.output[..., 0] = 0
        layer.feed_forward.weights[-1][0] = 0
        layer.feed_forward.biases[-1][0] = 1
        model.embedding[:, 0] = torch.linspace(-4.4, 0.6, ALPHABET)
    return model


@torch.no_grad()
def greedily(model: Transformer, text: list[int], count: int) -> list[int]:
    """So many more tokens, each the likeliest after a pass over the whole text so far, alone."""
    for _ in range(count):
        logits = model(torch.tensor([text])).logits[0, -1]
        text = [*text, int(logits.argmax())]
    return text[len(text) - count :]


def said_by(model: Transformer, size: int) -> Batch:
    """Prompts with what greedy decoding makes of them as the answer, so that all of it is right."""
    rng = np.random.default_rng(0)
    tokens, targets = np.zeros((size, 9), dtype=np.int64), np.full((size, 9), -1)
    lengths = rng.integers(2, 6, size)
    for row, length in enumerate(lengths):
        prompt = rng.integers(3, ALPHABET, length).tolist()
        answer = greedily(model, prompt, 4)
        tokens[row, : length + 3] = [*prompt, *answer[:-1]]
        targets[row, length - 1 : length + 3] = answer
    return Batch(tokens=tokens, lengths=lengths + 3, targets=targets)


def test_decoders_that_halt_by_sequence_are_decoded() -> None:
    model = halting("sequence")
    batch = said_by(model, 60)
    with torch.no_grad():
        out = model(torch.tensor(batch.tokens), torch.tensor(batch.lengths))
    assert len(out.layers.unique()) > 1, "the test wants texts that halt at different layers"
    one_pass = score(batch, out.logits.argmax(-1).numpy())
    assert 0.1 < one_pass.mean() < 0.9, "the test wants a model of which one pass says else"
    found = evaluate(model, {"train": batch}, batch=17)["train"]
    assert found.accuracy == 1.0
    tokens, targets, rows = batch.tokens.copy(), batch.targets.copy(), np.arange(60)
    wrong = (targets[rows, batch.prompt - 1] + 1) % ALPHABET  # what it does not say stays wrong
    tokens[rows, batch.prompt] = targets[rows, batch.prompt - 1] = wrong
    others = replace(batch, tokens=tokens, targets=targets)
    assert evaluate(model, {"train": others})["train"].accuracy == 0.0


def test_decoders_whose_positions_halt_alone_need_one_pass() -> None:
    model = halting("position")
    assert teacher_forcing_decides(model)
    assert evaluate(model, {"train": said_by(model, 40)}, batch=17)["train"].accuracy == 1.0


@pytest.mark.parametrize("changes", [{"position": "randomised+rotary", "positions": 32}, {}])
def test_answers_under_the_tokens_of_a_question_are_not_fed_back(changes: dict[str, Any]) -> None:
    model = halting("sequence")
    if changes:
        config = preset("nano", vocabulary=ALPHABET, **changes)
        model = initialise(Transformer(config), "fan-in").eval()
    rng = np.random.default_rng(0)
    tokens, lengths = rng.integers(1, ALPHABET, (30, 6)), rng.integers(2, 7, 30)
    tokens = np.where(np.arange(6) < lengths[:, None], tokens, 0)
    targets = np.full((30, 6), -1)
    for row, length in enumerate(lengths):
        with torch.no_grad():
            whole = model(torch.tensor(tokens[row : row + 1, :length]), lengths_of(length)).logits
        targets[row, :length] = whole[0].argmax(-1)
    batch = Batch(tokens=tokens, lengths=lengths, targets=targets)
    assert not batch.continues
    assert evaluate(model, {"train": batch}, batch=7)["train"].accuracy == 1.0


def lengths_of(length: int) -> torch.Tensor:
    return torch.tensor([length])


def test_padding_does_not_keep_a_decoder_from_halting() -> None:
    model = halting("sequence")
    batch = said_by(model, 20)
    given = tensors_of(batch, model.config)
    assert given.lengths is not None
    assert given.lengths.tolist() == batch.lengths.tolist()


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
