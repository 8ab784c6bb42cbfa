"""Predicates on positions: declared ones, and Python functions that have been checked.

A periodic predicate holds at the positions i with i mod `period` among its residues, a local one
between i and the positions i - d for its offsets d. Declared by numbers, they are periodic and
local by construction. A Python function is called on many positions first: `check_periodic` and
`check_local` return the declared predicate that equals it there, with a statement of what was
checked. The program uses the declared predicate, never the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from weft.crasp.expressions import Local, Periodic
from weft.crasp.program import why_not_a_name
from weft.errors import WeftError

MAX_PERIOD = 64
"""The largest period that `check_periodic` tries."""
MAX_OFFSET = 32
"""The largest offset that `check_local` accepts as local."""

Predicate = TypeVar("Predicate", Periodic, Local)


@dataclass(frozen=True)
class CheckedPredicate(Generic[Predicate]):
    """The predicate that a Python function computes, and a statement of what was checked."""

    predicate: Predicate
    statement: str

    def __str__(self) -> str:
        return self.statement


def periodic(period: int, residues: int | Iterable[int], name: str = "") -> Periodic:
    """The predicate i mod `period` in `residues`.

    Args:
        period: at least 1.
        residues: one or several, each below the period.
        name: what it is called in the text of a program; empty to write it as `MOD(...)`.

    Example:
        >>> periodic(4, {1, 0}, "first_half")
        Periodic(period=4, residues=(0, 1), name='first_half')
    """
    return Periodic(period, _ascending(residues), _valid(name))


def local(offsets: int | Iterable[int], name: str = "") -> Local:
    """The predicate i - j in `offsets`.

    Args:
        offsets: one or several, each at least 0.
        name: what it is called in the text of a program; empty to write it as `j == i - 1`.

    Example:
        >>> local(range(3), "near")
        Local(offsets=(0, 1, 2), name='near')
    """
    return Local(_ascending(offsets), _valid(name))


def check_periodic(
    function: Callable[[int], bool], *, up_to: int = 1000, name: str | None = None
) -> CheckedPredicate[Periodic]:
    """Accept a Python function of a position if it is periodic as far as it is called.

    It is called twice at each position from 0, the begin symbol, to `up_to`.

    Args:
        function: takes a position, returns True or False.
        up_to: the last position.
        name: that of the predicate; by default that of the function.

    Raises:
        WeftError: if it has no period up to 64 there, or answers differently the second time.

    Example:
        >>> def odd(i: int) -> bool:
        ...     return i % 2 == 1
        >>> checked = check_periodic(odd)
        >>> print(checked)
        odd is periodic with period 2: positions 0 to 1,000, each called twice
        >>> checked.predicate
        Periodic(period=2, residues=(1,), name='odd')
    """
    called = _name_of(function, name)
    if up_to < 2 * MAX_PERIOD:
        raise WeftError(
            f"positions up to {up_to} are too few to see a period",
            subject=called,
            remedy=f"Give up_to={2 * MAX_PERIOD} or more",
        )
    positions = [(i,) for i in range(up_to + 1)]
    holds = [value for _, value in sorted(_answers(function, called, positions).items())]
    conflicts = []
    for period in range(1, MAX_PERIOD + 1):
        conflict = next(
            (i for i in range(period, up_to + 1) if holds[i] != holds[i - period]), None
        )
        if conflict is None:
            residues = tuple(r for r in range(period) if holds[r])
            return CheckedPredicate(
                Periodic(period, residues, called),
                f"{called or 'the function'} is periodic with period {period}: "
                f"positions 0 to {up_to:,}, each called twice",
            )
        conflicts.append((conflict, period))
    last, period = max(conflicts)
    raise WeftError(
        f"it has no period from 1 to {MAX_PERIOD} at positions 0 to {up_to:,}; period {period} "
        f"holds longest, up to {last}: it is {holds[last]} there, but not at {last - period}",
        subject=called,
        remedy="A C-RASP predicate of one position is periodic: declare it by period and residues",
    )


def check_local(
    function: Callable[[int, int], bool], *, up_to: int = 100, name: str | None = None
) -> CheckedPredicate[Local]:
    """Accept a Python function of two positions if it is local as far as it is called.

    It is called twice for all positions 1 <= j <= i <= `up_to`. It must depend on i - j alone, and
    hold for no distance beyond 32.

    Args:
        function: takes i and j, returns True or False.
        up_to: the last position.
        name: that of the predicate; by default that of the function.

    Raises:
        WeftError: if it is not local there, or answers differently the second time.

    Example:
        >>> print(check_local(lambda i, j: i - j in (0, 2), name="skip"))
        skip is local with offsets 0, 2: positions 1 <= j <= i <= 100, each pair called twice
    """
    called = _name_of(function, name)
    if up_to < 2 * MAX_OFFSET:
        raise WeftError(
            f"positions up to {up_to} are too few to see that it is local",
            subject=called,
            remedy=f"Give up_to={2 * MAX_OFFSET} or more",
        )
    pairs = [(i, j) for i in range(1, up_to + 1) for j in range(1, i + 1)]
    holds = _answers(function, called, pairs)
    for (i, j), value in holds.items():
        if value != holds[i - j + 1, 1]:
            raise WeftError(
                f"it does not depend on i - j alone: it is {value} at i = {i}, j = {j} and "
                f"{not value} at i = {i - j + 1}, j = 1",
                subject=called,
                remedy="A C-RASP predicate of two positions is local: declare it by its offsets",
            )
    offsets = tuple(d for d in range(up_to) if holds[d + 1, 1])
    if offsets and offsets[-1] > MAX_OFFSET:
        raise WeftError(
            f"it holds at distance {offsets[-1]}, so it is not local up to distance {MAX_OFFSET}",
            subject=called,
            remedy="Declare the offsets with weft.crasp.local if they are finite",
        )
    shown = ", ".join(map(str, offsets)) or "none"
    return CheckedPredicate(
        Local(offsets, called),
        f"{called or 'the function'} is local with offsets {shown}: "
        f"positions 1 <= j <= i <= {up_to:,}, each pair called twice",
    )


def _answers(
    function: Callable[..., bool], name: str, arguments: Sequence[tuple[int, ...]]
) -> dict[tuple[int, ...], bool]:
    """What a function returns, called for all arguments and once more in reverse order."""
    answers = {given: _answer(function, name, given) for given in arguments}
    for given in reversed(arguments):
        if _answer(function, name, given) != answers[given]:
            raise WeftError(
                f"it is not deterministic: {_call(name, given)} was {answers[given]}, then "
                f"{not answers[given]}",
                subject=name,
                remedy="A predicate depends on its positions alone",
            )
    return answers


def _answer(function: Callable[..., bool], name: str, given: tuple[int, ...]) -> bool:
    try:
        value: Any = function(*given)
    except Exception as error:
        raise WeftError(
            f"{_call(name, given)} raised {type(error).__name__}: {error}",
            subject=name,
            remedy="A predicate is defined at every position",
        ) from error
    if not type(value).__name__.startswith("bool"):  # NumPy has its own
        raise WeftError(
            f"{_call(name, given)} returned {value!r}",
            subject=name,
            remedy="A predicate returns True or False",
        )
    return bool(value)


def _call(name: str, given: tuple[int, ...]) -> str:
    return f"{name or 'the function'}({', '.join(map(str, given))})"


def _name_of(function: Callable[..., bool], name: str | None) -> str:
    if name is None:
        name = getattr(function, "__name__", "")
        return "" if why_not_a_name(name) else name
    return _valid(name)


def _valid(name: str) -> str:
    if name and (reason := why_not_a_name(name)):
        raise WeftError(f"'{name}' cannot be the name of a predicate: {reason}")
    return name


def _ascending(numbers: int | Iterable[int]) -> tuple[int, ...]:
    return (numbers,) if isinstance(numbers, int) else tuple(sorted(set(numbers)))
