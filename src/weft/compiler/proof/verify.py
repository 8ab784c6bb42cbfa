"""The theorem, and the checks in order.

Claim: on every input of the program's tokens, up to the model's maximum length, the stream after
every layer holds exactly the values of the program's variables, unless the program's own step fails
in that layer or before. So the model halts when the program halts, with the same outputs.

The proof is by induction over layers. The values that the certificate lists are an invariant of the
program (`invariant`). The initial stream is right (`stream_checks`). If a stream is right, then
after attention the heads' slots hold the outputs of the program's heads, or a mixture if a head
selects several positions (`head_checks`, `means`). From these, the feed-forward computes the next
stream (`feed_forward_checks`). The config and the unembedding read halting and outputs from the
stream (`stream_checks`).

A model may loop one layer, or have separate layers that all compute the program's step. Then every
layer is checked, and each must clear what the layer before it leaves in the slots of heads.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from weft.compiler.certificate import Certificate
from weft.compiler.proof.counterexample import find_input, find_state
from weft.compiler.proof.exclusions import failing_states
from weft.compiler.proof.feed_forward_checks import FeedForwardChecks
from weft.compiler.proof.findings import Unproved
from weft.compiler.proof.head_checks import check_attention, check_head_names
from weft.compiler.proof.invariant import Invariant, check_certificate
from weft.compiler.proof.semantics import check_semantics
from weft.compiler.proof.stream_checks import check_config, check_layout, check_tables
from weft.language.expressions import deep_recursion
from weft.language.program import Program
from weft.models.config import TransformerConfig
from weft.models.transformer import DTYPES, Transformer
from weft.proofs import Shown, Verdict, report
from weft.proofs.rounding import LONGEST, PRECISIONS, SMALLEST, Array


@dataclass(frozen=True, kw_only=True)
class Proof(report.Proof):
    """What was shown of a compiled program.

    Attributes:
        cells: the number of sets of states that were checked.
        failing: why the program's own step fails in some states; nothing is proved of those.
        unrounded: heads without a margin for rounding. Once one of them has selected several
            positions, the stream is right in exact arithmetic alone.
    """

    cells: int = 0
    failing: tuple[str, ...] = ()
    unrounded: tuple[str, ...] = ()

    @property
    def excluded(self) -> tuple[str, ...]:
        """What the proof does not speak of."""
        result = []
        if self.failing:
            result.append(f"states where the step fails ({'; '.join(self.failing)})")
        if self.unrounded:
            names = ", ".join(self.unrounded)
            result.append(f"rounding errors once a head has selected several positions ({names})")
        return tuple(result)

    @property
    def checked(self) -> str:
        """How much was checked, in a few words."""
        return f"{self.cells:,} cells"

    @property
    def figures(self) -> dict[str, Any]:
        """What else was found, as plain values for JSON."""
        return {"cells": self.cells}


def prove(
    model: Transformer, program: Program, certificate: Certificate, *, search: bool = True
) -> Proof:
    """Show from its weights and config that a model computes its program.

    Args:
        model: the model, as it was compiled or loaded.
        program: what it should compute.
        certificate: what the compiler relied on; every statement is checked.
        search: whether to look for a counterexample if the proof does not go through.

    Example:
        >>> import weft
        >>> compiled = weft.compile(weft.program("parity"))
        >>> prove(compiled.model, compiled.program, compiled.certificate).verdict
        'proved'
    """
    began = time.perf_counter()
    model.refresh()
    proving = _Proving(model, program, certificate)
    reason, shown = "", None
    try:
        with deep_recursion():
            proving.run()
    except Unproved as unproved:
        reason = unproved.reason
        if search:
            with deep_recursion():
                shown = proving.counterexample(unproved)
    verdict: Verdict = "proved" if not reason else "wrong" if shown else "undecided"
    return Proof(
        verdict=verdict,
        cells=proving.cells,
        seconds=time.perf_counter() - began,
        reason=reason,
        counterexample=shown,
        failing=proving.failing if verdict == "proved" else (),
        unrounded=proving.unrounded if verdict == "proved" else (),
        limits=_limits(model, certificate),
    )


def _limits(model: Transformer, certificate: Certificate) -> str:
    if certificate.inputs is not None:
        count = len(certificate.inputs)
        return f"the {count:,} {'input' if count == 1 else 'inputs'} that it was compiled for"
    return f"inputs of up to {min(model.config.max_length or LONGEST, LONGEST):,} tokens"


class _Proving:
    """The state of one proof: how far it came, and what it knows so far."""

    def __init__(self, model: Transformer, program: Program, certificate: Certificate) -> None:
        self.model, self.program, self.certificate = model, program, certificate
        self.cells = 0
        self.failing: tuple[str, ...] = ()
        self.unrounded: tuple[str, ...] = ()
        self.invariant: Invariant | None = None

    def run(self) -> None:
        """All checks, the cheap ones first."""
        model, program, layout = self.model, self.program, self.model.stream_layout
        config = model.config
        if layout is None:
            raise Unproved("the model has no layout, so it was not compiled from a program")
        if model.between_layers is not None:
            raise Unproved("the model applies a function between its layers")
        tensors = _tensors(model)
        check_layout(program, layout)
        check_config(program, model)
        self.invariant = check_certificate(
            program, layout, self.certificate, config.max_length, PRECISIONS[config.dtype]
        )
        check_semantics(self.invariant)
        check_tables(program, layout, config, tensors)
        check_head_names(layout, config, self.invariant)
        layers = range(config.layers)
        cleared = [check_attention(tensors, config, layout, self.invariant, n) for n in layers]
        self._check_rounding()
        maps = [_affine_maps(tensors, config, number) for number in layers]
        written = np.max([np.abs(w[-1]).sum(1) + np.abs(b[-1]) for w, b in maps], 0)
        for number, (weights, biases) in enumerate(maps):
            feed_forward = FeedForwardChecks(
                invariant=self.invariant,
                layout=layout,
                config=config,
                weights=weights,
                biases=biases,
                clears=cleared[number],
                cleared=cleared[(number + 1) % len(maps)],
                written=written,
            )
            try:
                self.cells += self._check_feed_forward(feed_forward)
            except Unproved as unproved:
                unproved.layer = number
                raise
        self.failing = failing_states(self.invariant)

    def _check_rounding(self) -> None:
        """Plain ReLU clips a number's steep ramps as a difference of two large numbers."""
        assert self.invariant is not None
        numbers = list(self.invariant.means)
        if self.model.config.activation == "relu" and numbers:
            raise Unproved(
                f"with plain ReLUs, tests of the number '{numbers[0]}' are right up to rounding "
                "alone; compile without --relu, or check it on inputs (weft check)"
            )

    def _check_feed_forward(self, feed_forward: FeedForwardChecks) -> int:
        """All updates. If they hold for mixtures of real numbers alone, this is an exclusion.

        Level 0 is the ALTA paper's construction, which gives its units no margin for the rounding
        of a mixture.
        """
        assert self.invariant is not None
        try:
            return feed_forward.check()
        except Unproved:
            mixed = [h.name for h in self.invariant.heads if self.invariant.can_mix(h.name)]
            if not mixed:
                raise
            cells = replace(feed_forward, rounds=False).check()
            self.unrounded = tuple(mixed)  # the same heads in every layer
            return cells

    def counterexample(self, unproved: Unproved) -> Shown | None:
        """Something that was run and shows that the model is wrong, if one is found."""
        result = None
        if unproved.states and self.invariant is not None:
            result = find_state(
                self.model, self.invariant, unproved.variable, unproved.states, unproved.layer
            )
        return result or find_input(self.model, self.program, self.certificate.inputs)


