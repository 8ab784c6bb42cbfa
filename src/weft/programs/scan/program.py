"""SCAN (ALTA paper, section 4.4 and appendix D.4): parse a command, then carry it out."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from typing import Any

import weft
from weft.programs.scan.grammar import WORDS, meaning, meanings
from weft.programs.scan.parser import (
    ACTION_OF,
    ADVANCED,
    ANSWERED,
    COMMAND,
    DOTTED,
    END,
    FIRST,
    INNER,
    LAST,
    NOTHING,
    OUTPUTS,
    PARSED,
    PEN,
    POPS_ONE,
    POPS_TWO,
    REDUCED,
    REDUCTIONS,
    START,
    SYMBOLS,
    TWO_PARTS,
    UP,
    WAYS,
)

MATCH, APPLY, TRAVERSE, DONE = range(4)

# Memory cells. The first ones, which hold the stack and the tree, are numbered.
NODES = [f"m{number}" for number in range(10)]
CELL = "m"
NOWHERE = len(NODES)
MEMORY = 48  # the longest answer of SCAN
SMALLEST = len(NODES) + 2  # heads look at two more cells

EMPTY = 0
AT_START, AT_END, IS_COMMAND = (SYMBOLS.index(symbol) for symbol in (START, END, COMMAND))


class Scan(weft.Program):
    """SCAN: a shift-reduce parse of the command into a tree, whose traversal writes the actions.

    The command is followed by 48 memory cells, which hold a stack, the tree and the answer.
    Pointers are flags: one on the next word, two on the top of the stack, one on the tree, and a
    pen on the answer. They move to neighbours, so nothing depends on where in the input a cell is.

    Each parser action takes two layers: the next free node takes the rule that matches the top of
    the stack; then all positions shift a word if none matched, or reduce and move on to the next
    node. Nodes come after their parts, so the last part of a node is the one to its left. A node
    with two parts stores the number of the first; tokens number the cells of the tree.

    To traverse the tree, each node keeps a dot in its rule's target. The node under the pointer
    sends the pointer to the part after the dot, and advances the dot; at the end it sends it back
    up. At a leaf, the pen writes an action.

    No rule combines two values that a training set may never show together: cells of the stack are
    emptied before they are filled again, and nodes store the direction of the traversal, not their
    rule. So the minimal program of one part of SCAN solves the other parts.

    A command of N words whose tree has K nodes, entered V times, takes 2 (N + K + V) + 5 layers:
    11 for `jump`, 155 for the longest. 16 heads; no variable has more than 39 values.
    """

    tokens = [START, *WORDS, END, *NODES, CELL]
    max_layers = 512

    word = weft.var(len(SYMBOLS), token=lambda t: SYMBOLS.index(t) if t in SYMBOLS else EMPTY)
    inside = weft.var(2, token=lambda t: t in NODES)
    number = weft.var(NOWHERE + 1, token=lambda t: NODES.index(t) if t in NODES else NOWHERE)
    phase = weft.var(4)
    one = weft.var(2, default=1)

    # The command: which word comes next. The start mark is read first, as the bottom of the stack.
    reader = weft.var(2, token=lambda t: t == START)
    reader_left = weft.relative(reader, -1)
    next_word = weft.attend(one, reader, word)

    # The stack: a symbol in each cell, and for a command the number of its node: in `node` while it
    # is on top, in `under` once something is on top of it.
    symbol = weft.var(len(SYMBOLS))
    node = weft.var(NOWHERE + 1, default=NOWHERE)
    under = weft.var(NOWHERE + 1, default=NOWHERE)
    top = weft.var(2, token=lambda t: t == END)
    below = weft.var(2, token=lambda t: t == START)
    top_left = weft.relative(top, -1)
    below_right = weft.relative(below, 1)
    below_right_2 = weft.relative(below, 2)
    top_symbol = weft.attend(one, top, symbol)
    below_symbol = weft.attend(one, below, symbol)
    top_under = weft.attend(one, top, under)

    # The tree: a dotted rule in each node, the direction of the traversal from there, and the
    # number of the first of two parts.
    dotted = weft.var(len(DOTTED))
    way = weft.var(3)
    first = weft.var(NOWHERE + 1, default=NOWHERE)
    here = weft.var(2, token=lambda t: t == NODES[0])
    here_left = weft.relative(here, -1)
    here_right = weft.relative(here, 1)
    here_dotted = weft.attend(one, here, dotted)
    here_way = weft.attend(one, here, way)
    here_number = weft.attend(one, here, number)
    here_first = weft.attend(one, here, first)
    first_is_here = weft.attend(first, number, here)

    # The answer.
    action = weft.var(len(OUTPUTS), token=lambda t: PEN if t == NODES[0] else NOTHING)
    action_left = weft.relative(action, -1)

    output = action
    halt = phase == DONE

    def step(z: Any) -> None:
        if z.phase == TRAVERSE:
            walk(z)
            write(z)
            if z.here_dotted == ANSWERED:
                z.phase = DONE
        elif z.phase == MATCH:
            link(z)
            match(z)
            z.phase = APPLY
        elif z.phase == APPLY:
            if z.here_dotted == EMPTY:
                shift(z)
            elif z.here_dotted != PARSED:
                reduce(z)
            z.phase = TRAVERSE if z.here_dotted == PARSED else MATCH

    def encode(self, text: str) -> Sequence[Any]:
        """`jump twice and walk left`, between marks and followed by memory cells."""
        meaning(text)
        return _tokens(text, MEMORY)

    def decode(self, stream: weft.Stream) -> Any:
        """The actions, as SCAN's files write them."""
        written = [OUTPUTS[code] for code in stream["action"]]  # type: ignore[index]
        return " ".join(filter(None, written))

    def sample(self, rng: random.Random, length: int) -> Sequence[Any]:
        """A random command with at least the memory that it needs; at least 15 tokens."""
        sizes, commands = _by_size()
        command = rng.choice(commands[: bisect_right(sizes, max(length, sizes[0]))])
        words = len(command.split())
        memory = rng.randint(_least(command), MEMORY)
        return _tokens(command, max(_least(command), min(memory, length - words - 2)))

    def task(self, tokens: Sequence[Any]) -> str:
        """The meaning of the command by the grammar."""
        return " ".join(meaning(" ".join(token for token in tokens if token in WORDS)))


