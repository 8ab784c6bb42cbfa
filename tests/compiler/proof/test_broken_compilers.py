"""Compilers that are broken on purpose: whatever they make must not be proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from mutants import SOURCE

import weft
from random_programs import make
from weft.compiler import build, heads, lower, reach, slicing, terms
from weft.compiler import one_hot as expand
from weft.compiler.problem import Problem, restricted
from weft.compiler.proof import prove
from weft.models.slots import make_layout
from weft.weights import matrices
from weft.weights.cubes import Cube, minimise
from weft.weights.layers import AttentionMatrices
from weft.weights.precision import Ramp

COUNTER = """
import weft


class Counter(weft.Program):
    tokens = 1
    count = weft.var(20)
    done = weft.var(2)
    output = count
    halt = done == 1

    def step(z):
        if z.count == 19:
            z.done = 1
        else:
            z.count += 1


class Two(weft.Program):
    tokens = 2
    bit = weft.var(2, token=lambda t: t)
    first = weft.var(2, position=lambda i: i == 0)
    second = weft.var(2, position=lambda i: i < 2)
    positions = 6
    near = weft.relative(bit, -1)
    far = weft.relative(bit, -2)
    out = weft.var(4)
    output = out
    layers = 2

    def step(z):
        if not z.second:
            z.out = 2 * z.near + z.far
