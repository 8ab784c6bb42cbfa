"""Random patterns and random recursion: the checks against brute force."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_sampling import everything

from weft.errors import Location, WeftError
from weft.recursion import Equation, Function, evaluate, reduce, size
from weft.recursion.coverage import check_cases
from weft.recursion.expressions import Apply, Build, Match, Variable, match
from weft.recursion.library.peano import Nat, O, S
from weft.recursion.library.trees import Branch, Leaf, Letter, Tree
from weft.recursion.termination import check_termination

HERE = Location("here.py", 1)


def patterns(kind: Any, depth: int) -> st.SearchStrategy[Any]:
    """Patterns for a type, whose variables are all wildcards."""
    wildcard = st.just(Variable("_", kind))
    if depth == 0 or kind is Letter:
        return wildcard
    built = [
        st.tuples(*(patterns(inner, depth - 1) for _, inner in one.arguments)).map(
            lambda inner, one=one: Match(one, inner)  # type: ignore[misc]
        )
        for one in kind.constructors
    ]
    return st.one_of(wildcard, *built)


@given(
    st.sampled_from([(Nat,), (Tree,), (Nat, Nat), (Nat, Tree)]).flatmap(
        lambda kinds: st.tuples(
            st.just(kinds),
            st.lists(st.tuples(*(patterns(kind, 2) for kind in kinds)), min_size=1, max_size=7),
        )
    )
)
@settings(max_examples=80, deadline=None)
def test_cases_are_exhaustive_and_disjoint_if_every_term_matches_one(drawn: Any) -> None:
    """Patterns look two constructors deep, so terms of size 3 decide."""
    kinds, rows = drawn
    function = Function("f", tuple((f"a{i}", kind) for i, kind in enumerate(kinds)), Nat)
    try:
        check_cases(function, [(row, None, HERE) for row in rows])
        accepted, said = True, ""
    except WeftError as error:
        accepted, said = False, error.what
    matched = [
        sum(all(match(p, one, {}) for p, one in zip(row, given, strict=True)) for row in rows)
        for given in itertools.product(*(list(everything(kind, 3)) for kind in kinds))
    ]
    assert accepted == all(number == 1 for number in matched)
    if "overlap" in said:
        assert max(matched) > 1
    elif said:
        assert min(matched) == 0


# Recursion on two numbers: random groups of two functions, which match on one or on both.

STEPS = 500


def random_group(rng: random.Random) -> list[Function]:
    """Two functions on two numbers that call themselves and each other."""
    parameters = (("m", Nat), ("n", Nat))
    found = [Function(name, parameters, Nat) for name in "fg"]
    for function in found:
        place = rng.randrange(2)
        rows: list[Any] = []
        for first in (Match(O), Match(S, (Variable("p", Nat),))):
            seconds: list[Any] = [Variable("mn"[1 - place], Nat)]
            if first.arguments and rng.random() < 0.5:
                seconds = [Match(O), Match(S, (Variable("q", Nat),))]
            rows += [(first, one) if place == 0 else (one, first) for one in seconds]
        function._equations = tuple(
            Equation(function, number, row, random_right(rng, found, row), HERE)
            for number, row in enumerate(rows)
        )
    return found


def random_right(rng: random.Random, group: list[Function], row: tuple[Any, ...]) -> Any:
    """A variable, in up to two calls, of which most are on subterms."""
    below = [one.name for pattern in row for one in getattr(pattern, "arguments", ())]
    names = [*(["m", "n"] if rng.random() < 0.4 else []), *below, *below] or ["m", "n"]

    def argument() -> Any:
        variable = Variable(rng.choice(names), Nat)
        return Build(S, (variable,)) if rng.random() < 0.15 else variable

    right: Any = Variable(rng.choice(["m", "n", *below]), Nat)
    for _ in range(rng.choice([0, 1, 1, 2]) if below else rng.random() < 0.1):
        given = [argument(), argument()]
        if rng.random() < 0.4:
            given[rng.randrange(2)] = right
        right = Apply(rng.choice(group), tuple(given), HERE)
    return right


def test_functions_that_pass_the_check_end() -> None:
    """Groups that are accepted end on all small numbers, and those that do not end are refused."""
    rng = random.Random(0)
    accepted = refused = endless = slow = 0
    numbers = list(everything(Nat, 3))
    for _ in range(300):
        group = random_group(rng)
        if not any(one.recursive_calls for f in group for one in f.equations):
            continue
        wrong = [one for one in group if raised(check_termination, one)]
        refused += bool(wrong)
        accepted += not wrong
        for function, *values in itertools.product(group, numbers, numbers):
            try:
                value = evaluate(function, *values, max_steps=STEPS)
            except WeftError:
                slow += not wrong
                endless += bool(wrong)
                break
            if not wrong and size(*values) < 3:
                found = reduce(function.call(*values), 50)
                assert found.term == value or not found.finished
    assert accepted > 50
    assert refused > 50
    assert endless > 25
    assert slow < accepted // 20  # Ackermann's function, and others like it


def raised(check: Any, function: Function) -> bool:
    try:
        check(function)
    except WeftError as error:
        assert error.where is HERE  # noqa: PT017
        return True
    return False


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_example_of_a_missing_case_is_missing(depth: int) -> None:
    inner: Any = Match(Leaf)
    for _ in range(depth):
        inner = Match(Branch, (Variable("_", Letter), inner, Variable("_", Tree)))
    function = Function("f", (("t", Tree),), Nat)
    with pytest.raises(WeftError, match="no case matches f"):
        check_cases(function, [((inner,), None, HERE)])
