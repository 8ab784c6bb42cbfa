"""C-RASP programs: named vectors, line by line, over the positions of a word.

A program is straight-line: a line may use the names of earlier lines only. It accepts a word if its
last Boolean line holds at the last position; the empty word is judged at the begin symbol. Lines
`NEXT_a` say which symbols may follow (transduction).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from weft.crasp.expressions import (
    BOOLEANS,
    And,
    Conditional,
    Counting,
    Exists,
    Expression,
    Integer,
    Kind,
    Local,
    Maximum,
    Minimum,
    Name,
    Not,
    Or,
    Periodic,
    Position,
    Previous,
    Symbol,
    operands,
    walk,
)
from weft.errors import WeftError, did_you_mean

NEXT = "NEXT_"
KEYWORDS = (
    "program", "alphabet", "periodic", "local", "and", "or", "not", "exists", "previous", "min",
    "max", "true", "false", "in", "MOD",
)  # fmt: skip
"""Words of the language, which cannot be names of lines or predicates."""
MAX_NESTING = 200
"""Expressions inside expressions, at most: they are printed, checked and evaluated recursively."""
MAX_DIGITS = 1000
"""Digits of an integer constant, at most."""


class ExpressionError(WeftError):
    """A mistake in an expression; `expression` is the part that is wrong."""

    def __init__(self, what: str, expression: Expression, remedy: str = "") -> None:
        super().__init__(what, remedy=remedy)
        self.expression = expression


@dataclass(frozen=True)
class Line:
    """One line of a program: `name := expression`."""

    name: str
    expression: Expression


@dataclass(frozen=True)
class CraspProgram:
    """A C-RASP program. Construction checks names, kinds and symbols.

    Attributes:
        alphabet: the symbols, in order; each a non-empty text without white space.
        lines: the definitions in order, at least one of them Boolean.
        name: what the program is called.
        about: one paragraph on its idea.
    """

    alphabet: tuple[str, ...]
    lines: tuple[Line, ...]
    name: str = ""
    about: str = ""

    def __post_init__(self) -> None:
        self._check()

    def __str__(self) -> str:
        """The program as text, which `weft.crasp.parse` reads back."""
        from weft.crasp.syntax.text import text

        return text(self).removesuffix("\n")

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        """Whether each line is a Boolean or a count."""
        kinds: dict[str, Kind] = {}
        for line in self.lines:
            kinds[line.name] = kind_of(line.expression, kinds)
        return kinds

    @cached_property
    def expressions(self) -> Mapping[str, Expression]:
        """The expression of each line, by name."""
        return {line.name: line.expression for line in self.lines}

    @property
    def accepting(self) -> str:
        """The name of the last Boolean line, which accepts or rejects."""
        return [name for name, kind in self.kinds.items() if kind == "Boolean"][-1]

    @property
    def next_symbols(self) -> Mapping[str, str]:
        """For transduction: the line `NEXT_a` by the symbol a that it allows next."""
        return {name.removeprefix(NEXT): name for name in self.kinds if name.startswith(NEXT)}

    @property
    def locals(self) -> tuple[Local, ...]:
        """The local predicates that it uses, in order; `previous` is the offset 1."""
        used: dict[Local, None] = {}
        for line in self.lines:
            for part in walk(line.expression):
                if isinstance(part, Previous):
                    used[Local((1,))] = None
                elif isinstance(part, (Counting, Exists)) and part.local is not None:
                    used[part.local] = None
        return tuple(used)

    @property
    def periodics(self) -> tuple[Periodic, ...]:
        """The periodic predicates that it uses, in order."""
        return tuple(
            dict.fromkeys(
                part.predicate
                for line in self.lines
                for part in walk(line.expression)
                if isinstance(part, Position)
            )
        )

    def read_word(self, word: str | Sequence[str]) -> tuple[str, ...]:
        """The symbols of a word: characters if all symbols are characters, otherwise split.

        Example:
            >>> from weft.crasp import CraspProgram, Line, Symbol
            >>> CraspProgram(("a", "b"), (Line("last", Symbol("b")),)).read_word("ab")
            ('a', 'b')
        """
        if isinstance(word, str):
            single = all(len(symbol) == 1 for symbol in self.alphabet)
            symbols = tuple(word if single and " " not in word else word.split())
        else:
            symbols = tuple(word)
        for place, symbol in enumerate(symbols, 1):
            if symbol not in self.alphabet:
                raise WeftError(
                    f"the symbol '{symbol}' at position {place} is not in the alphabet",
                    subject=self.name,
                    remedy=f"Use {', '.join(self.alphabet)}",
                )
        return symbols

    def _check(self) -> None:
        if not self.alphabet or len(set(self.alphabet)) < len(self.alphabet):
            raise WeftError("an alphabet has at least one symbol, and each once", subject=self.name)
        for symbol in self.alphabet:
            if not symbol or symbol.split() != [symbol]:
                raise WeftError(f"'{symbol}' cannot be a symbol: it is empty or has white space")
        kinds: dict[str, Kind] = {}
        names = {line.name for line in self.lines}
        for line in self.lines:
            if line.name in kinds:
                raise ExpressionError(
                    f"'{line.name}' is defined twice", line.expression, "Use another name"
                )
            if line.name.startswith(NEXT) and line.name.removeprefix(NEXT) not in self.alphabet:
                raise ExpressionError(
                    f"'{line.name}' names a symbol that is not in the alphabet",
                    line.expression,
                    f"Use one of {', '.join(self.alphabet)}",
                )
            if not line.name.startswith(NEXT) and (reason := why_not_a_name(line.name)):
                raise ExpressionError(
                    f"'{line.name}' cannot be the name of a line: {reason}",
                    line.expression,
                    "Use letters, digits and underscores",
                )
            _check_nesting(line.expression)
            self._check_parts(line)
            kinds[line.name] = kind_of(line.expression, kinds, names)
            if line.name.startswith(NEXT) and kinds[line.name] != "Boolean":
                raise ExpressionError(
                    f"'{line.name}' must be Boolean", line.expression, "Compare it: C >= 1"
                )
        if "Boolean" not in kinds.values():
            raise WeftError(
                "it has no Boolean line, so it accepts nothing",
                subject=self.name,
                remedy="End with a comparison, such as accept := C == 0",
            )
        self._check_predicates()

    def _check_parts(self, line: Line) -> None:
        for part in walk(line.expression):
            if isinstance(part, Symbol) and part.symbol not in self.alphabet:
                raise ExpressionError(
                    f"'{part.symbol}' is not in the alphabet",
                    part,
                    _suggestion(part.symbol, self.alphabet),
                )
            if isinstance(part, (And, Or, Minimum, Maximum)) and len(part.operands) < 2:
                raise ExpressionError("this takes at least two operands", part)
            if isinstance(part, Integer) and abs(part.value) >= 10**MAX_DIGITS:
                raise ExpressionError(f"the number has more than {MAX_DIGITS} digits", part)

    def _check_predicates(self) -> None:
        declared: dict[str, Periodic | Local] = {}
        lines = {line.name for line in self.lines}
        used: list[Periodic | Local] = [*self.periodics, *self.locals]
        for predicate in used:
            name = predicate.name
            if not name:
                continue
            if reason := why_not_a_name(name):
                raise WeftError(f"'{name}' cannot be the name of a predicate: {reason}")
            if name in lines or declared.setdefault(name, predicate) != predicate:
                raise WeftError(
                    f"'{name}' is the name of a predicate and of something else",
                    subject=self.name,
                    remedy="Rename one of them",
                )


def _check_nesting(expression: Expression) -> None:
    level: tuple[Expression, ...] = (expression,)
    for _ in range(MAX_NESTING + 1):
        if not level:
            return
        level = tuple(inside for part in level for inside in operands(part))
    if level:
        raise ExpressionError(
            f"this is nested more than {MAX_NESTING} deep", level[0], "Give its parts names"
        )


def why_not_a_name(name: str) -> str:
    """What is wrong with the name of a line or a predicate; empty if nothing is."""
    if name in KEYWORDS:
        return "it is a word of the language"
    if name.startswith(("Q_", NEXT)):
        return f"{name[: name.index('_') + 1]} is for symbols"
    if re.fullmatch(r"[^\W\d]\w*", name) is None:
        return "it has other characters, or begins with a digit" if name else "it is empty"
    return ""


def _suggestion(name: str, known: Collection[str]) -> str:
    """A sentence with a similar name, or with all that are known."""
    if not known:
        return "Define it in a line above"
    sentence = did_you_mean(name, list(known))
    return sentence[:1].upper() + sentence[1:]


def kind_of(expression: Expression, kinds: Mapping[str, Kind], later: Collection[str] = ()) -> Kind:
    """The kind of an expression, after checking the kinds of all its parts.

    Args:
        expression: what to check.
        kinds: the kinds of the names that are defined.
        later: names that are defined only later, for the error message.
    """
    if isinstance(expression, Name):
        if expression.name in kinds:
            return kinds[expression.name]
        if expression.name in later:  # or in this line itself
            what = f"'{expression.name}' is used before it is defined"
            raise ExpressionError(what, expression, "Move its definition up")
        raise ExpressionError(
            f"'{expression.name}' is not defined",
            expression,
            _suggestion(expression.name, list(kinds)),
        )
    for position, inside in enumerate(operands(expression)):
        wanted = _wanted(expression, position)
        if (given := kind_of(inside, kinds, later)) != wanted:
            raise ExpressionError(
                f"a {given} stands where a {wanted} is needed",
                inside,
                "Count it: #[j <= i] P(j)" if given == "Boolean" else "Compare it: C >= 1",
            )
    return "Boolean" if isinstance(expression, BOOLEANS) else "count"


def _wanted(expression: Expression, position: int) -> Kind:
    """The kind that the operand of an expression must have."""
    if isinstance(expression, (Not, And, Or, Exists, Previous, Counting)):
        return "Boolean"
    if isinstance(expression, Conditional) and position == 0:
        return "Boolean"
    return "count"
