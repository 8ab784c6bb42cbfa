"""A C-RASP program as a plan: what each position computes from its left neighbour, stage by stage.

A position takes over the running counts of its left neighbour and adds what it counts itself. Two
counts are compared by their difference, which is a single running sum, so the number of cases grows
linearly in the length of words. A sum that can only grow, or only fall, stops at the last value
that makes a difference to a comparison.

To count something that depends on counts takes another stage. So there are as many stages as
counting is deep, and each is a small function.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from weft.crasp.analysis.nodes import (
    Atom,
    Choice,
    Form,
    Junction,
    Linear,
    Negation,
    NodeBuilder,
    Read,
    Threshold,
    Total,
    Value,
    linear_parts,
)
from weft.crasp.bridge import state_functions as functions
from weft.crasp.bridge.state_functions import Function
from weft.crasp.expressions import Constant, Name, Position, Symbol
from weft.crasp.graph import graph_of
from weft.crasp.program import CraspProgram
from weft.crasp.reference import run
from weft.language.program import Program

SYMBOL, STAGE, NEXT_SYMBOL = "symbol", "stage", "next_symbol"
RESERVED = {
    NEXT_SYMBOL, "begin", "crasp", "halt", "lines", "max_length", "output", "sampler", "stages",
    "step",
}  # fmt: skip
"""Names that lines must not give to variables: those of the program that is made of the plan."""


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
    """Where the value of a line is: it is factor * variable + shift."""

    variable: str
    factor: int = 1
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


@dataclass
class CountLine:
    """A count line that has a variable of its own, which holds its value less `low`."""

    name: str
    variable: str
    value: Value
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
        graph = graph_of(program)
        self._nodes = NodeBuilder(program.alphabet, graph.operations)
        self._begin = {name: int(values[0]) for name, values in run(program, ()).values.items()}
        self._sums: dict[Form, RunningSum] = {}
        self._computed: dict[int, Computed] = {}
        self._held: dict[tuple[int, int], str] = {}
        self._remainders: dict[int, str] = {}
        self._sum_lines: dict[str, Linear] = {}
        self._count_lines: list[CountLine] = []
        symbols = tuple(range(len(program.alphabet)))
        none = len(symbols)
        self._declare(SYMBOL, PlannedVariable(none + 1, none, symbols, otherwise=none))
        self._declare(STAGE, PlannedVariable(1, 0))
        for name, index in graph.lines.items():
            reference = Name(str(index))
            if program.kinds[name] == "Boolean":
                self._plan_boolean(name, self._nodes.boolean(reference))
            else:
                self._plan_count(name, self._nodes.value(reference))
        if program.next_symbols:
            self._plan_next_symbol()
        self._fix_ranges(length)

    def _fix_ranges(self, length: int) -> None:
        """Give running sums and counts their sizes, now that all comparisons are known."""
        for running in self._sums.values():
            running.fix_range(length)
            size = running.high - running.low + 1
            self.variables[running.name] = PlannedVariable(size, -running.low)
        for name, linear in self._sum_lines.items():
            running = self._running(linear)
            shift = linear.scale * running.low + linear.constant
            self.lines[name] = StoredLine(running.name, linear.scale, shift)
        for line in self._count_lines:
            line.low, high = self._extent(line.value)
            begin = self._begin[line.name] - line.low
            self.variables[line.variable] = PlannedVariable(high - line.low + 1, begin)
            self.lines[line.name] = StoredLine(line.variable, 1, line.low)
        self.bounded = any(
            not running.saturates and running.low < running.high for running in self._sums.values()
        )
        done = len(self.stages)
        initial = (0,) * len(self.program.alphabet)
        self.variables[STAGE] = PlannedVariable(done + 1, done, initial)

    # Lines

    def _plan_boolean(self, name: str, node: int) -> None:
        computed = self._boolean(node)
        variable = self._declare(name, self._boolean_variable(computed, self._begin[name]))
        self._assign(variable, computed)
        self.lines[name] = StoredLine(variable)
        self._computed[node] = replace(computed, function=functions.read(variable))
        if not self._begin[name]:
            self._held.setdefault((node, 0), variable)

    def _plan_count(self, name: str, value: Value) -> None:
        for linear in linear_parts(value):
            if linear.counts:
                self._running(linear, name).exact = True
        if isinstance(value, Linear) and value.counts and not value.bits:
            self._sum_lines[name] = value
            return
        variable = self._declare(name, PlannedVariable(1, 0))
        line = CountLine(name, variable, value)
        self._count_lines.append(line)
        computed = self._integer(value)
        self._assign(
            variable, replace(computed, function=functions.less_low(computed.function, line))
        )

    def _plan_next_symbol(self) -> None:
        """A variable for the first symbol that may come next; the number of symbols if none may."""
        alphabet = self.program.alphabet
        names = {alphabet.index(s): name for s, name in self.program.next_symbols.items()}
        allowed = [(number, names[number]) for number in sorted(names)]
        none = len(alphabet)
        begin = next((number for number, name in allowed if self._begin[name]), none)
        self.variables[NEXT_SYMBOL] = PlannedVariable(none + 1, begin)
        choices = tuple(
            (number, functions.read(self.lines[name].variable)) for number, name in allowed
        )
        self._assign(NEXT_SYMBOL, Computed(functions.first(choices, none), len(self.stages) - 1))

    # Booleans and integers

    def _boolean(self, node: int) -> Computed:
        if node not in self._computed:
            self._computed[node] = self._planned(node)
        return self._computed[node]

    def _planned(self, node: int) -> Computed:
        symbols = range(len(self.program.alphabet))
        match self._nodes.nodes[node]:
            case Atom(Symbol(symbol)):
                number = self.program.alphabet.index(symbol)
                table = tuple(k == number for k in symbols)
                return Computed(functions.equals(functions.read(SYMBOL), number), -1, symbols=table)
            case Atom(Constant(value)):
                return Computed(functions.constant(value), -1, symbols=(value,) * len(symbols))
            case Atom(Position(predicate)):
                return Computed(
                    functions.among(self._remainder(predicate.period), predicate.residues), 0
                )
            case Negation(operand):
                inner = self._boolean(operand)
                negation = functions.negation(inner.function)
                opposite = None if inner.symbols is None else tuple(not s for s in inner.symbols)
                return replace(inner, function=negation, symbols=opposite)
            case Junction(conjunction, operands):
                parts = [self._boolean(operand) for operand in operands]
                tables = [part.symbols for part in parts if part.symbols is not None]
                rule = all if conjunction else any
                known = len(tables) == len(parts)
                join = functions.conjunction if conjunction else functions.disjunction
                return Computed(
                    join(tuple(part.function for part in parts)),
                    max(part.stage for part in parts),
                    any(part.counts for part in parts),
                    tuple(map(rule, zip(*tables, strict=True))) if known else None,
                )
            case Read(body, offset):
                held = self._hold(body, offset - 1)
                return Computed(functions.read(self._left(held)), max(0, self._boolean(body).stage))
            case Threshold(operator, value):
                self._note_thresholds(value)
                total = self._integer(value)
                return replace(total, function=functions.compared(operator, total.function))
        raise AssertionError(f"node {node} is of no known kind")

    def _note_thresholds(self, value: Value) -> None:
        """Tell running sums which of their values a comparison with 0 tells apart."""
        for linear in linear_parts(value):
            if linear.counts:
                running = self._running(linear)
                running.exact |= not isinstance(value, Linear)
                for end in self._extent(replace(linear, counts=())):
                    running.thresholds |= {-end // linear.scale, -(end // linear.scale)}

    def _integer(self, value: Value) -> Computed:
        """An integer as a function of the state."""
        match value:
            case Linear(counts, bits, constant):
                running = self._running(value) if counts else None
                near = [(self._boolean(bit), coefficient) for bit, coefficient in bits]
                tests = tuple((bit.function, coefficient) for bit, coefficient in near)
                stages = [bit.stage for bit, _ in near]
                return Computed(
                    functions.total(constant, running, value.scale, tests),
                    max([*stages, running.stage if running is not None else -1]),
                    running is not None or any(bit.counts for bit, _ in near),
                )
            case Choice(condition, then, otherwise):
                parts = [self._boolean(condition), self._integer(then), self._integer(otherwise)]
                function = functions.choice(*(part.function for part in parts))
            case Total(summands):
                parts = [self._integer(summand) for summand, _ in summands]
                signs = [sign for _, sign in summands]
                function = functions.signed_sum(
                    tuple((p.function, sign) for p, sign in zip(parts, signs, strict=True))
                )
        return Computed(
            function, max(part.stage for part in parts), any(part.counts for part in parts)
        )

    def _extent(self, value: Value) -> tuple[int, int]:
        """The smallest and the largest value of an integer, once running sums have theirs."""
        match value:
            case Linear(counts, bits, constant):
                factors = [coefficient for _, coefficient in bits]
                low = constant + sum(factor for factor in factors if factor < 0)
                high = constant + sum(factor for factor in factors if factor > 0)
                if counts:
                    running = self._running(value)
                    ends = sorted((value.scale * running.low, value.scale * running.high))
                    low, high = low + ends[0], high + ends[1]
                return low, high
            case Choice(_, then, otherwise):
                one, other = self._extent(then), self._extent(otherwise)
                return min(one[0], other[0]), max(one[1], other[1])
            case Total(summands):
                extents = [
                    sorted((sign * end) for end in self._extent(summand))
                    for summand, sign in summands
                ]
                return sum(low for low, _ in extents), sum(high for _, high in extents)

    # Variables that are carried from left to right

    def _running(self, linear: Linear, name: str = "") -> RunningSum:
        """The running sum of a linear combination; if it is new, it may be given a name."""
        assert linear.form is not None
        if linear.form not in self._sums:
            self._sums[linear.form] = self._running_sum(linear.form, name)
        return self._sums[linear.form]

    def _running_sum(self, form: Form, name: str) -> RunningSum:
        parts = [(self._boolean(node), factor) for node, factor in form]
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
        self._assign(
            variable, Computed(functions.accumulated(running, self._left(variable), bodies), stage)
        )
        return running

    def _hold(self, node: int, distance: int) -> str:
        """The variable that holds a Boolean at a distance, and is false at the begin symbol."""
        if (node, distance) in self._held:
            return self._held[node, distance]
        computed = self._boolean(node)
        if distance > 0:
            source = self._hold(node, distance - 1)
            variable = self._declare(f"{source}_before", PlannedVariable(2, 0))
            self._assign(
                variable, Computed(functions.read(self._left(source)), max(0, computed.stage))
            )
        else:
            name = f"held_{len(self._held) + 1}"
            variable = self._declare(name, self._boolean_variable(computed, 0))
            self._assign(variable, computed)
        self._held[node, distance] = variable
        return variable

    def _remainder(self, period: int) -> Function:
        if period not in self._remainders:
            variable = self._declare(f"mod_{period}", PlannedVariable(period, 0))
            self._remainders[period] = variable
            self._assign(variable, Computed(functions.successor(self._left(variable), period), 0))
        return functions.read(self._remainders[period])

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
        taken = {other for known in self.variables for other in (known, f"{known}_left")}
        while {plain, f"{plain}_left"} & (taken | RESERVED) or hasattr(Program, plain):
            plain += "_"
        self.variables[plain] = variable
        return plain