def _affine_maps(
    tensors: dict[str, Array], config: TransformerConfig, layer: int
) -> tuple[list[Array], list[Array]]:
    """The weights and the biases of a layer's feed-forward, first to last."""
    prefix, places = f"layers.{layer}.feed_forward", range(len(config.hidden) + 1)
    return (
        [tensors[f"{prefix}.weights.{place}"] for place in places],
        [tensors[f"{prefix}.biases.{place}"] for place in places],
    )


def _tensors(model: Transformer) -> dict[str, Array]:
    """The weights in float64: those of the config, in its number format, and of moderate size.

    Biases on offsets may be minus infinity. Everything else is 0 or between 2^-30 and 2^30, so that
    no product on the way overflows or underflows.
    """
    tensors = model.state_dict()
    with torch.device("meta"):  # no memory
        wanted = Transformer(model.config).state_dict()
    if {n: t.shape for n, t in tensors.items()} != {n: t.shape for n, t in wanted.items()}:
        raise Unproved("the model has other weights than its config asks for")
    result: dict[str, Array] = {}
    for name, tensor in tensors.items():
        if tensor.dtype != DTYPES[model.config.dtype]:
            raise Unproved(f"{name} is {tensor.dtype}, the config says {model.config.dtype}")
        array: Array = tensor.double().cpu().numpy()
        checked = array[array != -np.inf] if name.endswith("attention.bias") else array
        size = np.abs(checked[checked != 0])
        if not ((size >= SMALLEST) & (size <= 1 / SMALLEST)).all():
            raise Unproved(f"{name} has an entry that is not a number, or not of moderate size")
        result[name] = array
    return result
