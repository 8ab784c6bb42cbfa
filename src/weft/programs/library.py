"""The table of library programs, and `program`, which makes one by name."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from weft.extensions import find, make, reference
from weft.language.program import Program
from weft.programs.crasp import crasp_program, is_crasp, is_crasp_library


@dataclass(frozen=True)
class Entry:
    """A library program.

    Attributes:
        name: its name on the command line.
        module: the module of its class.
        attribute: the name of the class.
        example: an input to try it on.
        longest: the maximum length of the inputs that tests draw.
    """

    name: str
    module: str
    attribute: str
    example: str
    longest: int = 12

    def load(self) -> type[Program]:
        """The class."""
        return getattr(importlib.import_module(self.module), self.attribute)  # type: ignore[no-any-return]

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (self.load().__doc__ or "").strip().splitlines()[0]


LIBRARY: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry("parity", "weft.programs.parity", "Parity", "10110"),
        Entry("parity-absolute", "weft.programs.parity", "ParityAbsolute", "10110"),
        Entry("parity-sum", "weft.programs.parity", "ParitySum", "10110"),
        Entry("parity-count", "weft.programs.parity", "ParityCount", "10110"),
        Entry("addition", "weft.programs.addition", "Addition", "12+34"),
        Entry("subtraction", "weft.programs.subtraction", "Subtraction", "12-34"),
        Entry("comparison", "weft.programs.comparison", "Comparison", "1234?1243"),
        Entry("multiplication", "weft.programs.multiplication", "Multiplication", "12*34"),
        Entry("modular-sum", "weft.programs.modular", "ModularSum", "12+34"),
        Entry("dfa", "weft.programs.automata", "Dfa", "110"),
        Entry("regex", "weft.programs.automata", "Regex", "aaaa"),
        Entry("turing", "weft.programs.turing.program", "Turing", "1011"),
        Entry("subleq", "weft.programs.subleq.program", "Subleq", "9 10 3 10 11 6 0 0 -1 3 5 7"),
        Entry(
            "trace-machine",
            "weft.programs.ptg.machine",
            "TraceMachine",
            "def f(a,lst_a):\n\ta = a + 1\n\tlst_a.append(a)\n\treturn\nf(a=1,lst_a=[2])",
            longest=40,
        ),
        Entry(
            "scan",
            "weft.programs.scan.program",
            "Scan",
            "jump around left twice and walk",
            longest=22,
        ),
        Entry("sort-unique", "weft.programs.sorting", "SortUnique", "27184", longest=11),
        Entry("sort", "weft.programs.sorting", "Sort", "31415926"),
        Entry("reverse", "weft.programs.sequences", "Reverse", "stressed"),
        Entry("reverse-absolute", "weft.programs.sequences", "ReverseAbsolute", "stressed"),
        Entry("copy", "weft.programs.sequences", "Copy", "weft"),
        Entry("histogram", "weft.programs.counting", "Histogram", "abacab"),
        Entry("most-frequent", "weft.programs.counting", "MostFrequent", "abacab"),
        Entry("dyck", "weft.programs.dyck", "Dyck", "([]{})"),
        Entry("successor", "weft.programs.recursion", "Successor", "11"),
        Entry("tree-traversal", "weft.programs.recursion", "Traversal", "abd...c..", longest=16),
        Entry("tree-walk", "weft.programs.walk", "TreeWalk", "abd...c..", longest=16),
        Entry(
            "successor-shortcut", "weft.programs.shortcuts", "SuccessorShortcut", "01 XO X1 X1 X1"
        ),
        Entry("rule-110", "weft.programs.cellular", "Automaton", "00000000001"),
        Entry("breadth-first", "weft.programs.graph", "BreadthFirst", "a ab bc ac ce", longest=14),
        Entry("latest-value", "weft.programs.recall", "LatestValue", "a3b5a7a"),
        Entry("induction-head", "weft.programs.causal", "InductionHead", "badge", longest=14),
        Entry("count-so-far", "weft.programs.causal", "CountSoFar", "abaaba"),
        Entry("anbn", "weft.programs.causal", "AnBn", "aaab"),
    )
}


def program(name: str) -> Program:
    """The program of this name: of the library, a registered one, or `path/file.py:Class`.

    `crasp:dyck-1` is a program of the C-RASP library, `path/file.crasp` one in a file.

    Example:
        >>> import weft
        >>> weft.program("parity")
        <program Parity>
        >>> weft.program("parity-absolute(positions=8)").positions
        8
    """
    if is_crasp(name):
        return crasp_program(name)
    named = reference(name)
    if not named.in_file and named.path in LIBRARY:
        result: Any = LIBRARY[named.path].load()
    else:
        result = find("program", name, LIBRARY)
    made: Program = make("program", name, result)
    return made


def is_built_in(name: str) -> bool:
    """Whether a name, with or without parameters, refers to a program that comes with Weft."""
    return name.partition("(")[0].strip() in LIBRARY or is_crasp_library(name)
