"""Writes programs.md: the library, from the docstrings of its programs and what they measure.

    make docs

`page()` is the text. A test makes it again and compares, so the page is never out of date. Nothing
in it depends on the machine: sizes and results, no times.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any

import weft
from weft.programs import LIBRARY, Entry

FILE = Path(__file__).parent / "programs.md"
LEVELS = (0, 2)

OPENING = """\
# The library

<!-- Written by docs/generate.py; `make docs` writes it anew. -->

Programs to learn from, to test tools on and to start from. Each is short: its idea, how text
becomes tokens, the step, and `task`, which says in plain Python what the answer is; `weft show`
prints it. Tests compare all of them with independent answers, in both interpreters and as weights
at both levels.

Layers are those of the example. Level 0 is the construction of the ALTA paper, one hidden unit a
rule; level 2 makes small models. [The compiler](compiler.md) says how.
"""


@dataclass(frozen=True)
class Sizes:
    """A compiled model in numbers."""

    level: int
    width: int
    heads: int
    hidden: int
    parameters: int


@dataclass(frozen=True)
class Measured:
    """A program of the library, its example and its sizes."""

    entry: Entry

    @cached_property
    def program(self) -> weft.Program:
        """The program with its defaults."""
        return self.entry.load()()

    @cached_property
    def run(self) -> weft.Run:
        """Its example, run by the reference interpreter."""
        return weft.run(self.program, self.entry.example)

    @cached_property
    def sizes(self) -> dict[int, Sizes]:
        """The sizes at every level at which it can be compiled."""
        found = (self._compiled(level) for level in LEVELS)
        return {sizes.level: sizes for sizes in found if sizes is not None}

    def _compiled(self, level: int) -> Sizes | None:
        try:
            compiled = weft.compile(self.program, level=level)
        except weft.WeftError:
            return None  # too many rules for level 0
        config = compiled.model.config
        return Sizes(level, config.width, config.heads, compiled.hidden_units, compiled.parameters)

    @cached_property
    def module(self) -> ModuleType:
        """Where its class is written."""
        found = inspect.getmodule(type(self.program))
        assert found is not None
        return found


def page() -> str:
    """The text of programs.md."""
    measured = [Measured(entry) for entry in LIBRARY.values()]
    families = groupby(measured, key=lambda one: one.module)
    parts = [OPENING, overview(measured)]
    for module, members in families:
        parts += [family(module), *map(section, members)]
    return "\n".join(parts)


def overview(measured: list[Measured]) -> str:
    """One line a program."""
    rows = [
        (
            f"[{one.entry.name}](#{one.entry.name})",
            one.entry.summary.rstrip(".:"),
            one.run.layers,
            *(count(one.sizes, level, "hidden") for level in LEVELS),
        )
        for one in measured
    ]
    return table(("program", "", "layers", "units at level 0", "at level 2"), rows, words=2)


def family(module: ModuleType) -> str:
    """The heading of a module's programs: the first line of its docstring, then the rest of it."""
    title, _, rest = inspect.cleandoc(module.__doc__ or "").partition("\n")
    return f"## {title.rstrip('.')}\n" + (f"\n{rest.strip()}\n" if rest else "")


def section(one: Measured) -> str:
    """A program: its idea, its example, its sizes."""
    path = f"../src/{one.entry.module.replace('.', '/')}.py"
    lines = [
        f"### {one.entry.name}",
        f"[`{one.entry.attribute}`]({path}){parameters(one.program)}",
        inspect.cleandoc(type(one.program).__doc__ or ""),
        "```text\n" + "\n".join(example(one)) + "\n```",
        *generated(one),
        costs(one),
    ]
    return "\n\n".join(lines)


def parameters(program: weft.Program) -> str:
    """The parameters that it can be made with."""
    made = vars(type(program)).get("__init__")
    names = list(inspect.signature(made).parameters.values())[1:] if made else []
    listed = ", ".join(f"`{one.name}={one.default!r}`" for one in names)
    return f", with {listed}" if listed else ""


def example(one: Measured) -> Iterator[str]:
    """The command to try, and what it prints last."""
    yield f"$ weft run {one.entry.name} {shlex.quote(one.entry.example)}"
    yield f"result   {one.run.result}"
    yield f"layers   {one.run.layers}"


def generated(one: Measured) -> Iterator[str]:
    """What a causal program goes on with."""
    if one.program.causal and one.program.stop is not None:
        made = weft.generate(one.program, one.entry.example)
        yield (
            f"`weft.generate` goes on from `{one.entry.example}` with "
            f"`{one.program.vocabulary.show(made)}`."
        )


def costs(one: Measured) -> str:
    """What it costs: the program, and its weights at both levels."""
    program = one.program
    variables = len(program.variables) - len(program.heads)
    counts = ((variables, "variable"), (len(program.heads), "head"), (len(program.rules), "rule"))
    listed = ", ".join(f"{one:,} {word}{'s' * (one != 1)}" for one, word in counts)
    head = f"{listed}. As weights:\n\n"
    fields = ("width", "heads", "hidden", "parameters")
    rows = [
        (f"level {level}", *(count(one.sizes, level, field) for field in fields))
        for level in LEVELS
    ]
    return head + table(("", "stream width", "heads", "hidden units", "parameters"), rows)


def count(sizes: dict[int, Sizes], level: int, field: str) -> str:
    """A number of a level; a dash where the program cannot be compiled there."""
    return f"{getattr(sizes[level], field):,}" if level in sizes else "-"


def table(head: tuple[Any, ...], rows: list[tuple[Any, ...]], words: int = 1) -> str:
    """A table of Markdown; numbers, which are what follows the columns of words, to the right."""
    sides = ["---" if column < words else "---:" for column in range(len(head))]
    lines = [head, sides, *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
    print(f"{FILE.name}: {len(LIBRARY)} programs")
