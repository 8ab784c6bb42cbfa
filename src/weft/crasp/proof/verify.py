"""The theorem, and the checks in order.

Claim: on every word over the alphabet, up to the model's longest, and at every position of it, from
the begin symbol on,

- the dimension of each Boolean line is exactly 0 or 1, as the program says;
- the dimension of each count line is within a stated error of C(i) / (i + 1), so that rounding
  (i + 1) times what it holds gives C(i);
- the outputs follow: the greater logit is `accept` if the program accepts what it has read so far,
  or a symbol's logit is above that of `stop` if the program allows that symbol next.

The meaning of each line is computed from the program alone (`meaning`). What each dimension holds
is computed from the weights alone (`execution`): heads are uniform or fetch from one position
(`heads`), units are thresholds of integer counts or pass numbers through, with a margin for every
rounding error (`values`). Both are canonical functions of word and position (`diagrams`), so they
are compared by being the same.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from weft.crasp.expressions import Expression
from weft.crasp.program import CraspProgram
from weft.crasp.proof.counterexample import Counterexample, aim_at, find_word
from weft.crasp.proof.execution import Execution
from weft.crasp.proof.feasibility import Bound
from weft.crasp.proof.meaning import Meaning, meaning_of
from weft.crasp.proof.model_checks import (
    Unproved,
    check_config,
    check_layout,
    check_sizes,
    check_vocabulary,
    embeddings_of,
    read_tensors,
)
from weft.crasp.proof.nodes import Function, Integers, Leaf, TooLarge
from weft.crasp.proof.paths import paths
from weft.crasp.proof.values import Arithmetic, Known, Unclear, Unknown, Value
from weft.crasp.syntax.text import expression_text
from weft.language.expressions import deep_recursion
from weft.models.slots import Layout, Slot
from weft.models.transformer import Transformer
from weft.proofs import Proof, Verdict

MAX_SHORTER = 8
"""How many shorter lengths are tried if the proof does not go through."""

NEAR = 0.45
"""How far a count may be from an integer if only the tests on the way show that."""

TRUSTED = (
    "the meaning of the program",
    "the weights and the config as they were loaded",
    "floating-point arithmetic in the model's number format, in any order of summation; bfloat16 "
    "is accumulated in float32",
    "exp(0) is 1, and exp of anything far enough below 0 underflows to 0",
)


@dataclass(frozen=True, kw_only=True)
class CraspProof(Proof):
    """What was shown of a compiled C-RASP program.

    Attributes:
        lines: how many lines of the program were compared.
        quantities: how many different counts and sums of counts their comparisons test.
        error: how far any count dimension can be from C(i) / (i + 1), times i + 1; below 1/2.
        unclear: the comparison that rounding may blur; empty if there is none.
        unclear_from: the length of the shortest word on which it may.
        proved_to: if the proof fails for the model's longest words, for which it goes through.
        word: the word of the counterexample.
    """

    lines: int = 0
    quantities: int = 0
    error: float = 0.0
    unclear: str = ""
    unclear_from: int | None = None
    proved_to: int | None = None
    word: tuple[str, ...] | None = None

    @property
    def checked(self) -> str:
        """How much was checked, in a few words."""
        quantities = "quantity" if self.quantities == 1 else "quantities"
        return f"{self.lines:,} lines, {self.quantities:,} compared {quantities}"

    @property
    def figures(self) -> dict[str, Any]:
        """What else was found, as plain values for JSON."""
        return {
            "lines": self.lines,
            "quantities": self.quantities,
            "count_error": self.error,
            "unclear_comparison": self.unclear or None,
            "unclear_from": self.unclear_from,
            "proved_to": self.proved_to,
            "word": None if self.word is None else list(self.word),
        }

    @property
    def trusted(self) -> tuple[str, ...]:
        """What the proof takes for granted."""
        return TRUSTED


def prove(model: Transformer, program: CraspProgram, *, search: bool = True) -> CraspProof:
    """Show from its weights and config that a model computes a C-RASP program.

    Token k is the k-th symbol of the alphabet, the token after them the begin symbol.

    Args:
        model: the model, as it was compiled or loaded.
        program: what it should compute.
        search: if the proof does not go through, whether to look for a counterexample, and for the
            length up to which it does.
    """
    began = time.perf_counter()
    proving = _Proving(model, program)
    reason, shown, proved_to = "", None, None
    try:
        with deep_recursion():
            proving.run()
    except Unproved as unproved:
        reason = proving.explain(str(unproved))
    if reason and search:
        shown, proved_to = proving.counterexample(), proving.shorter()
        if proved_to is not None:
            reason += f"; proved for words of up to {proved_to:,} symbols"
    verdict: Verdict = "proved" if not reason else "wrong" if shown else "undecided"
    unclear = proving.first_unclear()
    return CraspProof(
        verdict=verdict,
        seconds=time.perf_counter() - began,
        reason=reason,
        counterexample=None if shown is None else shown.shown,
        word=None if shown is None else shown.word,
        limits=f"words of up to {proving.longest:,} symbols",
        lines=len(program.lines),
        quantities=proving.quantities,
        error=proving.error if verdict == "proved" else 0.0,
        unclear=proving.name_of(unclear) if unclear and reason else "",
        unclear_from=unclear.position if unclear and reason else None,
        proved_to=proved_to,
    )


class _Proving:
    """One proof: how far it came, and what it knows so far."""

    def __init__(
        self, model: Transformer, program: CraspProgram, longest: int | None = None
    ) -> None:
        self.model, self.program = model, program
        limit = model.config.max_length
        self.longest = longest if longest is not None else (limit or 1) - 1
        self.error = 0.0
        self.meaning: Meaning | None = None
        self.arithmetic: Arithmetic | None = None

    @property
    def quantities(self) -> int:
        """How many sums of counts are tested."""
        return 0 if self.meaning is None else len(self.meaning.diagrams.quantities) - 1

    def run(self) -> None:
        """All checks, the cheap ones first."""
        model, config = self.model, self.model.config
        if model.between_layers is not None:
            raise Unproved("the model applies a function between its layers")
        check_config(config, self.program)
        check_vocabulary(model.vocabulary, self.program)
        layout = check_layout(model.stream_layout, config, self.program)
        tensors = read_tensors(model)
        check_sizes(tensors, config)
        try:
            self.meaning = meaning_of(self.program, self.longest)
            self.arithmetic = Arithmetic(self.meaning.diagrams, config.dtype)
            embeddings = embeddings_of(tensors, config, self.longest + 1)
            execution = Execution(tensors, config, embeddings, self.arithmetic)
            execution.run()
            self._check_lines(execution, layout)
            self._check_outputs(execution)
        except TooLarge:
            raise Unproved("its functions are too large to be compared") from None

    # Lines

    def _check_lines(self, execution: Execution, layout: Layout) -> None:
        assert self.meaning is not None
        for name, slot in layout.items():
            what, function = self._says(name, slot)
            if function is None:
                continue
            value = execution.value(slot.start)
            if isinstance(value, Unknown):
                raise Unproved(f"{what} is not understood: {value.reason}")
            if slot.kind == "boolean":
                self._check_boolean(what, function, value)
            else:
                self._check_count(what, function, value)

    def _says(self, name: str, slot: Slot) -> tuple[str, Function | None]:
        """What a slot should hold: a line, or what every stream has; None if it is neither."""
        assert self.meaning is not None
        make, program = self.meaning.diagrams, self.program
        if name in program.kinds:
            return f"the line '{name}'", self.meaning.lines[name]
        if name == "begin":
            return "'begin'", make.of_symbol(1, [0] * len(program.alphabet))
        if name == "constant":
            return "'constant'", make.constant(1)
        if name == "one":
            return "'one'", make.constant(1)
        if name.startswith("Q_") and name[2:] in program.alphabet:
            return f"'{name}'", make.of_symbol(0, [int(name[2:] == s) for s in program.alphabet])
        return f"'{name}'", None

    def _check_boolean(self, what: str, function: Function, value: Known) -> None:
        differs = self._differs(function, value.function)
        if differs is not None:
            raise Unproved(f"{what} is not what its dimension computes at {_position(differs)}")
        inexact = np.flatnonzero(value.error)
        if len(inexact):
            raise Unproved(f"{what} is not exactly 0 or 1 at {_position(int(inexact[0]))}")

    def _differs(self, function: Function, other: Function) -> int | None:
        """The first position at which two Boolean functions may differ."""
        assert self.meaning is not None
        make, differs = self.meaning.diagrams, [self.longest + 1]
        for path in paths(make, function, other, equal=True):
            open_ = ~path.excluded(make)
            differs += path.positions[open_][:1].tolist()
        return min(differs) if min(differs) <= self.longest else None

    def _check_count(self, what: str, function: Function, value: Known) -> None:
        """For all pairs of what the program says and what the dimension holds, they are near."""
        assert self.meaning is not None
        make, places = self.meaning.diagrams, np.arange(1, self.longest + 2, dtype=np.float64)
        error = value.error * places + 1e-13 * places
        for path in paths(make, function, value.function):
            said, held = path.one, path.other
            total = make.add(
                held.total or make.constant(0),
                make.scale(said.total or make.constant(0), Fraction(-1)),
            )
            constant = float(held.constant) * places - float(said.constant)
            low, high = make.total_bounds(total)
            off = np.maximum(np.abs(low + constant), np.abs(high + constant)) + error
            far = path.positions[off[path.positions] >= 0.5]
            if len(far):  # unless the tests on the way make the difference small
                limit = NEAR - error
                beyond = replace(path, positions=far)
                excluded = beyond.excluded(make, Bound(total, True, limit - constant))
                excluded &= beyond.excluded(make, Bound(total, False, -limit - constant))
                if not excluded.all():
                    where = _position(int(far[~excluded][0]))
                    raise Unproved(f"{what} is not what its dimension holds at {where}")
                off[far] = NEAR
            self.error = max(self.error, float(off[path.positions].max(initial=0.0)))

    # Outputs

    def _check_outputs(self, execution: Execution) -> None:
        assert self.meaning is not None
        lines, program, make = self.meaning.lines, self.program, self.meaning.diagrams
        logits = execution.logits()
        if not program.next_symbols:
            reject, accept = logits
            self._check_above("accept", accept, reject, lines[program.accepting])
            return
        *symbols, stop = logits
        for symbol, logit in zip(program.alphabet, symbols, strict=True):
            line = program.next_symbols.get(symbol)
            function = make.constant(0) if line is None else lines[line]
            self._check_above(f"the symbol '{symbol}'", logit, stop, function)

    def _check_above(self, what: str, logit: Value, other: Value, function: Function) -> None:
        """One logit is above another where a function holds, and below it elsewhere."""
        assert self.arithmetic is not None
        for value in (logit, other):
            if isinstance(value, Unknown):
                raise Unproved(f"the output {what} is not understood: {value.reason}")
        assert isinstance(logit, Known)
        assert isinstance(other, Known)
        make = self.arithmetic.diagrams
        gap = make.add(logit.function, make.scale(other.function, Fraction(-1)))
        error = logit.error + other.error
        sure = np.ones(len(error), bool)

        def decided(leaf: Leaf, positions: Integers) -> Integers:
            if leaf.total is not None:
                sure[positions] = False
            sure[positions] &= np.abs(float(leaf.constant)) > error[positions]
            return np.full(len(positions), make.true if leaf.constant > 0 else make.false)

        chosen = make.expand(gap, decided)
        unsure = np.flatnonzero(~sure)
        wrong = int(unsure[0]) if len(unsure) else self._differs(function, chosen)
        if wrong is not None:
            where = _position(wrong)
            raise Unproved(f"the output {what} does not follow from the program at {where}")

    # If it does not go through

    def first_unclear(self) -> Unclear | None:
        """The comparison that rounding blurs on the shortest words."""
        noted = [] if self.arithmetic is None else self.arithmetic.unclear
        named = [unclear for unclear in noted if self.name_of(unclear)]
        return min(named, key=lambda unclear: unclear.position, default=None)

    def comparison(self, unclear: Unclear) -> Expression | None:
        """The comparison of the program that a unit should decide."""
        assert self.meaning is not None
        candidates = [
            expression
            for expression, tested in self.meaning.comparisons
            if unclear.quantity in tested
        ]
        return min(candidates, key=lambda e: len(expression_text(e)), default=None)

    def name_of(self, unclear: Unclear) -> str:
        """The same as text; empty if the program has no such comparison."""
        comparison = self.comparison(unclear)
        return "" if comparison is None else expression_text(comparison)

    def explain(self, reason: str) -> str:
        """Why the proof does not go through; a comparison without a margin comes first."""
        unclear = self.first_unclear()
        if unclear is None:
            return reason
        return (
            f"the comparison '{self.name_of(unclear)}' may fail on words of "
            f"{unclear.position:,} symbols or more: rounding can move "
            f"its unit by {unclear.error:.2g}, and its margin is {unclear.margin:.2g} ({reason})"
        )

    def shorter(self) -> int | None:
        """Up to which shorter length the proof goes through, if comparisons are the reason."""
        proving = self
        for _ in range(MAX_SHORTER):
            unclear = proving.first_unclear()
            if unclear is None or not 1 <= unclear.position <= proving.longest:
                return None
            proving = _Proving(self.model, self.program, unclear.position - 1)
            try:
                with deep_recursion():
                    proving.run()
            except Unproved:
                continue
            return proving.longest
        return None

    def counterexample(self) -> Counterexample | None:
        """A word that was run, and on which the model and the program differ."""
        unclear, aim = self.first_unclear(), None
        if unclear is not None and self.meaning is not None:
            quantity = self.meaning.diagrams.quantities[unclear.quantity]
            assert quantity is not None
            comparison = self.comparison(unclear)
            assert comparison is not None
            aim = aim_at(
                self.meaning.diagrams, quantity, comparison, unclear.level, unclear.position
            )
        return find_word(self.model, self.program, self.longest, aim)


def _position(position: int) -> str:
    return "the begin symbol" if position == 0 else f"position {position:,}"
