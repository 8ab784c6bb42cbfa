"""How a minimal program does on inputs that it was not made from (ALTA paper, section 3.2).

An input is *covered* if it needs nothing that was dropped: its tokens and positions were seen, so
were all values that heads output, and in every state of the original program's run the remaining
rules do what the program does. On such inputs both programs are the same, layer by layer. An input
is *right* if the minimal program halts in as many layers as the program and gives the right answer.
An input that is not covered may still be right: by chance (half of all parities), or because what
is missing makes no difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from weft.errors import WeftError
from weft.interpreter.batched import run_batch
from weft.interpreter.failures import StepError
from weft.interpreter.inputs import Inputs
from weft.interpreter.reference import has_halted
from weft.interpreter.states import Packing, StateSet, distinct, layer_states
from weft.interpreter.trace import Run
from weft.language.program import Program, token_numbers
from weft.language.rules import Rule
from weft.language.user_code import expected_answer
from weft.theory.minimal.minimise import Minimal
from weft.theory.minimal.observation import (
    Bools,
    Observation,
    fired_resets,
    fired_rules,
    firing,
    holding,
    observe,
)

Ending = Literal["right", "wrong", "not halted", "failed"]


@dataclass(frozen=True)
class InputOutcome:
    """How the minimal program does on one input.

    Attributes:
        tokens: the input.
        ending: `right`, `wrong`, `not halted` (within as many layers as the program takes), or
            `failed` if two of its rules disagree, or its last stream cannot be decoded.
        answer: its answer; if it has not halted, the answer decoded from its last stream.
        expected: the right answer.
        covered: whether the input needs nothing that was dropped.
        reason: why it failed.
        outputs: the output variable at every position of its last stream; empty if a step failed.
    """

    tokens: tuple[Any, ...]
    ending: Ending
    answer: Any
    expected: Any
    covered: bool
    reason: str = ""
    outputs: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Generalisation:
    """How a minimal program does on a test set.

    Attributes:
        outcomes: one per input.
        used: what the original program uses over the test set.
        wanted: the rules that fire there, in the form of the minimal program.
        missing: those of them that did not fire in training.
        missing_resets: the resets of heads that did not fire in training.
        missing_tokens: tokens that do not occur in training.
    """

    outcomes: tuple[InputOutcome, ...]
    used: Observation
    wanted: tuple[Rule, ...]
    missing: tuple[Rule, ...]
    missing_resets: tuple[Rule, ...]
    missing_tokens: frozenset[int]

    @property
    def endings(self) -> Counter[Ending]:
        """How many inputs have each ending."""
        return Counter(outcome.ending for outcome in self.outcomes)

    @property
    def right(self) -> int:
        """How many inputs the minimal program answers correctly."""
        return self.endings["right"]

    @property
    def covered(self) -> int:
        """How many inputs need nothing that was dropped."""
        return sum(outcome.covered for outcome in self.outcomes)

    @property
    def readable(self) -> int:
        """How many right answers the last stream decodes to, halted or not."""
        return sum(
            outcome.ending != "failed" and outcome.answer == outcome.expected
            for outcome in self.outcomes
        )

    @property
    def solved(self) -> bool:
        """Whether all answers are right."""
        return self.right == len(self.outcomes)


def generalises(minimal: Minimal, inputs: Inputs, *, layers: int | None = None) -> Generalisation:
    """Run a minimal program on test inputs, and determine what they need of what was dropped.

    Example:
        >>> import weft
        >>> from weft.theory import generalises, minimal_program
        >>> carried = minimal_program(weft.program("parity"), ["1011", "0"])
        >>> generalises(carried, ["110100101", "1" * 50]).solved
        True
        >>> counted = minimal_program(weft.program("parity-sum"), ["1011", "0"])
        >>> [outcome.ending for outcome in generalises(counted, ["0111", "1"]).outcomes]
        ['right', 'wrong']
    """
    original = minimal.original
    used = observe(original, inputs, layers=layers)
    fired = set(minimal.fired)
    wanted = fired_rules(used, minimal.form)
    resets = set(minimal.resets)
    covered = coverage(minimal, used)
    return Generalisation(
        tuple(_outcomes(minimal, used, covered)),
        used,
        wanted,
        tuple(rule for rule in wanted if rule not in fired),
        tuple(rule for rule in fired_resets(used) if rule not in resets),
        used.tokens - minimal.used.tokens,
    )


def coverage(minimal: Minimal, used: Observation) -> Bools:
    """Which inputs need nothing that was dropped."""
    program, train = minimal.original, minimal.used
    named = any(variable.position is not None for variable in program.variables.values())
    by_token = any(variable.token is not None for variable in program.variables.values())
    covered: Bools = np.asarray(
        [
            (not by_token or train.tokens.issuperset(token_numbers(program, tokens)))
            and (not named or len(tokens) <= train.positions)
            for tokens in used.inputs
        ],
        np.bool_,
    )
    differing = {name: _differing(minimal, used, name) for name in used.states}
    heads = {name: list(codes - train.heads[name]) for name, codes in used.heads.items()}
    if not any(map(len, differing.values())) and not any(heads.values()):
        return covered
    for layer in layer_states(program, used.inputs, max(used.layers, default=0)):
        for states in differing.values():
            if len(states):
                covered[layer.inputs[_among(layer.columns, states)]] = False
        for name, codes in heads.items():
            covered[layer.inputs[np.isin(layer.columns[name], codes)]] = False
    return covered


def _differing(minimal: Minimal, used: Observation, name: str) -> StateSet:
    """The states of a variable in which the remaining rules do something else."""
    states = used.states[name]
    wanted = [rule and rule.new for _, rule in firing(used.program, name, states)]
    given: list[set[Any]] = [set() for _ in range(len(states))]
    for rule in minimal.rules:
        if rule.variable == name:
            for row in np.flatnonzero(holding(rule, states)).tolist():
                given[row].add(rule.new)
    wrong = [row for row, new in enumerate(wanted) if given[row] != ({new} - {None})]
    return states.take(np.asarray(wrong, np.intp))


def _among(columns: Mapping[str, NDArray[Any]], states: StateSet) -> Bools:
    """At which positions the variables of some states have the values of one of them."""
    packing = Packing.of(states.variables)
    there = packing.pack(
        [columns[name] for name in states.variables], len(columns[next(iter(columns))])
    )
    listed = packing.pack(list(states.codes.T), len(states))
    if len(packing.words) == 1:
        return np.isin(there[:, 0], listed[:, 0])
    _, kinds = distinct(np.concatenate([listed, there]))
    return np.isin(kinds[len(states) :], kinds[: len(states)])


def _outcomes(minimal: Minimal, used: Observation, covered: Bools) -> list[InputOutcome]:
    """The outcome of every input; inputs with the same number of layers run together."""
    groups: dict[int, list[int]] = {}
    for place, count in enumerate(used.layers):
        groups.setdefault(count, []).append(place)
    done: dict[int, InputOutcome] = {}
    for count, places in groups.items():
        given = [used.inputs[place] for place in places]
        ran = runs_of(minimal.program, given, count)
        right = _answers(minimal.original, given, count)
        for place, run, expected in zip(places, ran, right, strict=True):
            done[place] = _outcome(used.inputs[place], run, expected, bool(covered[place]))
    return [done[place] for place in range(len(used.inputs))]


def runs_of(program: Program, given: Sequence[Any], layers: int) -> list[Run | StepError]:
    """The run of each input after this many layers, or the error if its step fails."""
    runs: list[Run | StepError] = []
    while len(runs) < len(given):
        rest = given[len(runs) :]
        try:
            runs += run_batch(program, rest, layers=layers)
        except StepError as error:
            runs += run_batch(program, rest[: error.input or 0], layers=layers)
            runs.append(error)
    return runs


def _answers(program: Program, given: Sequence[tuple[Any, ...]], layers: int) -> list[Any]:
    """The right answers: what the program's task says, or what it computes if it has none."""
    if program.has_task:
        return [expected_answer(program, tokens) for tokens in given]
    return run_batch(program, given, layers=layers).results


def _outcome(tokens: Any, run: Run | StepError, expected: Any, covered: bool) -> InputOutcome:
    if isinstance(run, StepError):
        place = f"layer {run.layer}, position {run.position}"
        reason = f"{place}{run.what.partition(place)[2]}"
        return InputOutcome(tokens, "failed", None, expected, covered, reason)
    try:
        answer = run.result
    except WeftError as error:
        return InputOutcome(run.tokens, "failed", None, expected, covered, error.what, run.outputs)
    ending: Ending = "right" if answer == expected else "wrong"
    reason = ""
    if run.program.definition.halt is not None and not has_halted(run.program, run.stream):
        ending, reason = "not halted", f"it has not halted after {run.layers} layers"
    return InputOutcome(run.tokens, ending, answer, expected, covered, reason, run.outputs)
