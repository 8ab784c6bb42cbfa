"""Numbers and sets as one-hot sums: the first hidden layer of programs that have any.

A number gets a threshold unit for each border between its buckets: its bucket is i if threshold i
is on and the next one is off. A set gets a unit for each of its legal values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weft.compiler.problem import Problem
from weft.errors import WeftError
from weft.language.ranges import Number, Subset
from weft.weights.circuit import Circuit, Sum, Unit
from weft.weights.precision import Format, Ramp, bucket_ramps, mean_ramps


class Expansion:
    """Units that read numbers and sets, created when first needed."""

    def __init__(
        self, problem: Problem, circuit: Circuit, longest: int | None, format_: Format
    ) -> None:
        self.problem, self.circuit = problem, circuit
        self.longest, self.format = longest, format_
        self._thresholds: dict[str, list[Unit]] = {}

    def weighted(self, name: str, weights: Mapping[Any, int]) -> Sum:
        """A function of a number's bucket, or of a set."""
        range_ = self.problem.program.variables[name].range
        if isinstance(range_, Number):
            return self._weighted_number(name, [weights.get(v, 0) for v in range_.values])
        assert isinstance(range_, Subset)
        total = Sum()
        for value, weight in weights.items():
            if weight:
                total = total.plus(Sum(units=((self._set_unit(name, range_, value), weight),)))
        return total

    def _weighted_number(self, name: str, weights: list[int]) -> Sum:
        total = Sum(bias=weights[0])
        for place, unit in enumerate(self.thresholds(name), 1):
            rise = weights[place] - weights[place - 1]
            if rise:
                total = total.plus(Sum(units=((unit, rise),)))
        return total

    def thresholds(self, name: str) -> list[Unit]:
        """The unit of each border between the buckets of a number."""
        if name not in self._thresholds:
            self._thresholds[name] = [
                self.circuit.raw_unit(
                    [(name, 0, 1 / (ramp.high - ramp.low))],
                    -ramp.low / (ramp.high - ramp.low),
                    f"{name} above {ramp.low:.4g}",
                )
                for ramp in self.ramps(name)
            ]
        return self._thresholds[name]

    def ramps(self, name: str) -> list[Ramp]:
        """The ramps of the thresholds of a number."""
        program = self.problem.program
        range_ = program.variables[name].range
        assert isinstance(range_, Number)
        if not program.variables[name].is_head:
            return bucket_ramps(name, range_, self.format)
        if self.longest is None:
            raise WeftError(
                f"'{name}' averages over a sequence, whose length must be known",
                subject=program.name,
                remedy="Give the longest input (--max-length N)",
            )
        value = program.variables[program.heads[name].value].range
        assert isinstance(value, Number)
        return mean_ramps(name, value, range_, self.longest, self.format)

    def _set_unit(self, name: str, range_: Subset, value: frozenset[int]) -> Unit:
        entries = [(name, item, 1.0 if item in value else -1.0) for item in range(range_.size)]
        return self.circuit.raw_unit(entries, 1.0 - len(value), f"{name} is {sorted(value)}")

    def clear_exactly(self, name: str) -> None:
        """Add units that subtract a head's number from the stream, exactly.

        A power of two brings it into 0..1/2 and back without rounding, which leaves room for a mean
        that was rounded up; a second unit does the same for negative numbers.
        """
        range_ = self.problem.program.variables[self.problem.program.heads[name].value].range
        assert isinstance(range_, Number)
        largest = max(abs(bucket) for bucket in range_.buckets)
        scale = 1.0
        while scale * largest > 0.5:
            scale /= 2
        for sign in (1, -1):
            if any(sign * bucket > 0 for bucket in range_.buckets):
                unit = self.circuit.raw_unit([(name, 0, sign * scale)], 0.0, f"clear {name}")
                self.circuit.write_raw(unit, name, -sign / scale)
