"""Reduction in rounds, against a second implementation on nested lists."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_definition_errors import load

from weft.errors import WeftError
from weft.recursion import (
    DEFINITIONS,
    Function,
    InputSampler,
    Notation,
    Term,
    combination,
    encode_term,
    iterate,
    next_term,
    normal_form,
    parse_term,
    reduce,
    reduction_json,
    show_term,
    steps,
    trace_lines,
    trace_texts,
    unroll,
)
from weft.recursion.expressions import Apply, Variable, build, head_token
from weft.recursion.library.binary import Positive
from weft.recursion.library.lists import to_list
from weft.recursion.library.peano import to_nat
from weft.recursion.library.trees import Tree

TREE = parse_term("Branch a Branch b Leaf Leaf Branch c Leaf Leaf", Tree)


# A second implementation: terms are nested lists [token, child, ...], found in prefix notation.


class Naive:
    """Reduction by the equations as text, on nested lists."""

    def __init__(self, function: Function) -> None:
        self.functions = {one.token: one for one in function.functions}

    def tree(self, tokens: list[str], arity: Any) -> list[Any]:
        def read() -> list[Any]:
            token = tokens.pop(0)
            return [token, *(read() for _ in range(arity(token)))]

        return read()

    def fits(self, pattern: Any, term: list[Any], found: dict[str, Any]) -> bool:
        if isinstance(pattern, Variable):
            found[pattern.name] = term
            return True
        return term[0] == head_token(pattern.head) and all(
            self.fits(one, part, found)
            for one, part in zip(pattern.arguments, term[1:], strict=True)
        )

    def contracted(self, term: list[Any]) -> list[Any] | None:
        function = self.functions.get(term[0])
        if function is None:
            return None
        for equation in function.equations:
            found: dict[str, Any] = {}
            pairs = zip(equation.patterns, term[1:], strict=True)
            if all(self.fits(pattern, part, found) for pattern, part in pairs):
                names = [name for name, _ in function.parameters]
                return self.filled(equation.right, found | dict(zip(names, term[1:], strict=True)))
        return None

    def filled(self, expression: Any, found: dict[str, Any]) -> list[Any]:
        if isinstance(expression, Variable):
            return list(found[expression.name])
        head = expression.function.token if isinstance(expression, Apply) else None
        token = head or head_token(expression.head)
        return [token, *(self.filled(one, found) for one in expression.arguments)]

    def outermost(self, term: list[Any]) -> list[Any] | None:
        whole = self.contracted(term)
        if whole is not None:
            return whole
        for place in range(1, len(term)):
            part = self.outermost(term[place])
            if part is not None:
                return [*term[:place], part, *term[place + 1 :]]
        return None

    def all_at_once(self, term: list[Any]) -> list[Any]:
        after = [term[0], *(self.all_at_once(part) for part in term[1:])]
        return after if self.contracted(term) is None else self.contracted(after) or []


def arities(function: Function) -> Any:
    from weft.recursion.inductive import is_alphabet, symbol_table

    found: dict[str, int] = {one.token: one.arity for one in function.functions}
    waiting = [kind for one in function.functions for _, kind in one.parameters]
    waiting += [one.result for one in function.functions]
    seen: set[Any] = set()
    while waiting:
        kind = waiting.pop()
        if kind in seen:
            continue
        seen.add(kind)
        if is_alphabet(kind):
            found |= dict.fromkeys(symbol_table(kind), 0)
        for one in kind.constructors:
            assert found.setdefault(one.token, one.arity) == one.arity
            waiting += [inner for _, inner in one.arguments]
    return found.__getitem__


def flattened(term: list[Any]) -> list[str]:
    return [term[0], *(token for part in term[1:] for token in flattened(part))]


def sampled(name: str, count: int, most: int = 7) -> list[tuple[Any, ...]]:
    sampler = InputSampler(DEFINITIONS[name])
    return sampler.sample(np.random.default_rng(2), count, size=(0, most))


@pytest.mark.parametrize("name", DEFINITIONS)
def test_rounds_are_those_of_the_second_implementation(name: str) -> None:
    function = DEFINITIONS[name]
    naive, arity = Naive(function), arities(function)
    for arguments in sampled(name, 12, 4 if name == "binary-to-peano" else 7):
        start = function.call(*arguments)
        value = function(*arguments)
        for parallel in (False, True):
            term: list[Any] | None = naive.tree(encode_term(start), arity)
            assert term is not None
            reduction = reduce(start, parallel=parallel)
            for one in reduction.rounds:
                following = naive.all_at_once(term) if parallel else naive.outermost(term)
                assert following is not None
                term = following
                assert encode_term(one.after) == flattened(term)
            assert reduction.finished
            assert reduction.term == value
        assert trace_texts(start) == [show_term(one) for one in reduce(start).terms()]


def test_reversing_eight_letters_takes_45_rounds_or_24_in_parallel() -> None:
    call = DEFINITIONS["reverse"].call(to_list("abcdefgh"))
    one_by_one, parallel = reduce(call), reduce(call, parallel=True)
    assert len(one_by_one.rounds) == 45
    assert len(parallel.rounds) == 24
    assert one_by_one.term == parallel.term == to_list("hgfedcba")
    assert sum(len(one.reducts) for one in parallel.rounds) == 45


def test_successor_takes_one_round_more_than_its_depth() -> None:
    successor = DEFINITIONS["successor"]
    found = reduce(successor.call(parse_term("X1 X1 XO 01", Positive)))
    assert [show_term(one) for one in found.terms()] == [
        "successor X1 X1 XO 01",
        "XO successor X1 XO 01",
        "XO XO successor XO 01",
        "XO XO X1 01",
    ]
    for arguments in sampled("successor", 50, 12):
        assert len(reduce(successor.call(*arguments)).rounds) == successor.depth(*arguments) + 1


@pytest.mark.parametrize(
    ("name", "rounds"),
    [
        ("pre-order", ["U .", "a U b U c", "a b U L U L c U L U L", "a b c"]),
        ("in-order", ["U .", "U b a U c", "U L b U L a U L c U L", "b a c"]),
        ("post-order", ["U .", "U b U c a", "U L U L b U L U L c a", "b c a"]),
    ],
)
def test_unrolled_traversals(name: str, rounds: list[str]) -> None:
    function = DEFINITIONS[name]
    long = {
        ".": "Branch a Branch b Leaf Leaf Branch c Leaf Leaf",
        "U b": "U Branch b Leaf Leaf",
        "U c": "U Branch c Leaf Leaf",
        "U L": "U Leaf",
    }
    for number, expected in enumerate(rounds):
        for short, written in long.items():
            expected = expected.replace(short, written)
        expected = expected.replace("U", function.token)
        term = unroll(function.call(TREE), number, only=[function])
        assert show_term(term, Notation("flat")) == expected
    assert reduce(function.call(TREE), 3, parallel=True, only=[function]).finished


def test_positions_equations_and_bindings_of_reducts() -> None:
    append = DEFINITIONS["append"]
    call = append.call(append.call(to_list("a"), to_list("b")), to_list("c"))
    first, second, *_ = reduce(call).rounds
    assert [one.position for one in first.reducts] == [(0,)]
    assert str(first.equation) == "append (Cons x rest) right = Cons x (append rest right)"
    assert {name: show_term(one) for name, one in first.reducts[0].bindings.items()} == {
        "x": "a",
        "rest": "Nil",
        "left": "Cons a Nil",
        "right": "Cons b Nil",
    }
    assert second.reducts[0].position == ()  # the outer call can be reduced now
    assert show_term(second.after) == "Cons a append append Nil Cons b Nil Cons c Nil"


def test_delta_beta_and_iota_steps() -> None:
    found = reduce(DEFINITIONS["successor"].call(parse_term("X1 01", Positive)), 1)
    body = "match n with 01 => XO 01 | XO b => X1 b | X1 b => XO (successor b)"
    delta, beta, iota = steps(found.rounds[0].reducts[0])
    assert (delta.kind, beta.kind, iota.kind) == ("delta", "beta", "iota")
    assert delta.rule == f"successor := fun n => {body}"
    assert delta.after == f"(fun n => {body}) (X1 01)"
    assert beta.rule == "n := X1 01"
    assert beta.after == body.replace("match n", "match X1 01")
    assert iota.rule == "X1 b with b := 01"
    assert iota.after == "XO successor 01"
    lines = list(trace_lines(found, with_steps=True))
    assert lines[0] == "0: successor X1 01"
    assert lines[-1] == "1: XO successor 01"
    assert lines[3] == "   iota: X1 b with b := 01"


def test_a_function_without_match_has_no_iota_step() -> None:
    reduction = reduce(DEFINITIONS["simplify"].call(parse_term("+ 0 x", _expression())))
    by_kind = {
        one.equation.function.name: [step.kind for step in steps(one.reducts[0])]
        for one in reduction.rounds
    }
    assert by_kind["sum_of"] == ["delta", "beta"]
    assert by_kind["sum_by_kind"] == ["delta", "beta", "iota"]
    assert show_term(reduction.term) == "x"


def _expression() -> Any:
    from weft.recursion.library.expressions import Expression

    return Expression


def test_the_json_of_a_reduction_reads_back() -> None:
    function = DEFINITIONS["in-order"]
    for notation in (Notation(), Notation("empty"), Notation("parenthesised", "natural")):
        found = reduce(function.call(TREE), parallel=True)
        shown = reduction_json(found, notation)
        assert shown["finished"] is True
        read = [
            parse_term(" ".join(one["term"]), function.result, notation, function.functions)
            for one in shown["rounds"]
        ]
        assert read == list(found.terms())[1:]
        assert [len(one["calls"]) for one in shown["rounds"]] == [
            len(one.reducts) for one in found.rounds
        ]


def test_next_term_and_rounds_one_by_one() -> None:
    term: Term = DEFINITIONS["reverse"].call(to_list("abcd"))
    seen = [term]
    while (following := next_term(seen[-1])) is not None:
        seen.append(following)
    assert seen == list(reduce(term).terms())
    assert [one.number for one in iterate(term, parallel=True)] == list(
        range(1, len(reduce(term, parallel=True).rounds) + 1)
    )
    assert next_term(to_nat(3)) is None


def test_combinations() -> None:
    shown = {
        "in-order": "append Cons b Nil Cons a Cons c Nil",
        "post-order": "append Cons b Nil append Cons c Nil Cons a Nil",
        "mirror": "Branch a Branch c Leaf Leaf Branch b Leaf Leaf",
        "tree-depth": "S maximum S O S O",
    }
    for name, expected in shown.items():
        function = DEFINITIONS[name]
        left = combination(function.call(TREE))
        assert show_term(left) == expected
        assert normal_form(left) == function(TREE)
    append = DEFINITIONS["append"]
    stuck = append.call(append.call(to_list(""), to_list("")), to_list(""))
    with pytest.raises(WeftError, match="no equation matches the call yet"):
        combination(stuck)


def test_deep_reductions() -> None:
    plus = DEFINITIONS["peano-add"]
    call = plus.call(to_nat(10_000), to_nat(1))
    found = reduce(call)
    assert len(found.rounds) == 10_001
    assert found.term == to_nat(10_001)
    assert show_term(found.rounds[1].after).startswith("S S plus S")
    nested: Any = to_nat(1)
    for _ in range(3_000):
        nested = plus.call(nested, to_nat(0))
    assert normal_form(nested) == to_nat(1)
    assert next_term(nested, parallel=True) is not None
    assert show_term(unroll(nested, 1)).count("plus") == 3_000
    assert len(reduce(nested, 50).rounds) == 50


def test_limits_and_wrong_numbers_of_rounds() -> None:
    call = DEFINITIONS["reverse"].call(to_list("abcdefgh"))
    with pytest.raises(WeftError, match="takes more than 44 rounds"):
        reduce(call, max_rounds=44)
    assert reduce(call, max_rounds=45).finished
    with pytest.raises(WeftError, match="takes more than 44 rounds"):
        trace_texts(call, max_rounds=44)
    with pytest.raises(WeftError, match="the number of rounds is -1"):
        reduce(call, -1)
    begun = reduce(call, 3)
    assert not begun.finished
    assert len(begun.rounds) == 3
    assert reduce(begun.term).term == to_list("hgfedcba")
    assert reduce(call, 0).term == call
    assert reduce(call, 45).finished


def test_reductions_that_grow_exponentially_are_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """
        @recursive
        def full(n: Nat) -> Tree:
            match n:
                case O(): return Leaf()
                case S(b): return Branch(Letter("a"), full(b), full(b))
        """
    module: Any = load(tmp_path, source)
    number = module.O()
    for _ in range(60):
        number = module.S(number)
    monkeypatch.setattr("weft.recursion.rounds.MAX_CALLS", 5_000)
    with pytest.raises(WeftError, match="takes more than 5,000 calls"):
        reduce(module.full.call(number), parallel=True)
    with pytest.raises(WeftError, match="takes more than 500 rounds"):
        reduce(module.full.call(number), max_rounds=500)
    with pytest.raises(WeftError, match="takes more than 5,000 steps"):
        module.full.evaluate(number, max_steps=5_000)
    with pytest.raises(WeftError, match="takes more than 5,000 steps"):
        module.full.depth(number, max_steps=5_000)


NESTED = """
@recursive
def half(n: Nat) -> Nat:
    match n:
        case O(): return O()
        case S(O()): return O()
        case S(S(b)): return S(half(b))

