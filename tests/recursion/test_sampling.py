"""Samplers: counts against enumeration, uniform, by depth, deterministic."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from weft.errors import WeftError
from weft.recursion import DEFINITIONS, Function, InputSampler, TermSampler, height, size
from weft.recursion.grammar import below
from weft.recursion.inductive import InductiveMeta, is_alphabet
from weft.recursion.library.binary import Positive
from weft.recursion.library.expressions import Expression
from weft.recursion.library.lists import Letter, List, Nats
from weft.recursion.library.peano import Nat
from weft.recursion.library.trees import Tree
from weft.recursion.measures import spine

TYPES = (Positive, Nat, List, Nats, Tree, Expression)


def everything(kind: InductiveMeta, most: int) -> Iterator[Any]:
    """All terms of a type up to a size, with the first symbol of every alphabet only."""
    if is_alphabet(kind):
        yield kind.members()[0]  # type: ignore[attr-defined]
        return
    for constructor in kind.constructors:
        left = most - constructor.weight
        if left < 0:
            continue
        options = [list(everything(inner, left)) for _, inner in constructor.arguments]
        for arguments in itertools.product(*options):
            made = constructor(*arguments)
            if size(made) <= most:
                yield made


@pytest.mark.parametrize("kind", TYPES)
def test_counts_are_those_of_an_enumeration(kind: InductiveMeta) -> None:
    sampler = TermSampler(kind)
    terms = list(everything(kind, 5))
    assert len(set(terms)) == len(terms)
    sizes = Counter(map(size, terms))
    both = Counter((size(term), height(term)) for term in terms)
    for number in range(6):
        assert sampler.count(number) == sizes[number]
        for high in range(7):
            assert sampler.count(number, high) == both[number, high]


@pytest.mark.parametrize("name", DEFINITIONS)
def test_inputs_of_a_depth_are_those_of_an_enumeration(name: str) -> None:
    function = DEFINITIONS[name]
    sampler = InputSampler(function)
    most = 4 if function.arity > 1 else 5
    columns = [list(everything(kind, most)) for _, kind in function.parameters]
    found = [given for given in itertools.product(*columns) if size(*given) <= most]
    sizes = Counter(size(*given) for given in found)
    assert [sampler.count(number) for number in range(most + 1)] == [
        sizes[number] for number in range(most + 1)
    ]
    if name in ("insert", "tree-insert"):
        with pytest.raises(WeftError, match="inputs of a recursion depth cannot be counted"):
            sampler.count(3, 1)
        return
    depths = Counter((size(*given), function.depth(*given)) for given in found)
    for number, depth in itertools.product(range(most + 1), range(most + 3)):
        assert sampler.count(number, depth) == depths[number, depth]


def test_numbers_of_trees_are_catalan_numbers() -> None:
    sampler = TermSampler(Tree)
    for branches in (0, 1, 5, 40, 300):
        catalan = math.comb(2 * branches, branches) // (branches + 1)
        assert sampler.count(branches) == catalan


def test_successor_inputs_by_depth() -> None:
    """With L digits there are 2^(L - 2 - d) numbers of depth d, and one whose digits are all 1."""
    sampler = InputSampler(DEFINITIONS["successor"])
    counts = [sampler.count(10, depth) for depth in range(11)]
    assert counts == [256, 128, 64, 32, 16, 8, 4, 2, 1, 1, 0]
    drawn = sampler.sample(np.random.default_rng(0), 400, size=(2, 30), depth=(0, 12))
    depths = Counter(DEFINITIONS["successor"].depth(*one) for one in drawn)
    assert set(depths) == set(range(13))
    assert min(depths.values()) > 10


def chi_square(counts: list[int], expected: float) -> float:
    return sum((count - expected) ** 2 / expected for count in counts)


@pytest.mark.parametrize(
    ("kind", "number", "high"),
    [(Tree, 6, None), (Tree, 6, 4), (Positive, 8, None), (Nats, 4, None), (Expression, 5, None)],
)
def test_terms_are_uniform(kind: InductiveMeta, number: int, high: int | None) -> None:
    """The statistic is within five standard deviations of its mean."""
    sampler = TermSampler(kind)
    total, each = sampler.count(number, high), 40
    draws = sampler.sample(np.random.default_rng(3), total * each, size=number, height=high)
    shapes = Counter(shape(term) for term in draws)
    assert len(shapes) == total
    assert all(size(term) == number for term in draws)
    assert high is None or all(height(term) == high for term in draws)
    statistic = chi_square(list(shapes.values()), each)
    assert abs(statistic - (total - 1)) < 5 * math.sqrt(2 * (total - 1))


def shape(term: Any) -> Any:
    """A term without its labels."""
    return "" if isinstance(term, Letter) else (type(term), *map(shape, term))


def test_random_splits_are_not_uniform() -> None:
    """With three branches, the balanced tree has 1/3 by splits and 1/5 by counting."""
    sampler, rng = TermSampler(Tree), np.random.default_rng(4)
    for name, share in (("split", 1 / 3), ("uniform", 1 / 5)):
        draws = sampler.sample(rng, 3_000, size=3, shape=name)  # type: ignore[arg-type]
        balanced = sum(height(term) == 2 for term in draws) / 3_000
        assert abs(balanced - share) < 0.04


def test_shapes() -> None:
    sampler, rng = TermSampler(Tree), np.random.default_rng(5)
    for term in sampler.sample(rng, 5, size=9, shape="left"):
        assert spine(term, 1) == height(term) == 9
    for term in sampler.sample(rng, 5, size=9, shape="right"):
        assert spine(term, 2) == height(term) == 9
    for term in sampler.sample(rng, 5, size=15, shape="balanced"):
        assert (height(term), size(term)) == (4, 15)


def test_inputs_of_a_depth_are_uniform() -> None:
    sampler = InputSampler(DEFINITIONS["add"])
    total, each = sampler.count(7, 2), 40
    draws = sampler.sample(np.random.default_rng(6), total * each, size=7, depth=2)
    found = Counter(draws)
    assert len(found) == total
    assert abs(chi_square(list(found.values()), each) - total + 1) < 5 * math.sqrt(2 * total)


def test_labels_are_uniform_and_can_be_distinct() -> None:
    rng = np.random.default_rng(7)
    free = TermSampler(List).sample(rng, 520, size=10)
    letters = Counter(one for term in free for one in letters_of(term))
    assert len(letters) == 26
    assert abs(chi_square(list(letters.values()), 200) - 25) < 5 * math.sqrt(50)
    for term in TermSampler(Tree, distinct=True).sample(rng, 50, size=20):
        found = letters_of(term)
        assert len(set(found)) == len(found) == 20
    with pytest.raises(WeftError, match="more labels than the 26 symbols"):
        TermSampler(Tree, distinct=True).sample(rng, 1, size=27)


def letters_of(term: Any) -> list[str]:
    from weft.recursion.terms import subterms

    return [one.symbol for one in subterms(term) if isinstance(one, Letter)]


def test_the_generator_decides_everything() -> None:
    for name in ("successor", "in-order", "add", "tree-insert"):
        sampler = InputSampler(DEFINITIONS[name])
        first, again, other = (
            sampler.sample(np.random.default_rng(seed), 20, size=(3, 12)) for seed in (1, 1, 2)
        )
        assert first == again
        assert first != other
        fresh = InputSampler(DEFINITIONS[name]).sample(np.random.default_rng(1), 20, size=(3, 12))
        assert first == fresh


@pytest.mark.parametrize("name", [name for name, one in DEFINITIONS.items() if one.cases])
def test_cases_have_their_share_and_evaluate(name: str) -> None:
    function = DEFINITIONS[name]
    sampler = InputSampler(function)
    for case in function.cases:
        for arguments in sampler.sample(np.random.default_rng(8), 8, size=(1, 9), cases={case: 1}):
            assert function.evaluate(*arguments) == function(*arguments)


def test_the_cases_of_the_successor() -> None:
    successor = DEFINITIONS["successor"]
    sampler, rng = InputSampler(successor), np.random.default_rng(9)

    def cases(name: str) -> list[Any]:
        return [one for (one,) in sampler.sample(rng, 40, size=(4, 20), cases={name: 1})]

    run, longest = successor.axes["run"], successor.axes["longest-run"]
    assert all(run(one) == size(one) - 1 for one in cases("all-carry"))
    assert all(run(one) == size(one) - 2 for one in cases("top-run"))
    assert all(longest(one) == 0 for one in cases("no-carry"))
    for one in cases("decoy-run"):
        assert longest(one) > run(one)
        assert longest(one) >= (size(one) - 1) // 2
    mixed = sampler.sample(rng, 4_000, size=20, cases={"all-carry": 0.1})
    share = sum(run(one) == 19 for (one,) in mixed) / 4_000
    assert 0.08 < share < 0.12


def test_each_argument_has_its_own_size() -> None:
    drawn = InputSampler(DEFINITIONS["add"]).sample(
        np.random.default_rng(0), 100, size=(3, 5), each=True
    )
    assert {size(one) for pair in drawn for one in pair} == {3, 4, 5}


def test_large_numbers_are_drawn_below_their_limit() -> None:
    rng = np.random.default_rng(0)
    for limit in (1, 2, 10, 2**63, 2**64 + 1, 3**100):
        drawn = below(rng, limit, 200)
        assert len(drawn) == 200
        assert all(0 <= one < limit for one in drawn)
        assert limit < 100 or len(set(drawn)) > 190
    assert max(below(rng, 3**100, 200)) > 3**100 // 2


def test_large_terms() -> None:
    rng = np.random.default_rng(0)
    number = TermSampler(Positive).sample(rng, 1, size=5_000)[0]
    assert size(number) == 5_000
    tree = TermSampler(Tree).sample(rng, 1, size=300)[0]
    assert size(tree) == 300


REFUSED = {
    "no such size": ({"size": 0}, Positive, "there is no Positive of size 0"),
    "no such height": ({"size": 3, "height": 9}, Tree, "size 3 and height 9"),
    "negative": ({"size": -1}, Tree, "-1 is not a size"),
    "reversed range": ({"size": (5, 2)}, Tree, "is not a size"),
    "text": ({"size": "x"}, Tree, "is not a size"),
    "unknown shape": ({"size": 3, "shape": "round"}, Tree, "there is no shape 'round'"),
    "shape and height": (
        {"size": 3, "height": 2, "shape": "left"},
        Tree,
        "shape 'left' decides the height",
    ),
    "too large": ({"size": 10**6}, Tree, "are too many to be counted"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_terms_that_cannot_be_drawn_are_refused(case: str) -> None:
    options, kind, message = REFUSED[case]
    with pytest.raises(WeftError, match=message):
        TermSampler(kind).sample(np.random.default_rng(0), 1, **options)  # type: ignore[arg-type]


REFUSED_INPUTS: dict[str, tuple[dict[str, Any], str]] = {
    "depth": ({"size": 4, "depth": 9}, "no input of size 4 has depth 9"),
    "unknown case": ({"size": 4, "cases": {"x": 1}}, "there is no case 'x'"),
    "share": ({"size": 4, "cases": {"all-carry": 2}}, "the share of 'all-carry' is 2"),
    "shares": ({"size": 4, "cases": {"all-carry": 0.7, "top-run": 0.7}}, "more than 1"),
    "each and depth": ({"size": 4, "depth": 1, "each": True}, "together with depths"),
    "size": ({"size": 0}, "no input has size 0"),
}


@pytest.mark.parametrize("case", REFUSED_INPUTS)
def test_inputs_that_cannot_be_drawn_are_refused(case: str) -> None:
    options, message = REFUSED_INPUTS[case]
    with pytest.raises(WeftError, match=message):
        InputSampler(DEFINITIONS["successor"]).sample(np.random.default_rng(0), 1, **options)


def test_a_case_that_fails_is_refused_with_its_name() -> None:
    successor = DEFINITIONS["successor"]

    def broken(rng: Any, size: int) -> Any:
        raise KeyError(size)

    function = Function(
        "f", successor.parameters, successor.result,
        cases={"broken": broken, "wrong": lambda rng, size: (3,)},
    )  # fmt: skip
    function._equations = successor.equations
    sampler, rng = InputSampler(function), np.random.default_rng(0)
    with pytest.raises(WeftError, match="f: its case 'broken' fails for size 4: KeyError: 4"):
        sampler.sample(rng, 1, size=4, cases={"broken": 1})
    with pytest.raises(WeftError, match="its argument 'n' is of type int"):
        sampler.sample(rng, 1, size=4, cases={"wrong": 1})
