"""The verifier: what is right is proved, what is not is named and shown."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import torch
from crasp_mutants import is_harmful, rebuilt, words_for
from handmade_crasp import PLACE, PROGRAM, ahead
from hypothesis import given, settings
from strategies import programs

from weft.crasp import (
    Comparison,
    Conditional,
    Counting,
    CraspProgram,
    Integer,
    Line,
    Maximum,
    Minimum,
    Name,
    Not,
    Symbol,
    library,
    parse,
)
from weft.crasp.construction import _compile, compile_crasp
from weft.crasp.proof import prove, verify
from weft.crasp.proof.meaning import meaning_of
from weft.crasp.proof.model_checks import Unproved
from weft.crasp.proof.values import Known
from weft.errors import WeftError
from weft.language.vocabulary import Vocabulary
from weft.models.slots import Layout

A, B = Symbol("a"), Symbol("b")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("form", ["offsets", "absolute"])
def test_a_model_made_by_hand_is_proved(form: str, dtype: str) -> None:
    model = ahead(40, form=form, dtype=dtype)  # type: ignore[arg-type]
    proof = prove(model, PROGRAM)
    assert proof.verdict == "proved", proof.reason
    assert proof.limits == "words of up to 40 symbols"
    assert 0 < proof.error < 0.01
    assert not is_harmful(model, PROGRAM, words_for(PROGRAM, 40))


def test_bfloat16_is_proved_as_far_as_it_goes() -> None:
    assert prove(ahead(4, dtype="bfloat16"), PROGRAM).proved
    proof = prove(ahead(12, dtype="bfloat16"), PROGRAM)
    assert proof.verdict == "undecided"
    assert proof.proved_to is not None
    assert 4 <= proof.proved_to < 12


NAMES = [
    "dyck-1", "majority", "anbncn", "tomita-4", "even-length", "unique-copy", "ab-or-bbaa",
    "prefix-expressions", "interleaved-majority", "parity-up-to", "most-frequent", "ends-in-b",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_programs_of_the_library_are_proved_to_length_1000(name: str) -> None:
    compiled = compile_crasp(library.load(name), max_length=1000)
    proof = prove(compiled.model, compiled.program, search=False)
    assert proof.proved, proof.reason
    assert proof.error < 0.5
    assert proof.seconds < 10


@pytest.mark.slow
@pytest.mark.parametrize("form", ["offsets", "absolute"])
@pytest.mark.parametrize("name", library.names())
def test_every_program_of_the_library_is_proved_in_each_form(name: str, form: str) -> None:
    program = library.load(name)
    for dtype, length in (("float32", 300), ("float64", 120)):
        compiled = compile_crasp(program, max_length=length, dtype=dtype, form=form)  # type: ignore[arg-type]
        proof = prove(compiled.model, program, search=False)
        assert proof.proved, proof.reason


@pytest.mark.slow
@pytest.mark.parametrize("name", library.names())
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_what_the_compiler_accepts_is_proved_up_to_its_longest(name: str, dtype: str) -> None:
    program = library.load(name)
    try:
        longest = compile_crasp(program, max_length=1, dtype=dtype).longest
    except WeftError:
        pytest.skip("the number format is too narrow for any word")
    compiled = compile_crasp(program, max_length=min(longest, 5000), dtype=dtype)
    assert prove(compiled.model, program, search=False).proved


@given(programs(max_lines=3))
@settings(max_examples=25, deadline=None)
def test_random_programs_are_proved_once_they_are_compiled(program: CraspProgram) -> None:
    compiled = compile_crasp(program, max_length=20)
    proof = prove(compiled.model, program)
    assert proof.proved, proof


@pytest.mark.slow
@pytest.mark.parametrize("form", ["offsets", "absolute"])
@given(program=programs(max_lines=5, depth=3))
@settings(max_examples=150, deadline=None)
def test_larger_random_programs_are_proved(form: str, program: CraspProgram) -> None:
    try:
        compiled = compile_crasp(program, max_length=24, form=form)  # type: ignore[arg-type]
    except WeftError:
        return
    proof = prove(compiled.model, program)
    assert proof.proved, proof


# What is not proved


def test_a_slope_that_is_too_small_is_named_with_its_length_and_a_word() -> None:
    model = ahead(30, slope=20.0)
    proof = prove(model, PROGRAM)
    assert proof.verdict == "wrong"
    assert proof.unclear == "#[j <= i] Q_a(j) > #[j <= i] Q_b(j)"
    assert proof.unclear_from == 19  # from where on 20 / (i + 1) is at most 1
    assert proof.proved_to == 18
    assert proof.word is not None
    assert is_harmful(model, PROGRAM, [proof.word])
    assert proof.counterexample is not None
    assert "the line 'more' at position 29" in str(proof.counterexample)
    assert "may fail on words of 19 symbols or more" in proof.reason


def test_a_longer_input_than_the_model_was_made_for_is_not_proved() -> None:
    proof = prove(ahead(30, slope=32.0, max_length=200), PROGRAM)
    assert proof.verdict == "wrong"
    assert proof.proved_to == 30
    assert prove(ahead(30, slope=1024.0, max_length=200), PROGRAM).proved


def test_counts_beyond_the_precision_of_a_format_are_shown_on_a_word() -> None:
    program = library.load("majority")
    compiled = _compile(program, 1500, "bfloat16", None, sound=False)
    proof = prove(compiled.model, program)
    assert proof.verdict == "wrong"
    assert proof.unclear == "#[j <= i] Q_0(j) < #[j <= i] Q_1(j)"
    assert proof.word is not None
    assert len(proof.word) > 1000
    assert is_harmful(compiled.model, program, [proof.word])


def test_words_are_also_aimed_at_counts_of_counts() -> None:
    """Was a ahead of b at more than half of the positions?"""
    ahead_of = Comparison(">", Counting(A), Counting(B))
    lines = (
        Line("more", ahead_of),
        Line(
            "accept",
            Comparison(">", Counting(Name("more")), Counting(Not(Name("more")))),
        ),
    )
    program = CraspProgram(("a", "b"), lines)
    compiled = _compile(program, 1400, "float32", None, sound=False)
    assert prove(compiled.model, program).proved
    state = {name: tensor.clone() for name, tensor in compiled.model.state_dict().items()}
    steep = state["layers.1.feed_forward.weights.0"]
    state["layers.1.feed_forward.weights.0"] = torch.where(steep.abs() > 1, steep / 4, steep)
    proof = prove(rebuilt(compiled.model, state), program)
    assert proof.verdict == "wrong"
    assert proof.unclear == "#[j <= i] more(j) > #[j <= i] (not more(j))"
    assert proof.word is not None
    assert len(proof.word) == 1400


def test_a_single_wrong_entry_of_a_long_table_is_noticed() -> None:
    model = ahead(300)
    table = model.state_dict()["position.parts.learned.table"].clone()
    table[277, PLACE["odd"]] = 0
    state = {**model.state_dict(), "position.parts.learned.table": table}
    proof = prove(rebuilt(model, state), PROGRAM, search=False)
    assert proof.reason == "the line 'odd' is not what its dimension computes at position 277"


def test_the_layout_names_every_line() -> None:
    model = ahead(8)
    slots = [slot for slot in model.layout.values() if slot.name != "before"]
    proof = prove(rebuilt(model, model.state_dict(), None, Layout(tuple(slots))), PROGRAM)
    assert proof.reason == "the line 'before' has no dimension in the stream"
    kinds = [replace(s, kind="count") if s.name == "odd" else s for s in model.layout.values()]
    proof = prove(rebuilt(model, model.state_dict(), None, Layout(tuple(kinds))), PROGRAM)
    assert proof.reason == "the layout's slot of 'odd' is not that of a Boolean"


def test_tokens_in_another_order_are_not_proved() -> None:
    model = ahead(8)
    model.vocabulary = Vocabulary(names=("b", "a", "<begin>"), size=3)
    assert "the tokens are not the symbols" in prove(model, PROGRAM, search=False).reason
    model.vocabulary = Vocabulary(names=("a", "b", "<begin>"), size=3)
    assert prove(model, PROGRAM).proved


def test_weights_that_are_not_numbers_are_refused() -> None:
    for value in (float("nan"), float("inf"), 1e30):
        model = ahead(8)
        state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        state["layers.0.feed_forward.weights.0"][0, 0] = value
        assert not prove(rebuilt(model, state), PROGRAM, search=False).proved


def test_a_head_that_sees_nothing_is_refused_even_if_nothing_reads_it() -> None:
    """Its output would be NaN, and NaN times zero is NaN."""
    model = ahead(8)
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    state["layers.0.attention.bias"][1] = -float("inf")
    proof = prove(rebuilt(model, state), PROGRAM, search=False)
    assert proof.reason == "head 1 of layer 0 may see no position at all"


def test_another_number_format_than_the_config_says_is_refused() -> None:
    model = ahead(8)
    model.layers[0].double()
    assert "torch.float64, the config says float32" in prove(model, PROGRAM, search=False).reason


def test_functions_that_differ_only_where_no_word_reaches_are_equal() -> None:
    """#a is never more than the number of positions: min(#a, #true) is #a."""
    lesser = Minimum((Counting(A), Counting(Symbol("a")), Integer(5)))
    plain = CraspProgram(("a", "b"), (Line("accept", Comparison(">=", Counting(A), Integer(2))),))
    clumsy = CraspProgram(
        ("a", "b"),
        (
            Line(
                "accept",
                Comparison(">=", Maximum((lesser, Integer(-1))), Integer(2)),
            ),
        ),
    )
    compiled = compile_crasp(plain, max_length=30)
    assert prove(compiled.model, clumsy).proved
    assert not prove(compile_crasp(clumsy, max_length=30).model, replace(
        plain, lines=(Line("accept", Comparison(">=", Counting(A), Integer(3))),)
    ), search=False).proved  # fmt: skip


