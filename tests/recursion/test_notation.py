"""Terms as tokens: every notation round-trips, and bad tokens are refused at their place."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import WeftError
from weft.recursion import (
    DEFINITIONS,
    Inductive,
    InputSampler,
    Notation,
    TermSampler,
    decode_term,
    decode_terms,
    encode_term,
    iterate,
    parse_term,
    show_term,
    vocabulary,
)
from weft.recursion.library.binary import X1, XO, One, Positive
from weft.recursion.library.expressions import Expression
from weft.recursion.library.lists import List, Nats, to_list
from weft.recursion.library.peano import Nat, to_nat
from weft.recursion.library.trees import Tree

STYLES = ("prefix", "parenthesised", "empty", "bracket", "flat")
NOTATIONS = [
    Notation(style, order, labels)  # type: ignore[arg-type]
    for style, order, labels in itertools.product(
        STYLES, ("constructor", "natural"), ("pre", "in", "post")
    )
]
TYPES = (Positive, Nat, List, Nats, Tree, Expression)
TREE = parse_term("Branch a Branch b Leaf Leaf Branch c Leaf Leaf", Tree)


@given(
    st.sampled_from(TYPES),
    st.sampled_from(NOTATIONS),
    st.integers(0, 12),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=400, deadline=None)
def test_terms_round_trip(kind: Any, notation: Notation, size: int, seed: int) -> None:
    sampler = TermSampler(kind)
    if not sampler.count(size):
        return
    term = sampler.sample(np.random.default_rng(seed), 1, size=size)[0]
    tokens = encode_term(term, notation)
    assert decode_term(tokens, kind, notation) == term
    assert parse_term(show_term(term, notation), kind, notation) == term


@given(
    st.sampled_from(sorted(DEFINITIONS)),
    st.sampled_from([one for one in NOTATIONS if one.style != "flat"]),
    st.integers(0, 7),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=200, deadline=None)
def test_terms_with_calls_round_trip(name: str, notation: Notation, size: int, seed: int) -> None:
    function = DEFINITIONS[name]
    sampler = InputSampler(function)
    if not sampler.count(size):
        return
    arguments = sampler.sample(np.random.default_rng(seed), 1, size=size)[0]
    words = set(vocabulary(function, notation))
    start = function.call(*arguments)
    terms = [start, *(one.after for one in itertools.islice(iterate(start), 12))]
    for term in terms:
        tokens = encode_term(term, notation)
        assert words.issuperset(tokens)
        assert decode_term(tokens, function.result, notation, function.functions) == term
    kinds = [kind for _, kind in function.parameters]
    if notation.style != "bracket":  # in which a term does not say where it ends
        joined = [token for one in arguments for token in encode_term(one, notation)]
        assert decode_terms(joined, kinds, notation) == arguments


SHOWN = {
    ("prefix", "pre"): "Branch a Branch b Leaf Leaf Branch c Leaf Leaf",
    ("prefix", "in"): "Branch Branch Leaf b Leaf a Branch Leaf c Leaf",
    ("prefix", "post"): "Branch Branch Leaf Leaf b Branch Leaf Leaf c a",
    ("parenthesised", "pre"): "( Branch a ( Branch b Leaf Leaf ) ( Branch c Leaf Leaf ) )",
    ("empty", "pre"): "( a ( b EMPTY EMPTY ) ( c EMPTY EMPTY ) )",
    ("empty", "in"): "( ( EMPTY b EMPTY ) a ( EMPTY c EMPTY ) )",
    ("bracket", "pre"): "a ( b ( ) ( ) ) ( c ( ) ( ) )",
}


@pytest.mark.parametrize(("style", "labels"), SHOWN)
def test_the_notations_of_a_tree(style: Any, labels: Any) -> None:
    assert show_term(TREE, Notation(style, labels=labels)) == SHOWN[style, labels]


def test_natural_order_is_most_significant_first() -> None:
    for number in range(1, 200):
        digits = show_term(parse_term(" ".join(reversed(_tokens(number))), Positive))
        assert digits.split() == list(reversed(_tokens(number)))
        natural = Notation(order="natural")
        assert show_term(parse_term(digits, Positive), natural).split() == _tokens(number)


def _tokens(number: int) -> list[str]:
    """A number's digits, most significant first, as tokens."""
    return ["01", *("X1" if digit == "1" else "XO" for digit in bin(number)[3:])]


def test_lists_are_flat() -> None:
    flat = Notation("flat")
    assert show_term(to_list("abc"), flat) == "a b c"
    assert parse_term("", List, flat) == to_list("")
    append, reverse = DEFINITIONS["append"], DEFINITIONS["reverse"]
    term = append.call(to_list("ab"), append.call(reverse.call(to_list("cd")), to_list("e")))
    assert show_term(term, flat) == "a b reverse [ c d ] e"
    read = parse_term("a b reverse [ c d ] e", List, flat, reverse.functions)
    assert show_term(read, flat) == "a b reverse [ c d ] e"
    with pytest.raises(WeftError, match="a list after a call"):
        parse_term("reverse [ c ] e", List, flat, [reverse])


