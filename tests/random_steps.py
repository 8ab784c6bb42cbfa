"""Random `step` functions, and helpers for them, as Python source.

The writer knows little of what it writes: it keeps names in scope, mostly bound, and lets most
writes end in their range. The rest is meant to fail, in the same way everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]
Item = TypeVar("Item")

NAMES = ("t", "u", "v", "w")


@dataclass(frozen=True)
class Declared:
    """A variable as the writer knows it: its kind, and the values that it may hold."""

    name: str
    kind: str  # "var", "number" or "subset"
    values: tuple[Any, ...]
    is_head: bool = False
    size: int = 0  # of a subset: how many things it is a subset of

    @property
    def literals(self) -> list[str]:
        """The values as source."""
        return [literal(value) for value in self.values]


def literal(value: Any) -> str:
    """A value as source."""
    if isinstance(value, frozenset):
        return "frozenset(" + (f"{{{', '.join(map(str, sorted(value)))}}}" if value else "") + ")"
    return repr(value)


@dataclass(frozen=True)
class Grammar:
    """What steps are made of; early entries are tried first when an example is made smaller."""

    whole: Sequence[Callable[[Writer, int], str]]
    tests: Sequence[Callable[[Writer, int], str]]
    simple: Sequence[Callable[[Writer, int], None]]
    nested: Sequence[Callable[[Writer, int], None]]


@dataclass
class Writer:
    """Writes statements and expressions; what is in scope is kept here."""

    draw: Draw
    grammar: Grammar
    variables: Sequence[Declared]
    state: str | None = "z"
    lines: list[str] = field(default_factory=list)
    indent: int = 2
    bound: frozenset[str] = frozenset()
    maybe: frozenset[str] = frozenset()
    functions: dict[str, int] = field(default_factory=dict)
    procedures: tuple[str, ...] = ()
    in_loop: bool = False
    returns: str = ""  # "", or "value" in a helper that gives one
    budget: int = 14

    def pick(self, options: Sequence[Item]) -> Item:
        """One of the options; earlier ones are simpler."""
        return self.draw(st.sampled_from(options))  # type: ignore[no-any-return]

    def chance(self, percent: int) -> bool:
        """True now and then."""
        return bool(self.draw(st.integers(0, 99)) >= 100 - percent)

    def line(self, text: str) -> None:
        """Write a line."""
        self.lines.append("    " * self.indent + text)

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """An indented block; what it binds is only maybe bound afterwards."""
        before, maybe, functions = self.bound, self.maybe, dict(self.functions)
        self.line(header)
        self.indent += 1
        yield
        self.indent -= 1
        self.maybe = maybe | self.maybe | (self.bound - before)
        self.bound, self.functions = before, functions

    def of_kind(self, kind: str) -> list[Declared]:
        """The variables of a kind that can be read here."""
        return [v for v in self.variables if v.kind == kind] if self.state else []

    def access(self, variable: Declared) -> str:
        """A variable, in one of the two spellings."""
        if self.chance(25):
            return f'{self.state}["{variable.name}"]'
        return f"{self.state}.{variable.name}"

    # Expressions

    def whole(self, depth: int = 2) -> str:
        """An expression that is a whole number, as far as it can be computed."""
        if depth <= 0 or self.chance(30):
            return self._leaf()
        return self.pick(self.grammar.whole)(self, depth - 1)

    def _leaf(self) -> str:
        kind = self.pick(("read", "read", "read", "name", "constant"))
        readable = self.of_kind("var")
        if kind == "read" and readable:
            return self.access(self.pick(readable))
        names = self.names() if kind == "name" else []
        if names:
            return self.pick(names)
        return str(self.draw(st.integers(-2, 5)))

    def names(self) -> list[str]:
        """Local names to read: bound ones, and now and then one that may not be."""
        if self.maybe - self.bound and self.chance(12):
            return sorted(self.maybe - self.bound)
        return sorted(self.bound)

    def test(self, depth: int = 2) -> str:
        """An expression that is used for its truth."""
        if depth <= 0:
            left, sign = self._leaf(), self.pick(("==", "!=", "<", ">="))
            return f"({left} {sign} {self._leaf()})"
        return self.pick(self.grammar.tests)(self, depth - 1)

    # Statements

    def statements(self, most: int, depth: int) -> None:
        """A few statements; at least one."""
        written = len(self.lines)
        for _ in range(self.draw(st.integers(1, most))):
            self.budget -= 1
            if self.budget < 0:
                break
            simple = depth <= 0 or self.chance(45)
            self.pick(self.grammar.simple if simple else self.grammar.nested)(self, depth - 1)
        if len(self.lines) == written:
            self.line("pass")

    def bind(self) -> str:
        """A name to assign to."""
        name = self.pick(NAMES)
        self.functions.pop(name, None)
        return name

    def bind_now(self, *names: str) -> None:
        """Names that are bound from here on."""
        self.bound |= set(names)

    def in_range(self, variable: Declared, depth: int = 2) -> str:
        """An expression for a variable; now and then one that it cannot hold."""
        if variable.kind != "var":
            return self._listed(variable)
        size = len(variable.values)
        kind = self.pick(("constant", "modulo", "modulo", "clamp", "test", "raw"))
        if kind == "constant":
            return str(self.draw(st.integers(0, size - 1)))
        if kind == "clamp":
            return f"min({size - 1}, max(0, {self.whole(depth)}))"
        if kind == "test" and size > 1:
            return f"bool({self.test(depth)})"
        if kind == "raw" and self.chance(30):
            return self.whole(depth)
        return f"{self.whole(depth)} % {size}"

    def _listed(self, variable: Declared) -> str:
        """A number or a set: one of its values."""
        same = [v for v in self.of_kind(variable.kind) if set(v.values) <= set(variable.values)]
        kind = self.pick(("constant", "indexed", "copy", "odd"))
        if kind == "copy" and same:
            return self.access(self.pick(same))
        if kind == "odd" and self.chance(20):
            other = self.access(variable)
            return f"{other} | {{0}}" if variable.kind == "subset" else f"{other} * 2"
        if kind == "indexed":
            listed = "".join(f"{value}, " for value in variable.literals)
            return f"({listed})[{self.whole(1)} % {len(variable.values)}]"
        return self.pick(variable.literals)

    @property
    def writable(self) -> list[Declared]:
        """The variables that may be written."""
        return [v for v in self.variables if not v.is_head] if self.state else []
