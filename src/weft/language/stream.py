"""The symbolic stream: what every variable holds at every position, at one moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from weft.errors import WeftError
from weft.language.program import Program
from weft.language.ranges import Undefined, Value

Cell = Value | Undefined


class Stream(Mapping[str, tuple[Cell, ...]]):
    """A mapping from variable to its values, one per position. `stream["parity"][2]` is one."""

    def __init__(self, columns: Mapping[str, tuple[Cell, ...]]) -> None:
        self._columns = dict(columns)

    def __getitem__(self, variable: str) -> tuple[Cell, ...]:
        return self._columns[variable]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def positions(self) -> int:
        """How many positions there are."""
        return len(next(iter(self._columns.values()), ()))

    def at(self, position: int) -> dict[str, Any]:
        """The state of one position."""
        return {name: column[position] for name, column in self._columns.items()}

    def replaced(self, columns: Mapping[str, tuple[Cell, ...]]) -> Stream:
        """A stream in which these columns are others."""
        return Stream({**self._columns, **columns})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self._columns == other._columns

    def __hash__(self) -> int:
        return hash(tuple(self._columns.items()))

    def __repr__(self) -> str:
        return f"Stream({self._columns!r})"


def initial_stream(program: Program, tokens: list[int]) -> Stream:
    """The stream before the first layer."""
    names = [program.vocabulary.name(number) for number in tokens]
    try:
        return Stream(
            {
                variable.name: tuple(variable.initial(token, i) for i, token in enumerate(names))
                for variable in program.variables.values()
            }
        )
    except WeftError as error:
        raise error.revised(subject=f"{program.name}.{error.subject}") from None