REFUSED = {
    "XO X1": (Positive, "prefix", "the term ends after token 2, where a Positive should follow"),
    "XO XX 01": (Positive, "prefix", "token 2 is 'XX': there is no constructor 'XX' of Positive"),
    "XO 01 01": (Positive, "prefix", "token 3 is '01': the Positive is complete without it"),
    "01 XO X1 01": (Positive, "prefix", "token 2 is 'XO': the Positive is complete without it, "
                    "and 2 more after it"),
    "": (Positive, "prefix", "there are no tokens, and a Positive is needed"),
    "XO Leaf": (Positive, "prefix", "token 2 is 'Leaf': there is no constructor 'Leaf'"),
    "Branch Leaf Leaf": (Tree, "prefix", "token 2 is 'Leaf': there is no constructor 'Leaf' of "
                         "Letter"),
    "Branch a Leaf": (Tree, "prefix", "the term ends after token 3, where a Tree should follow"),
    "Branch a b Leaf": (Tree, "prefix", "token 3 is 'b'"),
    "( XO )": (Positive, "parenthesised", "token 3 is ')': a Positive should stand here"),
    "( XO ( X1 01 )": (Positive, "parenthesised", "the term ends after token 6, where ')' should"),
    "XO 01": (Positive, "parenthesised", "token 1 is 'XO': a term with arguments stands in ( )"),
    "( XO 01 ) )": (Positive, "parenthesised", "token 5 is ')': the Positive is complete"),
    "( 01 )": (Positive, "parenthesised", "token 2 is '01': a term without arguments stands"),
    "( a EMPTY )": (Tree, "empty", "token 4 is ')'"),
    "( a EMPTY Leaf )": (Tree, "empty", "token 4 is 'Leaf': '(' or EMPTY should stand here"),
    "a ( ) ( ) ( )": (Tree, "bracket", "token 6 is '(': the Tree is complete without it"),
    "a ( )": (Tree, "bracket", "the term ends after token 3, where '(' should follow"),
    "a ( ) )": (Tree, "bracket", "token 4 is ')': '(' should stand here"),
    "a ) b": (List, "flat", "token 2 is ')'"),
    "append a b": (List, "prefix", "token 1 is 'append': there is no constructor 'append'"),
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_tokens_that_are_no_term_are_refused_at_their_place(text: str) -> None:
    kind, style, message = REFUSED[text]
    with pytest.raises(WeftError) as caught:
        parse_term(text, kind, Notation(style))  # type: ignore[arg-type]
    assert caught.value.what.startswith(message)


def test_places_in_natural_order_count_from_the_left() -> None:
    natural = Notation(order="natural")
    with pytest.raises(WeftError, match="token 2 is 'Y'"):
        parse_term("01 Y X1", Positive, natural)
    with pytest.raises(WeftError, match="begins with token 1, before which a Positive should"):
        parse_term("XO X1", Positive, natural)
    with pytest.raises(WeftError, match="token 1 is 'X1': the Positive is complete without it"):
        parse_term("X1 01 XO", Positive, natural)


def test_calls_are_refused_where_they_are_not_expected() -> None:
    depth = DEFINITIONS["tree-depth"]
    with pytest.raises(WeftError, match="there is no constructor 'tree_depth'"):
        parse_term("S tree_depth Leaf", Nat)
    assert show_term(parse_term("S tree_depth Leaf", Nat, functions=depth.functions)) == (
        "S tree_depth Leaf"
    )
    with pytest.raises(WeftError, match="token 2 is 'tree_depth': tree_depth gives a Nat, not a"):
        parse_term("XO tree_depth Leaf", Positive, functions=depth.functions)


@pytest.mark.parametrize("field", ["style", "order", "labels"])
def test_an_unknown_notation_is_refused(field: str) -> None:
    with pytest.raises(WeftError, match=f"{field} cannot be 'x'"):
        Notation(**{field: "x"})


@pytest.mark.parametrize("notation", [Notation(style) for style in STYLES])  # type: ignore[arg-type]
def test_deep_terms_are_written_and_read(notation: Notation) -> None:
    deep = to_nat(10_000)
    assert decode_term(encode_term(deep, notation), Nat, notation) == deep
    comb = TermSampler(Tree).sample(np.random.default_rng(0), 1, size=60, shape="left")[0]
    assert decode_term(encode_term(comb, notation), Tree, notation) == comb


def test_terms_compare_by_what_they_are_made_of() -> None:
    assert XO(One()) != X1(One())
    assert XO(One()) == XO(One())
    assert XO(One()) != (One(),)
    assert One() != ()
    assert len({XO(X1(One())), XO(X1(One())), X1(X1(One()))}) == 2
    deep, same = to_nat(10_000), to_nat(10_000)
    assert deep == same
    assert hash(deep) == hash(same)
    assert deep != to_nat(9_999)
    assert isinstance(deep, Inductive)
    assert repr(to_nat(2)) == "S(S(O))"
    assert len(repr(deep)) == 30_001


def test_vocabularies_name_each_token_once() -> None:
    for function in DEFINITIONS.values():
        for notation in NOTATIONS:
            words = vocabulary(function, notation)
            assert len(words) == len(set(words))
