"""Random C-RASP programs and words for hypothesis."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from weft.crasp import (
    Add,
    And,
    Comparison,
    Conditional,
    Constant,
    Counting,
    CraspProgram,
    Exists,
    Expression,
    Integer,
    Line,
    Local,
    Maximum,
    Minimum,
    Name,
    Not,
    Or,
    Periodic,
    Position,
    Previous,
    Subtract,
    Symbol,
)


@st.composite
def locals_(draw: st.DrawFn) -> Local:
    offsets = draw(st.sets(st.integers(0, 4), min_size=1, max_size=3))
    return Local(tuple(sorted(offsets)))


@st.composite
def periodics(draw: st.DrawFn) -> Periodic:
    period = draw(st.integers(1, 4))
    residues = draw(st.sets(st.integers(0, period - 1), min_size=1))
    return Periodic(period, tuple(sorted(residues)))


OPERATORS = st.sampled_from(("<", "<=", "==", "!=", ">=", ">"))
ATOMS = st.sampled_from(("symbol", "symbol", "constant", "position", "name", "name"))
BOOLEANS = st.sampled_from(("not", "and", "or", "comparison", "comparison", "exists", "previous"))
COUNTS = st.sampled_from(("count", "count", "add", "subtract", "conditional", "minimum", "maximum"))


class Writer:
    """Draws expressions over an alphabet and the names of the lines so far.

    It draws one choice at a time: strategies that are put together anew for every line would be
    flattened differently from one example to the next, which hypothesis refuses.
    """

    def __init__(
        self,
        draw: st.DrawFn,
        alphabet: tuple[str, ...],
        predicates: bool,
        declared: tuple[Periodic, Local] | None = None,
    ) -> None:
        self.draw = draw
        self.alphabet = alphabet
        self.predicates = predicates
        self.declared = declared
        self.names: dict[str, list[str]] = {"Boolean": [], "count": []}

    def boolean(self, depth: int) -> Expression:
        """A Boolean expression, nested at most so deep."""
        if depth == 0 or self.draw(st.integers(0, 3)) == 0:
            return self._atom()
        match self.draw(BOOLEANS):
            case "not":
                return Not(self.boolean(depth - 1))
            case "and":
                return And(self._several(self.boolean, depth))
            case "or":
                return Or(self._several(self.boolean, depth))
            case "exists":
                return Exists(self.boolean(depth - 1), self._local())
            case "previous" if self.predicates:
                return Previous(self.boolean(depth - 1))
        return Comparison(self.draw(OPERATORS), self.count(depth - 1), self.count(depth - 1))

    def count(self, depth: int) -> Expression:
        """A count expression, nested at most so deep."""
        if depth == 0:
            choice = self.draw(st.integers(0, 3))
            if choice == 0 and self.names["count"]:
                return Name(self.draw(st.sampled_from(self.names["count"])))
            if choice <= 1:
                return Integer(self.draw(st.integers(-3, 3)))
            return Counting(self._atom(), self._local())
        if self.draw(st.integers(0, 3)) == 0:
            return self.count(0)
        match self.draw(COUNTS):
            case "add":
                return Add(self.count(depth - 1), self.count(depth - 1))
            case "subtract":
                return Subtract(self.count(depth - 1), self.count(depth - 1))
            case "conditional":
                return Conditional(
                    self.boolean(depth - 1), self.count(depth - 1), self.count(depth - 1)
                )
            case "minimum":
                return Minimum(self._several(self.count, depth))
            case "maximum":
                return Maximum(self._several(self.count, depth))
        return Counting(self.boolean(depth - 1), self._local())

    def _atom(self) -> Expression:
        match self.draw(ATOMS):
            case "constant":
                return Constant(self.draw(st.booleans()))
            case "position" if self.predicates:
                if self.declared and self.draw(st.booleans()):
                    return Position(self.declared[0])
                return Position(self.draw(periodics()))
            case "name" if self.names["Boolean"]:
                return Name(self.draw(st.sampled_from(self.names["Boolean"])))
        return Symbol(self.draw(st.sampled_from(self.alphabet)))

    def _several(self, operand: Callable[[int], Expression], depth: int) -> tuple[Expression, ...]:
        return tuple(operand(depth - 1) for _ in range(self.draw(st.integers(2, 3))))

    def _local(self) -> Local | None:
        if not self.predicates or not self.draw(st.booleans()):
            return None
        if self.declared and self.draw(st.booleans()):
            return self.declared[1]
        return self.draw(locals_())


@st.composite
def programs(
    draw: st.DrawFn,
    *,
    predicates: bool = True,
    max_lines: int = 5,
    depth: int = 2,
    alphabet: tuple[str, ...] | None = None,
    transduction: bool = False,
) -> CraspProgram:
    """A program over two or three letters; without predicates, it needs no positions.

    Args:
        draw: given by hypothesis.
        predicates: whether it may use periodic and local predicates.
        max_lines: the largest number of lines before the accepting one.
        depth: how deep expressions are nested, at most; that of the accepting line by 1 more.
        alphabet: None for the first two or three letters.
        transduction: whether it has a line `NEXT_a` for some symbols.
    """
    alphabet = alphabet or ("a", "b", "c")[: draw(st.integers(2, 3))]
    writer = Writer(draw, alphabet, predicates)
    lines: list[Line] = []
    for number in range(draw(st.integers(1, max_lines))):
        kind = draw(st.sampled_from(("Boolean", "count")))
        name = f"{'P' if kind == 'Boolean' else 'C'}{number}"
        levels = draw(st.integers(0, depth))
        lines.append(Line(name, (writer.boolean if kind == "Boolean" else writer.count)(levels)))
        writer.names[kind].append(name)
    if transduction:
        for symbol in alphabet[: draw(st.integers(1, len(alphabet)))]:
            lines.append(Line(f"NEXT_{symbol}", writer.boolean(depth)))
    lines.append(Line("accept", writer.boolean(depth + 1)))
    return CraspProgram(alphabet, tuple(lines))


ODD_SYMBOLS = (
    "(", ")", "#", "if", "and", "0a", '"', "\\", '\\"', "//", "Q_a", "é", "∅", "_", "-", "a,b",
    "[]", "\\n", "\x00", "NEXT_", "10",
)  # fmt: skip
ODD_NAMES = ("i", "j", "Qa", "_", "été", "next", "MOD2", "bad", "x1", "minimum", "a", "AND")


@st.composite
def odd_programs(draw: st.DrawFn, *, max_lines: int = 4, depth: int = 3) -> CraspProgram:
    """A program with odd symbols and names, declared predicates and lines `NEXT_a`."""
    symbols = st.lists(st.sampled_from(ODD_SYMBOLS), min_size=1, max_size=4, unique=True)
    alphabet = tuple(draw(symbols))
    names = draw(st.permutations(ODD_NAMES))
    periodic = draw(periodics())
    offsets = draw(st.sampled_from([(), (0,), (1,), (0, 2), (7,)]))
    declared = (
        Periodic(periodic.period, periodic.residues, names[0]),
        Local(offsets, names[1]),
    )
    writer = Writer(draw, alphabet, predicates=True, declared=declared)
    lines = []
    for name in names[2 : 2 + draw(st.integers(0, max_lines))]:
        kind = draw(st.sampled_from(("Boolean", "count")))
        lines.append(Line(name, (writer.boolean if kind == "Boolean" else writer.count)(depth)))
        writer.names[kind].append(name)
    for symbol in alphabet[: draw(st.integers(0, 2))]:
        lines.append(Line(f"NEXT_{symbol}", writer.boolean(depth)))
        writer.names["Boolean"].append(f"NEXT_{symbol}")
    lines.append(Line("accept", writer.boolean(depth)))
    texts = st.text(st.characters(exclude_categories=["Cc", "Cs"], include_characters="\n"))
    return CraspProgram(alphabet, tuple(lines), draw(texts), draw(texts))


def words(program: CraspProgram, max_size: int = 12) -> st.SearchStrategy[tuple[str, ...]]:
    """Words over a program's alphabet."""
    return st.lists(st.sampled_from(program.alphabet), max_size=max_size).map(tuple)
