"""Random C-RASP programs and words for hypothesis."""

from __future__ import annotations

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


def locals_() -> st.SearchStrategy[Local]:
    offsets = st.sets(st.integers(0, 4), min_size=1, max_size=3)
    return offsets.map(lambda chosen: Local(tuple(sorted(chosen))))


@st.composite
def periodics(draw: st.DrawFn) -> Periodic:
    period = draw(st.integers(1, 4))
    residues = draw(st.sets(st.integers(0, period - 1), min_size=1))
    return Periodic(period, tuple(sorted(residues)))


def _compound(
    booleans: st.SearchStrategy[Expression],
    counts: st.SearchStrategy[Expression],
    local: st.SearchStrategy[Local | None],
    *,
    previous: bool,
) -> tuple[st.SearchStrategy[Expression], st.SearchStrategy[Expression]]:
    """Boolean and count expressions, one level above given ones."""
    several_booleans = st.lists(booleans, min_size=2, max_size=3).map(tuple)
    several_counts = st.lists(counts, min_size=2, max_size=3).map(tuple)
    operators = st.sampled_from(["<", "<=", "==", "!=", ">=", ">"])
    more_booleans = [
        booleans,
        st.builds(Not, booleans),
        st.builds(And, several_booleans),
        st.builds(Or, several_booleans),
        st.builds(Comparison, operators, counts, counts),
        st.builds(Exists, booleans, local),
    ]
    if previous:
        more_booleans.append(st.builds(Previous, booleans))
    more_counts = [
        counts,
        st.builds(Counting, booleans, local),
        st.builds(Add, counts, counts),
        st.builds(Subtract, counts, counts),
        st.builds(Conditional, booleans, counts, counts),
        st.builds(Minimum, several_counts),
        st.builds(Maximum, several_counts),
    ]
    return st.one_of(more_booleans), st.one_of(more_counts)


@st.composite
def programs(
    draw: st.DrawFn, *, predicates: bool = True, max_lines: int = 5, depth: int = 2
) -> CraspProgram:
    """A program over two or three letters; without predicates, it needs no positions.

    Args:
        draw: given by hypothesis.
        predicates: whether it may use periodic and local predicates.
        max_lines: the largest number of lines.
        depth: how deep expressions are nested, at most.
    """
    alphabet = ("a", "b", "c")[: draw(st.integers(2, 3))]
    local = st.one_of(st.none(), locals_()) if predicates else st.none()
    lines: list[Line] = []
    names: dict[str, list[str]] = {"Boolean": [], "count": []}
    for number in range(draw(st.integers(1, max_lines))):
        atoms: list[st.SearchStrategy[Expression]] = [
            st.sampled_from(alphabet).map(Symbol),
            st.builds(Constant, st.booleans()),
        ]
        if predicates:
            atoms.append(periodics().map(Position))
        if names["Boolean"]:
            atoms.append(st.sampled_from(names["Boolean"]).map(Name))
        booleans: st.SearchStrategy[Expression] = st.one_of(atoms)
        counts: st.SearchStrategy[Expression] = st.one_of(
            st.integers(-3, 3).map(Integer),
            st.builds(Counting, booleans, local),
            *([st.sampled_from(names["count"]).map(Name)] if names["count"] else []),
        )
        for _ in range(draw(st.integers(0, depth))):
            booleans, counts = _compound(booleans, counts, local, previous=predicates)
        kind = draw(st.sampled_from(["Boolean", "count"]))
        name = f"{'P' if kind == 'Boolean' else 'C'}{number}"
        lines.append(Line(name, draw(booleans if kind == "Boolean" else counts)))
        names[kind].append(name)
    lines.append(Line("accept", draw(_compound(booleans, counts, local, previous=predicates)[0])))
    return CraspProgram(alphabet, tuple(lines))


def words(program: CraspProgram, max_size: int = 12) -> st.SearchStrategy[tuple[str, ...]]:
    """Words over a program's alphabet."""
    return st.lists(st.sampled_from(program.alphabet), max_size=max_size).map(tuple)