def link(z: Any) -> None:
    """Note the newest node on top of the stack, and what lay under it in the newest node.

    The cell that is on top again after a reduction still knows the node of its command as it was
    before: the first part of the newest node.
    """
    if z.inside and z.here_right and z.first == NOWHERE:
        z.first = z.top_under
    if z.top and z.symbol == IS_COMMAND and z.node == NOWHERE:
        z.node = z.here_number - 1
        z.under = NOWHERE


def match(z: Any) -> None:
    """The free node takes a rule, if the stack matches one."""
    if z.here and z.dotted == EMPTY:
        for pattern in REDUCTIONS:
            if z.top_symbol == pattern.top:
                if pattern.below is None or z.below_symbol == pattern.below:
                    if not pattern.at_end or z.next_word == AT_END:
                        z.dotted = pattern.node
                        if WAYS[pattern.node] != UP:
                            z.way = WAYS[pattern.node]


def shift(z: Any) -> None:
    """Put the next word on the stack."""
    if z.reader:
        z.reader = 0
    elif z.word != AT_START and z.reader_left:
        z.reader = 1
    z.below = z.top
    if z.top:
        z.top = 0
        if z.under == NOWHERE:
            z.under, z.node = z.node, NOWHERE
    elif z.inside and z.top_left:
        z.top = 1
        if z.symbol == EMPTY:
            z.symbol = z.next_word


def reduce(z: Any) -> None:
    """Leave one symbol on the stack for all that the rule is made of, and go to the next node."""
    if z.top:
        z.symbol = REDUCED[z.symbol]
    elif z.below and z.here_dotted in POPS_TWO:
        z.symbol = EMPTY
    if z.inside:
        if z.here_dotted in POPS_ONE:
            z.top, z.below = z.below, z.below_right
        elif z.here_dotted in POPS_TWO:
            z.top, z.below = z.below_right, z.below_right_2
        z.here = z.here_left


def walk(z: Any) -> None:
    """Move down to the part after the dot or, if the dot is at the end, back up."""
    if z.here:
        z.here = 0
        z.dotted = ADVANCED[z.dotted]
        z.way = WAYS[z.dotted]
    elif z.inside:
        if z.here_way == LAST:
            z.here = z.here_right
        elif z.here_way == FIRST:
            z.here = z.number == z.here_first
        elif z.dotted in INNER:
            z.here = z.here_left or (z.dotted in TWO_PARTS and z.first_is_here)


def write(z: Any) -> None:
    """At a leaf, write its action under the pen, and move the pen on."""
    if z.word == EMPTY and z.here_dotted in ACTION_OF:
        if z.action == PEN:
            z.action = ACTION_OF[z.here_dotted]
        elif z.action == NOTHING and z.action_left == PEN:
            z.action = PEN


def _tokens(command: str, memory: int) -> list[str]:
    plain = [CELL] * (memory - len(NODES))
    return [START, *command.split(), END, *NODES, *plain]


def _least(command: str) -> int:
    """How many memory cells a command needs."""
    return max(SMALLEST, len(meanings()[command]))


@cache
def _by_size() -> tuple[list[int], list[str]]:
    """All commands, the shortest inputs first, and how many tokens they need."""
    sized = sorted((len(text.split()) + 2 + _least(text), text) for text in meanings())
    return [size for size, _ in sized], [text for _, text in sized]