def test_a_count_of_1_is_not_a_dimension_that_holds_1() -> None:
    """It holds 1 / (i + 1), also where the functions differ elsewhere but are near."""
    lines = [
        Line("n", Conditional(Name("more"), Counting(A), Integer(1))) if line.name == "n" else line
        for line in PROGRAM.lines
    ]
    program = CraspProgram(PROGRAM.alphabet, tuple(lines))
    proving = verify._Proving(ahead(8), program)
    proving.meaning = meaning = meaning_of(program, 8)
    make = meaning.diagrams
    exact = np.zeros(9)
    share = make.scale(make.total(make.of_symbol(0, [1, 0])), 1 + Fraction(1, 4096))
    one = make.total(make.of_symbol(1, [0, 0]))
    for otherwise, right in ((one, True), (make.constant(1), False), (make.constant(0), False)):
        held = Known(make.choice(meaning.lines["more"], share, otherwise), exact)
        if right:
            proving._check_count("n", meaning.lines["n"], held)
        else:
            with pytest.raises(Unproved, match="n is not what its dimension holds"):
                proving._check_count("n", meaning.lines["n"], held)


def test_a_proof_says_what_it_trusts() -> None:
    proof = prove(ahead(6), PROGRAM)
    assert not proof.excluded
    assert any("any order of summation" in trusted for trusted in proof.trusted)
    assert proof.figures["quantities"] == 3


def test_the_verdict_does_not_depend_on_threads_or_gradients() -> None:
    model = ahead(6)
    with torch.enable_grad():
        model.requires_grad_(True)
        assert prove(model, PROGRAM).proved


def test_heads_of_very_short_inputs_are_understood() -> None:
    """With so few positions, the begin symbol has a query of its own, and sees only itself."""
    program = parse("alphabet a b \n some := # Q_a > 2 \n accept := previous some")
    for dtype, length in product(("bfloat16", "float32"), range(1, 7)):
        compiled = compile_crasp(program, max_length=length, dtype=dtype, form="absolute")
        proof = prove(compiled.model, program)
        assert proof.proved, proof


def test_a_maximum_is_equal_to_itself() -> None:
    """Split into cases, this would need that order is transitive."""
    program = parse(
        "alphabet a b c \n"
        "c := max(# Q_a, # Q_b + 3, 2) - #[j <= i, j == i - 2] (# Q_c < 2) \n"
        "accept := # (c < c) == 0"
    )
    assert prove(compile_crasp(program, max_length=20).model, program).proved
