"""A batch of examples as NumPy arrays, ready for a Transformer.

`targets` stands under `tokens`: what the model should say at that position, -1 where nothing is
asked. For a language model and for a decoder that is the next token, so targets are shifted
already; a model's choices at every position (b l) are compared with them as they are. What a model
that decodes by itself is given is `prompt`: the tokens up to and with the first position with a
target.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from weft.tasks.arrays import Bools, Ints, taken


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Examples, padded with 0 to one length that depends on the split alone.

    Attributes:
        tokens: b l, what the model reads; the decoder, where there is a source.
        lengths: b, how many of the tokens are not padding.
        targets: b l, the class at each position, -1 where there is no loss.
        axes: for each axis the value of every example (b): length, ones, depth...
        source: b l, what an encoder reads; None where there is none.
        source_lengths: b, their lengths.
    """

    tokens: Ints
    lengths: Ints
    targets: Ints
    axes: Mapping[str, Ints] = field(default_factory=dict)
    source: Ints | None = None
    source_lengths: Ints | None = None

    def __len__(self) -> int:
        return len(self.tokens)

    def take(self, chosen: Ints | Bools | slice) -> Batch:
        """The chosen examples."""
        return taken(self, chosen)

    @property
    def prompt(self) -> Ints:
        """How many tokens each example gives before the first one that is asked for (b)."""
        first: Ints = np.argmax(self.targets >= 0, axis=1) + 1
        return first

    @property
    def continues(self) -> bool:
        """Whether each target is the next token: a text that a model continues by itself."""
        inside = np.arange(1, self.tokens.shape[1]) < self.lengths[:, None]
        asked: Bools = (self.targets[:, :-1] >= 0) & inside
        return bool((self.tokens[:, 1:] == self.targets[:, :-1])[asked].all())

    def trimmed(self) -> Batch:
        """Without the columns that are padding in every example."""
        width = int(self.lengths.max(initial=1))
        cut = replace(self, tokens=self.tokens[:, :width], targets=self.targets[:, :width])
        if self.source is None or self.source_lengths is None:
            return cut
        return replace(cut, source=self.source[:, : int(self.source_lengths.max(initial=1))])

    @property
    def content_hash(self) -> str:
        """What is in it, in 64 hexadecimal digits: equal for equal examples in equal order."""
        digest = hashlib.sha256()
        for name in ("tokens", "lengths", "targets", "source", "source_lengths"):
            array = getattr(self, name)
            if array is not None:
                digest.update(f"{name}{array.shape}".encode())
                digest.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
        return digest.hexdigest()
