"""Functions on alphabets, given as tables."""

from __future__ import annotations

import itertools
from typing import Any

from weft.errors import WeftError
from weft.recursion.cases import head_type
from weft.recursion.expressions import Build, Match, Pattern, head_token
from weft.recursion.function import Equation, Function, has_type
from weft.recursion.inductive import InductiveMeta, is_alphabet, seal, symbol_table


def table(
    name: str,
    parameters: tuple[tuple[str, InductiveMeta], ...],
    result: InductiveMeta,
    rule: Any,
    *,
    doc: str = "",
) -> Function:
    """A function on alphabets, given by a Python function as a table of equations.

    Args:
        name: of the function.
        parameters: names, with alphabets.
        result: the type of the values.
        rule: the Python function, called with every combination of symbols once.
        doc: what it does.

    Example:
        >>> from weft.recursion import Symbols, table
        >>> class Bit(Symbols):
        ...     alphabet = "0 1"
        >>> rule = lambda a, b: a if a == b else Bit("0")
        >>> both = table("both", (("a", Bit), ("b", Bit)), Bit, rule)
        >>> print(*both.equations[:2], sep="; ")
        both 0 0 = 0; both 0 1 = 0
    """
    function = Function(name, parameters, result, doc=doc, python=rule)
    for parameter, kind in parameters:
        if not is_alphabet(kind):
            what = f"its parameter '{parameter}' is a {kind.__name__}, not an alphabet"
            raise WeftError(what, subject=name)
        seal(kind, name)
    seal(result, name)
    equations: list[Equation] = []
    combinations = itertools.product(*(symbol_table(kind).values() for _, kind in parameters))
    for number, symbols in enumerate(combinations):
        value: Any = rule(*symbols)
        if not has_type(value, result):
            shown = " ".join(map(head_token, symbols))
            what = f"its value for {shown} is {value!r}, not a {result.__name__}"
            raise WeftError(what, subject=name)
        patterns: tuple[Pattern, ...] = tuple(Match(one) for one in symbols)
        equations.append(Equation(function, number, patterns, _constant(value)))
    function._equations = tuple(equations)
    return function


def _constant(value: Any) -> Build:
    kind = head_type(value)
    return Build(value) if is_alphabet(kind) else Build(kind, tuple(map(_constant, value)))
