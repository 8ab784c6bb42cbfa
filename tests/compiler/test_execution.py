"""Models on batches of inputs of different lengths."""

from __future__ import annotations

import weft
from weft.compiler.execution import input_numbers, run_model


def test_padding_changes_nothing() -> None:
    program = weft.program("addition")
    model = weft.compile(program).model
    texts = ["1+2", "12345+67890"]
    together = run_model(model, input_numbers(program, map(program.encode, texts)))
    for text, outputs in zip(texts, together.outputs, strict=True):
        alone = run_model(model, input_numbers(program, [program.encode(text)]))
        assert alone.outputs == [outputs]
