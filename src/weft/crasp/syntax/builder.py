"""C-RASP programs in Python: operators on values, and a builder whose attributes are the lines.

    dyck = CraspBuilder("()", name="dyck-1")
    opening, closing = dyck.symbols
    dyck.bad = count(opening) < count(closing)
    dyck.accept = (count(dyck.bad) == 0) & (count(opening) == count(closing))
    program = dyck.build()

A value is a `Boolean` or a `Count`. It has the operators of its kind, prints as the text of the
language, and holds the expression that it stands for. Booleans are joined by `&`, `|` and `~`, as
in NumPy: Python's `and`, `or` and `not` cannot be redefined, and raise an error that says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any, NoReturn

from weft.crasp.expressions import (
    Add,
    And,
    Comparison,
    Conditional,
    Constant,
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
    Operator,
    Or,
    Periodic,
    Position,
    Previous,
    Subtract,
    Symbol,
)
from weft.crasp.program import NEXT, CraspProgram, Line, kind_of
from weft.crasp.syntax.predicates import CheckedPredicate, local, periodic
from weft.crasp.syntax.text import expression_text
from weft.errors import WeftError, did_you_mean

Offsets = int | Iterable[int] | Local | CheckedPredicate[Local]
"""Which positions a count looks at: a distance, several, or a local predicate."""


class Value:
    """A Boolean or a count at every position; it prints as text.

    Attributes:
        expression: what it stands for; compare these to compare values.
    """

    __slots__ = ("expression",)

    def __init__(self, expression: Expression) -> None:
        self.expression = expression

    def __repr__(self) -> str:
        return expression_text(self.expression)

    def __bool__(self) -> NoReturn:
        raise WeftError(
            f"{self!r} has no truth value in Python: it differs from position to position",
            remedy="Use & for and, | for or, ~ for not, if_else for if, and split a < b < c",
        )

    __hash__ = None  # type: ignore[assignment]  # == does not compare values


class Boolean(Value):
    """A Boolean at every position: `P & Q`, `P | Q`, `~P`."""

    __slots__ = ()

    def __and__(self, other: Boolean | bool) -> Boolean:
        return Boolean(And((*_flat(self, And), _boolean(other))))

    def __rand__(self, other: bool) -> Boolean:
        return Boolean(And((_boolean(other), self.expression)))

    def __or__(self, other: Boolean | bool) -> Boolean:
        return Boolean(Or((*_flat(self, Or), _boolean(other))))

    def __ror__(self, other: bool) -> Boolean:
        return Boolean(Or((_boolean(other), self.expression)))

    def __invert__(self) -> Boolean:
        return Boolean(Not(self.expression))

    def _not_a_count(self, other: object) -> NoReturn:
        raise WeftError(
            f"{self!r} is a Boolean, which has no order and no arithmetic",
            remedy="Count it, as in count(P), or use if_else(P, 1, 0)",
        )

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _not_a_count
    __add__ = __radd__ = __sub__ = __rsub__ = _not_a_count
    __hash__ = None


class Count(Value):
    """An integer at every position: `C + D`, `C - D`, `-C`, and comparisons, which are Booleans."""

    __slots__ = ()

    def __add__(self, other: Count | int) -> Count:
        return Count(Add(self.expression, _count(other)))

    def __radd__(self, other: int) -> Count:
        if other == 0:  # the start of Python's sum()
            return self
        return Count(Add(_count(other), self.expression))

    def __sub__(self, other: Count | int) -> Count:
        return Count(Subtract(self.expression, _count(other)))

    def __rsub__(self, other: int) -> Count:
        return Count(Subtract(_count(other), self.expression))

    def __neg__(self) -> Count:
        return 0 - self

    def _compared(self, operator: Operator, other: object) -> Boolean:
        return Boolean(Comparison(operator, self.expression, _count(other)))

    def __eq__(self, other: object) -> Boolean:  # type: ignore[override]
        return self._compared("==", other)

    def __ne__(self, other: object) -> Boolean:  # type: ignore[override]
        return self._compared("!=", other)

    def __lt__(self, other: Count | int) -> Boolean:
        return self._compared("<", other)

    def __le__(self, other: Count | int) -> Boolean:
        return self._compared("<=", other)

    def __gt__(self, other: Count | int) -> Boolean:
        return self._compared(">", other)

    def __ge__(self, other: Count | int) -> Boolean:
        return self._compared(">=", other)

    def _not_a_boolean(self, other: object = None) -> NoReturn:
        raise WeftError(f"{self!r} is a count, not a Boolean", remedy="Compare it, as in C >= 1")

    __and__ = __rand__ = __or__ = __ror__ = __invert__ = _not_a_boolean
    __hash__ = None


def symbol(name: str) -> Boolean:
    """`Q_name`: the symbol at this position is this one.

    Example:
        >>> symbol("(")
        Q_"("
    """
    return Boolean(Symbol(name))


def count(body: Boolean | bool, offsets: Offsets | None = None) -> Count:
    """At how many positions up to this one a Boolean holds.

    Args:
        body: the Boolean.
        offsets: look only at the positions this far back: a number, several, or a local predicate.

    Example:
        >>> count(symbol("a")), count(symbol("a"), offsets=1)
        (#[j <= i] Q_a(j), #[j <= i, j == i - 1] Q_a(j))
    """
    return Count(Counting(_boolean(body), _local(offsets)))


def exists(body: Boolean | bool, offsets: Offsets | None = None) -> Boolean:
    """Whether a Boolean holds at a position up to this one; `offsets` as in `count`.

    Example:
        >>> exists(symbol("a"), offsets=(1, 2))
        exists[j <= i, j in i - {1, 2}] Q_a(j)
    """
    return Boolean(Exists(_boolean(body), _local(offsets)))


def previous(body: Boolean | bool) -> Boolean:
    """Whether a Boolean holds at the position before; false at the first one.

    Example:
        >>> symbol("b") & previous(symbol("a"))
        Q_b and previous Q_a
    """
    return Boolean(Previous(_boolean(body)))


def mod(period: int, residues: int | Iterable[int]) -> Boolean:
    """`MOD(period, residues)`: the position modulo the period is one of the residues.

    Example:
        >>> mod(3, 1), mod(3, {0, 1})
        (MOD(3, 1), MOD(3, {0, 1}))
    """
    return Boolean(Position(periodic(period, residues)))


def position(predicate: Periodic | CheckedPredicate[Periodic]) -> Boolean:
    """Whether this position satisfies a periodic predicate.

    Example:
        >>> from weft.crasp import periodic
        >>> position(periodic(2, 1, "odd")) & symbol("a")
        odd and Q_a
    """
    chosen = predicate.predicate if isinstance(predicate, CheckedPredicate) else predicate
    if not isinstance(chosen, Periodic):
        raise WeftError(
            f"{chosen!r} is not a periodic predicate",
            remedy="Declare one with periodic(2, 1), or check a function with check_periodic",
        )
    return Boolean(Position(chosen))


def if_else(condition: Boolean | bool, then: Count | int, otherwise: Count | int) -> Count:
    """`condition ? then : otherwise`.

    Example:
        >>> if_else(symbol("a"), 1, 0)
        Q_a ? 1 : 0
    """
    return Count(Conditional(_boolean(condition), _count(then), _count(otherwise)))


def minimum(*counts: Count | int) -> Count:
    """The smallest of at least two counts.

    Example:
        >>> minimum(count(symbol("a")), 3)
        min(#[j <= i] Q_a(j), 3)
    """
    return Count(Minimum(_two_or_more(counts)))


def maximum(*counts: Count | int) -> Count:
    """The largest of at least two counts.

    Example:
        >>> maximum(count(symbol("a")), 3)
        max(#[j <= i] Q_a(j), 3)
    """
    return Count(Maximum(_two_or_more(counts)))


def all_of(booleans: Iterable[Boolean | bool]) -> Boolean:
    """Whether all of several Booleans hold; `true` if there are none.

    Example:
        >>> all_of(count(symbol(a)) == 1 for a in "ab")
        #[j <= i] Q_a(j) == 1 and #[j <= i] Q_b(j) == 1
    """
    operands = tuple(map(_boolean, booleans))
    return Boolean(And(operands) if len(operands) > 1 else (*operands, Constant(True))[0])


def any_of(booleans: Iterable[Boolean | bool]) -> Boolean:
    """Whether at least one of several Booleans holds; `false` if there are none.

    Example:
        >>> any_of(symbol(a) for a in "abc")
        Q_a or Q_b or Q_c
    """
    operands = tuple(map(_boolean, booleans))
    return Boolean(Or(operands) if len(operands) > 1 else (*operands, Constant(False))[0])


class CraspBuilder:
    """Builds a program line by line: assigning a value to an attribute defines a line.

    `builder["name"]` does the same for names that are computed, and for those of the builder's own
    attributes. A line can be read after it has been defined, and not defined again.

    Args:
        alphabet: the symbols; those of a text are its characters.
        name: what the program is called.
        about: its idea.

    Example:
        >>> from weft.crasp import CraspBuilder, count, run
        >>> majority = CraspBuilder("01")
        >>> zero, one = majority.symbols
        >>> majority.accept = count(zero) < count(one)
        >>> print(majority)
        alphabet 0 1
        accept := #[j <= i] Q_0(j) < #[j <= i] Q_1(j)
        >>> run(majority.build(), "0111").accepted
        True
    """

    def __init__(self, alphabet: Iterable[str], name: str = "", about: str = "") -> None:
        object.__setattr__(self, "_alphabet", tuple(alphabet))
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_about", about)
        object.__setattr__(self, "_lines", {})
        object.__setattr__(self, "_kinds", {})

    @property
    def symbols(self) -> tuple[Boolean, ...]:
        """`Q_a` for each symbol a of the alphabet, in order."""
        return tuple(map(symbol, self._alphabet))

    def define(self, name: str, value: Boolean | Count | bool | int) -> Any:
        """Add a line; returns its value, for use in later lines."""
        if name in self._lines:
            raise WeftError(
                f"'{name}' is defined twice", subject=self._name, remedy="Use another name"
            )
        line = _value(value)
        kind = kind_of(line.expression, self._kinds)
        self._lines[name] = Line(name, line.expression)
        self._kinds[name] = kind
        return self[name]

    def allow(self, symbol: str, when: Boolean | bool) -> Boolean:
        """Say when a symbol may come next, for transduction: define the line `NEXT_symbol`."""
        result: Boolean = self.define(f"{NEXT}{symbol}", Boolean(_boolean(when)))
        return result

    def build(self) -> CraspProgram:
        """The program of the lines so far."""
        return CraspProgram(self._alphabet, tuple(self._lines.values()), self._name, self._about)

    def __getitem__(self, name: str) -> Any:
        if name not in self._kinds:
            raise UndefinedLineError(name, self._name, list(self._kinds))
        return (Boolean if self._kinds[name] == "Boolean" else Count)(Name(name))

    def __setitem__(self, name: str, value: Boolean | Count | bool | int) -> None:
        self.define(name, value)

    def __setattr__(self, name: str, value: Boolean | Count | bool | int) -> None:
        if hasattr(type(self), name) or name.startswith("_"):
            raise WeftError(
                f"'{name}' cannot be the name of a line here: it is the builder's own",
                remedy=f'Write builder["{name}"] = ..., or use another name',
            )
        self.define(name, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __str__(self) -> str:
        return str(self.build())

    def __repr__(self) -> str:
        lines = ", ".join(self._lines) or "no lines"
        return f"<C-RASP builder {self._name}: {lines}>".replace(" :", ":")

    _alphabet: tuple[str, ...]
    _name: str
    _about: str
    _lines: dict[str, Line]
    _kinds: dict[str, Kind]


class UndefinedLineError(WeftError, AttributeError):
    """A builder was asked for a line that it does not have."""

    def __init__(self, name: str, subject: str, known: list[str]) -> None:
        sentence = did_you_mean(name, known)
        remedy = sentence[:1].upper() + sentence[1:]
        super().__init__(f"'{name}' is not defined", subject=subject, remedy=remedy)


# From Python to expressions


def _value(value: object) -> Value:
    """A value, also of a Python bool or int."""
    if isinstance(value, Value):
        return value
    if isinstance(value, bool):
        return Boolean(Constant(value))
    if isinstance(value, Integral):  # also of NumPy
        return Count(Integer(int(value)))
    raise WeftError(
        f"{value!r} is neither a Boolean nor a count",
        remedy="Make values with symbol, count, exists, previous and mod",
    )


def _boolean(value: object) -> Expression:
    """The expression of a Boolean."""
    given = _value(value)
    if isinstance(given, Count):
        raise WeftError(
            f"the count {given!r} stands where a Boolean is needed", remedy="Compare it: C >= 1"
        )
    return given.expression


def _count(value: object) -> Expression:
    """The expression of a count."""
    given = _value(value)
    if isinstance(given, Boolean):
        raise WeftError(
            f"the Boolean {given!r} stands where a count is needed",
            remedy="Count it, as in count(P), or use if_else(P, 1, 0)",
        )
    return given.expression


def _two_or_more(counts: tuple[Count | int, ...]) -> tuple[Expression, ...]:
    if len(counts) < 2:
        raise WeftError("this takes at least two counts", remedy="Write minimum(C, D)")
    return tuple(map(_count, counts))


def _flat(value: Boolean, kind: type[And] | type[Or]) -> tuple[Expression, ...]:
    """The operands of `P & Q`, of which `P & Q & R` has one more."""
    expression = value.expression
    return expression.operands if isinstance(expression, kind) else (expression,)


def _local(offsets: Offsets | None) -> Local | None:
    if offsets is None or isinstance(offsets, Local):
        return offsets
    if isinstance(offsets, CheckedPredicate):
        return offsets.predicate
    return local(offsets)
