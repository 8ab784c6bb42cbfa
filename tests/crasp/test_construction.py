"""Weights of C-RASP programs against the interpreters: every line at every position."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import programs, words

from weft.crasp import (
    Add,
    And,
    Comparison,
    Conditional,
    Counting,
    CraspProgram,
    Exists,
    Integer,
    Line,
    Local,
    Maximum,
    Minimum,
    Name,
    Not,
    Periodic,
    Position,
    Previous,
    Subtract,
    Symbol,
    library,
    measure,
    run,
    simplify,
)
from weft.crasp.batched import run_batch
from weft.crasp.construction import (
    CompiledCrasp,
    PositionForm,
    _compile,
    compile_crasp,
    longest_length,
)
from weft.crasp.expressions import BooleanExpression, Expression
from weft.crasp.head_positions import measure_positions
from weft.crasp.limit.construct import construct
from weft.crasp.prove import prove
from weft.crasp.syntax.parser import parse
from weft.errors import WeftError
from weft.models.generation import generate
from weft.weights.precision import format_of

LONG = ["majority", "dyck-1", "anbncn", "tomita-4", "even-length", "unique-copy(letters=8)"]


def check(compiled: CompiledCrasp, given_words: list[tuple[str, ...]]) -> None:
    """All lines on some words of any lengths."""
    program = compiled.program
    lengths = torch.tensor([len(word) + 1 for word in given_words])
    with torch.inference_mode():
        output = compiled.model(compiled.tokens(given_words), lengths)
    stream, logits = output.stream.double().numpy(), output.logits.double().numpy()
    wanted = run_batch(program, given_words)
    answers = {program.accepting: logits[..., 1] > logits[..., 0]}
    if program.next_symbols:
        answers = {
            line: logits[..., program.alphabet.index(symbol)] > logits[..., -1]
            for symbol, line in program.next_symbols.items()
        }
    for line, answer in answers.items():
        np.testing.assert_array_equal(answer & wanted.mask, wanted.values[line])
    positions = np.arange(1, stream.shape[1] + 1)
    for name, kind in program.kinds.items():
        held = stream[..., compiled.model.layout[name].start]
        if kind == "count":
            held = np.round(held * positions)
        for row, length in enumerate(lengths.tolist()):
            found, right = held[row, :length], wanted.values[name][row, :length]
            np.testing.assert_array_equal(found, right, err_msg=f"{name} on {given_words[row]}")


def all_words(alphabet: tuple[str, ...], longest: int) -> list[tuple[str, ...]]:
    return [word for n in range(longest + 1) for word in product(alphabet, repeat=n)]


def random_words(
    alphabet: tuple[str, ...], lengths: list[int], seed: int = 0
) -> list[tuple[str, ...]]:
    rng = random.Random(seed)
    return [tuple(rng.choice(alphabet) for _ in range(length)) for length in lengths]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_random_programs(data: st.DataObject) -> None:
    program = data.draw(programs())
    some = [(), *data.draw(st.lists(words(program, 12), min_size=1, max_size=3))]
    for form in ("offsets", "absolute"):
        check(compile_crasp(program, max_length=12, form=form), some)


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_random_programs_without_positions(data: st.DataObject) -> None:
    program = data.draw(programs(predicates=False))
    compiled = compile_crasp(program, max_length=20)
    assert compiled.position_form == "none"
    assert compiled.model.config.position == "none"
    assert compiled.model.config.offsets is None
    check(compiled, data.draw(st.lists(words(program, 20), min_size=1, max_size=3)))


@pytest.mark.parametrize("name", library.names())
def test_library_programs_on_all_short_words(name: str) -> None:
    program = library.load(name)
    longest = {1: 12, 2: 7, 3: 4, 4: 3}.get(len(program.alphabet), 2)
    compiled = compile_crasp(program)
    check(compiled, all_words(program.alphabet, longest))
    check(compiled, random_words(program.alphabet, [50, 77]))


@pytest.mark.parametrize("name", LONG)
def test_words_of_length_1000_in_float32(name: str) -> None:
    program = library.load(name)
    compiled = compile_crasp(program, max_length=1000)
    assert compiled.longest >= 1000
    edge = program.alphabet[:1] * 500 + program.alphabet[-1:] * 500  # counts close to each other
    check(compiled, [edge, edge[1:], *random_words(program.alphabet, [1000])])


@pytest.mark.slow
@pytest.mark.parametrize("name", library.names())
def test_library_programs_on_long_words(name: str) -> None:
    program = library.load(name)
    compiled = compile_crasp(program)
    lengths = [random.Random(name).randint(100, 1000) for _ in range(20)]
    for word in random_words(program.alphabet, [*lengths, 1000]):
        check(compiled, [word])


A, B = Symbol("a"), Symbol("b")
MORE = Comparison("<", Counting(A), Counting(B))
EVERYTHING: tuple[tuple[str, Expression], ...] = (
    ("odd", Position(Periodic(2, (1,)))),
    ("more", MORE),
    ("at_odd", Counting(And((A, Name("odd"))))),
    ("near", Counting(Name("more"), Local((0, 2, 3)))),
    ("least", Minimum((Counting(A), Name("at_odd"), Integer(4)))),
    ("most", Maximum((Subtract(Name("near"), Integer(5)), Name("least")))),
    ("chosen", Conditional(Name("more"), Name("most"), Subtract(Integer(-2), Counting(B)))),
    ("nested", Counting(Comparison(">", Name("chosen"), Counting(Previous(Not(Name("more"))))))),
    ("mixed", Add(Name("nested"), Subtract(Counting(A), Add(Name("near"), Integer(3))))),
    ("NEXT_a", Comparison(">=", Name("mixed"), Name("chosen"))),
    ("NEXT_b", Not(Comparison("==", Name("nested"), Counting(A, Local((1,)))))),
)


@pytest.mark.parametrize("form", ["offsets", "absolute"])
def test_every_operation(form: str) -> None:
    program = CraspProgram(("a", "b"), tuple(Line(*line) for line in EVERYTHING))
    compiled = compile_crasp(program, max_length=60, form=form)  # type: ignore[arg-type]
    some = [*all_words(("a", "b"), 6), *random_words(("a", "b"), [60, 60, 59])]
    check(compiled, some)
    for word in some[:40]:  # and by the definition
        values = {name: list(map(int, v)) for name, v in run(program, word).values.items()}
        assert compiled.run([word])[0] == values


def test_periods_without_a_small_common_multiple() -> None:
    """One table per period: 1,001,000 rows are never made."""
    program = parse(
        "alphabet a b\nodd := MOD(1000, 7) or MOD(13, 1)\n"
        "accept := odd or # (Q_a and MOD(77, {3, 4})) > 1"
    )
    compiled = compile_crasp(program, max_length=200)
    assert compiled.limit.period == 1_001_000
    check(compiled, random_words(("a", "b"), [200, 200, 150]))


def test_windows_whose_cases_are_too_many_to_list() -> None:
    window = Counting(A, Local(tuple(range(20))))
    lines: tuple[tuple[str, Expression], ...] = (
        ("near", window),
        ("exactly", Comparison("==", window, Integer(10))),
        ("mixed", Comparison(">=", Add(window, Counting(B)), Integer(12))),
        ("both", And((Comparison(">", window, Integer(7)), MORE))),
        ("accept", And((Comparison(">", Counting(Name("exactly")), Integer(3)), Name("both")))),
    )
    program = CraspProgram(("a", "b"), tuple(Line(*line) for line in lines))
    compiled = compile_crasp(program, max_length=60)
    assert compiled.units < 120
    check(compiled, [*all_words(("a", "b"), 5), *random_words(("a", "b"), [60] * 20)])


def test_the_model_answers() -> None:
    dyck = compile_crasp(library.load("dyck-1")).model
    assert [dyck.answer(word) for word in ("", "(())", "(()", ")(")] == [
        "accept", "accept", "reject", "reject",
    ]  # fmt: skip
    even = compile_crasp(library.load("even-length")).model
    assert [even.answer("a" * n) for n in range(4)] == ["accept", "reject"] * 2


def test_transduction_generates() -> None:
    """Unique copy writes the word again, one symbol after another, and stops."""
    program = library.load("unique-copy")
    compiled = compile_crasp(program, max_length=30)
    *letters, separator = program.alphabet
    word = (letters[2], letters[0], letters[1], separator)
    tokens = compiled.tokens([word])
    written = generate(compiled.model, tokens, 8, stop=len(program.alphabet))
    names = [*program.alphabet, "stop"]
    assert [names[n] for n in written[0, len(word) + 1 :].tolist()] == [*word[:3], "stop"]
    assert compiled.model.answer(" ".join(word)) == word[0]


def test_lengths_that_a_format_cannot_tell_apart_are_refused() -> None:
    dyck = library.load("dyck-1")
    for dtype, other in (("float32", "float64"), ("bfloat16", "float32 or float64")):
        longest = compile_crasp(dyck, max_length=4, dtype=dtype).longest
        assert compile_crasp(dyck, max_length=longest, dtype=dtype).max_length == longest
        with pytest.raises(
            WeftError,
            match=f"{dtype} cannot tell .* of {longest + 1:,} symbols.* at most {longest:,} "
            f"symbols, or use {other}",
        ):
            compile_crasp(dyck, max_length=longest + 1, dtype=dtype)
    with pytest.raises(WeftError, match=r"of 3 symbols\. Use float32 or float64"):
        compile_crasp(library.load("sorted-blocks"), max_length=3, dtype="bfloat16")
    assert 1000 < longest_length(construct(dyck), format_of("float32")) < 5000
    assert longest_length(construct(dyck), format_of("float64")) > 1_000_000


def test_at_its_longest_length_a_comparison_is_still_exact() -> None:
    """Close counts at the end of the longest word, where the margin is smallest."""
    program = library.load("tie")
    longest = compile_crasp(program).longest
    compiled = compile_crasp(program, max_length=longest)
    half = longest // 2
    first, second = program.alphabet
    for word in ((first,) * half + (second,) * half, (first,) * (half - 1) + (second,) * half):
        check(compiled, [word])


@pytest.mark.parametrize("name", ["dyck-1", "anbncn", "tomita-4", "prefix-expressions", "sort"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_what_is_accepted_can_be_proved(name: str, dtype: str) -> None:
    """At the longest length that is accepted, the verifier's own bounds suffice as well."""
    program = library.load(name)
    longest = longest_length(construct(program), format_of(dtype))
    if longest:
        compiled = compile_crasp(program, max_length=longest, dtype=dtype)
        proof = prove(compiled.model, program)
        assert proof.proved, proof


