"""A C-RASP program as a plan: what each position computes from its left neighbour, stage by stage.

A position takes over the running counts of its left neighbour and adds what it counts itself. Two
counts are compared by their difference, which is a single running sum, so the number of cases grows
linearly in the length of words. A sum that can only grow, or only fall, stops at the last value
that makes a difference to a comparison.

To count something that depends on counts takes another stage. So there are as many stages as
counting is deep, and each is a small function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from typing import Any

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
    Local,
    Maximum,
    Minimum,
    Name,
    Not,
    Operator,
    Or,
    Position,
    Previous,
    Subtract,
    Symbol,
)
from weft.crasp.program import CraspProgram
from weft.crasp.reference import run
from weft.language.program import Program

Function = Callable[[Any], Any]
"""A function of the state of a position: a Boolean or an integer."""

SYMBOL, STAGE, NEXT_SYMBOL = "symbol", "stage", "next_symbol"


@dataclass(frozen=True)
class PlannedVariable:
    """A variable of the plan.

    Attributes:
        size: it has the values 0 to size - 1.
        begin: its value at the begin symbol.
        initial: its values before the first stage, by symbol; empty if they do not matter.
        otherwise: the value at all other tokens.
    """

    size: int
    begin: int
    initial: tuple[int, ...] = ()
    otherwise: int = 0


@dataclass(frozen=True)
class StoredLine:
    """Where the value of a line is: it is sign * variable + shift."""

    variable: str
    sign: int = 1
    shift: int = 0


@dataclass(frozen=True)
class Computed:
    """A Boolean or an integer as a function of the state.

    Attributes:
        function: gives its value in its stage and in all later ones.
        stage: from which on it is known; -1 if from the beginning.
        counts: whether it is computed from a running sum in this stage.
        symbols: its value by symbol if it depends on the symbol alone, otherwise None.
    """

    function: Function
    stage: int
    counts: bool = False
    symbols: tuple[bool, ...] | None = None


@dataclass(frozen=True)
class Linear:
    """A constant and counts with coefficients, each over all positions or at a single distance."""

    constant: int
    terms: tuple[tuple[Counting, int], ...] = ()

    def plus(self, other: Linear, sign: int = 1) -> Linear:
        """The sum with another one, or the difference from it."""
        terms = dict(self.terms)
        for count, coefficient in other.terms:
            terms[count] = terms.get(count, 0) + sign * coefficient
        kept = tuple((count, coefficient) for count, coefficient in terms.items() if coefficient)
        return Linear(self.constant + sign * other.constant, kept)


@dataclass
class RunningSum:
    """A sum of counts over all positions, carried from left to right.

    Attributes:
        name: of its variable, which holds the sum less `low`.
        stage: in which it is computed.
        falls: the smallest change from one position to the next, at most 0.
        grows: the largest, at least 0.
        exact: whether every value matters, not only which comparisons hold.
        thresholds: the values at which comparisons change.
        low: the smallest value that is held.
        high: the largest.
        saturates: whether it stops at these values.
    """

    name: str
    stage: int
    falls: int
    grows: int
    exact: bool = False
    thresholds: set[int] = field(default_factory=set)
    low: int = 0
    high: int = 0
    saturates: bool = False

    def fix_range(self, length: int) -> None:
        """Set `low`, `high` and `saturates` for words up to a length."""
        self.low, self.high = length * self.falls, length * self.grows
        if self.exact or (self.falls and self.grows):
            return
        low = max(self.low, min(0, *self.thresholds) - 1) if self.falls else 0
        high = min(self.high, max(0, *self.thresholds) + 1) if self.grows else 0
        self.saturates = (low, high) != (self.low, self.high)
        self.low, self.high = low, high


@dataclass(frozen=True)
class Total:
    """The value of a `Linear`: a running sum, Booleans near the position, and a constant."""

    constant: int
    running: RunningSum | None
    sign: int
    near: tuple[tuple[Computed, int], ...]

    @property
    def computed(self) -> Computed:
        """Its value as a function of the state."""
        stages = [test.stage for test, _ in self.near]
        counts = self.running is not None or any(test.counts for test, _ in self.near)
        if self.running is not None:
            stages.append(self.running.stage)
        parts = tuple((test.function, coefficient) for test, coefficient in self.near)
        return Computed(
            _total(self.constant, self.running, self.sign, parts), max(stages, default=-1), counts
        )

    @property
    def near_extent(self) -> tuple[int, int]:
        """The smallest and the largest value of all but the running sum."""
        factors = [coefficient for _, coefficient in self.near]
        low = self.constant + sum(factor for factor in factors if factor < 0)
        return low, self.constant + sum(factor for factor in factors if factor > 0)

    @property
    def extent(self) -> tuple[int, int]:
        """The smallest and the largest value."""
        low, high = self.near_extent
        if self.running is None:
            return low, high
        ends = sorted((self.sign * self.running.low, self.sign * self.running.high))
        return low + ends[0], high + ends[1]


@dataclass
class CountLine:
    """A count line that has a variable of its own, which holds its value less `low`."""

    name: str
    variable: str
    totals: list[Total]
    low: int = 0


class Plan:
    """The variables and the instructions, stage by stage, that compute a program.

    Attributes:
        variables: by name; `symbol` and `stage` are among them.
        carried: the variables that a position reads from its left neighbour.
        stages: the instructions of each: a variable and the function that gives its value.
        lines: where the value of each line is.
        bounded: whether it is right only for words up to the given length.
    """

    def __init__(self, program: CraspProgram, length: int) -> None:
        self.program = program
        self.variables: dict[str, PlannedVariable] = {}
        self.carried: dict[str, None] = {STAGE: None}
        self.stages: list[list[tuple[str, Function]]] = [[]]
        self.lines: dict[str, StoredLine] = {}
        self._begin = {name: int(values[0]) for name, values in run(program, ()).values.items()}
        self._sums: dict[frozenset[tuple[Expression, int]], RunningSum] = {}
        self._booleans: dict[Expression, Computed] = {}
        self._held: dict[tuple[Expression, int], str] = {}
        self._count_lines: list[CountLine] = []
        symbols = tuple(range(len(program.alphabet)))
        none = len(symbols)
        self._declare(SYMBOL, PlannedVariable(none + 1, none, symbols, otherwise=none))
        self._declare(STAGE, PlannedVariable(1, 0))
        direct: dict[str, Total] = {}
        for line in program.lines:
            if program.kinds[line.name] == "Boolean":
                self._plan_boolean(line.name, line.expression)
            else:
                direct |= self._plan_count(line.name, line.expression)
        if program.next_symbols:
            self._plan_next_symbol()
        self._fix_ranges(length, direct)

    def _fix_ranges(self, length: int, direct: dict[str, Total]) -> None:
        """Give running sums and counts their sizes, now that all comparisons are known."""
        for running in self._sums.values():
            running.fix_range(length)
            size = running.high - running.low + 1
            self.variables[running.name] = PlannedVariable(size, -running.low)
        for name, total in direct.items():
            assert total.running is not None
            shift = total.sign * total.running.low + total.constant
            self.lines[name] = StoredLine(total.running.name, total.sign, shift)
        for line in self._count_lines:
            lows, highs = zip(*(total.extent for total in line.totals), strict=True)
            line.low = min(lows)
            begin = self._begin[line.name] - line.low
            self.variables[line.variable] = PlannedVariable(max(highs) - line.low + 1, begin)
            self.lines[line.name] = StoredLine(line.variable, 1, line.low)
        self.bounded = any(
            not running.saturates and running.low < running.high for running in self._sums.values()
        )
        done = len(self.stages)
        initial = (0,) * len(self.program.alphabet)
        self.variables[STAGE] = PlannedVariable(done + 1, done, initial)

    # Lines

    def _plan_boolean(self, name: str, expression: Expression) -> None:
        computed = self._boolean(expression)
        variable = self._declare(name, self._boolean_variable(computed, self._begin[name]))
        self._assign(variable, computed)
        self.lines[name] = StoredLine(variable)
        stored = Computed(_read(variable), computed.stage, computed.counts, computed.symbols)
        self._booleans[Name(name)] = stored

    def _plan_count(self, name: str, expression: Expression) -> dict[str, Total]:
        """Plan a count line; returns it if it is a running sum, and needs nothing else."""
        cases = [(guards, self._total(linear, name)) for guards, linear in self._cases(expression)]
        for _, total in cases:
            if total.running is not None:
                total.running.exact = True
        (_, first), *others = cases
        if not others and first.running is not None and not first.near:
            return {name: first}
        variable = self._declare(name, PlannedVariable(1, 0))
        line = CountLine(name, variable, [total for _, total in cases])
        self._count_lines.append(line)
        tests = [self._boolean(_all(guards)) for guards, _ in cases]
        values = [total.computed for _, total in cases]
        functions = [
            (test.function, value.function) for test, value in zip(tests, values, strict=True)
        ]
        stage = max(part.stage for part in (*tests, *values))
        self._assign(variable, Computed(_by_cases(tuple(functions), line), stage))
        return {}

    def _plan_next_symbol(self) -> None:
        """A variable for the first symbol that may come next; the number of symbols if none may."""
        numbers = {symbol: number for number, symbol in enumerate(self.program.alphabet)}
        allowed = {numbers[s]: name for s, name in self.program.next_symbols.items()}
        none = len(numbers)
        tests = [(number, self._booleans[Name(allowed[number])]) for number in sorted(allowed)]
        begin = min((number for number, name in allowed.items() if self._begin[name]), default=none)
        variable = self._declare(NEXT_SYMBOL, PlannedVariable(none + 1, begin))
        assert variable == NEXT_SYMBOL
        choices = tuple((number, test.function) for number, test in tests)
        stage = max(test.stage for _, test in tests)
        self._assign(variable, Computed(_first(choices, none), stage))

    # Expressions

    def _boolean(self, expression: Expression) -> Computed:
        if expression not in self._booleans:
            self._booleans[expression] = self._planned_boolean(expression)
        return self._booleans[expression]

    def _planned_boolean(self, expression: Expression) -> Computed:
        symbols = range(len(self.program.alphabet))
        match expression:
            case Symbol(symbol):
                number = self.program.alphabet.index(symbol)
                return Computed(
                    _equals(_read(SYMBOL), number), -1, symbols=tuple(k == number for k in symbols)
                )
            case Constant(value):
                return Computed(_constant(value), -1, symbols=(value,) * len(symbols))
            case Position(predicate):
                return Computed(_among(self._remainder(predicate.period), predicate.residues), 0)
            case Not(operand):
                inner = self._boolean(operand)
                negated = None if inner.symbols is None else tuple(not s for s in inner.symbols)
                return Computed(_negation(inner.function), inner.stage, inner.counts, negated)
            case And(operands):
                return self._joined(_conjunction, all, operands)
            case Or(operands):
                return self._joined(_disjunction, any, operands)
            case Comparison(operator, left, right):
                options = [
                    self._joined(_conjunction, all, guards, self._comparison(operator, linear))
                    for guards, linear in self._cases(Subtract(left, right))
                ]
                return self._joined(_disjunction, any, (), *options)
            case Exists(body, local):
                return self._boolean(Comparison(">=", Counting(body, local), Integer(1)))
            case Previous(body):
                return self._near(body, 1)
        raise AssertionError(expression)

    def _joined(
        self,
        join: Callable[[tuple[Function, ...]], Function],
        rule: Callable[[Sequence[bool]], bool],
        operands: Sequence[Expression],
        *more: Computed,
    ) -> Computed:
        parts = [*map(self._boolean, operands), *more]
        if len(parts) == 1:
            return parts[0]
        tables = [part.symbols for part in parts if part.symbols is not None]
        known = len(tables) == len(parts)
        return Computed(
            join(tuple(part.function for part in parts)),
            max(part.stage for part in parts),
            any(part.counts for part in parts),
            tuple(rule(column) for column in zip(*tables, strict=True)) if known else None,
        )

    def _comparison(self, operator: Operator, linear: Linear) -> Computed:
        """The comparison of a sum with 0."""
        total = self._total(linear)
        if total.running is not None:
            total.running.thresholds.update(-total.sign * end for end in total.near_extent)
        value = total.computed
        if operator in ("==", "!="):
            test = _equals(value.function, 0)
        else:
            test = _at_most(value.function, 0 if operator in ("<=", ">") else -1)
        if operator in ("!=", ">", ">="):
            test = _negation(test)
        return Computed(test, value.stage, value.counts)

    def _cases(self, expression: Expression) -> Iterator[tuple[tuple[Expression, ...], Linear]]:
        """A count as sums, each with the Booleans under which it holds; one case holds."""
        match expression:
            case Integer(value):
                yield (), Linear(value)
            case Counting(body, None):
                yield (), Linear(0, ((Counting(body), 1),))
            case Counting(body, Local(offsets)):
                near = tuple((Counting(body, Local((offset,))), 1) for offset in offsets)
                yield (), Linear(0, near)
            case Name(name):
                yield from self._cases(self.program.expressions[name])
            case Add(left, right) | Subtract(left, right):
                sign = 1 if isinstance(expression, Add) else -1
                for one, other in product(self._cases(left), list(self._cases(right))):
                    yield (*one[0], *other[0]), one[1].plus(other[1], sign)
            case Conditional(condition, then, otherwise):
                for guards, linear in self._cases(then):
                    yield (condition, *guards), linear
                for guards, linear in self._cases(otherwise):
                    yield (Not(condition), *guards), linear
            case Minimum(operands):
                yield from self._cases(reduce(_smaller, operands))
            case Maximum(operands):
                yield from self._cases(reduce(_larger, operands))

    def _total(self, linear: Linear, name: str = "") -> Total:
        """A sum, with its running part under a name if it is new."""
        everywhere = tuple((c.body, factor) for c, factor in linear.terms if c.local is None)
        near = tuple(
            (self._near(count.body, count.local.offsets[0]), factor)
            for count, factor in linear.terms
            if count.local is not None
        )
        if not everywhere:
            return Total(linear.constant, None, 1, near)
        opposite = frozenset((body, -factor) for body, factor in everywhere)
        if opposite in self._sums:
            return Total(linear.constant, self._sums[opposite], -1, near)
        key = frozenset(everywhere)
        if key not in self._sums:
            self._sums[key] = self._running_sum(everywhere, name)
        return Total(linear.constant, self._sums[key], 1, near)

    # Variables that are carried from left to right

    def _running_sum(self, terms: tuple[tuple[Expression, int], ...], name: str) -> RunningSum:
        parts = [(self._boolean(body), factor) for body, factor in terms]
        variable = self._declare(name or f"count_{len(self._sums) + 1}", PlannedVariable(1, 0))
        stage = max(0, *(part.stage + part.counts for part, _ in parts))
        by_symbol = [
            sum(factor * part.symbols[k] for part, factor in parts if part.symbols is not None)
            for k in range(len(self.program.alphabet))
        ]
        free = [factor for part, factor in parts if part.symbols is None]
        falls = min(0, min(by_symbol) + sum(factor for factor in free if factor < 0))
        grows = max(0, max(by_symbol) + sum(factor for factor in free if factor > 0))
        running = RunningSum(variable, stage, falls, grows)
        bodies = tuple((part.function, factor) for part, factor in parts)
        self._assign(variable, Computed(_accumulated(running, self._left(variable), bodies), stage))
        return running

    def _near(self, body: Expression, distance: int) -> Computed:
        """A Boolean at a distance to the left; false there if that is before the first position."""
        computed = self._boolean(body)
        if distance == 0:
            return computed
        held = self._hold(body, distance - 1)
        return Computed(_read(self._left(held)), max(0, computed.stage))

    def _hold(self, body: Expression, distance: int) -> str:
        """The variable that holds a Boolean at a distance, and is false at the begin symbol."""
        if (body, distance) in self._held:
            return self._held[body, distance]
        computed = self._boolean(body)
        if distance > 0:
            source = self._hold(body, distance - 1)
            variable = self._declare(f"{source}_before", PlannedVariable(2, 0))
            self._assign(variable, Computed(_read(self._left(source)), max(0, computed.stage)))
        elif isinstance(body, Name) and not self._begin[body.name]:
            variable = self.lines[body.name].variable
        else:
            name = f"held_{len(self._held) + 1}"
            variable = self._declare(name, self._boolean_variable(computed, 0))
            self._assign(variable, computed)
        self._held[body, distance] = variable
        return variable

    def _remainder(self, period: int) -> Function:
        name = f"mod_{period}"
        if name not in self.variables:
            self._declare(name, PlannedVariable(period, 0))
            self._assign(name, Computed(_successor(self._left(name), period), 0))
        return _read(name)

    def _left(self, variable: str) -> str:
        """The head that reads a variable of the left neighbour."""
        self.carried[variable] = None
        return f"{variable}_left"

    def _boolean_variable(self, computed: Computed, begin: int) -> PlannedVariable:
        return PlannedVariable(2, begin, tuple(map(int, computed.symbols or ())))

    def _assign(self, variable: str, computed: Computed) -> None:
        """Add an instruction to a stage, unless the symbol gives the value from the beginning."""
        if computed.symbols is not None:
            return
        while len(self.stages) <= computed.stage:
            self.stages.append([])
        self.stages[max(0, computed.stage)].append((variable, computed.function))

    def _declare(self, name: str, variable: PlannedVariable) -> str:
        """Add a variable, under its name or a similar one that is free and an identifier."""
        plain = "".join(letter if letter.isalnum() else "_" for letter in name)
        plain = plain if plain[:1].isalpha() else f"line_{plain}"
        while (
            plain in self._taken or f"{plain}_left" in self.variables or hasattr(Program, plain)
        ):
            plain += "_"
        self.variables[plain] = variable
        return plain

    @property
    def _taken(self) -> set[str]:
        reserved = {"step", "output", "halt", "definition", NEXT_SYMBOL}
        reserved |= {"crasp", "max_length", "begin", "stages", "lines", "sampler", "source_text"}
        if NEXT_SYMBOL not in self.variables and self.program.next_symbols:
            reserved.discard(NEXT_SYMBOL)
        return reserved | {taken for name in self.variables for taken in (name, f"{name}_left")}


# Functions of the state. Each is a function of its own, so that the front end can follow it.


def _read(name: str) -> Function:
    def read(z: Any) -> Any:
        return z[name]

    return read


def _constant(value: bool) -> Function:
    def constant(z: Any) -> Any:
        return value

    return constant


def _negation(operand: Function) -> Function:
    def negation(z: Any) -> Any:
        return not operand(z)

    return negation


def _conjunction(operands: tuple[Function, ...]) -> Function:
    def conjunction(z: Any) -> Any:
        return all(operand(z) for operand in operands)

    return conjunction


def _disjunction(operands: tuple[Function, ...]) -> Function:
    def disjunction(z: Any) -> Any:
        return any(operand(z) for operand in operands)

    return disjunction


def _equals(value: Function, number: int) -> Function:
    def equals(z: Any) -> Any:
        return value(z) == number

    return equals


def _at_most(value: Function, number: int) -> Function:
    def at_most(z: Any) -> Any:
        return value(z) <= number

    return at_most


def _among(value: Function, numbers: tuple[int, ...]) -> Function:
    def among(z: Any) -> Any:
        return value(z) in numbers

    return among


def _successor(left: str, period: int) -> Function:
    def successor(z: Any) -> Any:
        return (z[left] + 1) % period

    return successor


def _total(
    constant: int,
    running: RunningSum | None,
    sign: int,
    near: tuple[tuple[Function, int], ...],
) -> Function:
    def total(z: Any) -> Any:
        result = constant
        if running is not None:
            result += sign * (z[running.name] + running.low)
        for test, coefficient in near:
            result += coefficient * bool(test(z))
        return result

    return total


def _accumulated(
    running: RunningSum, left: str, bodies: tuple[tuple[Function, int], ...]
) -> Function:
    def accumulated(z: Any) -> Any:
        result = z[left]
        for body, coefficient in bodies:
            if body(z):
                result += coefficient
        if running.saturates:
            result = min(max(result, 0), running.high - running.low)
        return result

    return accumulated


def _by_cases(cases: tuple[tuple[Function, Function], ...], line: CountLine) -> Function:
    def by_cases(z: Any) -> Any:
        result = 0
        for test, value in cases:
            if test(z):
                result = value(z) - line.low
        return result

    return by_cases


def _first(choices: tuple[tuple[int, Function], ...], none: int) -> Function:
    def first(z: Any) -> Any:
        for number, test in choices:
            if test(z):
                return number
        return none

    return first


def _all(operands: tuple[Expression, ...]) -> Expression:
    """The conjunction of any number of Booleans."""
    return And(operands) if len(operands) > 1 else operands[0] if operands else Constant(True)


def _smaller(left: Expression, right: Expression) -> Expression:
    return Conditional(Comparison("<=", left, right), left, right)


def _larger(left: Expression, right: Expression) -> Expression:
    return Conditional(Comparison("<=", left, right), right, left)
