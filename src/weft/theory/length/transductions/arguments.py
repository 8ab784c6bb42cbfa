"""Why a task has no C-RASP program: three arguments, each with its premises checked on the task.

    automaton      a language that every program of the task would decide is outside the class
    communication  the message about the input is too long (Huang et al. 2025, theorem 12)
    symbols        a fixed number of lines cannot tell the orders of many distinct symbols apart

docs/length-theory.md proves what they use. A premise that does not hold is a `WeftError`, so an
answer is never given for a task that only looks like one of these.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Hashable, Sequence
from itertools import product

from weft.automata.dfa import DFA
from weft.errors import WeftError
from weft.tasks import Task
from weft.tasks.algorithmic import BinaryAddition, BitParity, InterleavedMajority, RepeatCopy
from weft.theory.length.communication import FoolingFamily, common_prefix
from weft.theory.length.decider import Decision, decide
from weft.theory.length.word_functions import shown

CHECKED = 10
"""The language of parities is compared with the task on all inputs up to this length."""


def answer_to(task: Task, symbols: Sequence[str]) -> tuple[str, ...]:
    """The task's own answer to an input."""
    return task.reference(("<start>", *symbols))


# By automata


def parity_automaton(task: BitParity) -> DFA:
    """The automaton of the inputs that are answered `o`, compared with the task."""
    dfa = DFA(("0", "1"), ((0, 1), (1, 0)), 0, frozenset({1}))
    for length in range(CHECKED + 1):
        for word in product("01", repeat=length):
            if dfa.accepts(word) != (answer_to(task, word) == ("o",)):
                raise WeftError(f"{shown(word)} is not answered by its parity", subject=task.name)
    return dfa


def one_string(strings: int) -> DFA:
    """The position modulo `strings`, and by how much 1s lead in the first of the strings.

    The lead stays between -1 and 1; a word that leaves this range is rejected. Words of whole
    rounds with a lead of 1 are accepted. States are the residue times 3, plus the lead plus 1; the
    sink is last.
    """
    sink = 3 * strings
    rows: list[tuple[int, int]] = []
    for residue, lead in product(range(strings), (-1, 0, 1)):
        then = []
        for change in (-1, 1):
            after = lead + change if residue == 0 else lead
            inside = -1 <= after <= 1
            then.append(3 * ((residue + 1) % strings) + after + 1 if inside else sink)
        rows.append((then[0], then[1]))
    rows.append((sink, sink))
    return DFA(("0", "1"), tuple(rows), 1, frozenset({2}))


def unseparated_leads(task: InterleavedMajority) -> tuple[DFA, Decision, tuple[str, str]]:
    """Two inputs with different answers whose states no program without positions separates.

    Returns:
        The minimal automaton of `one_string`, the decision that it is outside, and the inputs.
    """
    dfa = one_string(task.strings).minimal()
    words = tuple(first + "1" * (task.strings - 1) for first in "01")
    behind, ahead = (dfa.run(word) for word in words)
    decision = decide(dfa, last_symbol=False)
    answers = [answer_to(task, word)[0] for word in words]
    if decision.inside or answers[0] == answers[1]:
        raise WeftError(f"the strings of {task.name} are separated by counting")
    _, component = decision.failing
    if component.classes.get(behind, -1) != component.classes.get(ahead, -2):
        raise WeftError(f"the states of {words[0]} and {words[1]} are separated by counting")
    return dfa, decision, (words[0], words[1])


# By communication


def next_symbol_family(task: RepeatCopy | BinaryAddition) -> FoolingFamily:
    """Inputs that need different messages, for the next symbol of the task's own answer.

    The word is the input, the mark and the answer so far. Rows are first halves of it.
    """
    mark = task.mark
    copying = isinstance(task, RepeatCopy)
    letters = [a for a in task.symbols if a != mark][:2]
    if len(letters) < 2:
        raise WeftError(f"it copies the mark {mark!r}", subject=f"task {task.name}")
    after = mark if copying else "+0" + mark

    def following(word: str) -> Hashable | None:
        given, found, written = word.partition(mark)
        if not found or not given:
            return None
        answer = "".join(answer_to(task, tuple(given)))
        if not answer.startswith(written) or answer == written:
            return None
        return answer[len(written)]

    def rows(length: int) -> list[str]:
        if copying:
            return ["".join(word) for word in product(letters, repeat=length)]
        return ["1" + "".join(word) for word in product("01", repeat=length - 1)]

    said = "the answer to x is x" if copying else "x + 0 = x"
    return FoolingFamily(
        name=task.name,
        alphabet=(*task.symbols, mark),
        function=following,
        rows=rows,
        column=lambda one, two: after + common_prefix(one, two),
        count=lambda n: 2**n if copying else 2 ** (n - 1),
        growth="2^N" if copying else "2^(N - 1)",
        argument=f"{said}; let v be the longest common prefix of two inputs x and x': after "
        f"x{after}v and x'{after}v, which are both on the way to a right answer, the next symbols "
        "differ",
    )


# By the number of symbols


def symbols_that_confuse(lines: int) -> int:
    """The smallest number of distinct symbols that a number of lines cannot copy in order.

    Without local predicates, positions in the answer see which of the m lines hold where each of n
    symbols stands, one of 2^(m n) cases; the symbols have n! orders.

    Example:
        >>> symbols_that_confuse(1), symbols_that_confuse(2)
        (4, 9)
    """

    def confuses(symbols: int) -> bool:
        return math.lgamma(symbols + 1) > lines * symbols * math.log(2)

    high = 1
    while not confuses(high):
        high *= 2
    return bisect_left(range(high), True, key=confuses)
