"""A batch of examples as NumPy arrays, ready for a model.

`targets` lies under `tokens`: the class that the model should choose at that position, or -1 if the
position is not scored. There are three kinds of targets:

- classes: an answer under each token of the question, or under some of them;
- sequences: the next token, for language models and decoders, so targets are already shifted;
- label sets: several symbols may come next. `legal` holds the set at every position, and `targets`
  the symbol of the set that comes next in the example itself.

Several examples may be packed into one row: `documents` then says which example a token belongs to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from weft.errors import WeftError
from weft.tasks.arrays import Bools, Ints, taken


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Examples, one per row unless they are packed, padded with 0 to one length per split.

    The letters of shapes: b rows, l positions, c classes, n examples (b of them, unless packed).

    Attributes:
        tokens: b l, what the model reads; the decoder's input if there is a source.
        lengths: b, the number of tokens per row without padding.
        targets: b l, the class at each position; -1 if the position is not scored.
        axes: n for each axis, the value of every example: length, ones, depth...
        source: b l, what an encoder reads; None for models without one.
        source_lengths: b, their lengths.
        legal: b l c, the classes that are legal at each position; None unless targets are sets.
        documents: b l, the number of the example that each token belongs to, from 0, and -1 for
            padding; None if each row is one example.
    """

    tokens: Ints
    lengths: Ints
    targets: Ints
    axes: Mapping[str, Ints] = field(default_factory=dict)
    source: Ints | None = None
    source_lengths: Ints | None = None
    legal: Bools | None = None
    documents: Ints | None = None

    def __post_init__(self) -> None:
        if self.legal is None:
            return
        if self.legal.ndim != 3 or self.legal.shape[:2] != self.targets.shape:
            raise WeftError(
                f"legal has the shape {self.legal.shape}, and targets {self.targets.shape}",
                subject="Batch",
                remedy="Give legal as (b, l, classes): which classes are legal at each position",
            )
        if not (_member(self.legal, self.targets) | (self.targets < 0)).all():
            raise WeftError(
                "a target is not in its own label set",
                subject="Batch",
                remedy="Give as target one of the legal classes, or -1 where nothing is scored",
            )

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def scored(self) -> Bools:
        """Which positions have a target (b l)."""
        return np.asarray(self.targets >= 0)

    @property
    def example_count(self) -> int:
        """The number of examples: of rows, or of packed documents."""
        if self.documents is None:
            return len(self.tokens)
        return int(self.documents.max(initial=-1)) + 1

    @property
    def positions(self) -> Ints:
        """The place of each token in its document (b l), from 0; padding counts on."""
        places = np.broadcast_to(np.arange(self.tokens.shape[1]), self.tokens.shape)
        if self.documents is None:
            return places
        begins = np.ones(self.tokens.shape, dtype=np.bool_)
        begins[:, 1:] = self.documents[:, 1:] != self.documents[:, :-1]
        starts: Ints = np.maximum.accumulate(np.where(begins, places, 0), axis=1)
        return places - starts

    def take(self, chosen: Ints | Bools | slice) -> Batch:
        """The chosen rows. Of a packed batch, the documents in these rows, numbered anew."""
        if self.documents is None:
            return taken(self, chosen)
        rows = taken(replace(self, axes={}), chosen)
        assert rows.documents is not None
        kept = np.unique(rows.documents[rows.documents >= 0])
        numbers = np.searchsorted(kept, rows.documents)
        return replace(
            rows,
            documents=np.where(rows.documents >= 0, numbers, -1),
            axes={axis: values[kept] for axis, values in self.axes.items()},
        )

    @property
    def prompt(self) -> Ints:
        """The number of tokens of each row up to and including the first scored position (b)."""
        first: Ints = np.argmax(self.scored, axis=1) + 1
        return first

    @property
    def continues(self) -> bool:
        """Whether each target is the next token, so that a model can decode the rest by itself.

        Never true of label sets, where the example's own next symbol is one of several.
        """
        if self.legal is not None:
            return False
        follows: Bools = np.arange(1, self.tokens.shape[1]) < self.lengths[:, None]
        if self.documents is not None:
            follows = follows & (self.documents[:, 1:] == self.documents[:, :-1])
        scored = self.scored[:, :-1] & follows
        return bool((self.tokens[:, 1:] == self.targets[:, :-1])[scored].all())

    def trimmed(self) -> Batch:
        """The batch without the columns that are padding in every row."""
        width = int(self.lengths.max(initial=1))
        cut = replace(
            self,
            tokens=self.tokens[:, :width],
            targets=self.targets[:, :width],
            legal=None if self.legal is None else self.legal[:, :width],
            documents=None if self.documents is None else self.documents[:, :width],
        )
        if self.source is None or self.source_lengths is None:
            return cut
        return replace(cut, source=self.source[:, : int(self.source_lengths.max(initial=1))])

    @property
    def content_hash(self) -> str:
        """SHA-256 of all arrays but the axes: equal for equal examples in equal order."""
        digest = hashlib.sha256()
        names = ("tokens", "lengths", "targets", "source", "source_lengths", "legal", "documents")
        for name in names:
            array = getattr(self, name)
            if array is not None:
                digest.update(f"{name}{array.shape}".encode())
                digest.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
        return digest.hexdigest()

    def right(self, predictions: Ints | Bools) -> Bools:
        """Which positions (b l) are predicted right; positions that are not scored always are.

        Args:
            predictions: the class chosen at each position (b l), which must be the target, or one
                of the label set; or the predicted set (b l c), which must equal the label set.
        """
        if predictions.shape == self.targets.shape:
            hits = (
                np.asarray(predictions == self.targets)
                if self.legal is None
                else _member(self.legal, predictions.astype(np.int64))
            )
        elif self.legal is not None and predictions.shape == self.legal.shape:
            hits = (predictions == self.legal).all(axis=-1)
        else:
            sets = "" if self.legal is None else f", or one set, {self.legal.shape}"
            raise WeftError(
                f"the predictions have the shape {predictions.shape}, "
                f"and the targets {self.targets.shape}",
                remedy=f"Give one class for each position of the batch{sets}",
            )
        return hits | ~self.scored


