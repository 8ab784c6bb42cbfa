"""The engine of the batched interpreter: runs sequences through the layers.

n   positions of all sequences together
r   sequences
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.interpreter.batched.batch_run import Snapshot
from weft.interpreter.batched.batched_heads import HeadPlan, Segments, segments_of
from weft.interpreter.batched.plan import StepPlan, code_type
from weft.language.program import Program

Array = NDArray[Any]


@dataclass(frozen=True)
class FirstFailure:
    """The first input of a batch that fails; `halts` is false if it only does not halt."""

    sequence: int
    halts: bool


class Engine:
    """A program prepared for batches."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.heads = [HeadPlan(program, head) for head in program.heads.values()]
        self.types = {
            name: code_type(len(variable) + 1) for name, variable in program.variables.items()
        }

    @cached_property
    def plan(self) -> StepPlan:
        """The step, prepared when the first layer runs."""
        return StepPlan(self.program)

    @staticmethod
    def of(program: Program) -> Engine:
        """The engine of a program, created once and kept with the program."""
        if Engine not in program.derived:
            program.derived[Engine] = Engine(program)
        engine: Engine = program.derived[Engine]
        return engine

    def initial(self, numbers: list[int], segments: Segments) -> tuple[dict[str, Array], Array]:
        """The columns before the first layer, and which positions cannot be initialised."""
        tokens = np.asarray(numbers, np.intp)
        places = np.arange(len(tokens)) - segments.starts[segments.rows]
        failed = np.zeros(len(tokens), bool)
        columns = {}
        for name, variable in self.program.variables.items():
            by = places if variable.position is not None else tokens
            codes = np.zeros(int(by.max(initial=0)) + 1, np.intp)
            for value in np.flatnonzero(np.bincount(by)):
                codes[value] = self._initial_code(name, int(value))
            column = codes[by]
            failed |= column < 0
            columns[name] = np.maximum(column, 0).astype(self.types[name])
        return columns, failed

    def _initial_code(self, name: str, given: int) -> int:
        variable = self.program.variables[name]
        if variable.is_head:
            return len(variable)
        try:
            token = self.program.vocabulary.name(given) if variable.token is not None else None
            value = variable.initial(token, given)
        except Exception:
            return -1
        return variable.range.codes[value]  # type: ignore[index]


class RunningBatch:
    """Sequences that run through the layers together."""

    def __init__(
        self,
        engine: Engine,
        sequences: Array,
        numbers: list[list[int]],
        bounds: Array,
        results: dict[str, Array],
        ran: Array,
    ) -> None:
        self.engine = engine
        self.program = engine.program
        self.bounds, self.results, self.ran = bounds, results, ran
        lengths = np.asarray([len(numbers[s]) for s in sequences], np.intp)
        self.empty = sequences[lengths == 0]
        self.sequences = sequences[lengths > 0]
        self.segments = segments_of(lengths[lengths > 0])
        flat = [number for s in self.sequences for number in numbers[s]]
        self.columns, failed = engine.initial(flat, self.segments)
        self.numbers: dict[str, Array] = {}
        self.running = np.ones(len(self.sequences), bool)
        self.failed: int | None = None
        self.history: list[tuple[Snapshot, Snapshot, Snapshot]] = []
        self._fail(failed)

    def run(self, limit: int, must_halt: bool, trace: bool) -> FirstFailure | None:
        """Run to the end; return the first input that fails, if one does."""
        self.ran[self.empty] = 0 if self.program.definition.halt is not None else limit
        layer = 0
        self._finish(self._halted(), layer)
        while self.running.any() and layer < limit:
            layer += 1
            self._layer(trace)
            self._finish(self._halted(), layer)
        unfinished = self.sequences[self.running]
        if must_halt and len(unfinished) and (self.failed is None or unfinished[0] < self.failed):
            return FirstFailure(int(unfinished[0]), halts=False)
        if self.failed is not None:
            return FirstFailure(self.failed, halts=True)
        self._finish(self.running.copy(), layer)
        return None

    def _layer(self, trace: bool) -> None:
        before = self._snapshot() if trace else None
        for head in self.engine.heads:  # all of them read columns that no head writes
            output = head.run(self.columns, self.segments)
            name = head.head.name
            self.columns[name] = output.codes.astype(self.engine.types[name])
            if output.numbers is not None:
                self.numbers[name] = output.numbers
        attended = self._snapshot() if trace else None
        new, failed = self.engine.plan.run(self.columns)
        for name, codes in new.items():  # a step that fails changes nothing
            kept = codes if failed is None else np.where(failed, self.columns[name], codes)
            self.columns[name] = kept.astype(self.engine.types[name], copy=False)
        if before is not None and attended is not None:
            for name in self.program.heads:
                self.columns[name] = np.full_like(
                    self.columns[name], len(self.program.variables[name])
                )
            self.history.append((before, attended, self._snapshot()))
        if failed is not None:
            self._fail(failed)

    def _snapshot(self) -> Snapshot:
        return Snapshot(
            np.where(self.running, self.sequences, -1),
            self.segments,
            dict(self.columns),
            dict(self.numbers),
        )

    def _halted(self) -> Array:
        """The running sequences all of whose positions have halted."""
        halt = self.program.definition.halt
        if halt is None or not len(self.sequences):
            return np.zeros(len(self.sequences), bool)
        range_ = self.program.variables[halt.variable].range
        there = self.columns[halt.variable] == range_.codes[halt.value]
        return self.running & np.logical_and.reduceat(there, self.segments.starts)

    def _fail(self, positions: Array) -> None:
        """Stop the sequences of these positions, and all after the first of them."""
        rows = self.segments.rows[positions & self.running[self.segments.rows]]
        if len(rows):
            first = int(self.sequences[rows.min()])
            self.failed = first if self.failed is None else min(first, self.failed)
            self.running &= self.sequences < self.failed

    def _finish(self, rows: Array, layer: int) -> None:
        """Store the results of finished sequences; drop them from the batch once they are many."""
        if not rows.any():
            return
        chosen = rows[self.segments.rows]
        within = np.arange(len(chosen)) - self.segments.starts[self.segments.rows]
        target = (self.bounds[self.sequences][self.segments.rows] + within)[chosen]
        for name, result in self.results.items():
            result[target] = self.columns[name][chosen]
        self.ran[self.sequences[rows]] = layer
        self.running &= ~rows
        if self.running.sum() < 0.9 * len(self.running):
            self._drop()

    def _drop(self) -> None:
        kept = self.running[self.segments.rows]
        self.columns = {name: column[kept] for name, column in self.columns.items()}
        self.numbers = {name: column[kept] for name, column in self.numbers.items()}
        self.segments = segments_of(self.segments.lengths[self.running])
        self.sequences = self.sequences[self.running]
        self.running = np.ones(len(self.sequences), bool)
