"""The tokens and types that belong to a function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.recursion.expressions import Call, Term
from weft.recursion.inductive import Inductive, InductiveMeta, is_alphabet, symbol_table
from weft.recursion.notation import (
    EMPTY,
    PREFIX,
    Notation,
    argument_types,
    droppable,
    head_table,
    list_constructors,
)

if TYPE_CHECKING:
    from weft.recursion.function import Function


def vocabulary(function: Function, notation: Notation = PREFIX) -> tuple[str, ...]:
    """All tokens that arguments, open terms and values of a function can have, in a fixed order.

    Brackets first, then the functions, then the constructors and symbols of all types.

    Example:
        >>> from weft.recursion import Notation, definition, vocabulary
        >>> vocabulary(definition("successor"))
        ('successor', '01', 'XO', 'X1')
        >>> vocabulary(definition("mirror"), Notation("empty"))[:5]
        ('(', ')', 'EMPTY', 'mirror', 'a')
    """
    style = notation.style
    brackets = {"prefix": (), "flat": ("[", "]"), "empty": ("(", ")", EMPTY)}
    found = dict.fromkeys(brackets.get(style, ("(", ")")))
    found |= dict.fromkeys(one.token for one in function.functions)
    waiting = [
        kind
        for one in function.functions
        for kind in (*(kind for _, kind in one.parameters), one.result)
    ]
    seen: set[InductiveMeta] = set()
    while waiting:
        kind = waiting.pop(0)
        if kind in seen:
            continue
        seen.add(kind)
        dropped = style in ("empty", "bracket") and droppable(kind)
        if not dropped and not (style == "flat" and list_constructors(kind)):
            found |= dict.fromkeys(head_table(kind))
        if not is_alphabet(kind):
            waiting += [inner for one in kind.constructors for inner in argument_types(one)]
    return tuple(found)


def called_tokens(term: Term) -> set[str]:
    """The tokens of the functions that are called in a term."""
    found = set()
    stack: list[Any] = [term]
    while stack:
        current = stack.pop()
        if not isinstance(current, Inductive):
            if isinstance(current, Call):
                found.add(current.function.token)
            stack.extend(current[1:])
    return found


def type_lines(function: Function) -> list[str]:
    """The types of the arguments and values of a function with their constructors, on lines.

    Example:
        >>> from weft.recursion import definition
        >>> from weft.recursion.vocabulary import type_lines
        >>> type_lines(definition("successor"))
        ['Positive = 01 | XO Positive | X1 Positive']
    """
    waiting = [kind for _, kind in function.parameters] + [function.result]
    found: dict[InductiveMeta, str] = {}
    while waiting:
        kind = waiting.pop(0)
        if kind in found:
            continue
        if is_alphabet(kind):
            found[kind] = " | ".join(symbol_table(kind))
            continue
        words = []
        for one in kind.constructors:
            types = argument_types(one)
            words.append(" ".join([one.token, *(inner.__name__ for inner in types)]))
            waiting += types
        found[kind] = " | ".join(words)
    return [f"{kind.__name__} = {text}" for kind, text in found.items()]
