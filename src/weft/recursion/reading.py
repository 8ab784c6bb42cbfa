"""Reading terms from sequences of tokens, in every notation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from weft.errors import WeftError, did_you_mean
from weft.recursion.expressions import Call, build
from weft.recursion.inductive import InductiveMeta, Symbols, is_alphabet, seal, symbol_table
from weft.recursion.notation import (
    EMPTY,
    MAX_TOKENS,
    PREFIX,
    Notation,
    argument_order,
    argument_types,
    droppable,
    head_table,
    list_constructors,
    turned,
)

if TYPE_CHECKING:
    from weft.recursion.function import Function


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


def decode_term(
    tokens: Sequence[str],
    kind: InductiveMeta,
    notation: Notation = PREFIX,
    functions: Iterable[Function] = (),
) -> Any:
    """The term of a type that tokens stand for.

    In style `flat`, lists one after the other are read as nested to the right: a (b c).

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
        self.tokens = turned(tokens) if self.turned else list(tokens)
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
        return [types[place] for place in argument_order(head, self.notation.labels)]

    def _restored(self, head: Any, written: list[Any]) -> list[Any]:
        """Arguments in their own order."""
        if not isinstance(head, InductiveMeta):
            return written
        places = argument_order(head, self.notation.labels)
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
        dropped = style == "empty" and droppable(kind)
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
        if droppable(kind) and not self._calls(kind):
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


def _nullary(kind: InductiveMeta) -> InductiveMeta:
    return next(one for one in kind.constructors if not one.arity)


def _full(kind: InductiveMeta) -> InductiveMeta:
    return next(one for one in kind.constructors if one.arity)


def _choices(kind: InductiveMeta) -> str:
    known = list(head_table(kind))
    if is_alphabet(kind):
        return f"Symbols of {kind.__name__}: {' '.join(known)}"
    return f"Constructors of {kind.__name__}: {', '.join(known)}"
