"""Minimal programs: the rules that fired, by traces; the same on the training set; compiled."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from traced_rules import SMALL, samples, traced

import weft
from random_programs import batches, programs
from weft.compiler.check import check
from weft.compiler.execution import input_numbers, run_model
from weft.compiler.proof import prove
from weft.errors import WeftError
from weft.interpreter import states as states_module
from weft.interpreter.trace import read_state
from weft.language.rules import Rule
from weft.theory import fired_resets, fired_rules, is_minimal, minimal_program, observe
from weft.theory.minimal.minimise import count_constraints
from weft.theory.minimal.restriction import default_value


@pytest.mark.parametrize("name", SMALL)
def test_rules_that_fired_are_those_of_the_traces(name: str) -> None:
    program, given_ = weft.program(name), samples(name)
    used = observe(program, given_)
    rules, resets = (
        set().union(*each) for each in zip(*(traced(program, t) for t in given_), strict=True)
    )
    assert set(fired_rules(used)) == rules
    assert set(fired_resets(used)) == resets
    assert used.positions == max(map(len, given_))
    assert used.layers == tuple(weft.run(program, tokens).layers for tokens in given_)
    kept = set(fired_rules(used, "sets"))
    assert kept <= set(program.rules)
    assert len(kept) <= len(rules)


def same_streams(
    one: weft.Program, other: weft.Program, tokens: Sequence[Any], layers: int
) -> None:
    """At every layer, in both interpreters."""
    runs = [weft.run(p, tokens, layers=layers, trace=True).trace for p in (one, other)]
    batches = [
        weft.run_batch(p, [tokens], layers=layers, trace=True)[0].trace for p in (one, other)
    ]
    assert runs[0].layers == batches[0].layers  # type: ignore[union-attr]
    for trace in (*runs[1:], *batches):
        assert [layer.after for layer in trace.layers] == [layer.after for layer in runs[0].layers]  # type: ignore[union-attr]


@pytest.mark.parametrize("form", ["single", "sets"])
@pytest.mark.parametrize("reading", [None, "weights", "logic", "exclusive"])
@pytest.mark.parametrize("name", SMALL)
def test_on_its_training_set_it_does_the_same(name: str, reading: Any, form: Any) -> None:
    program, given_ = weft.program(name), samples(name)
    full: dict[str, Any] = {"constraints": True, "reading": reading} if reading else {}
    found = minimal_program(program, given_, form=form, **full)
    if reading in (None, "exclusive"):
        assert not list(found.program.rules.overlaps())
    assert is_minimal(found.rules, found.used, reading=found.reading) or not reading
    for tokens, layers in zip(given_[:5], found.used.layers, strict=False):
        same_streams(program, found.program, tokens, layers)
    before, after = weft.run_batch(program, given_), weft.run_batch(found.program, given_)
    assert (after.results, after.layers) == (before.results, before.layers)


@settings(max_examples=20, derandomize=True, deadline=None)
@given(st.data(), st.booleans())
def test_random_programs_do_the_same_on_their_training_set(data: Any, constraints: bool) -> None:
    program, given_ = data.draw(programs()), data.draw(batches())
    try:
        before = weft.run_batch(program, given_, layers=3)
    except WeftError:
        assume(False)
    try:
        found = minimal_program(program, given_, constraints=constraints, layers=3)
    except WeftError as error:
        if "is undefined, which no rule can test" not in error.what:
            raise
        return
    after = weft.run_batch(found.program, given_, layers=3)
    assert after.outputs == before.outputs
    assert after.layers == before.layers
    assert set(found.fired) == {rule for tokens in given_ for rule in fired_here(program, tokens)}


def fired_here(program: weft.Program, tokens: Sequence[Any]) -> set[Rule]:
    trace = weft.run(program, tokens, layers=3, trace=True).trace
    assert trace is not None
    found = set()
    for layer in trace.layers:
        for position, fired in enumerate(layer.fired):
            state = read_state(program, layer.attended.at(position))
            for rule in fired:
                if not rule.is_reset:
                    guard = tuple((name, (state[name],)) for name, _ in rule.guard)
                    found.add(Rule(guard, rule.variable, rule.old, rule.new))
    return found


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("name", ["parity", "parity-absolute", "parity-sum", "turing", "dyck"])
@pytest.mark.parametrize("constraints", [False, True])
def test_its_weights_do_the_same_on_the_training_set(
    name: str, level: int, constraints: bool
) -> None:
    given_ = samples(name)
    found = minimal_program(weft.program(name), given_, constraints=constraints)
    compiled = weft.compile(found.program, level=level, max_length=12)
    if level == 0:
        assert compiled.rules == len(found.rules) + len(found.original.rules.resets)
    done = run_model(compiled.model, input_numbers(found.program, given_))
    expected = weft.run_batch(found.original, given_)
    assert [tuple(row) for row in done.outputs] == list(map(code_row(found.original), expected))
    assert tuple(done.layers) == expected.layers


def code_row(program: weft.Program) -> Any:
    codes = program.variables[program.definition.output].range.codes
    return lambda run: tuple(codes[value] for value in run.outputs)


@pytest.mark.parametrize("level", [0, 2])
def test_where_no_undefined_head_is_tested_it_is_checked_and_proved(level: int) -> None:
    found = minimal_program(weft.program("parity"), ["1011", "00"], constraints=True)
    compiled = weft.compile(found.program, level=level)
    assert check(compiled, samples=50, max_length=16).difference is None
    assert prove(compiled.model, found.program, compiled.certificate).proved


def test_the_papers_counts() -> None:
    """7 and 31 (section 4.1): rules that fire on at most 20 bits, resets of heads among them."""
    rng = random.Random(0)
    bits = ["1" * ones + "0" * (20 - ones) for ones in range(21)]
    bits += ["".join(rng.choices("01", k=rng.randrange(21))) for _ in range(300)]
    counts = [minimal_program(weft.program(name), bits).count for name in SMALL[:3]]
    assert counts == [7, 7, 31]


def test_addition_fires_one_rule_less_than_the_papers() -> None:
    """The paper's 884 have one phase more; more digits fire no others."""
    rng = random.Random(0)
    sums = [f"{rng.randrange(1000)}+{rng.randrange(1000)}" for _ in range(8000)]
    found = minimal_program(weft.program("addition"), sums)
    assert found.count == 883
    longer = observe(found.original, [f"{rng.randrange(10**8)}+{rng.randrange(10**8)}"] * 50)
    assert set(fired_rules(longer)) <= set(found.fired)


