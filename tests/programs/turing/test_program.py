"""Turing machines: against arithmetic, brute force and the known figures of busy beavers."""

from __future__ import annotations

import itertools

import pytest

import weft
from weft.programs.turing.machines import MACHINES, TuringMachine
from weft.programs.turing.program import Turing

UNARY_SUM = {
    "first": {"1": "1 R first", "+": "1 R second"},
    "second": {"1": "1 R second", "_": "_ L last"},
    "last": {"1": "_ S done"},
}


def test_increment_adds_one() -> None:
    numbers = [f"{number:b}" for number in range(130)]
    found = weft.run_batch(Turing(), numbers).results
    assert found == [("done", f"{int(number, 2) + 1:b}") for number in numbers]


def test_palindromes_are_found_among_all_short_words() -> None:
    words = ["".join(w) for n in range(1, 9) for w in itertools.product("ab", repeat=n)]
    found = weft.run_batch(Turing("palindrome"), words).results
    assert [state == "yes" for state, _ in found] == [word == word[::-1] for word in words]
    assert weft.run(Turing("palindrome"), "").result == ("yes", "")


def test_the_busy_beaver_of_four_states_takes_107_layers_and_leaves_13_ones() -> None:
    run = weft.run(Turing("busy-beaver"), "0")
    state, tape = run.result
    assert (run.layers, state, tape.count("1")) == (107, "H", 13)


@pytest.mark.parametrize(
    ("table", "steps", "ones"),
    [
        ("1RB 1LB, 1LA 1RH", 6, 4),
        ("1RB 1RH, 0RC 1RB, 1LC 1LA", 14, 6),
        ("1RB 1RH, 1LB 0RC, 1LC 1LA", 21, 5),
    ],
)
def test_smaller_busy_beavers_have_their_known_figures(table: str, steps: int, ones: int) -> None:
    rules = {
        "ABC"[number]: {str(symbol): " ".join(rule) for symbol, rule in enumerate(row.split())}
        for number, row in enumerate(table.split(", "))
    }
    run = weft.run(Turing(rules=rules, blank="0", left=8, right=8), "0")
    assert (run.layers, run.result[1].count("1")) == (steps, ones)


def test_a_table_of_ones_own_adds_in_unary() -> None:
    program = Turing(rules=UNARY_SUM)
    for a, b in itertools.product(range(1, 5), repeat=2):
        assert weft.run(program, "1" * a + "+" + "1" * b).result == ("done", "1" * (a + b))


def test_a_step_takes_a_layer_and_finding_no_rule_one_more() -> None:
    program = Turing()
    for text in ("0", "1011", "111"):
        steps = program.machine.run(["[", "_", *text, "]"], 2)[2]
        assert weft.run(program, text).layers == steps
    stuck = Turing(rules={"A": {"1": "1 R A"}})
    run = weft.run(stuck, "11")
    assert (run.layers, run.result) == (3, ("A", "11"))


def test_a_machine_that_comes_to_the_end_of_the_tape_halts_there() -> None:
    assert weft.run(Turing("busy-beaver"), "[0(0)0]").result[0] != "H"
    assert weft.run(Turing(rules={"A": {"_": "1 L A"}}), "(_)").result == ("A", "11")


def test_it_starts_on_the_symbol_in_parentheses() -> None:
    assert Turing().encode("10(1)") == ["[", "_", "1", "0", "(1)", "]"]
    assert Turing().encode("[1(0)]") == ["[", "1", "(0)", "]"]
    assert weft.run(Turing("palindrome"), "[b(a)ba]").result == ("yes", "b")


@pytest.mark.parametrize("name", MACHINES)
def test_weights_are_proved_and_right(name: str) -> None:
    from weft.compiler.check import check
    from weft.compiler.proof import prove

    compiled = weft.compile(Turing(name))
    assert prove(compiled.model, compiled.program, compiled.certificate).proved
    assert check(compiled, samples=3, max_length=18).difference is None


@pytest.mark.parametrize(
    ("rule", "part"),
    [
        ("1 R", "L, R or S, and a state"),
        ("1 X A", "L, R or S"),
        ("10 R A", "one character"),
        ("( R A", "no parenthesis"),
        ("] R A", "ends of the tape stay"),
    ],
)
def test_a_wrong_rule_is_named(rule: str, part: str) -> None:
    with pytest.raises(weft.WeftError) as caught:
        Turing(rules={"A": {"0": rule}})
    assert part in str(caught.value)
    assert f"{rule!r} in state 'A' on '0'" in str(caught.value)


def test_the_head_cannot_leave_the_tape() -> None:
    for symbol, rule in (("[", "[ L A"), ("]", "] R A")):
        with pytest.raises(weft.WeftError, match="must not leave the tape"):
            TuringMachine({"A": {symbol: rule}})
    with pytest.raises(weft.WeftError, match="has no rules"):
        Turing(rules={})


@pytest.mark.parametrize("text", ["12", "(0)(1)", "0[1", "01)"])
def test_what_is_no_tape_is_refused(text: str) -> None:
    with pytest.raises(weft.WeftError, match="not a tape of this machine"):
        Turing().encode(text)


def test_an_unknown_machine_is_refused() -> None:
    with pytest.raises(weft.WeftError, match="'busy-beaver'"):
        Turing("busybeaver")


def test_a_machine_that_does_not_halt_is_given_up() -> None:
    machine = TuringMachine({"A": {"_": "_ S A"}})
    with pytest.raises(weft.WeftError, match="not halted after 50 steps"):
        machine.run(["[", "_", "]"], 1, most=50)