"""


def program(name: str, source: str = COUNTER) -> weft.Program:
    return make(source, name)()  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Broken:
    """A pass, where it stands, what it is replaced by, and the programs that show it."""

    owner: Any
    name: str
    by: Callable[..., Any]
    programs: tuple[Callable[[], weft.Program], ...]


def library(name: str) -> Callable[[], weft.Program]:
    return lambda: weft.program(name)


def without_widening(problem: Problem, positions: int | None) -> Problem:
    """Reach gives up after a few rounds, and takes what it has for all."""
    values = {n: reach.initial_values(problem.program, v, positions) for n, v in _all(problem)}
    for _ in range(3):
        limited = {n: restricted(v, frozenset(values[n])) for n, v in _all(problem)}
        for name in problem.program.updates.written:
            found = reach._writable(name, problem.program.updates.values[name], limited, problem)
            values[name] |= found
    return replace(
        problem, variables={n: restricted(v, frozenset(values[n])) for n, v in _all(problem)}
    )


def _all(problem: Problem) -> Any:
    return problem.variables.items()


def first_token_only(program: weft.Program, variable: Any, positions: int | None) -> set[Any]:
    """Initial values of the first token alone."""
    if variable.is_head:
        return set()
    return {variable.initial(program.vocabulary.name(0), 0)}


def without_live_updates(problem: Problem) -> Problem:
    """Slicing keeps the updates of the output alone."""
    output = problem.program.definition.output
    kept = tuple(update for update in problem.updates if update.variable == output)
    return replace(slicing.remove_dead(problem), updates=kept)


def merged_by_value(problem: Problem) -> Problem:
    """Heads are merged though they look at other offsets."""
    first: dict[str, str] = {}
    aliases = {}
    for name, head in problem.heads.items():
        owner = first.setdefault(head.value, name)
        if owner != name:
            aliases[name] = owner
    heads = {n: h for n, h in problem.heads.items() if n not in aliases}
    return replace(problem, heads=heads, aliases=aliases)


def greedy(cubes: Any) -> list[Cube]:
    """Cubes lose their last constraint."""
    found = minimise(cubes)
    return [dict(list(cube.items())[:-1]) if len(cube) > 1 else cube for cube in found]


def shifted_ramps(*args: Any) -> list[Ramp]:
    """Thresholds of a mean lie one bucket too high."""
    ramps = MEAN_RAMPS(*args)
    return [*ramps[1:], Ramp(ramps[-1].high, ramps[-1].high + 0.5)]


def steep_at_the_mean(*args: Any) -> list[Ramp]:
    """Thresholds begin to rise where a mean lies."""
    return [Ramp(ramp.low - (ramp.high - ramp.low), ramp.high) for ramp in MEAN_RAMPS(*args)]


MEAN_RAMPS = expand.mean_ramps


def weak(format_: Any) -> float:
    """Matches are hardly above the sink."""
    return 4.0


def every_bias_alike(*args: Any) -> AttentionMatrices:
    """Offsets are not told apart."""
    head = SELECTING(*args)
    return replace(
        head, bias=None if head.bias is None else np.full_like(head.bias, head.bias.max())
    )


SELECTING = heads._selecting


def unequal_bias(*args: Any) -> AttentionMatrices:
    """Offsets that match score differently: a softmax, but not a mean."""
    head = SELECTING(*args)
    if head.bias is None:
        return head
    bias = head.bias.copy()
    bias[0, np.flatnonzero(np.isfinite(bias[0]))[0]] += 1
    return replace(head, bias=bias)


def without_carries(self: Any, one: Any, level: int) -> Any:
    """A sum that skips a layer is carried at half its size."""
    placed = PLACE_FORM(self, one, level)
    if level > 0:
        placed.weights = {place: weight / 2 for place, weight in placed.weights.items()}
    return placed


PLACE_FORM = matrices._Placer._place_form


def nothing_cleared(problem: Problem, name: str, level: int) -> bool:
    """No head clears what heads wrote."""
    return False


def off_by_one_gate(self: Any, condition: Any, above: Any = None, note: str = "") -> Any:
    """A gate opens if all but one of its tests hold."""
    return self.circuit.unit(sum_of(self, condition).shifted(1 - _count(condition) + 1), note)


def sum_of(self: Any, condition: Any) -> Any:
    total = terms.Sum()
    for name, values in condition.atoms.items():
        total = total.plus(self._atom(name, values))
    for indicator in condition.indicators:
        total = total.plus(indicator)
    return total


def _count(condition: Any) -> int:
    return len(condition.atoms) + len(condition.indicators)


def without_clearing(self: Any, variable: str, guard: Any) -> None:
    """Old values are not taken away."""


def overlapping(variables: Any, aliases: Any) -> Any:
    """Every slot begins one dimension too early."""
    layout = make_layout(variables, aliases)
    slots = tuple(replace(slot, start=max(0, slot.start - 1)) for slot in layout.values())
    return type(layout)(slots)


def tokens_reversed(problem: Problem, layout: Any, size: int) -> Any:
    return TOKEN_TABLE(problem, layout, size)[::-1].copy()


TOKEN_TABLE = build._token_table


def positions_from_one(problem: Problem, layout: Any, longest: int) -> Any:
    return np.roll(POSITION_TABLE(problem, layout, longest), 1, 0)


POSITION_TABLE = build._position_table

PARITY, RULE_110 = library("parity"), library("rule-110")
ABSOLUTE = library("parity-absolute(positions=6)")
ADDITION, SORT = library("addition"), library("sort")
AVERAGE = library("parity-sum(ones=6)")

BROKEN: dict[str, Broken] = {
    "reach without widening": Broken(
        build, "find_reachable", without_widening, (lambda: program("Counter"), ADDITION)
    ),
    "reach from one token": Broken(
        reach, "initial_values", first_token_only, (PARITY, RULE_110, library("dyck"))
    ),
    "slicing live updates": Broken(build, "remove_dead", without_live_updates, (PARITY, ADDITION)),
    "merging other offsets": Broken(
        build, "merge_heads", merged_by_value, (lambda: program("Two"),)
    ),
    "cubes too large": Broken(terms, "minimise", greedy, (library("turing"),)),
    "cubes too large in cases": Broken(lower, "minimise", greedy, (RULE_110, SORT)),
    "thresholds a bucket too high": Broken(expand, "mean_ramps", shifted_ramps, (AVERAGE,)),
    "thresholds within a mean": Broken(expand, "mean_ramps", steep_at_the_mean, (AVERAGE,)),
    "weak matches": Broken(heads, "strength", weak, (ABSOLUTE, ADDITION)),
    "offsets not told apart": Broken(heads, "_selecting", every_bias_alike, (PARITY,)),
    "matches that score differently": Broken(
        heads, "_selecting", unequal_bias, (lambda: program("Neighbours", SOURCE),)
    ),
    "carries halved": Broken(
        matrices._Placer, "_place_form", without_carries, (lambda: program("Counter", SOURCE),)
    ),
    "nothing cleared": Broken(build, "_is_cleared_by_head", nothing_cleared, (PARITY, ADDITION)),
    "gates off by one": Broken(terms.Terms, "gate", off_by_one_gate, (PARITY, RULE_110)),
    "old values kept": Broken(lower.Lowering, "_clear", without_clearing, (ADDITION,)),
    "slots overlap": Broken(build, "make_layout", overlapping, (PARITY, RULE_110)),
    "tokens reversed": Broken(build, "_token_table", tokens_reversed, (PARITY, RULE_110)),
    "positions from one": Broken(build, "_position_table", positions_from_one, (ABSOLUTE,)),
}


LOUD = (weft.WeftError, ValueError, KeyError, RuntimeError, IndexError)


@pytest.mark.parametrize("name", BROKEN)
def test_what_a_broken_compiler_makes_is_not_proved(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, refused = BROKEN[name], 0
    for made in broken.programs:
        needs = {"max_length": 7} if made is AVERAGE else {}
        given = made()
        assert prove_compiled(weft.compile(given, **needs)).proved, "the right compiler's is proved"
        with monkeypatch.context() as patch:
            patch.setattr(broken.owner, broken.name, broken.by)
            try:
                compiled = weft.compile(given, **needs)
            except LOUD:
                continue
            proof = prove_compiled(compiled)
        assert not proof.proved, given.name
        refused += 1
    assert refused, "all attempts failed loudly, so nothing was tried"


def prove_compiled(compiled: weft.Compiled) -> Any:
    return prove(compiled.model, compiled.program, compiled.certificate)


def test_a_counter_of_20_values_in_7_units_is_shown_to_be_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was once "proved": the verifier ran the same broken pass."""
    monkeypatch.setattr(build, "find_reachable", without_widening)
    proof = prove_compiled(weft.compile(program("Counter")))
    assert proof.verdict == "wrong"
    assert "which the certificate omits" in proof.reason
    assert "on the input" in str(proof.counterexample)
