"""Text formats: which classes an answer has, by mode."""

from __future__ import annotations

import numpy as np
import pytest

from weft.errors import WeftError
from weft.language.vocabulary import Vocabulary
from weft.models.text import Mode, TokenFormat
from weft.models.transformer import Transformer
from weft.weights.emit import EmbeddingTables, emit
from weft.weights.layers import LayerMatrices, no_feed_forward, no_heads

CLASSES = ("x", "y", "end")


def model() -> Transformer:
    """The token a scores x 2 and y 3, the token b scores nothing, and the end scores 1."""
    embedding = np.array([[2.0, 3.0, 1.0], [0.0, 0.0, 1.0]])
    layer = LayerMatrices(no_heads(3), no_feed_forward(3))
    made = emit([layer], EmbeddingTables(embedding, np.eye(3)), causal=True)
    made.vocabulary = Vocabulary(names=("a", "b"), size=2)
    return made


@pytest.mark.parametrize(
    ("mode", "text", "outputs"),
    [
        ("every", "aa", ("y", "y")),
        ("every", "aba", ("y",)),  # cut off at the end
        ("last", "ba", ("y",)),
        ("allowed", "ba", ("x", "y")),
        ("allowed", "ab", ("end",)),
    ],
)
def test_the_classes_of_an_answer(mode: Mode, text: str, outputs: tuple[str, ...]) -> None:
    format_ = TokenFormat(mode=mode, classes=CLASSES, end=2)
    run = format_.run(model(), text)
    assert run.outputs == outputs
    assert run.result == " ".join(outputs)


def test_allowed_classes_are_those_above_the_end() -> None:
    format_ = TokenFormat(mode="allowed", classes=CLASSES)
    with pytest.raises(WeftError, match="mode 'allowed' and no class 'end'"):
        format_.check(2, 3)
