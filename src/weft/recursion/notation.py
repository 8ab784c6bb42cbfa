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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from weft.config import check_types
from weft.errors import WeftError
from weft.recursion.expressions import Call, Open, Term, build
from weft.recursion.inductive import (
    Inductive,
    InductiveMeta,
    Symbols,
    is_alphabet,
    seal,
    symbol_table,
)

if TYPE_CHECKING:
    from weft.recursion.function import Function

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


def parse_term(
    text: str,
    kind: InductiveMeta,
    notation: Notation = PREFIX,
    functions: Iterable[Function] = (),
) -> Any:
    """The term of a type that text stands for; see `decode_term`.

    Example:
        >>> from weft.recursion import parse_term
        >>> from weft.recursion.library.binary import Positive
        >>> parse_term("XO X1 01", Positive)
        XO(X1(01))
        >>> parse_term("XO X1", Positive)
        Traceback (most recent call last):
            ...
        weft.errors.WeftError: the term ends after token 2, where a Positive should follow. ...
    """
    return decode_term(split_text(text), kind, notation, functions)


def split_text(text: str) -> list[str]:
    """The tokens of a text; brackets need no blanks around them."""
    for bracket in "()[]":
        text = text.replace(bracket, f" {bracket} ")
    return text.split()


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
        dropped = style in ("empty", "bracket") and _droppable(kind)
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
        >>> from weft.recursion.notation import type_lines
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


# Writing


def encode_term(term: Term, notation: Notation = PREFIX) -> list[str]:
    """The tokens of a term.

    Example:
        >>> from weft.recursion import Notation, encode_term
        >>> from weft.recursion.library.binary import One, X1
        >>> encode_term(X1(X1(One())))
        ['X1', 'X1', '01']
    """
    tokens = _prefix(term) if notation == PREFIX else _written(term, notation)
    return _turned(tokens) if notation.order == "natural" else tokens


def _turned(tokens: Sequence[str]) -> list[str]:
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
    dropped = style == "empty" and not called and _droppable(_type_of(current))
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
        dropped = _droppable(head.type)
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
def _droppable(kind: InductiveMeta) -> bool:
    """Whether a term can be read without its constructors: there are two, one without arguments."""
    if is_alphabet(kind) or len(kind.constructors) != 2:
        return False
    return sum(bool(one.arity) for one in kind.constructors) == 1


@lru_cache(maxsize=1024)
def list_constructors(kind: InductiveMeta) -> tuple[InductiveMeta, InductiveMeta] | None:
    """The constructors of the empty list, and of an element before a list; None for other types."""
    if not _droppable(kind):
        return None
    empty, full = sorted(kind.constructors, key=lambda one: one.arity)
    types = [inner for _, inner in full.arguments]
    return (empty, full) if len(types) == 2 and types[1] is kind and types[0] is not kind else None


@lru_cache(maxsize=1024)
def _order(head: InductiveMeta, labels: str) -> tuple[int, ...]:
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
    return arguments if labels == "pre" else [arguments[place] for place in _order(head, labels)]


# Reading


def decode_term(
    tokens: Sequence[str],
    kind: InductiveMeta,
    notation: Notation = PREFIX,
    functions: Iterable[Function] = (),
) -> Any:
    """The term of a type that tokens stand for.

    Args:
        tokens: the tokens; all of them must belong to the term.
        kind: the type of the term.
        notation: how it is written.
        functions: whose calls may stand in the term.

    Raises:
        WeftError: with the number of the token, from 1, at which the sequence is no such term.
    """
    reader = Reader(tokens, notation, functions)
    term = reader.read(kind)
    reader.finish(kind)
    return term


def decode_terms(
    tokens: Sequence[str],
    kinds: Sequence[InductiveMeta],
    notation: Notation = PREFIX,
    functions: Iterable[Function] = (),
) -> tuple[Any, ...]:
    """Several terms, one after the other, as `decode_term` reads one."""
    reader = Reader(tokens, notation, functions)
    order = reversed(kinds) if notation.order == "natural" else kinds
    terms = [reader.read(kind) for kind in order]
    reader.finish(kinds[-1])
    return tuple(reversed(terms) if notation.order == "natural" else terms)


