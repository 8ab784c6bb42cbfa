"""Guarded rules fitted to outputs: what a function does, in the words of a state machine.

Every token of an output is an example: the state in which it was written, and the token, or the end
of the output. Guards are conjunctions of tests, actions are terms over the state; both are given as
expressions over the signature of a machine, so that the result is a machine that can be run. Rules
are learned by sequential covering: the rule with the highest

    covered - ERROR_COST wrongly covered - TEST_COST tests

among conjunctions of up to MOST_TESTS tests is added, the examples that it covers are removed, and
so on; the last rule has the most frequent action of what is left. The beam search keeps
conjunctions by covered - HOPE_COST wrongly covered. Right and wrong outputs have the same total
weight, because a function that is nearly always right is told from others by its failures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.errors import WeftError
from weft.theory.recursion.state_machines import (
    SIGNATURE,
    Pointer,
    Rule,
    StateMachine,
    Tokens,
    Word,
    function_of,
)

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST_TESTS = 4
MOST_RULES = 24
BEAM = 40
ERROR_COST = 12.0
HOPE_COST = 1.0
TEST_COST = 0.0004
LEAST_GAIN = 0.0008
"""Shares of the weight of all examples: what a test costs, and the least a rule must gain."""
STOP = ""
"""The action that ends the output."""
LIMIT = 4096
"""No output of a fitted machine is longer; what does not stop agrees with nothing."""


@dataclass(frozen=True)
class Language:
    """In what words rules are fitted.

    Attributes:
        pointers: what is derived from the input.
        tests: expressions for the conjuncts of guards.
        actions: expressions for the token that is written.
    """

    pointers: tuple[Pointer, ...]
    tests: tuple[str, ...]
    actions: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Examples:
    """States, one per token that was written and one per end.

    Attributes:
        holds: n t, which test holds in which state.
        agrees: n a, which action writes what was written; the last action stops.
        weights: n, which add up to 1.
    """

    holds: Bools
    agrees: Bools
    weights: Floats


def fit_rules(
    language: Language,
    inputs: Sequence[Word],
    outputs: Sequence[Word | None],
    right: Sequence[bool],
    *,
    name: str = "fitted rules",
) -> StateMachine:
    """An ordered machine that writes the outputs of some inputs, as far as its words allow.

    Args:
        language: tests and actions.
        inputs: the inputs.
        outputs: their outputs; None if an output did not end, which is then left out.
        right: which outputs are right.
        name: what the machine is called.

    Example:
        >>> from weft.theory.recursion import fit_rules, successor, successor_language
        >>> inputs = [("01", *("X1" if n >> bit & 1 else "XO" for bit in range(4)))
        ...           for n in range(16)]
        >>> outputs = [successor(number) for number in inputs]
        >>> machine = fit_rules(successor_language("natural", inputs), inputs, outputs, [True] * 16)
        >>> all(machine(number) == output for number, output in zip(inputs, outputs))
        True
    """
    asked = [
        (given, output, bool(good))
        for given, output, good in zip(inputs, outputs, right, strict=True)
        if output is not None
    ]
    if not asked:
        raise WeftError("there is no output that ends to fit rules to", subject="fit_rules")
    examples = _examples(language, asked)
    actions = (*language.actions, STOP)
    left = np.ones(len(examples.weights), dtype=np.bool_)
    tests = np.array(_distinct(examples.holds), dtype=np.int64)
    rules: list[Rule] = []
    while left.any() and len(rules) < MOST_RULES:
        chosen, action, gain = _best_rule(examples, left, tests)
        if gain < LEAST_GAIN:
            break
        rules.append(_rule([language.tests[test] for test in chosen], actions[action]))
        left &= ~examples.holds[:, chosen].all(axis=1)
    remaining = left if left.any() else np.ones_like(left)
    commonest = int(np.argmax(examples.weights[remaining] @ examples.agrees[remaining]))
    rules.append(_rule(["k > 0"], actions[commonest]))
    return StateMachine(name, tuple(rules), language.pointers, ordered=True)


def _rule(tests: Sequence[str], action: str) -> Rule:
    guard = " and ".join(tests)
    return Rule(guard) if action == STOP else Rule(guard, emit=action)


def _examples(language: Language, asked: Sequence[tuple[Word, Word, bool]]) -> _Examples:
    names = (*SIGNATURE, *(pointer.name for pointer in language.pointers))
    tests = function_of(f"({', '.join(language.tests)},)", names)
    actions = function_of(f"({', '.join(language.actions)},)", names)
    holds, agrees, weights = [], [], []
    totals = {good: sum(each[2] == good for each in asked) for good in (True, False)}
    for given, output, good in asked:
        derived = tuple(pointer.derive(given) for pointer in language.pointers)
        source = Tokens(given)
        for place in range(len(output) + 1):
            state = (source, Tokens(output[:place]), len(given), place + 1, *derived)
            token = output[place] if place < len(output) else None
            holds.append(tests(*state))
            written = [token is not None and each == token for each in actions(*state)]
            agrees.append([*written, token is None])
            weights.append(1 / totals[good] / (len(output) + 1))
    shares = np.array(weights)
    return _Examples(
        np.array(holds, dtype=np.bool_), np.array(agrees, dtype=np.bool_), shares / shares.sum()
    )


def _distinct(holds: Bools) -> list[int]:
    """The tests without constant ones, and without those that hold where an earlier one does."""
    seen: dict[bytes, int] = {}
    for test in range(holds.shape[1]):
        column = holds[:, test]
        if column.any() and not column.all():
            seen.setdefault(np.packbits(column).tobytes(), test)
    return list(seen.values())


def _best_rule(examples: _Examples, left: Bools, tests: Ints) -> tuple[list[int], int, float]:
    """The best conjunction, its action, and what it gains, among examples that are left."""
    kept = examples.holds[left][:, tests]
    which = np.array(_distinct(kept), dtype=np.int64)
    tests, truths = tests[which], kept[:, which]
    holds, weights = truths.astype(np.float32), examples.weights[left]
    right = (examples.agrees[left] * weights[:, None]).astype(np.float32)  # n a
    spread = np.column_stack([right, weights.astype(np.float32)])
    beam: list[tuple[int, ...]] = [()]
    best: tuple[float, tuple[int, ...], int] = (-np.inf, (), 0)
    seen: set[tuple[int, ...]] = set()
    for size in range(1, MOST_TESTS + 1):
        found: list[tuple[float, tuple[int, ...], int]] = []
        for conjunction in beam:
            rows = truths[:, conjunction].all(axis=1) if conjunction else slice(None)
            covered = holds[rows].T @ spread[rows]  # t, a + 1
            good, total = covered[:, :-1], covered[:, -1:]
            hopes = good - HOPE_COST * (total - good)
            gains = good - ERROR_COST * (total - good) - TEST_COST * size
            actions = gains.argmax(axis=1)
            for test, action in enumerate(actions.tolist()):
                grown = tuple(sorted({*conjunction, test}))
                if len(grown) == size and grown not in seen:
                    seen.add(grown)
                    found.append((float(hopes[test].max()), grown, action))
                    if gains[test, action] > best[0] + 1e-9:
                        best = float(gains[test, action]), grown, action
        # A conjunction with some errors may become exact with one more test.
        found.sort(key=lambda each: (-each[0], each[1]))
        beam = [each[1] for each in found[:BEAM]]
    return tests[list(best[1])].tolist(), best[2], best[0]


def runnable(machine: StateMachine, tokens: Word) -> Word | None:
    """What a fitted machine writes; None if it does not stop, or would write no token."""
    try:
        return machine(tokens, limit=min(LIMIT, 4 * len(tokens) + 4))
    except WeftError:
        return None
