"""Terms as sequences of tokens, and back.

A constructor of known arity is followed by its arguments, so a sequence without any bracket can be
read again. `Notation` chooses the form and the order:

    prefix          Branch a Branch b Leaf Leaf Branch c Leaf Leaf
    parenthesised   ( Branch a ( Branch b Leaf Leaf ) ( Branch c Leaf Leaf ) )
    empty           ( a ( b EMPTY EMPTY ) ( c EMPTY EMPTY ) )
    bracket         a ( b ( ) ( ) ) ( c ( ) ( ) )
    flat            a b c     a list by its elements, a list within another term in [ ]

In `empty` and `bracket` the constructor is left out, for types with one constructor that has
arguments and one that has none. With `labels="in"` or `"post"`, the first argument of a constructor
with several arguments of its own type stands between them or after them. `order="natural"` reverses
the sequence: binary numbers then begin with their most significant digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from weft.config import check_types
from weft.errors import WeftError
from weft.recursion.expressions import Call, Open, Term
from weft.recursion.inductive import (
    Inductive,
    InductiveMeta,
    Symbols,
    is_alphabet,
    symbol_table,
)

if TYPE_CHECKING:
    pass

MAX_TOKENS = 10_000_000
"""Tokens of a term that is written or read; more are an error."""
EMPTY = "EMPTY"

Style = Literal["prefix", "parenthesised", "empty", "bracket", "flat"]
Order = Literal["constructor", "natural"]
Labels = Literal["pre", "in", "post"]


@dataclass(frozen=True)
class Notation:
    """How terms are written.

    Attributes:
        style: prefix, parenthesised, empty, bracket or flat; see the module.
        order: constructor, with the outermost constructor first, or natural, the reverse of it: for
            binary numbers the usual order, most significant digit first.
        labels: pre, in or post: where the first argument of a constructor of trees stands.

    Example:
        >>> from weft.recursion import Notation, show_term
        >>> from weft.recursion.library.binary import One, X1, XO
        >>> show_term(XO(X1(One()))), show_term(XO(X1(One())), Notation(order="natural"))
        ('XO X1 01', '01 X1 XO')
    """

    style: Style = "prefix"
    order: Order = "constructor"
    labels: Labels = "pre"

    def __post_init__(self) -> None:
        check_types(self, "notation")


PREFIX = Notation()


def show_term(term: Term, notation: Notation = PREFIX) -> str:
    """A term as text: its tokens with blanks between them."""
    return " ".join(encode_term(term, notation))


def call_text(term: Term) -> str:
    """A term as it is written in Python, with tokens for names."""
    written: list[str] = []
    stack: list[Any] = [term]
    while stack:
        current = stack.pop()
        if isinstance(current, str):
            written.append(current)
            continue
        token, inner = _head_and_parts(current)
        written.append(token)
        if inner:
            stack.append(")")
            for number in range(len(inner) - 1, -1, -1):
                stack.append(inner[number])
                stack.append(", " if number else "(")
    return "".join(written)


def _head_and_parts(term: Term) -> tuple[str, Sequence[Any]]:
    if isinstance(term, Symbols):
        return term[0], ()
    if isinstance(term, Inductive):
        return type(term)._token, term
    head = term[0]
    return head.token, term[1:]


def encode_term(term: Term, notation: Notation = PREFIX) -> list[str]:
    """The tokens of a term.

    Example:
        >>> from weft.recursion import Notation, encode_term
        >>> from weft.recursion.library.binary import One, X1
        >>> encode_term(X1(X1(One())))
        ['X1', 'X1', '01']
    """
    tokens = _prefix(term) if notation == PREFIX else _written(term, notation)
    return turned(tokens) if notation.order == "natural" else tokens


def turned(tokens: Sequence[str]) -> list[str]:
    """The tokens in reverse, with brackets that still open before they close."""
    swapped = {"(": ")", ")": "(", "[": "]", "]": "["}
    return [swapped.get(token, token) for token in reversed(tokens)]


def _prefix(term: Term) -> list[str]:
    tokens: list[str] = []
    append = tokens.append
    stack: list[Any] = [term]
    pop, extend = stack.pop, stack.extend
    while stack:
        current = pop()
        token = type(current)._token
        if token:
            append(token)
            if current:
                extend(current[::-1])
        elif token == "":  # a symbol
            append(current[0])
        else:
            append(current[0].token)
            extend(current[:0:-1])
        if len(tokens) > MAX_TOKENS:
            raise WeftError(f"the term has more than {MAX_TOKENS:,} tokens")
    return tokens


def _written(term: Term, notation: Notation) -> list[str]:
    """The tokens in constructor order, in any style."""
    tokens: list[str] = []
    stack: list[Any] = _outer(term, notation)[::-1]
    while stack:
        current = stack.pop()
        if isinstance(current, str):
            tokens.append(current)
        else:
            stack.extend(_inner(current, notation)[::-1])
        if len(tokens) > MAX_TOKENS:
            raise WeftError(f"the term has more than {MAX_TOKENS:,} tokens")
    return tokens


@dataclass(frozen=True)
class _Content:
    """What a term is written as in style `bracket`, without the brackets around it."""

    term: Any


def _outer(term: Term, notation: Notation) -> list[Any]:
    if notation.style == "bracket":
        return [_Content(term)]
    if notation.style == "flat" and list_constructors(_type_of(term)):
        return _flat(term)
    return [term]


def _inner(current: Any, notation: Notation) -> list[Any]:
    """The tokens and terms that a term is written as."""
    if isinstance(current, _Content):
        return _bracket(current.term, notation)
    if isinstance(current, Symbols):
        return [current[0]]
    style = notation.style
    if style == "flat" and list_constructors(_type_of(current)):
        return ["[", *_flat(current), "]"]
    token, inner = _head_and_parts(current)
    arguments = list(inner)
    called = isinstance(current, Call)
    if not called:
        head = type(current) if isinstance(current, Inductive) else current[0]
        arguments = _permuted(head, arguments, notation.labels)
    if style in ("prefix", "flat"):
        return [token, *arguments]
    dropped = style == "empty" and not called and droppable(_type_of(current))
    if not arguments:
        return [EMPTY if dropped else token]
    return ["(", *([] if dropped else [token]), *arguments, ")"]


def _bracket(term: Any, notation: Notation) -> list[Any]:
    if isinstance(term, Symbols):
        return [term[0]]
    token, inner = _head_and_parts(term)
    arguments = list(inner)
    dropped = False
    if not isinstance(term, Call):
        head = type(term) if isinstance(term, Inductive) else term[0]
        arguments = _permuted(head, arguments, notation.labels)
        dropped = droppable(head.type)
    made: list[Any] = [] if dropped else [token]
    for one in arguments:
        made += [one[0]] if isinstance(one, Symbols) else ["(", _Content(one), ")"]
    return made


def _flat(term: Any) -> list[Any]:
    """The elements of a list; calls whose values are lists, and appended lists, among them."""
    made: list[Any] = []
    stack = [term]
    while stack:
        current = stack.pop()
        if isinstance(current, Call):
            if current.function.joins:
                stack.extend(current[:0:-1])
            else:
                made += [current.function.token, *current[1:]]
            continue
        inner = tuple(current) if isinstance(current, Inductive) else current[1:]
        if inner:
            made.append(inner[0])
            stack.append(inner[1])
    return made


def _type_of(term: Term) -> InductiveMeta:
    if isinstance(term, Call):
        return term.function.result
    return term.constructor.type if isinstance(term, Open) else type(term).type


@lru_cache(maxsize=1024)
def droppable(kind: InductiveMeta) -> bool:
    """Whether a term can be read without its constructors: there are two, one without arguments."""
    if is_alphabet(kind) or len(kind.constructors) != 2:
        return False
    return sum(bool(one.arity) for one in kind.constructors) == 1


@lru_cache(maxsize=1024)
def list_constructors(kind: InductiveMeta) -> tuple[InductiveMeta, InductiveMeta] | None:
    """The constructors of the empty list, and of an element before a list; None for other types."""
    if not droppable(kind):
        return None
    empty, full = sorted(kind.constructors, key=lambda one: one.arity)
    types = [inner for _, inner in full.arguments]
    return (empty, full) if len(types) == 2 and types[1] is kind and types[0] is not kind else None


@lru_cache(maxsize=1024)
def argument_order(head: InductiveMeta, labels: str) -> tuple[int, ...]:
    """The order in which the arguments of a constructor are written."""
    places = tuple(range(head.arity))
    types = [inner for _, inner in head.arguments]
    branches = (
        len(types) > 2 and types[0] is not head.type and all(one is head.type for one in types[1:])
    )
    if not branches or labels == "pre":
        return places
    return (1, 0, *places[2:]) if labels == "in" else (*places[1:], 0)


def _permuted(head: InductiveMeta, arguments: list[Any], labels: str) -> list[Any]:
    return (
        arguments
        if labels == "pre"
        else [arguments[place] for place in argument_order(head, labels)]
    )


@lru_cache(maxsize=4096)
def argument_types(head: InductiveMeta) -> tuple[InductiveMeta, ...]:
    """The types of a constructor's arguments."""
    return tuple(kind for _, kind in head.arguments)


@lru_cache(maxsize=1024)
def head_table(kind: InductiveMeta) -> dict[str, Any]:
    """The constructors or symbols of a type, by token."""
    if is_alphabet(kind):
        return symbol_table(kind)
    return {one.token: one for one in kind.constructors}
