"""Units that compute Boolean functions, against the functions themselves."""

from __future__ import annotations

import random
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.crasp.limit import glue as glue_module
from weft.crasp.limit.glue import (
    Circuit,
    Conjunction,
    FirstUnit,
    Gate,
    SecondUnit,
    UnitSum,
    Vote,
    glue,
)
from weft.crasp.limit.intervals import Diagrams
from weft.crasp.limit.normal_form import Form, Linear, TokenAt
from weft.crasp.limit.schedule import Bit
from weft.errors import WeftError

BITS = tuple(Bit(node, 1) for node in (101, 102, 103))
FORMS = (Form(((0, 1),), 1), Form(((0, 1), (1, -1)), 1))
TOKEN = TokenAt(0)
SYMBOLS = 2
POINTS = [
    {TOKEN: token, **dict(zip(BITS, bits, strict=True)), **dict(zip(FORMS, forms, strict=True))}
    for token in range(SYMBOLS + 1)
    for bits in product((0, 1), repeat=3)
    for forms in product((-1, 0, 1, 2), repeat=2)
]


def first_value(unit: FirstUnit, point: dict[Any, int]) -> float:
    """The value of a unit, by what it is documented to be."""
    if isinstance(unit, Vote):
        total = unit.bias + sum(w for (v, values), w in unit.weights if point[v] in values)
        return float(total >= 1)
    holds = all(point[variable] in values for variable, values in unit.literals)
    if isinstance(unit, Gate):
        return holds * COUNT / unit.scale
    if unit.form is not None:
        holds = holds and (point[unit.form] >= unit.cut) != unit.below
    return float(holds)


COUNT = 0.75
"""What the linear combination of a gate is, at all points."""


def value(total: UnitSum, point: dict[Any, int]) -> float:
    result = float(total.constant)
    for unit, weight in total.terms:
        if isinstance(unit, SecondUnit):
            inside = unit.bias + sum(w * first_value(u, point) for u, w in unit.inputs)
            result += weight * (max(inside, 0.0) if unit.gate else float(inside >= 1))
        else:
            result += weight * first_value(unit, point)
    return result


def check(diagrams: Diagrams, circuit: Circuit, targets: dict[str, int]) -> None:
    for name, node in targets.items():
        for point in POINTS:
            wanted = diagrams.evaluate(node, point.__getitem__)
            assert sum(value(t, point) for t in circuit.writes[name]) == wanted
    for sums in circuit.writes.values():
        for total in sums:
            for unit, _ in total.terms:  # the output reads the last hidden layer
                assert isinstance(unit, SecondUnit) == bool(circuit.second)


@st.composite
def functions(draw: st.DrawFn, diagrams: Diagrams, depth: int = 3) -> int:
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        kind = draw(st.sampled_from(("token", "bit", "form")))
        if kind == "token":
            return diagrams.at_least(TOKEN, draw(st.integers(1, SYMBOLS)))
        if kind == "bit":
            return diagrams.at_least(draw(st.sampled_from(BITS)), 1)
        return diagrams.at_least(draw(st.sampled_from(FORMS)), draw(st.integers(0, 2)))
    parts = [draw(functions(diagrams, depth=depth - 1)) for _ in range(2)]
    join = draw(st.sampled_from((diagrams.both, diagrams.either)))
    node = join(*parts)
    return diagrams.negate(node) if draw(st.booleans()) else node


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_units_compute_their_functions(data: st.DataObject) -> None:
    diagrams = Diagrams()
    targets = {name: data.draw(functions(diagrams)) for name in ("p", "q")}
    check(diagrams, glue(diagrams, SYMBOLS, targets), targets)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_gates_let_counts_through_where_their_guard_holds(data: st.DataObject) -> None:
    diagrams = Diagrams()
    guard, other = data.draw(functions(diagrams)), data.draw(functions(diagrams, depth=1))
    linear = Linear(((0, 1),), data.draw(st.integers(-1, 0)))
    circuit = glue(diagrams, SYMBOLS, {"p": other}, [("c", guard, linear)])
    negative = bool(linear.constant)
    for point in POINTS:
        wanted = COUNT * (1 - negative) if diagrams.evaluate(guard, point.__getitem__) else 0.0
        assert sum(value(t, point) for t in circuit.writes.get("c", [])) == wanted
    check(diagrams, circuit, {"p": other})


