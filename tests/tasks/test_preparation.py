"""Training batches as the steps of a run need them, and as worker processes send them."""

from __future__ import annotations

import io

import numpy as np
import pytest

from weft.tasks import Batch, pack, task
from weft.tasks.preparation import Preparation
from weft.tasks.worker import read_batch, write_batch


def test_batches_are_trimmed_packed_or_left() -> None:
    made = task("copy")
    drawn = made.batch("train", 3, 5, 20)
    plain = Preparation(seed=3, size=20)
    assert plain.batch(made, 5).content_hash == drawn.trimmed().content_hash
    untrimmed = Preparation(seed=3, size=20, trim=False).batch(made, 5)
    assert untrimmed.content_hash == drawn.content_hash
    packed = Preparation(seed=3, size=20, pack=128).batch(made, 5)
    assert packed.content_hash == pack(drawn, 128).content_hash
    rows = Preparation(seed=3, size=20, pack=128, rows=9).batch(made, 5)
    assert rows.tokens.shape == (9, 128)


@pytest.mark.parametrize("packing", ["unmasked", "cut"])
def test_rows_without_document_masks_are_one_text(packing: str) -> None:
    made = task("copy")
    found = Preparation(seed=0, size=30, pack=100, packing=packing).batch(made, 1)  # type: ignore[arg-type]
    assert found.documents is None
    drawn = made.batch("train", 0, 1, 30)
    assert found.lengths.sum() == drawn.lengths.sum()
    assert (found.targets >= 0).sum() == (drawn.targets >= 0).sum()
    if packing == "cut":
        text = np.concatenate([r[:n] for r, n in zip(drawn.tokens, drawn.lengths, strict=True)])
        assert (found.tokens.ravel()[: len(text)] == text).all()


BATCHES = {
    "plain": lambda: task("copy").batch("train", 0, 0, 5),
    "packed": lambda: pack(task("copy").batch("train", 0, 0, 5), 128),
    "source": lambda: task("copy", format="seq2seq").batch("train", 0, 0, 5),
    "label sets": lambda: task("dyck", format="next").batch("train", 0, 0, 5),
}


@pytest.mark.parametrize("name", BATCHES)
def test_batches_are_read_as_they_were_written(name: str) -> None:
    batch = BATCHES[name]()
    file = io.BytesIO()
    write_batch(file, batch)
    write_batch(file, batch)
    file.seek(0)
    for _ in range(2):
        found = read_batch(file)
        assert found is not None
        assert found.content_hash == batch.content_hash
        assert found.axes == {}
    assert read_batch(file) is None


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_batch_that_ends_early_is_none(share: float) -> None:
    file = io.BytesIO()
    write_batch(file, task("copy").batch("train", 0, 0, 5))
    text = file.getvalue()
    assert read_batch(io.BytesIO(text[: int(share * len(text))])) is None


def test_an_empty_batch_is_sent() -> None:
    empty = Batch(*(), tokens=np.zeros((0, 3), np.int64), lengths=np.zeros(0, np.int64),
                  targets=np.zeros((0, 3), np.int64))  # fmt: skip
    file = io.BytesIO()
    write_batch(file, empty)
    file.seek(0)
    found = read_batch(file)
    assert found is not None
    assert found.tokens.shape == (0, 3)