def _member(sets: Bools, classes: Ints) -> Bools:
    """Whether each class (b l) is in its set (b l c)."""
    count = sets.shape[-1]
    within = np.clip(classes, 0, max(0, count - 1))[..., None]
    member: Bools = np.take_along_axis(sets, within, axis=-1)[..., 0]
    return np.asarray(member & (classes >= 0) & (classes < count))


def pack(batch: Batch, length: int, *, cut: bool = False, rows: int | None = None) -> Batch:
    """Pack examples into rows of `length` tokens, several per row; `documents` keeps them apart.

    Examples are placed by best fit: from the longest to the shortest, each into the row with the
    least room that suffices. No example is cut, and rows end in padding.

    Args:
        batch: the examples, one per row. Those of an encoder-decoder cannot be packed.
        length: tokens per row.
        cut: concatenate the examples in their order instead and cut them every `length` tokens. An
            example that is cut continues in the next row, and every row but the last is full.
        rows: exactly this many rows: the first examples that fit into them, and rows of padding if
            there are too few.

    Example:
        >>> from weft.tasks import pack, task
        >>> packed = pack(task("copy").batch("train", seed=0, step=0, size=64), 128)
        >>> packed.tokens.shape, packed.example_count
        ((12, 128), 64)
    """
    if batch.source is not None or batch.documents is not None:
        what = "it is packed already" if batch.source is None else "its examples have a source"
        raise WeftError(what, subject="pack", remedy="Give a batch of one example per row")
    longest = int(batch.lengths.max(initial=0))
    if length < 1 or (longest > length and not cut):
        raise WeftError(
            f"rows of {length} tokens have no room for an example of {longest}",
            subject="pack",
            remedy=f"Give a length of at least {max(1, longest)}, or cut=True",
        )
    if rows is not None and not cut:
        batch = batch.take(slice(0, _fitting(batch.lengths, length, rows)))
    example, place = np.nonzero(np.arange(batch.tokens.shape[1]) < batch.lengths[:, None])
    if cut:
        room = len(example) if rows is None else rows * length
        example, place = example[:room], place[:room]
        batch = batch.take(slice(0, int(example.max(initial=-1)) + 1))
        row, column = np.divmod(np.arange(len(example)), length)
    else:
        found, starts = _best_fit(batch.lengths, length)
        row, column = found[example], starts[example] + place
    shape = (int(row.max(initial=-1)) + 1 if rows is None else rows, length)

    def moved(values: Any, padding: int) -> Any:
        packed = np.full(shape + values.shape[2:], padding, dtype=values.dtype)
        packed[row, column] = values[example, place]
        return packed

    documents = np.full(shape, -1, dtype=np.int64)
    documents[row, column] = example
    return Batch(
        tokens=moved(batch.tokens, 0),
        lengths=(documents >= 0).sum(axis=1),
        targets=moved(batch.targets, -1),
        axes=batch.axes,
        legal=None if batch.legal is None else moved(batch.legal, 0),
        documents=documents,
    )


def _fitting(lengths: Ints, room: int, rows: int) -> int:
    """How many of the first examples fit into some rows by best fit."""
    count = int(np.searchsorted(lengths.cumsum(), rows * room, side="right"))
    while count and (beyond := int((_best_fit(lengths[:count], room)[0] >= rows).sum())):
        count -= beyond
    return count


def _best_fit(lengths: Ints, room: int) -> tuple[Ints, Ints]:
    """The row of each example and where in the row it starts, by best fit decreasing."""
    rows, starts = np.zeros((2, len(lengths)), dtype=np.int64)
    free = np.zeros(0, dtype=np.int64)  # tokens left in each row
    for example in np.argsort(-lengths, kind="stable"):
        size = lengths[example]
        fits = np.flatnonzero(free >= size)
        if not len(fits):
            fits, free = np.array([len(free)]), np.append(free, room)
        row = fits[np.argmin(free[fits])]
        rows[example], starts[example] = row, room - free[row]
        free[row] -= size
    return rows, starts
