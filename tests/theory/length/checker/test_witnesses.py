"""The checker of certificates: it accepts what the deciders give, and nothing that was changed."""

import copy
import json
import random
from typing import Any

import pytest

from random_automata import random_dfas
from weft.automata import DFA, LANGUAGES, expression_dfa
from weft.automata.files import automaton_json
from weft.errors import WeftError
from weft.theory.length.blocks import block_obstruction
from weft.theory.length.certificates import (
    block_certificate,
    decision_certificate,
    unfolding_certificate,
)
from weft.theory.length.checker.witnesses import check
from weft.theory.length.decider import decide
from weft.theory.length.unfolding import unfold


def plain(certificate: dict[str, Any]) -> dict[str, Any]:
    """As it comes out of a file."""
    result: dict[str, Any] = json.loads(json.dumps(certificate))
    return result


def certificates_of(dfa: DFA) -> list[tuple[dict[str, Any], bool, bool]]:
    """All certificates of a language, each with whether it is about positions, and says yes."""
    result = []
    for last_symbol in (True, False):
        decision = decide(dfa, last_symbol=last_symbol)
        result.append((plain(decision_certificate(dfa, decision)), False, decision.inside))
    if blocks := block_obstruction(dfa):
        result.append((plain(block_certificate(dfa, blocks)), True, False))
    elif found := unfold(dfa):
        result.append((plain(unfolding_certificate(dfa, found)), True, True))
    return result


@pytest.mark.parametrize("name", [name for name in LANGUAGES if name != "d-12"])
def test_named_languages(name: str) -> None:
    for certificate, positions, inside in certificates_of(LANGUAGES[name].dfa):
        checked = check(certificate)
        assert (checked.positions, checked.inside) == (positions, inside)


@pytest.mark.parametrize("seed", range(3))
def test_random_automata(seed: int) -> None:
    for dfa in random_dfas(seed, 100):
        for last_symbol in (True, False):
            decision = decide(dfa, last_symbol=last_symbol)
            assert check(plain(decision_certificate(dfa, decision))).inside == decision.inside


def numbers_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all numbers in a certificate, except in its automaton."""
    if isinstance(value, dict):
        parts = [(key, part) for key, part in value.items() if key != "automaton"]
    elif isinstance(value, list):
        parts = list(enumerate(value))
    else:
        return [path] if type(value) is int else []
    return [each for key, part in parts for each in numbers_in(part, (*path, key))]


@pytest.mark.parametrize("text", ["(ab)*", "(b|aa)*", "(ab|aabb)*", "(0|10*1)*", "[012]*02*"])
def test_changed_numbers(text: str) -> None:
    """A changed number is rejected, or what it still shows is true."""
    rng = random.Random(text)
    rejected = 0
    for certificate, positions, inside in certificates_of(expression_dfa(text)):
        paths = numbers_in(certificate)
        for path in rng.sample(paths, min(25, len(paths))):
            changed = copy.deepcopy(certificate)
            holder = changed
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] += rng.choice([-2, -1, 1, 2])
            try:
                checked = check(changed)
            except WeftError:
                rejected += 1
            else:
                assert (checked.positions, checked.inside) == (positions, inside)
    assert rejected


def test_the_witness_of_another_language() -> None:
    """Certificates do not carry over to an automaton for which their answer is wrong."""
    names = ["tomita-1", "tomita-2", "parity", "contains-ab", "ends-in-b", "ab-or-aabb"]
    answers = {}
    for name in names:
        dfa = LANGUAGES[name].dfa
        answers[name] = {
            (False, True): decide(dfa).inside,
            (False, False): decide(dfa, last_symbol=False).inside,
            (True, True): block_obstruction(dfa) is None,
        }
    for giver in names:
        for certificate, positions, _ in certificates_of(LANGUAGES[giver].dfa):
            for taker in names:
                forged = {**certificate, "automaton": automaton_json(LANGUAGES[taker].dfa)}
                last = certificate.get("last_symbol", True) or positions
                try:
                    checked = check(forged)
                except WeftError:
                    continue
                assert checked.inside == answers[taker][positions, last]


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        [],
        {},
        {"kind": "potentials"},
        {"kind": "oracle", "automaton": {}},
        {"kind": ["flows"]},
        {"kind": "flows", "automaton": automaton_json(expression_dfa("(aa)*")), "classes": 3},
    ],
)
def test_malformed_certificates(value: Any) -> None:
    with pytest.raises(WeftError, match="does not hold"):
        check(value)


def test_flows_must_use_edges_of_the_component() -> None:
    dfa = expression_dfa("(aa)*")
    certificate = plain(decision_certificate(dfa, decide(dfa)))
    certificate["flows"][0]["edges"][0][2] ^= 1
    with pytest.raises(WeftError, match="not there"):
        check(certificate)


def test_fractions_are_not_whole_numbers() -> None:
    dfa = expression_dfa("(ab)*")
    certificate = plain(decision_certificate(dfa, decide(dfa, last_symbol=False)))
    rounds = next(c["rounds"] for c in certificate["parts"][0]["components"] if c["rounds"])
    rounds[0]["potentials"] = [[float(n) for n in row] for row in rounds[0]["potentials"]]
    with pytest.raises(WeftError, match="whole numbers"):
        check(certificate)
