"""Attention, proved by its margins.

For every value of the query and every value of the key, a match must score above the sink, and
anything else below it, by more than what makes a softmax weight underflow to nothing. Then a head
that selects one position copies its value exactly, and one that selects none adds nothing, at every
length.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.compiler.matrices import encoding
from weft.compiler.problem import Problem
from weft.language.program import Head
from weft.language.ranges import Number
from weft.models.config import TransformerConfig
from weft.models.layout import Layout, Slot

Array = NDArray[Any]

UNDERFLOW = {"float32": 104.0, "bfloat16": 104.0, "float64": 746.0}
"""From which x on e^-x is 0. Softmax computes bfloat16 in float32."""


@dataclass(frozen=True)
class HeadsProof:
    """The attention weights of a model, against the heads of its program."""

    tensors: Mapping[str, Array]
    problem: Problem
    layout: Layout
    config: TransformerConfig
    level: int

    def find_wrong(self) -> str:
        """What is wrong with a head; nothing where all are right."""
        heads = list(self.problem.heads.values())
        for number, head in enumerate(heads):
            wrong = self._wrong_head(number, head)
            if wrong:
                return f"head '{head.name}': {wrong}"
        return self._wrong_cancelling(range(len(heads), self.config.heads))

    def _matrix(self, name: str, number: int) -> Array:
        found: Array = self.tensors[f"layers.0.attention.{name}"][number]
        return found

    def _wrong_head(self, number: int, head: Head) -> str:
        value, output = self.layout[head.value], self.layout[head.name]
        moved = self._matrix("value", number) @ self._matrix("output", number)
        wanted = np.zeros_like(moved)
        for place in range(value.size):
            wanted[value.start + place, output.start + place] = 1
        if (moved != wanted).any():
            return "it does not copy its value to its output"
        return self._wrong_scores(number, head)

    def _wrong_scores(self, number: int, head: Head) -> str:
        query, key = self._matrix("query", number), self._matrix("key", number)
        for role, name, matrix in (("query", head.query, query), ("key", head.key, key)):
            mine = np.zeros(len(matrix), bool)
            if name is not None:
                mine[self.layout[name].dimensions] = True
            if matrix[~mine].any():
                return f"its {role} reads other variables"
        match, other = self._scores(head, query, key)
        sink = float(self.tensors["layers.0.attention.sink"][number])
        margin = UNDERFLOW[self.config.dtype]
        for offset, bias in self._biases(number):
            allowed = head.offsets is None or offset in head.offsets
            low, high = (match, other) if allowed else (None, max(match or 0.0, other or 0.0))
            if low is not None and not low + bias - sink >= margin:
                return f"a match at offset {offset} is not above the sink by {margin:g}"
            if high is not None and not high + bias - sink <= -margin:
                return f"what is no match at offset {offset} is not below the sink by {margin:g}"
        return ""

    def _scores(self, head: Head, query: Array, key: Array) -> tuple[float | None, float | None]:
        """The least score of a match, and the greatest of anything else."""
        if head.query is None or head.key is None:
            return 0.0, None
        asked = self._encoded(self.layout[head.query]) @ query
        held = self._encoded(self.layout[head.key]) @ key
        scores = asked @ held.T
        values = self.problem.program.variables[head.query].range.values
        keys = range(len(held))
        matches = np.asarray(
            [[k in q if isinstance(q, frozenset) else k == q for k in keys] for q in values]
        )
        yes, no = scores[matches], scores[~matches]
        return (float(yes.min()) if yes.size else None, float(no.max()) if no.size else None)

    def _encoded(self, slot: Slot) -> Array:
        count = len(self.problem.program.variables[slot.name])
        rows = np.zeros((count, self.layout.width))
        for code in range(count):
            for place, amount in encoding(slot, code).items():
                rows[code, place] = amount
        return rows

    def _biases(self, number: int) -> list[tuple[int, float]]:
        """Each offset with its bias; the outermost stand for all beyond."""
        window = self.config.offsets
        if window is None:
            return [(0, 0.0)]
        row = self._matrix("bias", number)
        return [(place - window - 1, float(bias)) for place, bias in enumerate(row)]

    def _cancelled(self) -> list[str]:
        variables = self.problem.program.variables
        numbers = [n for n in self.problem.heads if isinstance(variables[n].range, Number)]
        others = [n for n in self.problem.heads if n not in numbers]
        return numbers if self.level == 0 else others

    def _wrong_cancelling(self, numbers: range) -> str:
        """The heads behind those of the program take away what these wrote a layer ago."""
        wanted = np.zeros((self.layout.width, self.layout.width))
        for name in self._cancelled():
            slot = self.layout[name]
            places = np.arange(slot.start, slot.start + slot.size)
            wanted[places, places] = -1
        moved = np.zeros_like(wanted)
        for number in numbers:
            moved += self._matrix("value", number) @ self._matrix("output", number)
            wrong = self._wrong_place(number)
            if wrong:
                return wrong
        if (moved != wanted).any():
            return "the cancelling heads do not take away what the heads wrote"
        return ""

    def _wrong_place(self, number: int) -> str:
        """A cancelling head attends to its own position alone."""
        if self._matrix("query", number).any() or self._matrix("key", number).any():
            return "a cancelling head looks at something"
        sink = float(self.tensors["layers.0.attention.sink"][number])
        margin = UNDERFLOW[self.config.dtype]
        for offset, bias in self._biases(number):
            if offset == 0 and not bias - sink >= margin:
                return "a cancelling head does not attend to its own position"
            if offset != 0 and not bias - sink <= -margin:
                return "a cancelling head attends to other positions"
        return ""