class Reader:
    """Reads terms from a sequence of tokens."""

    def __init__(
        self, tokens: Sequence[str], notation: Notation, functions: Iterable[Function] = ()
    ) -> None:
        if len(tokens) > MAX_TOKENS:
            raise WeftError(f"there are more than {MAX_TOKENS:,} tokens")
        self.turned = notation.order == "natural"
        self.tokens = _turned(tokens) if self.turned else list(tokens)
        self.notation = notation
        self.functions = {one.token: one for one in functions}
        self.place = 0

    def read(self, kind: InductiveMeta) -> Any:
        """The next term, which must be of this type."""
        seal(kind, "")
        if self.notation.style == "prefix":
            return self._read_prefix(kind)
        from weft.recursion.evaluation import run_generators

        return run_generators(self._outer(kind))

    def finish(self, kind: InductiveMeta) -> None:
        """Raise if tokens are left."""
        if self.place < len(self.tokens):
            left = len(self.tokens) - self.place
            side = "before it" if self.turned else "after it"
            rest = "" if left == 1 else f", and {left - 1} more {side}"
            raise self._error(
                f"the {kind.__name__} is complete without it{rest}",
                "Remove what is too much, or check the number of arguments of the constructors",
            )

    def _error(self, what: str, remedy: str = "", place: int | None = None) -> WeftError:
        at = self.place if place is None else place
        number = len(self.tokens) - at if self.turned else at + 1
        if at >= len(self.tokens):
            return WeftError(what, remedy=remedy)
        shown = repr(self.tokens[at])[:40]
        return WeftError(f"token {number} is {shown}: {what}", remedy=remedy)

    def _ended(self, kind: InductiveMeta | None, closing: str = "") -> WeftError:
        wanted = f"a {kind.__name__}" if kind else f"'{closing}'"
        side = "begins with token 1" if self.turned else f"ends after token {len(self.tokens)}"
        where = "before which" if self.turned else "where"
        verb = "should stand" if self.turned else "should follow"
        if not self.tokens:
            return WeftError(f"there are no tokens, and {wanted} is needed")
        return WeftError(
            f"the term {side}, {where} {wanted} {verb}", remedy=_choices(kind) if kind else ""
        )

    def _head(self, kind: InductiveMeta) -> Any:
        """The constructor, symbol or function that the next token names; it is consumed."""
        if self.place >= len(self.tokens):
            raise self._ended(kind)
        token = self.tokens[self.place]
        found = head_table(kind).get(token)
        if found is None:
            found = self.functions.get(token)
            if found is None:
                raise self._unknown(token, kind)
            if found.result is not kind:
                raise self._error(
                    f"{found.name} gives a {found.result.__name__}, not a {kind.__name__}"
                )
        self.place += 1
        return found

    def _unknown(self, token: str, kind: InductiveMeta) -> WeftError:
        from weft.errors import did_you_mean

        if token in ("(", ")", "[", "]"):
            style = self.notation.style
            return self._error(
                f"a {kind.__name__} should stand here (style {style})", _choices(kind)
            )
        near = did_you_mean(token, list(head_table(kind)))
        return self._error(
            f"there is no constructor '{token}' of {kind.__name__}", near[:1].upper() + near[1:]
        )

    def _read_prefix(self, kind: InductiveMeta) -> Any:
        """A term in prefix notation, with a stack of heads whose arguments are being read."""
        stack: list[tuple[Any, list[Any], Sequence[InductiveMeta]]] = []
        wanted = kind
        natural_labels = self.notation.labels == "pre"
        while True:
            head = self._head(wanted)
            types = self._types(head)
            if types:
                stack.append((head, [], types))
                wanted = types[0]
                continue
            term = made(head, ())
            while stack:
                outer, arguments, types = stack[-1]
                arguments.append(term)
                if len(arguments) < len(types):
                    wanted = types[len(arguments)]
                    break
                stack.pop()
                if not natural_labels:
                    arguments = self._restored(outer, arguments)
                term = made(outer, arguments)
            else:
                return term

    def _types(self, head: Any) -> Sequence[InductiveMeta]:
        """The types of the arguments of a head, in the order in which they are written."""
        if isinstance(head, Symbols):
            return ()
        if not isinstance(head, InductiveMeta):
            return [kind for _, kind in head.parameters]
        types = argument_types(head)
        if self.notation.labels == "pre":
            return types
        return [types[place] for place in _order(head, self.notation.labels)]

    def _restored(self, head: Any, written: list[Any]) -> list[Any]:
        """Arguments in their own order."""
        if not isinstance(head, InductiveMeta):
            return written
        places = _order(head, self.notation.labels)
        restored: list[Any] = [None] * len(places)
        for place, one in zip(places, written, strict=True):
            restored[place] = one
        return restored

    # Styles with brackets, as generators that yield the readers of parts

    def _next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def _expect(self, token: str) -> None:
        if self._next() != token:
            if self.place >= len(self.tokens):
                raise self._ended(None, token)
            raise self._error(f"'{token}' should stand here")
        self.place += 1

    def _outer(self, kind: InductiveMeta) -> Any:
        if self.notation.style == "bracket":
            return self._content(kind)
        if self.notation.style == "flat" and list_constructors(kind):
            return self._elements(kind)
        return self._term(kind)

    def _term(self, kind: InductiveMeta) -> Any:
        """A term within another, or at the outside in styles that bracket it."""
        style = self.notation.style
        if is_alphabet(kind) and self._next() != "(":
            return (yield self._arguments(self._head(kind)))
        if style == "flat":
            if list_constructors(kind):
                self._expect("[")
                value = yield self._elements(kind)
                self._expect("]")
                return value
            head = self._head(kind)
            return (yield self._arguments(head))
        if style == "bracket":
            self._expect("(")
            value = yield self._content(kind)
            self._expect(")")
            return value
        dropped = style == "empty" and _droppable(kind)
        if self._next() != "(":
            if dropped and self._next() == EMPTY:
                self.place += 1
                return made(_nullary(kind), ())
            if dropped and self._next():
                raise self._error(f"'(' or {EMPTY} should stand here")
            head = self._head(kind)
            if self._types(head):
                self.place -= 1
                raise self._error("a term with arguments stands in ( )")
            return made(head, ())
        self.place += 1
        if dropped and not self._calls(kind):
            head = _full(kind)
        else:
            head = self._head(kind)
            if not self._types(head):
                self.place -= 1
                raise self._error("a term without arguments stands without ( )")
        value = yield self._arguments(head)
        self._expect(")")
        return value

    def _calls(self, kind: InductiveMeta) -> bool:
        """Whether the next token is that of a function, where a constructor is left out."""
        function = self.functions.get(self._next())
        if function is None or function.result is not kind:
            return False
        first = self._types(_full(kind))[0]
        return not (is_alphabet(first) and self._next() in symbol_table(first))

    def _arguments(self, head: Any) -> Any:
        arguments = []
        for kind in self._types(head):
            arguments.append((yield self._term(kind)))
        return made(head, self._restored(head, arguments))

    def _content(self, kind: InductiveMeta) -> Any:
        """A term in style bracket, without the brackets around it."""
        if _droppable(kind) and not self._calls(kind):
            if self._next() in ("", ")"):
                return made(_nullary(kind), ())
            head: Any = _full(kind)
        else:
            head = self._head(kind)
        return (yield self._arguments(head))

    def _elements(self, kind: InductiveMeta) -> Any:
        """The elements of a list, up to a closing bracket or the end."""
        found = list_constructors(kind)
        assert found is not None
        empty, full = found
        element = full.arguments[0][1]
        parts: list[tuple[bool, Any]] = []
        while self._next() not in ("", "]"):
            function = self.functions.get(self._next())
            called = function is not None and function.result is kind
            if called and self._next() not in head_table(element):
                self.place += 1
                parts.append((True, (yield self._arguments(function))))
            else:
                parts.append((False, (yield self._term(element))))
        join = next(
            (one for one in self.functions.values() if one.joins and one.result is kind), None
        )
        rest: Any = None
        for called, part in reversed(parts):
            if not called:
                rest = build(full, (part, made(empty, ()) if rest is None else rest))
            elif rest is None:
                rest = part
            elif join is None:
                raise WeftError("a list after a call needs a function that joins lists, as append")
            else:
                rest = tuple.__new__(Call, (join, part, rest))
        return made(empty, ()) if rest is None else rest


def made(head: Any, arguments: Sequence[Any]) -> Any:
    """A head applied to arguments: a symbol, a constructor, or a function."""
    if isinstance(head, InductiveMeta):
        return build(head, arguments)
    if isinstance(head, Symbols):
        return head
    return tuple.__new__(Call, (head, *arguments))


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


def _nullary(kind: InductiveMeta) -> InductiveMeta:
    return next(one for one in kind.constructors if not one.arity)


def _full(kind: InductiveMeta) -> InductiveMeta:
    return next(one for one in kind.constructors if one.arity)


def _choices(kind: InductiveMeta) -> str:
    known = list(head_table(kind))
    if is_alphabet(kind):
        return f"Symbols of {kind.__name__}: {' '.join(known)}"
    return f"Constructors of {kind.__name__}: {', '.join(known)}"
