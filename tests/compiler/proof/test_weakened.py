"""Verifiers that are weakened on purpose: some mutant or broken compiler must then escape.

This shows that every check is needed, and that the tests would notice if one were lost.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from mutants import (
    Mutant,
    changed_configs,
    compiled,
    copied,
    is_harmful,
    tally,
)
from test_broken_compilers import BROKEN, MEAN_RAMPS, prove_compiled

import weft
from random_programs import make
from weft.compiler import one_hot as expand
from weft.compiler.proof import (
    feed_forward_checks,
    head_checks,
    invariant,
    prove,
    stream_checks,
    verify,
)
from weft.proofs.rounding import PRECISIONS, Precision
from weft.weights.precision import Ramp


def nothing(*args: Any, **kwargs: Any) -> None:
    """A check that passes everything."""


@dataclass(frozen=True)
class Weakened:
    """A check, where it is used, what it is replaced by, and mutants that should then escape."""

    owner: Any
    name: str
    by: Callable[..., Any]
    program: str
    mutants: Callable[[str], Iterator[Mutant]]


def of_tensor(part: str, rows: str = "") -> Callable[[str], Iterator[Mutant]]:
    """Mutants in which an entry of a tensor was changed, of the rows of one slot if it is named."""

    def found(name: str) -> Iterator[Mutant]:
        original = compiled(name)
        (tensor,) = (t for t in original.model.state_dict() if t == part or t.endswith(f".{part}"))
        shape = original.model.state_dict()[tensor].shape
        chosen = original.model.layout[rows].dimensions if rows else slice(0, shape[0])
        places = list(itertools.product(range(shape[0])[chosen], *map(range, shape[1:])))
        random.Random(0).shuffle(places)
        values = original.model.state_dict()[tensor]
        places.sort(key=lambda place: float(values[place]) == 0)  # what is used comes first
        for place in places[:200]:
            for change in (lambda x: -x, lambda x: 2 * x, lambda x: 0.0, lambda x: x + 1):
                model = copied(original.model)
                entry = model.state_dict()[tensor]
                old = float(entry[place])
                if math.isfinite(old) and change(old) != old:
                    entry[place] = change(old)
                    yield Mutant(f"{tensor}{place}", model, original.certificate)

    return found


def of_field(field: str) -> Callable[[str], Iterator[Mutant]]:
    """Mutants in which a field of the config was changed."""
    return lambda name: (m for m in changed_configs(name) if f"config.{field} =" in m.what)


def raised_offsets(name: str) -> Iterator[Mutant]:
    """One entry of a bias on offsets raised by 1: matches no longer score the same."""
    original = compiled(name)
    bias = original.model.layers[0].attention.bias
    for place in range(bias.numel()):
        model = copied(original.model)
        model.layers[0].attention.bias.view(-1)[place] += 1
        yield Mutant(f"{name}: bias {place}", model, original.certificate)


def lax_scores(*args: Any) -> None:
    """Margins are compared, equality of matches is not."""
    model, number, head, found = args
    original = head_checks.np.unique
    try:
        head_checks.np.unique = lambda values: original(values)[:1] * 0  # type: ignore[assignment]
        CHECK_SCORES(model, number, head, found)
    finally:
        head_checks.np.unique = original  # type: ignore[assignment]


CHECK_SCORES = head_checks._check_scores

WEAKENED: dict[str, Weakened] = {
    "config: kind": Weakened(verify, "check_config", nothing, "cellular", of_field("kind")),
    "config: halt": Weakened(verify, "check_config", nothing, "parity", of_field("halt")),
    "config: loops": Weakened(verify, "check_config", nothing, "cellular", of_field("loops")),
    "embedding": Weakened(verify, "check_tables", nothing, "parity", of_tensor("embedding")),
    "unembedding": Weakened(verify, "check_tables", nothing, "parity", of_tensor("unembedding")),
    "position table": Weakened(
        stream_checks, "_check_same", nothing, "absolute positions", of_tensor("table")
    ),
    "queries": Weakened(
        head_checks, "_check_scores", nothing, "absolute positions", of_tensor("attention.query")
    ),
    "matches alike": Weakened(
        head_checks, "_check_scores", lax_scores, "averages over offsets", raised_offsets
    ),
    "values": Weakened(
        head_checks, "_check_copied", nothing, "parity", of_tensor("attention.value")
    ),
    "clearing heads": Weakened(
        head_checks,
        "_check_clearing",
        lambda *_: set(range(1000)),
        "parity",
        of_tensor("attention.output"),
    ),
    "clearing units": Weakened(
        feed_forward_checks.FeedForwardChecks,
        "check_cleared",
        nothing,
        "averages over offsets",
        of_tensor("feed_forward.weights.2", rows="near"),
    ),
    "updates": Weakened(
        feed_forward_checks.FeedForwardChecks,
        "check_update",
        lambda *_: 0,
        "parity",
        of_tensor("feed_forward.weights.0"),
    ),
}


@pytest.mark.parametrize("name", WEAKENED)
def test_a_weakened_verifier_lets_a_mutant_escape(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    weakened = WEAKENED[name]
    chosen = list(_first_harmful(weakened))
    assert chosen, "no harmful mutant to try"
    assert not tally(weakened.program, iter(chosen)).escaped
    monkeypatch.setattr(weakened.owner, weakened.name, weakened.by)
    assert tally(weakened.program, iter(chosen)).escaped, "the check is not needed, or not tested"


def _first_harmful(weakened: Weakened, count: int = 6) -> Iterator[Mutant]:
    for mutant in weakened.mutants(weakened.program):
        if mutant.model is not None and is_harmful(weakened.program, mutant.model):
            yield mutant
            count -= 1
            if not count:
                return


LOST: dict[str, tuple[str, str]] = {
    "closed under steps": ("_check_steps", "reach without widening"),
    "initial values": ("_check_initial", "reach from one token"),
}


@pytest.mark.parametrize("name", LOST)
def test_a_verifier_that_trusts_the_certificate_proves_a_broken_compiler(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check, pass_ = LOST[name]
    broken = BROKEN[pass_]
    program = broken.programs[0]()
    monkeypatch.setattr(broken.owner, broken.name, broken.by)
    made = weft.compile(program)
    assert not prove_compiled(made).proved
    monkeypatch.setattr(invariant, check, nothing)
    if name == "initial values":  # steps write what tokens should have started as
        monkeypatch.setattr(invariant, "_check_steps", nothing)
    assert prove_compiled(made).proved


def test_a_variable_that_matters_cannot_be_left_out() -> None:
    """A model of another program, whose stream lacks what this one depends on."""
    parity = weft.program("parity")
    copying = make(WITHOUT, "Parity")()
    made = weft.compile(copying)
    assert set(made.model.layout) < set(parity.variables)
    for stated in (made.certificate, replace(made.certificate, left_out=("parity_left",))):
        proof = prove(made.model, parity, stated)
        assert not proof.proved
        assert "has no slot" in proof.reason


WITHOUT = """
import weft