def test_unseen_tokens_and_positions_initialise_defaults() -> None:
    found = minimal_program(weft.program("parity-absolute(positions=6)"), ["00", "0"])
    start = weft.run(found.program, "0110", layers=0).stream
    assert start["parity"] == (0, 0, 0, 0)  # ones were not seen
    assert start["index"] == (0, 1, 0, 0)  # two positions were
    dropped = [(each.kind, each.what) for each in found.dropped()]
    assert ("token", "1") in dropped
    assert [what for kind, what in dropped if kind == "position"] == ["2", "3", "4", "5"]


def test_defaults_are_zero_or_what_is_nearest() -> None:
    from weft.language.ranges import categorical, number, subset

    assert default_value(categorical(3)) == 0
    assert default_value(number([-2, 0.5, 3])) == 0.5
    assert default_value(subset(2, [{0}, set()])) == frozenset()
    assert default_value(subset(2, [{1}, {0}])) == frozenset({1})


def test_all_that_was_dropped_is_told() -> None:
    found = minimal_program(weft.program("parity"), ["1", "00"], constraints=True)
    told = {(each.kind, each.what.split(" in `")[0]) for each in found.dropped()}
    assert ("reset", "parity_left: 1 -> ∅") in told
    assert ("rule", "done = 0, done_left = 1, parity_left = 1 => parity: 0 -> 1") in told
    kept = set(found.fired)
    assert len([k for k, _ in told if k == "rule"]) + len(kept) == 3


def test_a_form_with_sets_says_more_than_was_seen() -> None:
    """`share in {odd counts} => parity: 0 -> 1` is one rule, and knows all odd counts."""
    program = weft.program("parity-sum")
    single, sets = (minimal_program(program, ["1"], form=form) for form in ("single", "sets"))  # type: ignore[arg-type]
    assert len(single.rules) == len(sets.rules) == 1
    assert [weft.run(each.program, "111").result for each in (single, sets)] == [0, 1]


def test_many_parts_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    program, given_ = weft.program("dyck"), ["", *samples("dyck"), ""]
    whole = observe(program, given_)
    monkeypatch.setattr(states_module, "POSITIONS_AT_ONCE", 7)
    assert fired_rules(observe(program, given_)) == fired_rules(whole)
    assert observe(program, given_).layers == whole.layers


class Reads(weft.Program):
    """Reads its head first where `flag` is 1, and last, if at all, where it is 0."""

    tokens = [0, 1]
    flag = weft.var(2, token=lambda t: t)
    free = weft.var(2, default=1)
    out = weft.var(2)
    left = weft.relative(flag, -1)
    output = out
    layers = 1

    def step(z):  # type: ignore[no-untyped-def]
        if (z.left == 1 and z.free) if z.flag else (z.free or z.left == 1):
            z.out = 1


def test_a_rule_that_fires_where_a_head_is_undefined_is_refused() -> None:
    assert weft.run(Reads, [0]).outputs == (1,)
    with pytest.raises(WeftError, match="fires if the head 'left' is undefined"):
        minimal_program(Reads, [[0]])


def test_listed_rules_are_matched_too() -> None:
    found = minimal_program(weft.program("parity"), ["1011", "00"])
    again = minimal_program(found.program, ["1011", "00"])
    assert set(again.fired) == set(found.fired)
    assert again.count == found.count


def test_no_inputs_and_no_tries_are_refused() -> None:
    with pytest.raises(WeftError, match="no training inputs"):
        minimal_program(weft.program("parity"), [])
    with pytest.raises(WeftError, match="0 orders"):
        minimal_program(weft.program("parity"), ["1"], tries=0)
    with pytest.raises(WeftError, match="input 1"):
        minimal_program(weft.program("parity"), ["1", "2"])


def test_of_several_orders_the_shortest_result_is_taken() -> None:
    program, given_ = weft.program("dyck"), samples("dyck", 4)
    full: dict[str, Any] = {"constraints": True, "reading": "exclusive"}
    found = {seed: minimal_program(program, given_, **full, seed=seed) for seed in (None, 0, 1)}
    counts = {seed: count_constraints(each.rules) for seed, each in found.items()}
    assert len(set(counts.values())) > 1  # the order matters here
    assert found[None].order == "documented"
    assert found[1].order == "seed 1"
    assert all(is_minimal(each.rules, each.used, reading="exclusive") for each in found.values())
    best = minimal_program(program, given_, **full, tries=3)
    assert count_constraints(best.rules) == min(counts.values())
    shortest = min(counts, key=lambda seed: counts[seed])
    assert best.order == found[shortest].order
