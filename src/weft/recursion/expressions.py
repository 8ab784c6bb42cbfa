"""Patterns and right-hand sides of equations, and open terms.

A term is a value (an instance of an inductive type), a `Call` of a function, or an `Open` term: a
constructor applied to arguments of which at least one holds a call. `build` makes the right one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from weft.recursion.inductive import Inductive, InductiveMeta, Symbols

if TYPE_CHECKING:
    from weft.recursion.function import Function


class Call(tuple[Any, ...]):
    """A function applied to terms: `(function, *arguments)`."""

    __slots__ = ()
    _token = None

    @property
    def function(self) -> Function:
        """What is called."""
        found: Function = self[0]
        return found

    @property
    def arguments(self) -> tuple[Term, ...]:
        """The arguments."""
        return tuple(self[1:])

    def __repr__(self) -> str:
        from weft.recursion.notation import call_text

        return call_text(self)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, (Call, Open)) and same_term(self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(repr(self))


class Open(tuple[Any, ...]):
    """A constructor applied to terms of which one holds a call: `(constructor, *arguments)`."""

    __slots__ = ()
    _token = None

    @property
    def constructor(self) -> InductiveMeta:
        """The constructor."""
        found: InductiveMeta = self[0]
        return found

    @property
    def arguments(self) -> tuple[Term, ...]:
        """The arguments."""
        return tuple(self[1:])

    __repr__ = Call.__repr__
    __eq__ = Call.__eq__
    __ne__ = Call.__ne__
    __hash__ = Call.__hash__


Term: TypeAlias = Inductive | Call | Open

_new: Any = tuple.__new__


def build(constructor: InductiveMeta, arguments: Sequence[Term]) -> Any:
    """A constructor applied to terms: a value if they are values. Types are not checked."""
    if not arguments:
        return constructor._only
    for argument in arguments:
        if not isinstance(argument, Inductive):
            return _new(Open, (constructor, *arguments))
    return _new(constructor, arguments)


def parts(term: Term) -> tuple[Any, ...]:
    """The arguments at the head of a term."""
    if isinstance(term, Symbols):
        return ()
    return tuple(term) if isinstance(term, Inductive) else term[1:]


def same_term(left: Any, right: Any) -> bool:
    """Whether two terms are built alike."""
    stack = [(left, right)]
    while stack:
        one, other = stack.pop()
        if one is other:
            continue
        if isinstance(one, Inductive) or isinstance(other, Inductive):
            if not (isinstance(one, Inductive) and isinstance(other, Inductive) and one == other):
                return False
            continue
        if type(one) is not type(other) or one[0] is not other[0]:
            return False
        stack.extend(zip(one[1:], other[1:], strict=True))
    return True


# Patterns


@dataclass(frozen=True)
class Variable:
    """A variable: in a pattern it matches any term, on a right-hand side it stands for that."""

    name: str
    type: InductiveMeta

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Match:
    """A constructor pattern: a constructor, or a symbol, with patterns for the arguments."""

    head: Any
    arguments: tuple[Pattern, ...] = ()

    @property
    def token(self) -> str:
        """The token of the head."""
        return head_token(self.head)

    def __str__(self) -> str:
        return _written(self.token, self.arguments)


Pattern: TypeAlias = Variable | Match


def head_token(head: Any) -> str:
    """The token of a head: a constructor or a symbol."""
    return head.token if isinstance(head, InductiveMeta) else str(head[0])


def variables(pattern: Pattern) -> list[Variable]:
    """The variables of a pattern, from left to right, without wildcards."""
    if isinstance(pattern, Variable):
        return [pattern] if pattern.name != "_" else []
    return [one for argument in pattern.arguments for one in variables(argument)]


# Right-hand sides


@dataclass(frozen=True)
class Build:
    """A constructor, or a symbol, applied to right-hand sides."""

    head: Any
    arguments: tuple[Expression, ...] = ()

    def __str__(self) -> str:
        return _written(head_token(self.head), self.arguments)


@dataclass(frozen=True)
class Apply:
    """A call of a function on a right-hand side."""

    function: Function
    arguments: tuple[Expression, ...]
    node: Any = None

    def __str__(self) -> str:
        return _written(self.function.token, self.arguments)

    def __hash__(self) -> int:
        return hash((id(self.function), self.arguments))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Apply)
            and self.function is other.function
            and self.arguments == other.arguments
        )


Expression: TypeAlias = Variable | Build | Apply


def _written(token: str, arguments: Sequence[Any]) -> str:
    """Prefix notation, with brackets around arguments that have arguments."""
    inner = [f"({one})" if getattr(one, "arguments", ()) else str(one) for one in arguments]
    return " ".join([token, *inner])


def calls_in(expression: Expression) -> list[Apply]:
    """All calls of a right-hand side, outer before inner."""
    if isinstance(expression, Variable):
        return []
    inner = [one for argument in expression.arguments for one in calls_in(argument)]
    return [expression, *inner] if isinstance(expression, Apply) else inner


def substitute(expression: Expression, bindings: Mapping[str, Term]) -> Any:
    """A right-hand side as a term, with terms for its variables."""
    if isinstance(expression, Variable):
        return bindings[expression.name]
    arguments = [substitute(one, bindings) for one in expression.arguments]
    if isinstance(expression, Apply):
        return _new(Call, (expression.function, *arguments))
    if not isinstance(expression.head, InductiveMeta):
        return expression.head
    return build(expression.head, arguments)


def match(pattern: Pattern, term: Term, bindings: dict[str, Term]) -> bool:
    """Whether a term has the form of a pattern; binds its variables if so.

    A call where the pattern has a constructor does not match: it has to be reduced first.
    """
    if isinstance(pattern, Variable):
        bindings[pattern.name] = term
        return True
    head = pattern.head
    if isinstance(term, Inductive):
        if term is head:  # a symbol
            return True
        if type(term) is not head:
            return False
        inner = tuple(term)
    elif isinstance(term, Open) and term[0] is head:
        inner = term[1:]
    else:
        return False
    for argument, part in zip(pattern.arguments, inner, strict=True):
        if not match(argument, part, bindings):
            return False
    return True