def sizes(diagrams: Diagrams, *nodes: int) -> tuple[int, int]:
    circuit = glue(diagrams, SYMBOLS, {str(place): node for place, node in enumerate(nodes)})
    return len(circuit.first), len(circuit.second)


def test_numbers_of_units() -> None:
    d = Diagrams()
    a, b, c = (d.at_least(bit, 1) for bit in BITS)
    many, more = d.at_least(FORMS[0], 2), d.at_least(FORMS[1], 1)
    equal = d.within(FORMS[1], 0, 1)
    assert sizes(d, d.both(a, b, c)) == (1, 0)
    assert sizes(d, d.either(a, b, d.negate(c))) == (1, 0)
    assert sizes(d, d.either(d.both(a, b), d.both(b, c), d.both(a, c))) == (1, 0)  # a vote
    assert sizes(d, d.choose(a, d.negate(b), b)) == (2, 0)
    assert sizes(d, equal) == (2, 0)
    assert sizes(d, equal, d.negate(equal)) == (2, 0)  # shared
    assert sizes(d, d.both(a, d.negate(b), many)) == (1, 0)
    assert sizes(d, d.either(d.negate(a), b, many)) == (1, 0)
    assert sizes(d, d.choose(a, many, more)) == (2, 0)
    assert sizes(d, d.both(many, more)) == (2, 1)
    assert sizes(d, d.either(many, equal)) == (3, 1)
    assert sizes(d, d.both(a, many, equal)) == (3, 1)


def test_too_many_cases_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    d = Diagrams()
    a, b, c = (d.at_least(bit, 1) for bit in BITS)
    chosen, parity = d.choose(a, b, c), d.choose(a, d.negate(b), b)
    monkeypatch.setattr(glue_module, "MAX_CASES", 1)
    assert sizes(d, parity) == (2, 0)  # a function of the number of bits that hold
    with pytest.raises(WeftError, match="more than 1 cases"):
        sizes(d, chosen)


def test_conjunctions_are_compared_by_value() -> None:
    assert Conjunction((), FORMS[0], 1) == Conjunction((), Form(((0, 1),), 1), 1)


def test_windows_of_many_bits() -> None:
    """Their cases are too many to list, and they take a few units each."""
    d = Diagrams()
    bits = tuple(Bit(node, 1) for node in range(200, 220))

    def at_least(least: int) -> int:
        """At least so many bits hold."""
        counts = [d.true if count >= least else d.false for count in range(len(bits) + 1)]
        for bit in reversed(bits):
            counts = [d.choose(d.at_least(bit, 1), more, same) for same, more in pairwise(counts)]
        return counts[0]

    many, all_but_one = at_least(10), at_least(19)
    exactly = d.both(many, d.negate(at_least(11)))
    form = d.at_least(FORMS[0], 1)
    together = d.false  # bits + form >= 3
    for count in range(4):
        together = d.either(together, d.both(at_least(count), d.at_least(FORMS[0], 3 - count)))
    targets = {
        "many": many, "all but one": all_but_one, "exactly": exactly,
        "few": d.negate(many), "both": d.both(many, form), "together": together,
    }  # fmt: skip
    rng = random.Random(0)
    points = [
        {**{bit: int(rng.random() < share) for bit in bits}, FORMS[0]: rng.randint(-1, 4)}
        for share in (0.05, 0.1, 0.4, 0.5, 0.6, 0.95)
        for _ in range(60)
    ]
    sizes_ = {"many": 1, "few": 1, "all but one": 1, "exactly": 2, "both": 3, "together": 11}
    for name, node in targets.items():
        circuit = glue(d, SYMBOLS, {name: node})
        for point in points:
            wanted = d.evaluate(node, point.__getitem__)
            assert sum(value(t, point) for t in circuit.writes[name]) == wanted, name
        assert len(circuit.first) + len(circuit.second) <= sizes_[name], name


def test_weights_of_votes_are_found() -> None:
    """3 a + 2 b - c + 2 d >= 3, over four bits."""
    d = Diagrams()
    weights = dict(zip((*BITS, Bit(104, 1)), (3, 2, -1, 2), strict=True))
    node = d.false
    for point in product((0, 1), repeat=4):
        if sum(w * x for w, x in zip(weights.values(), point, strict=True)) >= 3:
            literals = [
                d.at_least(bit, 1) if x else d.negate(d.at_least(bit, 1))
                for bit, x in zip(weights, point, strict=True)
            ]
            node = d.either(node, d.both(*literals))
    assert sizes(d, node) == (1, 0)