class Parity(weft.Program):
    tokens = [0, 1, "s"]
    parity = weft.var(2, token=lambda t: 0 if t == "s" else t)
    done = weft.var(2, token=lambda t: t == "s")
    parity_left = weft.relative(parity, -1)
    done_left = weft.relative(done, -1)
    output = parity
    halt = done == 1

    def step(z):
        if not z.done and z.done_left:
            z.done = 1
"""


def test_rounding_is_what_refuses_a_threshold_too_near_a_mean(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Real numbers tell them apart, and float32 may not."""
    assert prove_compiled(_with_ramps_above(1e-4, monkeypatch)).proved
    made = _with_ramps_above(3e-7, monkeypatch)
    assert not prove_compiled(made).proved
    monkeypatch.setitem(PRECISIONS, "float32", Precision(bits=60, vanishes=104, softmax_bits=24))
    assert prove_compiled(made).proved


def _with_ramps_above(gap: float, monkeypatch: pytest.MonkeyPatch) -> weft.Compiled:
    """Thresholds that begin to rise a little above the next mean below."""
    means = {m / n for n in range(1, 8) for m in range(n + 1)}

    def lowered(*args: Any) -> list[Ramp]:
        ramps = MEAN_RAMPS(*args)
        return [Ramp(max(m for m in means if m < ramp.low) + gap, ramp.high) for ramp in ramps]

    with monkeypatch.context() as patch:
        patch.setattr(expand, "mean_ramps", lowered)
        return weft.compile(weft.program("parity-sum(ones=6)"), max_length=7)