@recursive
def least(m: Nat, n: Nat) -> Nat:
    match m, n:
        case _, O(): return n
        case O(), S(_): return m
        case S(a), S(b): return S(least(a, b))

@recursive
def third(n: Nat, m: Nat) -> Nat:
    match n:
        case O(): return m
        case S(O()): return least(m, n)
        case S(S(O())): return half(m)
        case S(S(S(b))): return S(third(b, third(b, m)))

@recursive
def all_of_them(m: Nat, n: Nat) -> Nat:
    return third(half(m), least(m, n))
"""


def test_rounds_of_nested_calls_with_deep_patterns(tmp_path: Path) -> None:
    """The outermost call may become reducible two constructors above the last reduction."""
    module: Any = load(tmp_path, NESTED)
    function, rng = module.all_of_them, np.random.default_rng(0)
    naive, arity = Naive(function), arities(function)

    def drawn(depth: int) -> Any:
        kind = int(rng.integers(6)) if depth else 5
        if kind == 5:
            number = module.O()
            for _ in range(int(rng.integers(4))):
                number = module.S(number)
            return number
        if kind == 4:
            return build(module.S, [drawn(depth - 1)])
        called = function.functions[kind]
        return called.call(*(drawn(depth - 1) for _ in range(called.arity)))

    compared = 0
    for _ in range(150):
        start = drawn(4)
        for parallel in (False, True):
            term = naive.tree(encode_term(start), arity)
            for one in itertools.islice(iterate(start, parallel=parallel), 60):
                following = naive.all_at_once(term) if parallel else naive.outermost(term)
                assert following is not None
                term = following
                assert encode_term(one.after) == flattened(term)
                compared += 1
            if len(reduce(start, 60, parallel=parallel).rounds) < 60:
                assert naive.outermost(term) is None
                assert reduce(start).term == normal_form(start)
    assert compared > 2_000
