"""Forged certificates: each is an error of Weft in bounded time, whatever it holds."""

import copy
import json
import random
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mutated_programs import some_mutations
from weft.automata import DFA, LANGUAGES, expression_dfa
from weft.automata.files import automaton_json
from weft.crasp import parse, run_batch
from weft.errors import WeftError
from weft.theory.length.blocks import block_obstruction
from weft.theory.length.certificates import (
    block_certificate,
    decision_certificate,
    program_certificate,
    unfolding_certificate,
)
from weft.theory.length.checker.witnesses import MAX_MESSAGE, Checked, check
from weft.theory.length.decider import decide
from weft.theory.length.synthesis import synthesise
from weft.theory.length.unfolding import unfold

SECONDS = 60
"""No check takes longer, on a machine that is busy with other tests."""

Certificate = dict[str, Any]


def plain(certificate: Certificate) -> Certificate:
    """As it comes out of a file."""
    result: Certificate = json.loads(json.dumps(certificate))
    return result


def rejected(certificate: Any) -> str:
    """The error of a certificate that does not hold; it is short and comes in time."""
    start = time.perf_counter()
    with pytest.raises(WeftError, match="does not hold") as error:
        check(certificate)
    assert time.perf_counter() - start < SECONDS
    assert len(error.value.what) < MAX_MESSAGE + 50
    return error.value.what


def checked(certificate: Any) -> Checked | None:
    """What a certificate establishes, or None if it is rejected as it should be."""
    error: WeftError | None = None
    try:
        return check(certificate)
    except WeftError as caught:
        error = caught
    assert "does not hold" in error.what
    assert len(error.what) < MAX_MESSAGE + 50
    return None


def potentials(text: str = "(ab)*", *, last_symbol: bool = False) -> Certificate:
    dfa = expression_dfa(text)
    return plain(decision_certificate(dfa, decide(dfa, last_symbol=last_symbol)))


def unfolding(text: str = "(aa)*") -> Certificate:
    dfa = expression_dfa(text)
    found = unfold(dfa)
    assert found is not None
    return plain(unfolding_certificate(dfa, found))


def blocks(text: str = "(0|10*1)*") -> Certificate:
    dfa = expression_dfa(text)
    found = block_obstruction(dfa)
    assert found is not None
    return plain(block_certificate(dfa, found))


def program(text: str, language: str = "(ab)*") -> Certificate:
    automaton = automaton_json(expression_dfa(language))
    return {"kind": "program", "automaton": automaton, "program": text}


