"""The data set D of the ALTA paper's appendix B.4: every state that a feed-forward is given.

D = <V_1, ..., V_N> holds the variable assignments after attention, at every position of every layer
of a program's runs over some inputs. Most occur many times, so distinct ones are kept with counts.
A state is a row of codes, one for each variable; an undefined head has one code more than values,
and its slot is all zero in the vector e(V) (eq. 1).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.errors import WeftError
from weft.interpreter.batched import POSITIONS_AT_ONCE, BatchRun, in_parts, run_batch
from weft.interpreter.reference import read_input
from weft.language.program import Program, Variable, as_program
from weft.language.ranges import UNDEFINED, Categorical
from weft.language.user_code import sample_input

Ints = NDArray[np.int64]
_KEYS = 1 << 62  # keys of rows stay below this


@dataclass(frozen=True, eq=False)
class States:
    """Distinct states with how often each occurs.

    Attributes:
        variables: the program's variables, in the order of the columns.
        codes: a row a state, a column a variable.
        counts: how often each row occurs in D.
    """

    variables: Mapping[str, Variable]
    codes: Ints
    counts: Ints

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def total(self) -> int:
        """N: the states of D, each as often as it occurs."""
        return int(self.counts.sum())

    def once(self) -> States:
        """The same states, each occurring once."""
        return replace(self, counts=np.ones(len(self), np.int64))

    def vectors(self) -> NDArray[np.float64]:
        """e(V) of every state, a row each (eq. 1): one-hot, all zero where a head is undefined."""
        sizes = [len(variable) for variable in self.variables.values()]
        parts = [
            np.eye(size + 1, size)[column]  # the row after the last is zero: undefined
            for size, column in zip(sizes, self.codes.T, strict=True)
        ]
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(self), 0))

    def values(self, row: int) -> dict[str, Any]:
        """One state, as values by name."""
        return {
            name: (*variable.range.values, UNDEFINED)[code]
            for (name, variable), code in zip(
                self.variables.items(), self.codes[row].tolist(), strict=True
            )
        }

    def listed(self) -> list[dict[str, Any]]:
        """All states, each once, as values by name."""
        return [self.values(row) for row in range(len(self))]


def starts(variables: Mapping[str, Variable]) -> dict[str, int]:
    """m(k, 0) for every variable: its first dimension, variables side by side in order."""
    sizes = [len(variable) for variable in variables.values()]
    return dict(zip(variables, np.cumsum([0, *sizes]).tolist(), strict=False))


def distinct(columns: Sequence[NDArray[Any]], sizes: Sequence[int]) -> tuple[Ints, Ints]:
    """The first place of each distinct row of these columns, and for every row which it is."""
    keys, span = np.zeros(len(columns[0]) if columns else 0, np.int64), 1
    for column, size in zip(columns, sizes, strict=True):
        if span * size >= _KEYS:
            keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
            span = int(keys.max(initial=0)) + 1
        keys = keys * size + column
        span *= size
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return first.astype(np.int64), which.astype(np.int64).reshape(-1)


def states_of(
    program: Program | type[Program],
    inputs: Iterable[str | Iterable[Any]],
    *,
    layers: int | None = None,
) -> States:
    """The states that the feed-forward meets when a program runs on these inputs.

    Example:
        >>> import weft
        >>> from weft.theory.optimum.states import states_of
        >>> met = states_of(weft.program("parity"), ["101", "11"])
        >>> len(met), met.total
        (9, 18)
    """
    program = as_program(program)
    require_categorical(program)
    met = States(program.variables, *_nothing(len(program.variables)))
    tokens = (read_input(program, given) for given in inputs)
    for part in in_parts(filter(None, tokens), POSITIONS_AT_ONCE):  # empty ones have no states
        run = run_batch(program, part, layers=layers, trace=True)
        met = merged([met, *_attended(program, run)])
    return met


def sample_inputs(
    program: Program, count: int, longest: int, seed: int = 0, layers: int | None = None
) -> list[Sequence[Any]]:
    """Random inputs of up to so many tokens, without those on which the program fails."""
    rng = random.Random(seed)
    drawn: list[Sequence[Any]] = [
        sample_input(program, rng, rng.randint(1, longest)) for _ in range(count)
    ]
    if _runs(program, drawn, layers):
        return drawn
    fitting = [tokens for tokens in drawn if _runs(program, [tokens], layers)]
    if not fitting:
        raise WeftError(
            f"none of {count} random inputs ran without an error",
            subject=program.name,
            remedy="Give inputs of your own, or override `sample(self, rng, length)`",
        )
    return fitting


def _runs(program: Program, inputs: list[Sequence[Any]], layers: int | None) -> bool:
    try:
        run_batch(program, inputs, layers=layers)
    except WeftError:
        return False
    return True


def states_from(variables: Mapping[str, Variable], given: Iterable[Mapping[str, Any]]) -> States:
    """States listed as values by name, counted."""
    columns = [{**v.range.codes, UNDEFINED: len(v)} for v in variables.values()]
    rows = [
        [codes[state[name]] for name, codes in zip(variables, columns, strict=True)]
        for state in given
    ]
    codes = np.array(rows, np.int64).reshape(len(rows), len(columns))
    return merged([States(variables, codes, np.ones(len(rows), np.int64))])


def merged(parts: Sequence[States]) -> States:
    """All states of some data sets together."""
    variables = parts[0].variables
    codes = np.concatenate([part.codes for part in parts])
    counts = np.concatenate([part.counts for part in parts])
    first, which = distinct(list(codes.T), [len(v) + 1 for v in variables.values()])
    total = np.zeros(len(first), np.int64)
    np.add.at(total, which, counts)
    return States(variables, codes[first], total)


def require_categorical(program: Program) -> None:
    """The appendix speaks of categorical variables alone (B.1)."""
    for name, variable in program.variables.items():
        if not isinstance(variable.range, Categorical):
            raise WeftError(
                f"'{name}' is a {type(variable.range).__name__.lower()}; the theorems on compiled "
                "weights are about categorical variables alone",
                subject=program.name,
                where=variable.where,
                remedy="Choose a program all of whose variables are categorical",
            )


def _nothing(width: int) -> tuple[Ints, Ints]:
    return np.zeros((0, width), np.int64), np.zeros(0, np.int64)


def _attended(program: Program, run: BatchRun) -> Iterator[States]:
    """The distinct states of each layer of a run."""
    for layer in range(1, max(run.layers, default=0) + 1):
        found = run.states(layer, "attended")
        columns = [found[name].astype(np.int64) for name in program.variables]
        codes = np.stack(columns, axis=1)
        yield merged([States(program.variables, codes, np.ones(len(codes), np.int64))])