@pytest.mark.parametrize(("dtype", "length"), [("float64", 3000), ("bfloat16", 6)])
def test_other_formats(dtype: str, length: int) -> None:
    for name in ("dyck-1", "tomita-4"):
        program = library.load(name)
        compiled = compile_crasp(program, max_length=length, dtype=dtype)
        assert compiled.model.embedding.dtype == getattr(torch, dtype)
        short = all_words(program.alphabet, 6)
        check(compiled, short)
        if length > 10:
            check(compiled, random_words(program.alphabet, [1000]))


def test_an_unsound_length_can_be_measured() -> None:
    compiled = _compile(library.load("tie"), 6000, "float32", None, sound=False)
    assert compiled.longest < 6000
    word = tuple(compiled.program.alphabet) * 1000
    check(compiled, [word])


def test_forms() -> None:
    tomita, dyck = library.load("tomita-4"), library.load("dyck-1")
    offsets = compile_crasp(tomita, max_length=40).model.config
    assert (offsets.position, offsets.offsets) == ("none", 2)
    absolute = compile_crasp(tomita, max_length=40, form="absolute")
    assert absolute.model.config.position == "learned"
    assert absolute.model.config.offsets is None
    assert absolute.model.layout["position"].size == 41
    with pytest.raises(WeftError, match=r"form 'none' has no positions.*'offsets' or 'absolute'"):
        compile_crasp(tomita, form="none")
    with pytest.raises(WeftError, match=r"no form 'ofsets'.*[Oo]ffsets"):
        compile_crasp(dyck, form="ofsets")  # type: ignore[arg-type]
    with pytest.raises(WeftError, match="from 1 to 4,096"):
        compile_crasp(tomita, form="absolute", max_length=5000)


