"""Patterns of a function: exhaustive (every call has an equation) and disjoint (only one)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from weft.errors import Location, WeftError
from weft.recursion.expressions import Match, Pattern, Variable
from weft.recursion.inductive import InductiveMeta, is_alphabet, symbol_table

if TYPE_CHECKING:
    from weft.recursion.function import Function

MOST_ROWS = 2_000
"""Cases that are compared; more in one function are refused."""
MOST_DECISIONS = 20_000
"""Decisions on constructors in one function; more are refused."""


def check_cases(
    function: Function, rows: Sequence[tuple[tuple[Pattern, ...], Any, Location]]
) -> None:
    """Raise unless exactly one case matches every call, with a call for which that is wrong."""
    if len(rows) > MOST_ROWS:
        what = f"it has {len(rows)} cases, which are more than {MOST_ROWS}"
        raise WeftError(what, subject=function.name, where=function.where)
    for number, (patterns, _, where) in enumerate(rows):
        for earlier, (others, _, place) in enumerate(rows[:number]):
            both = unify(patterns, others)
            if both is not None:
                raise WeftError(
                    f"cases {earlier + 1} and {number + 1} overlap: both match "
                    f"{_call_text(function, both)}, and case {earlier + 1} is at line {place.line}",
                    subject=function.name,
                    where=where,
                    remedy="Name the constructors that remain, so that each case is true by itself",
                )
    types = [kind for _, kind in function.parameters]
    decisions = iter(range(MOST_DECISIONS))
    try:
        missing = uncovered([list(patterns) for patterns, _, _ in rows], types, decisions)
    except StopIteration:
        raise WeftError(
            "its cases are too involved to be checked",
            subject=function.name,
            where=function.where,
            remedy="Match on fewer parameters at a time",
        ) from None
    if missing is not None:
        raise WeftError(
            f"no case matches {_call_text(function, missing)}",
            subject=function.name,
            where=function.where,
            remedy="Add a case for it",
        )


def _call_text(function: Function, patterns: Sequence[Pattern]) -> str:
    inner = [f"({one})" if getattr(one, "arguments", ()) else str(one) for one in patterns]
    return " ".join([function.token, *inner])


def unify(left: Sequence[Pattern], right: Sequence[Pattern]) -> list[Pattern] | None:
    """Patterns for all that two rows of patterns both match; None if there is no such term."""
    both: list[Pattern] = []
    for one, other in zip(left, right, strict=True):
        if isinstance(one, Variable) or isinstance(other, Variable):
            both.append(_anonymous(other if isinstance(one, Variable) else one))
            continue
        if one.head is not other.head:
            return None
        inner = unify(one.arguments, other.arguments)
        if inner is None:
            return None
        both.append(Match(one.head, tuple(inner)))
    return both


def _anonymous(pattern: Pattern) -> Pattern:
    if isinstance(pattern, Variable):
        return Variable("_", pattern.type)
    return Match(pattern.head, tuple(_anonymous(one) for one in pattern.arguments))


def uncovered(
    rows: list[list[Pattern]], types: Sequence[InductiveMeta], decisions: Iterator[int]
) -> list[Pattern] | None:
    """Patterns of terms that no row matches; None if the rows are exhaustive.

    This is the usual recursion on the first column (Maranget 2007): the rows are split by the
    constructors that appear there.

    Args:
        rows: the patterns of every case.
        types: of the columns.
        decisions: one is taken for every split; StopIteration when there are no more.
    """
    if not types:
        return None if rows else []
    kind, rest = types[0], types[1:]
    used = {one.head for row in rows if isinstance(one := row[0], Match)}
    if not used:
        missing = uncovered([row[1:] for row in rows], rest, decisions)
        return None if missing is None else [Variable("_", kind), *missing]
    for head, inner in heads(kind):
        next(decisions)
        narrowed = [
            [*_inner(row[0], inner), *row[1:]]
            for row in rows
            if isinstance(row[0], Variable) or row[0].head is head
        ]
        missing = uncovered(narrowed, [*inner, *rest], decisions)
        if missing is not None:
            count = len(inner)
            return [Match(head, tuple(missing[:count])), *missing[count:]]
    return None


def heads(kind: InductiveMeta) -> list[tuple[Any, list[InductiveMeta]]]:
    """What can stand at the head of a term of a type, with the types of its arguments."""
    if is_alphabet(kind):
        return [(symbol, []) for symbol in symbol_table(kind).values()]
    return [(one, [inner for _, inner in one.arguments]) for one in kind.constructors]


def _inner(pattern: Pattern, types: list[InductiveMeta]) -> list[Pattern]:
    if isinstance(pattern, Variable):
        return [Variable("_", kind) for kind in types]
    return list(pattern.arguments)
