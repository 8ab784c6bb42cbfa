"""The listings of the ALTA paper run in its own notation, and its two slips are caught."""

from __future__ import annotations

import random
import time

import pytest

import paper_listings as listings
import weft
from weft.paper import (
    MLPBuilder,
    halt_spec,
    numerical_var,
    program_spec,
    qkv,
    relative_v,
    set_var,
    var,
)


def bits(seed: int, longest: int = 15) -> list[int]:
    rng = random.Random(seed)
    return rng.choices([0, 1], k=rng.randint(1, longest))


@pytest.mark.parametrize("figure", [listings.figure_2, listings.figure_6])
def test_figures_2_and_6_compute_parity_in_one_layer_less_than_bits(figure) -> None:
    program = figure()
    for seed in range(20):
        given = bits(seed)
        run = weft.run(program, given)
        assert run.outputs == tuple(sum(given[: i + 1]) % 2 for i in range(len(given)))
        assert run.layers == len(given) - 1


def test_figure_3_is_the_stream_of_figure_2_on_101() -> None:
    run = weft.run(listings.figure_2(), [1, 0, 1], trace=True)
    assert run.trace is not None
    first, second = run.trace.layers
    assert first.attended["parity_left"] == (1, 1, 0)
    assert first.attended["done_left"] == (1, 1, 0)
    assert first.after["parity"] == (1, 1, 1)
    assert first.after["done"] == (1, 1, 0)
    assert second.after["parity"] == (1, 1, 0)
    assert run.trace.halted == (0, 1, 2)


@pytest.mark.parametrize("figure", [listings.figure_7, listings.figure_8])
def test_figures_7_and_8_compute_parity(figure) -> None:
    program = figure()
    for seed in range(20):
        given = bits(seed, 30)
        layers = 1 if figure is listings.figure_7 else None
        run = weft.run(program, [listings.START, *given], layers=layers)
        assert run.outputs[-1] == sum(given) % 2


@pytest.mark.parametrize("figure", [listings.figure_2, listings.figure_6, listings.figure_8])
def test_sequential_parity_has_the_seven_rules_of_the_paper(figure) -> None:
    rules = list(figure().rules)
    assert len(rules) == 7
    assert sum(rule.is_reset for rule in rules) == 4


def test_the_builder_and_the_function_give_the_same_rules() -> None:
    difference = listings.figure_2().rules.diff(listings.figure_6().rules)
    by_builder = {frozenset(rule.antecedent): rule.new for rule in difference.only_right}
    by_function = {frozenset(rule.antecedent): rule.new for rule in difference.only_left}
    assert by_builder == by_function


def test_figures_12_and_13_add() -> None:
    program = listings.figures_12_13()
    rng = random.Random(3)
    for digits in (1, 2, 5, 9):
        a, b = rng.randrange(10**digits), rng.randrange(10**digits)
        tokens = [listings.START_TOKEN, *map(int, f"{a:0{digits}}"), listings.ADD_TOKEN]
        tokens += [*map(int, f"{b:0{digits}}"), listings.END_TOKEN]
        run = weft.run(program, tokens)
        written = run.outputs[digits + 1 : -1]
        assert int("".join(map(str, written))) == a + b


def test_addition_has_no_more_rules_than_the_papers_sparse_listing_and_takes_no_time() -> None:
    start = time.process_time()
    count = len(listings.figures_12_13().rules)
    assert time.process_time() - start < 1
    assert count <= 16_466  # what the released sparse listing compiles to


def test_figure_12_as_printed_is_caught_where_it_reads_beyond_the_end() -> None:
    with pytest.raises(weft.StepError) as caught:
        weft.run(listings.figures_12_13(guarded=False), [10, 1, 11, 2, 12])
    error = caught.value
    assert (error.layer, error.position) == (1, 4)
    for part in ("token_right", "undefined", "1 to the right", "paper_listings.py:"):
        assert part in str(error)


def test_figures_14_and_15_as_printed_are_refused_with_the_remedy() -> None:
    with pytest.raises(weft.WeftError) as caught:
        listings.figures_14_15()
    for part in ("mem_a", "'a' is the output of another head", "one layer later", "Copy it"):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("command", "rules"),
    [
        ("jump", ["jump"]),
        ("jump twice", ["jump", "N twice"]),
        ("walk around left and run", ["walk", "N around left", "run", "N and N"]),
        (
            "turn opposite right thrice after look left",
            ["turn opposite right", "N thrice", "look", "N left", "N after N"],
        ),
    ],
)
def test_figures_16_and_17_parse(command: str, rules: list[str]) -> None:
    words = {listings.get_symbol_id(n): word for n, word in enumerate(listings.WORDS)}
    words[listings.NONTERMINAL] = "N"
    names = {rule.number: " ".join(words[s] for s in rule.rhs) for rule in listings.GRAMMAR}
    run = weft.run(listings.figures_16_17(), listings.scan_input(command), layers=24)
    assert set(run.stream["done"]) == {1}
    tree = [names[number] for number in run.outputs if number]
    assert tree == rules


def test_the_parser_derives_its_rules_quickly() -> None:
    start = time.process_time()
    assert len(listings.figures_16_17(78).rules) > 0
    assert time.process_time() - start < 10


def test_the_other_spellings_are_accepted() -> None:
    program = program_spec(
        vars={
            "a": var(var_range=3, input_init_fn=lambda x: x),
            "any": set_var(3, sets=[{0, 1}, {1, 2}], default={1, 2}),
            "share": numerical_var(buckets=[0, 1], input_init_fn=lambda x: x == 1),
            "ones": var(3),
        },
        attention_heads={
            "left": relative_v("a", -1),
            "mean": qkv("any", "a", "share", output_spec=numerical_var([0, 0.5, 1])),
        },
        mlp_fn=lambda z: None,
        output="ones",
        halt_spec=halt_spec("a", halt_value=0),
        input_range=3,
        pos_range=8,
    )
    assert weft.run(program, [1, 2], layers=1).outputs == (0, 0)


def test_a_misspelt_argument_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(weft.WeftError, match="Did you mean 'position_init_fn'"):
        var(2, positon_init_fn=lambda x: x)


def test_the_builder_refuses_unknown_names_and_values_out_of_range() -> None:
    builder = MLPBuilder({"bit": var(2)}, {"left": relative_v("bit", -1)})
    with pytest.raises(weft.WeftError, match="no variable 'bits'"):
        builder.get("bits")
    with pytest.raises(weft.WeftError, match="outside its range"):
        builder.set("bit", 2)
    with pytest.raises(weft.WeftError, match="output of a head"):
        builder.set("left", 1)


def test_conflicting_rules_are_an_error_that_shows_both() -> None:
    variables = {"count": var(3), "other": var(2)}
    builder = MLPBuilder(variables, {})
    builder.set("count", 1)
    for other in builder.get("other"):
        builder.set("count", 1 + other)
    program = program_spec(variables=variables, rules=builder.rules, output="count", input_range=1)
    assert len(list(program.rules.overlaps())) > 0
    with pytest.raises(weft.WeftError, match="disagree"):
        weft.run_batch(program, [[0]], layers=1)