def test_position_products_of_the_absolute_form_are_local() -> None:
    """p_i Q K p_j is phi(i - j): twice the margin at the offset, zero at all others."""
    model = compile_crasp(library.load("tomita-4"), max_length=30, form="absolute").model
    table = model.position.parts["learned"].table.double()  # type: ignore[union-attr]
    attention = model.layers[0].attention
    for head, offset in ((1, 1), (2, 2)):
        query, key = attention.query[head].double(), attention.key[head].double()  # type: ignore[index]
        products = (table @ query) @ (table @ key).T
        assert torch.equal(products, 256.0 * torch.eye(31).roll(offset, 0).tril().double())


def test_sizes_of_dyck() -> None:
    compiled = compile_crasp(library.load("dyck-1"))
    assert (len(compiled.limit.layers), compiled.heads, compiled.units) == (2, 2, 3)
    assert "layer 1, head: mean of # Q_(, # Q_), one" in compiled.explain()


def test_a_line_may_have_the_name_of_the_position_table() -> None:
    program = CraspProgram(("a", "b"), (Line("position", Previous(A)),))
    compiled = compile_crasp(program, max_length=6, form="absolute")
    assert compiled.model.layout["position"].kind == "boolean"
    check(compiled, all_words(("a", "b"), 4))


def test_equal_lines_share_a_dimension_and_names_of_dimensions_are_unique() -> None:
    program = CraspProgram(
        ("a", "b"),
        (
            Line("one", MORE),
            Line("begin", Not(Comparison(">=", Counting(A), Counting(B)))),
            Line("constant", Counting(B)),
            Line("position", Previous(A)),
        ),
    )
    compiled = compile_crasp(program, max_length=10, form="absolute")
    assert compiled.model.layout["position'"].size == 11
    assert measure_positions(compiled.model).period == 1
    layout = compiled.model.layout
    assert layout["one"].start == layout["begin"].start
    assert len({dimension.name for dimension in compiled.construction.stream.dimensions}) == len(
        compiled.construction.stream.dimensions
    )
    check(compiled, all_words(("a", "b"), 5))


@pytest.mark.parametrize("form", [None, "layernorm"])
def test_only_formats_that_suffice_are_suggested(form: PositionForm | None) -> None:
    for digits, remedy in ((7, "Use float64"), (24, "Use smaller numbers and coefficients")):
        less = Comparison("<", Counting(A), Add(Counting(B), Integer(10**digits)))
        with pytest.raises(WeftError) as error:
            compile_crasp(CraspProgram(("a", "b"), (Line("less", less),)), form=form)
        assert error.value.remedy == remedy


@pytest.mark.parametrize(
    ("predicate", "message"),
    [
        (Position(Periodic(10**11, (1,))), "period that is too large"),
        (Exists(A, Local((10**8,))), "too far back"),
    ],
)
def test_predicates_that_no_table_can_hold_are_refused(
    predicate: BooleanExpression, message: str
) -> None:
    program = CraspProgram(("a", "b"), (Line("accept", predicate),))
    with pytest.raises(WeftError, match=message):
        compile_crasp(program, max_length=10)
    assert measure(program).layers is None
    assert simplify(program) == program
