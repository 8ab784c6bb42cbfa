"""What is known about a recursive function before a model of it is explained.

A subject gives the true outputs, the machines that compete, the words in which rules are fitted,
the kinds of wrong outputs, and the parts of inputs and outputs that interventions distinguish:

    successor    parts of the input:   copy (before the run), start (the token before the run), run
                 parts of the output:  copy, flip (the token before the run), run, end
    traversals   parts of the input:   values, other tokens
                 parts of the output:  down (the next value is in a subtree of the last one), up
                 (it is not), end
    others       the whole input; values and end of the output
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np

from weft.recursion import Notation, TermSampler, encode_term
from weft.recursion.library.lists import Letter, to_list
from weft.recursion.library.trees import Tree
from weft.theory.recursion import (
    Candidate,
    Language,
    StateMachine,
    copy_machine,
    successor,
    successor_candidates,
    successor_language,
    traversal_candidates,
    traversal_machine,
)
from weft.theory.recursion.state_machines import Word
from weft.theory.recursion.successor_machines import (
    ONE,
    ONE_BIT,
    ZERO_BIT,
    Order,
    all_carry,
    depth_of,
)
from weft.theory.recursion.traversal_machines import Traversal, nodes_of
from weft.theory.recursion.wrong_outputs import sequence_error, successor_error

END = "end"


class Subject(Protocol):
    """A recursive function that a model may have learned.

    Attributes:
        name: what it is called.
        recursion: the part of the input that recursion runs over, if one is known: a name of a
            part, and the name of the part at which the recursion starts or ends.
    """

    @property
    def name(self) -> str: ...
    @property
    def recursion(self) -> tuple[str, str] | None: ...

    def truth(self, given: Word) -> Word:
        """The right output."""

    def candidates(self, inputs: Sequence[Word]) -> list[Candidate]:
        """The machines that compete, in the order in which they are preferred."""

    def language(self, inputs: Sequence[Word]) -> Language | None:
        """In what words rules are fitted; None if there are none."""

    def error(self, given: Word, output: Word | None, truth: Word) -> str:
        """The kind of an output."""

    def is_edge(self, given: Word) -> bool:
        """Whether an input is of the kind whose outputs are listed, such as an all-carry one."""

    def replacements(self, given: Word, place: int) -> tuple[str, ...]:
        """The tokens that may stand in place of one, from 0, in a valid input."""

    def examples(self, length: int, count: int) -> list[Word]:
        """Inputs of a length for interventions, all depths equally often; may be none."""

    def input_parts(self, given: Word) -> list[str]:
        """The part of each input token."""

    def output_parts(self, given: Word, length: int) -> list[str]:
        """The part of each of `length` output tokens, and of the end."""


@dataclass(frozen=True)
class SuccessorSubject:
    """The binary successor in one of the two orders."""

    order: Order = "natural"

    @property
    def name(self) -> str:
        return f"successor, {self.order} order"

    @property
    def recursion(self) -> tuple[str, str] | None:
        return "run", "start"

    def truth(self, given: Word) -> Word:
        return successor(given, self.order)

    def candidates(self, inputs: Sequence[Word]) -> list[Candidate]:
        return list(successor_candidates(self.order, max(map(len, inputs), default=1)))

    def language(self, inputs: Sequence[Word]) -> Language | None:
        return successor_language(self.order, inputs)

    def error(self, given: Word, output: Word | None, truth: Word) -> str:
        return successor_error(given, output, truth, self.order)

    def is_edge(self, given: Word) -> bool:
        return all_carry(given, self.order)

    def replacements(self, given: Word, place: int) -> tuple[str, ...]:
        return {ZERO_BIT: (ONE_BIT,), ONE_BIT: (ZERO_BIT,)}.get(given[place], ())

    def examples(self, length: int, count: int) -> list[Word]:
        rng = random.Random(0)
        found: dict[Word, None] = {}
        for _ in range(4 * count):
            depth = rng.randrange(max(1, length - 1))
            bits = rng.choices((ZERO_BIT, ONE_BIT), k=max(0, length - 2 - depth))
            number = (ONE, *bits, *(ZERO_BIT,) * (length > 1), *(ONE_BIT,) * depth)
            found[number if self.order == "natural" else number[::-1]] = None
            if len(found) == count:
                break
        return list(found)

    def input_parts(self, given: Word) -> list[str]:
        depth = depth_of(given, self.order)
        parts = ["copy"] * (len(given) - depth - 1) + ["start"] + ["run"] * depth
        return parts if self.order == "natural" else parts[::-1]

    def output_parts(self, given: Word, length: int) -> list[str]:
        parts = ["flip" if part == "start" else part for part in self.input_parts(given)]
        beyond = [END] * (length + 1 - len(parts))
        return [*parts[:length], *(beyond or [END])]


@dataclass(frozen=True)
class TraversalSubject:
    """A traversal of binary trees, which lists their values.

    Attributes:
        traversal: which one.
        notation: how trees and lists are written.
    """

    traversal: Traversal
    notation: Notation

    @property
    def name(self) -> str:
        return f"{self.traversal} traversal, {self.notation.style} notation"

    @property
    def recursion(self) -> tuple[str, str] | None:
        return None

    @cached_property
    def _true(self) -> StateMachine:
        return traversal_machine(self.traversal, self.notation)

    def write(self, values: Word) -> Word:
        """A list of values as tokens."""
        if self.notation.style == "flat":
            return values
        return tuple(encode_term(to_list(values), self.notation))

    def truth(self, given: Word) -> Word:
        return self.write(self._true(given))

    def candidates(self, inputs: Sequence[Word]) -> list[Candidate]:
        trees = [nodes_of(given, self.notation) for given in inputs]
        deepest = max((max(tree.links()[1]) for tree in trees), default=1)
        longest = max((len(tree.values) for tree in trees), default=1)
        write = None if self.notation.style == "flat" else self.write
        return list(traversal_candidates(self.traversal, self.notation, deepest, longest, write))

    def language(self, inputs: Sequence[Word]) -> Language | None:
        return None

    def error(self, given: Word, output: Word | None, truth: Word) -> str:
        values = self.write(nodes_of(given, self.notation).values)
        return sequence_error(values, output, truth, reordered=True)

    def is_edge(self, given: Word) -> bool:
        return False

    def replacements(self, given: Word, place: int) -> tuple[str, ...]:
        values = set(nodes_of(given, self.notation).values)
        if given[place] not in values:
            return ()
        return tuple(letter for letter in Letter.alphabet.split() if letter not in values)[:1]

    def examples(self, length: int, count: int) -> list[Word]:
        drawn = TermSampler(Tree).sample(np.random.default_rng(0), count, size=length)
        return list(dict.fromkeys(tuple(encode_term(tree, self.notation)) for tree in drawn))

    def input_parts(self, given: Word) -> list[str]:
        values = set(nodes_of(given, self.notation).values)
        return ["value" if token in values else "other" for token in given]

    def output_parts(self, given: Word, length: int) -> list[str]:
        tree = nodes_of(given, self.notation)
        parent, _ = tree.links()
        order = self._true.registers_after(given, "at")
        moves = ["down"]
        for last, node in pairwise(order):
            above = node
            while above and above != last:
                above = parent[above]
            moves.append("down" if above else "up")
        parts: list[str] = []
        values = set(tree.values)
        for token in self.truth(given):
            parts.append(moves[0] if moves else END)
            if token in values and moves:
                moves.pop(0)
        return [*[*parts, *[END] * length][:length], END]


@dataclass(frozen=True)
class OtherSubject:
    """A function that no shipped machine is about: its definition, a copy, and nothing else.

    Attributes:
        name: what it is called.
        compute: the right output.
    """

    name: str
    compute: Callable[[Word], Word]

    @property
    def recursion(self) -> tuple[str, str] | None:
        return None

    def truth(self, given: Word) -> Word:
        return self.compute(given)

    def candidates(self, inputs: Sequence[Word]) -> list[Candidate]:
        copy = copy_machine()
        longest = max((len(self.compute(given)) for given in inputs), default=1)
        return [
            Candidate("definition", self.compute, self.name, is_true=True),
            *(
                Candidate("capped", _first(self.compute, cap), f"{self.name}, first {cap} tokens")
                for cap in range(1, longest)
            ),
            Candidate("copy", copy, copy.name),
        ]

    def language(self, inputs: Sequence[Word]) -> Language | None:
        return None

    def error(self, given: Word, output: Word | None, truth: Word) -> str:
        return sequence_error(given, output, truth)

    def is_edge(self, given: Word) -> bool:
        return False

    def replacements(self, given: Word, place: int) -> tuple[str, ...]:
        return ()

    def examples(self, length: int, count: int) -> list[Word]:
        return []

    def input_parts(self, given: Word) -> list[str]:
        return ["input"] * len(given)

    def output_parts(self, given: Word, length: int) -> list[str]:
        return ["value"] * length + [END]


def _first(compute: Callable[[Word], Word], cap: int) -> Callable[[Word], Word]:
    return lambda given: compute(given)[:cap]
