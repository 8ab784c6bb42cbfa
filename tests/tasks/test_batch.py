"""Batches: rows, label sets, and documents packed into rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.tasks import Batch, pack, score, task
from weft.tasks.arrays import joined, taken

CLASSES = 5
texts = st.lists(st.lists(st.integers(1, 4), min_size=1, max_size=7), min_size=1, max_size=12)


def batch_of(lists: list[list[int]], *, sets: bool = False) -> Batch:
    """Texts with the class token % 5 under each token, every third one not scored."""
    width = max(map(len, lists))
    tokens, targets = np.zeros((2, len(lists), width), dtype=np.int64)
    targets -= 1
    legal = np.zeros((len(lists), width, CLASSES), dtype=np.bool_)
    for row, text in enumerate(lists):
        tokens[row, : len(text)] = text
        for place, token in enumerate(text):
            targets[row, place] = -1 if place % 3 == 2 else (token + place) % CLASSES
            legal[row, place, [(token + place) % CLASSES, token % CLASSES]] = True
    lengths = np.array([len(text) for text in lists])
    return Batch(
        tokens=tokens,
        lengths=lengths,
        targets=targets,
        legal=legal if sets else None,
        axes={"length": lengths, "first": tokens[:, 0]},
    )


def documents_of(batch: Batch) -> list[list[tuple[int, int, tuple[int, ...], int]]]:
    """Token, target, label set and position of every token, by document, read cell by cell."""
    assert batch.documents is not None
    positions = batch.positions
    found: dict[int, list[Any]] = {}
    for row in range(len(batch)):
        for place in range(batch.tokens.shape[1]):
            number = int(batch.documents[row, place])
            if number < 0:
                assert batch.tokens[row, place] == 0
                assert batch.targets[row, place] == -1
                continue
            legal: tuple[int, ...] = ()
            if batch.legal is not None:
                legal = tuple(np.flatnonzero(batch.legal[row, place]).tolist())
            cell = int(batch.tokens[row, place]), int(batch.targets[row, place]), legal
            found.setdefault(number, []).append((*cell, int(positions[row, place])))
    return [found[number] for number in sorted(found)]


@given(texts, st.integers(7, 20), st.booleans())
def test_packed_documents_are_the_examples(lists: list[list[int]], length: int, sets: bool) -> None:
    batch = batch_of(lists, sets=sets)
    packed = pack(batch, length)
    assert packed.tokens.shape[1] == length
    assert packed.example_count == len(lists)
    found = documents_of(packed)
    for row, document in enumerate(found):
        assert [token for token, _, _, _ in document] == lists[row]
        assert [target for _, target, _, _ in document] == [
            -1 if place % 3 == 2 else (token + place) % CLASSES
            for place, token in enumerate(lists[row])
        ]
        assert [place for _, _, _, place in document] == list(range(len(lists[row])))
        if sets:
            assert [legal for _, _, legal, _ in document] == [
                tuple(sorted({(token + place) % CLASSES, token % CLASSES}))
                for place, token in enumerate(lists[row])
            ]
    assert packed.documents is not None
    for row in range(len(packed)):  # no document lies in two rows, and padding comes last
        there = packed.documents[row]
        assert packed.lengths[row] == (there >= 0).sum() > 0
        assert (there[: packed.lengths[row]] >= 0).all()
    rows_of = [set(np.nonzero(packed.documents == n)[0].tolist()) for n in range(len(lists))]
    assert all(len(rows) == 1 for rows in rows_of)


@given(texts, st.integers(7, 20))
def test_rows_cannot_be_merged_after_packing(lists: list[list[int]], length: int) -> None:
    """Best fit opens a row only if the example fits nowhere, so no two rows fit into one."""
    lengths = sorted(pack(batch_of(lists), length).lengths.tolist())
    assert len(lengths) < 2 or lengths[0] + lengths[1] > length


@given(texts, st.integers(1, 20))
def test_cut_documents_make_one_stream(lists: list[list[int]], length: int) -> None:
    packed = pack(batch_of(lists), length, cut=True)
    stream = [(token, number) for number, text in enumerate(lists) for token in text]
    assert packed.documents is not None
    inside = packed.documents >= 0
    found = zip(packed.tokens[inside].tolist(), packed.documents[inside].tolist(), strict=True)
    assert list(found) == stream
    assert (packed.lengths[:-1] == length).all()
    assert packed.lengths.sum() == len(stream)


@given(texts, st.integers(7, 20), st.integers(1, 6), st.booleans())
def test_a_fixed_number_of_rows_holds_the_first_examples(
    lists: list[list[int]], length: int, rows: int, cut: bool
) -> None:
    """Whole ones, and as many as best fit places; of a stream, what is left of the last one."""
    packed = pack(batch_of(lists), length, cut=cut, rows=rows)
    assert packed.tokens.shape == packed.targets.shape == (rows, length)
    found, count = documents_of(packed), packed.example_count
    assert all(len(values) == count for values in packed.axes.values())
    whole = found[:-1] if cut else found
    assert [[token for token, *_ in document] for document in whole] == lists[: len(whole)]
    if cut:
        stream = [token for text in lists for token in text][: rows * length]
        assert [token for document in found for token, *_ in document] == stream
    elif count < len(lists):
        assert len(pack(batch_of(lists[: count + 1]), length)) >= rows
        assert packed.lengths.min() > length // 2 - 7  # the longest example has 7 tokens
    else:
        assert np.array_equal(
            packed.tokens[packed.lengths > 0], pack(batch_of(lists), length).tokens
        )


@given(texts, st.randoms(use_true_random=False), st.booleans(), st.booleans())
def test_packed_documents_are_scored_as_if_alone(
    lists: list[list[int]], rng: Any, sets: bool, cut: bool
) -> None:
    batch = batch_of(lists, sets=sets)
    packed = pack(batch, 9, cut=cut)
    chosen = np.array([[rng.randrange(CLASSES) for _ in row] for row in packed.tokens.tolist()])
    easy = np.where((packed.targets >= 0) & (rng.random() < 0.7), packed.targets, chosen)
    assert packed.documents is not None
    expected = []
    for number in range(len(lists)):
        cells = np.argwhere(packed.documents == number).tolist()
        good = True
        for row, place in cells:
            target, choice = packed.targets[row, place], easy[row, place]
            legal = {int(target)}
            if packed.legal is not None:
                legal = set(np.flatnonzero(packed.legal[row, place]).tolist())
            good &= target < 0 or int(choice) in legal
        expected.append(good)
    assert score(packed, easy).tolist() == expected


@given(texts, st.randoms(use_true_random=False))
def test_rows_of_a_packed_batch_keep_their_documents_and_axes(
    lists: list[list[int]], rng: Any
) -> None:
    packed = pack(batch_of(lists, sets=True), 9)
    chosen = [row for row in range(len(packed)) if rng.random() < 0.6]
    part = packed.take(np.array(chosen, dtype=np.int64))
    assert packed.documents is not None
    kept = sorted(set(packed.documents[chosen].flatten().tolist()) - {-1})
    every = documents_of(packed)
    assert documents_of(part) == [every[number] for number in kept]
    assert part.axes["first"].tolist() == [lists[number][0] for number in kept]
    assert part.example_count == len(kept)


def test_packing_refuses_what_has_no_room_or_a_source() -> None:
    batch = batch_of([[1, 2, 3], [4]])
    with pytest.raises(WeftError, match="at least 3, or cut=True"):
        pack(batch, 2)
    with pytest.raises(WeftError, match="packed already"):
        pack(pack(batch, 4), 8)
    with pytest.raises(WeftError, match="have a source"):
        pack(task("copy", format="seq2seq").batch("train", 0, 0, 4), 100)


def test_label_sets_have_a_shape_and_hold_their_targets() -> None:
    batch = batch_of([[1, 2], [3]], sets=True)
    assert batch.legal is not None
    arrays = {"tokens": batch.tokens, "lengths": batch.lengths, "targets": batch.targets}
    with pytest.raises(WeftError, match=r"Give legal as \(b, l, classes\)"):
        Batch(**arrays, legal=batch.legal[:, :1])
    with pytest.raises(WeftError, match="a target is not in its own label set"):
        Batch(**arrays, legal=~batch.legal)
    with pytest.raises(WeftError, match="a target is not in its own label set"):
        Batch(**arrays, legal=batch.legal[..., :1])


def test_a_text_continues_if_targets_are_the_next_tokens() -> None:
    batch = task("copy").batch("train", 0, 0, 20)
    assert batch.continues
    assert pack(batch, 100).continues
    assert not task("dyck").batch("train", 0, 0, 20).continues
    assert not task("dyck", format="next").batch("train", 0, 0, 20).continues


def test_trimming_keeps_all_but_padding() -> None:
    batch = task("copy", format="seq2seq").batch("train", 0, 0, 3)
    short = batch.trimmed()
    assert batch.source_lengths is not None
    assert short.source is not None
    assert short.source.shape == (3, batch.source_lengths.max())
    width = int(batch.lengths.max())
    assert short.tokens.shape == short.targets.shape == (3, width)
    assert (short.tokens == batch.tokens[:, :width]).all()
    packed = pack(batch_of([[1, 2], [3]], sets=True), 9)
    assert documents_of(packed.trimmed()) == documents_of(packed)
    assert packed.trimmed().tokens.shape == (1, 3)


def test_rows_are_taken_and_joined() -> None:
    batch = batch_of([[1, 2], [3], [4]], sets=True)
    again = joined([taken(batch, np.array([0])), batch.take(slice(1, 3))])
    assert again.content_hash == batch.content_hash
    assert again.axes["length"].tolist() == [2, 1, 1]
    assert again.content_hash != batch.take(np.array([1, 0, 2])).content_hash
    assert batch_of([[1, 2], [3], [4]]).content_hash != batch.content_hash