EVERY = {
    "potentials": potentials("(ab|bbaa)*"),
    "flows": potentials("(aa)*", last_symbol=True),
    "unfolding": unfolding(),
    "blocks": blocks(),
    "program": program("alphabet a b\naccept := # Q_a == 0 and # Q_b == 0", "()|(ab)(ab)"),
}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all parts of a value."""
    parts: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        parts = list(value.items())
    elif isinstance(value, list):
        parts = list(enumerate(value))
    return [path, *(each for key, part in parts for each in places(part, (*path, key)))]


def with_part(certificate: Certificate, path: tuple[Any, ...], part: Any) -> Any:
    if not path:
        return part
    changed = copy.deepcopy(certificate)
    holder: Any = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = part
    return changed


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


ODD = [None, True, False, -1, 0, 10**40, 1.0, float("nan"), "", "a", [], {}, [[]], nested(5_000)]


@pytest.mark.parametrize("kind", ["potentials", "flows", "unfolding", "blocks"])
def test_every_part_replaced_by_odd_values(kind: str) -> None:
    """It is an error of Weft, or the certificate still shows what is true."""
    certificate = EVERY[kind]
    truth = check(certificate)
    rng = random.Random(kind)
    paths = [path for path in places(certificate) if path[:1] != ("automaton",)]
    for path in rng.sample(paths, min(60, len(paths))):
        for value in ODD:
            found = checked(with_part(certificate, path, value))
            if found is not None:
                assert (found.positions, found.inside) == (truth.positions, truth.inside)


def test_automata_with_odd_parts() -> None:
    certificate = EVERY["flows"]
    for path in places(certificate["automaton"]):
        for value in ODD:
            checked(with_part(certificate, ("automaton", *path), value))


def test_booleans_and_fractions_are_not_whole_numbers() -> None:
    for kind in ("potentials", "unfolding", "flows"):
        certificate = EVERY[kind]
        numbers = [
            path
            for path in places(certificate)
            if path[:1] != ("automaton",) and type(value_at(certificate, path)) is int
        ]
        assert numbers
        for path in numbers:
            value = value_at(certificate, path)
            assert "whole numbers" in rejected(with_part(certificate, path, float(value)))
            if value in (0, 1):
                assert "whole numbers" in rejected(with_part(certificate, path, bool(value)))


def value_at(certificate: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        certificate = certificate[key]
    return certificate


def test_rounding_does_not_hide_a_wrong_weight() -> None:
    """2**53 + 1.0 is 2**53 in floating point: with fractions, this would separate the states."""
    dfa = expression_dfa("(aa)*")
    part = {
        "letter": "",
        "components": [
            {
                "states": [0, 1],
                "rounds": [{"weights": [[0, 0, [1.0]]], "potentials": [[2**53], [2**53 + 1]]}],
            }
        ],
    }
    forged = {
        "kind": "potentials",
        "automaton": automaton_json(dfa),
        "last_symbol": False,
        "parts": [part],
    }
    rejected(forged)
    part["components"][0]["rounds"][0]["weights"][0][2] = [1]  # type: ignore[index]
    assert "disagree" in rejected(forged)


def test_blocks_are_as_long_in_letters_as_they_look() -> None:
    """Words of one length in characters may differ in letters, which would break the theorem."""
    dfa = DFA(("aa", "b"), ((1, 1), (0, 0)), 0, frozenset({0}))  # an even number of letters
    forged = {
        "kind": "blocks",
        "automaton": automaton_json(dfa),
        "frame": "aa aa",
        "middles": ["b b b", "aa aa"],
        "classes": [[0, 1]],
        "flows": [{"source": 0, "target": 1, "units": 2, "edges": [[0, 0, 1, 1], [1, 0, 0, -1]]}],
    }
    rejected(forged)
    forged["frame"], forged["middles"] = ["b", "b"], [["b", "b", "b"]]
    assert "one length" in rejected(forged)


@pytest.mark.parametrize("name", ["tomita-1", "tomita-2", "tomita-7", "ab-or-bbaa", "aa-star"])
def test_programs_with_one_part_changed(name: str) -> None:
    """A changed program is rejected, unless it accepts the same words."""
    dfa = LANGUAGES[name].dfa
    decision = decide(dfa)
    witness = decision if decision.inside else unfold(dfa)
    assert witness is not None
    right = synthesise(dfa, witness)
    assert check(plain(program_certificate(dfa, right))).inside
    words = ["".join(w) for n in range(9) for w in _words(dfa, n)]
    truth = [dfa.accepts(word) for word in words]
    for changed in some_mutations(right, random.Random(name), 20):
        certificate = plain(program_certificate(dfa, changed))
        try:
            check(certificate)
        except WeftError:
            continue
        assert run_batch(changed, words).accepted.tolist() == truth


def _words(dfa: DFA, length: int) -> list[tuple[str, ...]]:
    words: list[tuple[str, ...]] = [()]
    for _ in range(length):
        words = [(*word, letter) for word in words for letter in dfa.alphabet]
    return words[:400]


def test_a_no_without_the_last_symbol_says_so() -> None:
    checked = check(potentials("[ab]*b", last_symbol=False))
    assert (checked.inside, checked.last_symbol) == (False, False)
    assert check(potentials("[ab]*b", last_symbol=True)).inside


@pytest.mark.parametrize(
    ("accept", "reads"),
    [
        ("# Q_b == 0", False),
        ("not exists Q_b", False),
        ("n == 0", False),
        ("(last ? # Q_b : # Q_b) == 0", True),
        ("# Q_b == 0 and not last", True),
        ("# Q_b == 0 and not previous Q_b", True),
        ("# Q_b == 0 and #[j <= i, j >= i - 1] Q_b(j) == 0", True),
    ],
)
def test_programs_that_read_the_last_symbol_are_told_apart(accept: str, reads: bool) -> None:
    dfa = expression_dfa("a*", "ab")
    text = f"alphabet a b\nlast := Q_b\nn := # last\naccept := {accept}"
    found = check({"kind": "program", "automaton": automaton_json(dfa), "program": text})
    assert found.inside
    assert found.last_symbol == reads


def test_states_that_do_not_exist() -> None:
    for kind in ("potentials", "flows", "blocks", "unfolding"):
        certificate = EVERY[kind]
        for path in places(certificate):
            if path[:1] != ("automaton",) and type(value_at(certificate, path)) is int:
                try:
                    check(with_part(certificate, path, 10**30))
                except WeftError:
                    continue
                pytest.fail(f"{kind} {path} is not looked at")


# What takes long


def long_alphabet(size: int) -> DFA:
    letters = tuple(f"l{n}" for n in range(size))
    return DFA(letters, (tuple(n % 2 for n in range(size)),) * 2, 0, frozenset({1}))


def test_an_alphabet_of_thousands_of_letters() -> None:
    dfa = long_alphabet(5_000)
    parts = [{"letter": a, "components": [{"states": [0], "rounds": []}]} for a in dfa.alphabet]
    certificate = {
        "kind": "potentials",
        "automaton": automaton_json(dfa),
        "last_symbol": True,
        "parts": parts,
    }
    assert "too large" in rejected(certificate)
    text = "alphabet " + " ".join(dfa.alphabet) + "\naccept := # Q_l0 == 0"
    rejected({"kind": "program", "automaton": automaton_json(dfa), "program": text})


def test_a_long_chain_of_states() -> None:
    size = 3_000
    rows = tuple((min(q + 1, size - 1),) for q in range(size))
    chain = DFA(("a",), rows, 0, frozenset({size - 1}))
    certificate = {**EVERY["flows"], "automaton": automaton_json(chain)}
    assert "more than 2,000 states" in rejected(certificate)


def test_more_rounds_than_states() -> None:
    certificate = copy.deepcopy(EVERY["potentials"])
    component = certificate["parts"][0]["components"][0]
    component["rounds"] = [component["rounds"][0]] * 100_000
    assert "more rounds than states" in rejected(certificate)


@pytest.mark.parametrize(
    ("period", "window"), [(10**18, 0), (1, 10**9), (10**9, 10**9), (0, 0), (1, -1), (-3, 1)]
)
def test_huge_periods_and_windows(period: int, window: int) -> None:
    rejected({**EVERY["unfolding"], "period": period, "window": window})


def test_a_window_that_is_long_but_allowed() -> None:
    rejected({**unfolding("(ab|aabb)*"), "window": 16})


SLOW_TEXTS = {
    "parentheses": "accept := " + "(" * 30_000 + "Q_a" + ")" * 30_000,
    "negations": "accept := " + "not " * 20_000 + "Q_a",
    "previous": "accept := " + "previous " * 10_000 + "Q_a",
    "conditionals": "n := " + "(Q_a ? 1 : " * 5_000 + "0" + ")" * 5_000 + "\naccept := n == 0",
    "doubling": "".join(f"n{k + 1} := n{k} + n{k}\n" for k in range(3_000))
    + "accept := n3000 == 0",
    "terms": "".join(f"n{k + 1} := n{k} + # (Q_a and {'previous ' * (k % 60)} Q_b)\n"
                     for k in range(450)) + "accept := n450 == 0",
    "minima": "n1 := " + "min(# Q_a, # Q_b, " * 150 + "1" + ")" * 150 + "\naccept := n1 == 0",
    "cases": "n0 := # Q_a\n"
    + "".join(f"n{k + 1} := n{k} == {k} ? n{k} : # Q_b\n" for k in range(500))
    + "accept := n500 == 0",
    "nested counts": "accept := " + "# (0 < " * 90 + "# Q_a" + ")" * 90 + " == 0",
    "long name": "accept := " + "x" * 90_000,
    "unknown names": "".join(f"x{k} := Q_a\n" for k in range(2_000)) + "accept := " + "x" * 50_000,
    "comments": "// " + "x" * 90_000 + "\naccept := Q_a and Q_b",
    "long number": "accept := # Q_a == " + "9" * 90_000,
    "wide": "accept := " + " or ".join(["Q_a", "not Q_b"] * 4_000),
    "periods": "accept := " + " and ".join(f"MOD({p}, 1)" for p in (97, 89, 83, 79, 73)),
    "many counters": "accept := "
    + " and ".join(f"# Q_a - # (Q_b or MOD({p}, 0)) < {p}" for p in range(2, 12)),
    "windows": "accept := " + " and ".join(f"#[j <= i, j >= i - {d}] Q_a(j) < {d}"
                                           for d in range(2, 64)),
}  # fmt: skip


@pytest.mark.parametrize("name", SLOW_TEXTS)
def test_programs_that_are_slow_to_read_or_to_prove(name: str) -> None:
    n0 = "n0 := # Q_a\n" if name in ("doubling", "terms") else ""
    rejected(program(f"alphabet a b\n{n0}{SLOW_TEXTS[name]}"))


SLOW_PROOFS = {
    "many counters": " and ".join(f"# Q_a - # (Q_b and MOD({p}, 0)) < 1" for p in (2, 3, 5, 7, 11)),
    "many bounds": " and ".join(f"# Q_a - # Q_b < {10**k}" for k in range(1, 12)),
    "many differences": " and ".join(
        f"# Q_a - # (Q_b and {'previous ' * k} Q_b) < 1" for k in range(1, 30)
    ),
    "long period": " and ".join(f"(MOD({p}, 1) or # Q_a == 0)" for p in (97, 89)),
    "many windows": " and ".join(f"#[j <= i, j >= i - {d}] Q_a(j) < 1" for d in range(1, 60)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW_PROOFS)
def test_programs_that_are_right_and_slow_to_prove(name: str) -> None:
    """The words without an a: the check ends in time, whether it proves the program or not."""
    accept = f"accept := # Q_a == 0 and {SLOW_PROOFS[name]}"
    certificate = program(f"alphabet a b\n{accept}", "[ab]*a[ab]*")
    certificate["automaton"]["accepting"] = ["0"]
    start = time.perf_counter()
    found = checked(certificate)
    assert found is None or found.inside
    assert time.perf_counter() - start < SECONDS


def test_a_long_program_text() -> None:
    assert "more than" in rejected(program("alphabet a b\n" + "// x\n" * 50_000))


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
        lambda inside: (
            st.lists(inside, max_size=3)
            | st.dictionaries(
                st.sampled_from(("parts", "states", "rounds", "flows", "classes", "edges")),
                inside,
                max_size=3,
            )
        ),
        max_leaves=12,
    ),
    st.sampled_from(sorted(EVERY)),
    st.integers(0, 10**6),
)
def test_random_values(value: Any, kind: str, seed: int) -> None:
    certificate = EVERY[kind]
    path = random.Random(seed).choice(places(certificate))
    checked(with_part(certificate, path, value))


def test_the_example_program_is_one() -> None:
    assert parse(EVERY["program"]["program"])
    rejected(EVERY["program"])
