"""Reduction of open terms by delta, beta and iota steps, in rounds.

A call is *reducible* if an equation matches it, that is, if constructors stand wherever the
patterns of the equation have them. To reduce it takes three steps:

    delta   the name of the function is replaced by its definition
    beta    the definition is applied to the arguments: they replace its parameters
    iota    the match chooses the case of the constructors, and binds its variables

A *round* is this triple at the outermost reducible call, the leftmost if there are several. In
parallel, a round reduces all reducible calls of the term at once. Equations are disjoint and no
variable occurs twice in a pattern, so the normal form does not depend on the order; and because
evaluation of checked functions ends, every sequence of rounds ends.

The state between rounds is a zipper: the term in which the last reduction took place, and a linked
list of frames around it. The next round starts there, not at the root of a deep term.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from weft.errors import WeftError
from weft.recursion.codegen import compile_contraction
from weft.recursion.evaluation import run_generators
from weft.recursion.expressions import Call, Match, Open, Term, build, match
from weft.recursion.inductive import Inductive
from weft.recursion.reading import made

if TYPE_CHECKING:
    from weft.recursion.expressions import Pattern
    from weft.recursion.function import Equation, Function

_new = tuple.__new__
MAX_CALLS = 1_000_000
"""Calls that parallel rounds reduce before it is an error."""


class Frame(NamedTuple):
    """A term with a hole: a head and its arguments, of which one is elsewhere.

    Attributes:
        parent: the frame around it; None at the root.
        head: a constructor or a function.
        left: the arguments before the hole.
        right: the arguments after it.
    """

    parent: Frame | None
    head: Any
    left: tuple[Any, ...]
    right: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Reduct:
    """One reduced call.

    Attributes:
        call: the call.
        equation: what it was reduced by.
        result: what took its place.
        frame: what was around it; None at the root.
    """

    call: Call
    equation: Equation
    result: Any
    frame: Frame | None = field(default=None, repr=False)

    @property
    def bindings(self) -> dict[str, Any]:
        """Terms for the parameters of the function and for the variables of the equation."""
        found: dict[str, Any] = {}
        for pattern, argument in zip(self.equation.patterns, self.call[1:], strict=True):
            match(pattern, argument, found)
        found.pop("_", None)
        parameters = self.equation.function.parameters
        return found | {
            name: argument for (name, _), argument in zip(parameters, self.call[1:], strict=True)
        }

    @property
    def position(self) -> tuple[int, ...]:
        """Where the call stands: the numbers of arguments on the way from the root, from 0."""
        places = []
        frame = self.frame
        while frame is not None:
            places.append(len(frame.left))
            frame = frame.parent
        return tuple(reversed(places))


@dataclass(frozen=True, eq=False)
class Round:
    """One round of a reduction.

    Attributes:
        number: from 1.
        reducts: the calls that were reduced; several only in parallel rounds.
    """

    number: int
    reducts: tuple[Reduct, ...]
    _around: Frame | None = field(default=None, repr=False)
    _focus: Any = field(default=None, repr=False)

    @property
    def after(self) -> Any:
        """The whole term after the round."""
        return plugged(self._around, self._focus)

    @property
    def equation(self) -> Equation:
        """The equation of the first reduced call."""
        return self.reducts[0].equation


def iterate(
    term: Term, *, parallel: bool = False, only: Collection[Function] = ()
) -> Iterator[Round]:
    """The rounds of a reduction one by one, for as long as they are asked for."""
    allowed = frozenset(only)
    return _parallel_rounds(term, allowed) if parallel else _outermost_rounds(term, allowed)


# One call


def reduct(call: Any, allowed: frozenset[Function] = frozenset()) -> tuple[Equation, Any] | None:
    """The equation that reduces a call, and the result; None if it is not reducible."""
    function = call[0]
    if allowed and function not in allowed:
        return None
    found = contraction(function)(*call[1:])
    return None if found is None else (function.equations[found[0]], found[1])


@lru_cache(maxsize=1024)
def contraction(function: Function) -> Callable[..., tuple[int, Any] | None]:
    """The code that reduces one call of a function."""
    return compile_contraction(function)


@lru_cache(maxsize=1024)
def _pattern_depth(function: Function) -> int:
    """How deep below a call of any function that this one calls a pattern looks."""
    return max(
        _depth(pattern)
        for one in function.functions
        for equation in one.equations
        for pattern in equation.patterns
    )


def _depth(pattern: Pattern) -> int:
    if not isinstance(pattern, Match):
        return 0
    return 1 + max((_depth(one) for one in pattern.arguments), default=0)


# Outermost rounds


def plug(frame: Frame, term: Any) -> Any:
    """The term of a frame with another in its hole."""
    arguments = (*frame.left, term, *frame.right)
    return made(frame.head, arguments)


def plugged(frame: Frame | None, term: Any) -> Any:
    """The whole term around a hole."""
    while frame is not None:
        term = plug(frame, term)
        frame = frame.parent
    return term


def _outermost_rounds(term: Any, allowed: frozenset[Function]) -> Iterator[Round]:
    depth = max((_pattern_depth(one) for one in _functions_in(term)), default=0)
    frame: Frame | None = None
    number = 0
    found = first_redex(frame, term, allowed)
    while found is not None:
        frame, call, (equation, result) = found
        number += 1
        made_here = Reduct(call, equation, result, frame)
        yield Round(number, (made_here,), frame, result)
        found = _next_redex(frame, result, allowed, depth)


def _functions_in(term: Any) -> set[Function]:
    found = set()
    stack = [term]
    while stack:
        current = stack.pop()
        if not isinstance(current, Inductive):
            if isinstance(current, Call):
                found.add(current[0])
            stack.extend(current[1:])
    return found


Found = tuple["Frame | None", Any, tuple[Any, Any]]


def _next_redex(
    frame: Frame | None, focus: Any, allowed: frozenset[Function], depth: int
) -> Found | None:
    """The outermost redex after a reduction in a frame; all else to the left is irreducible."""
    above, term = frame, focus
    outer: Found | None = None
    for _ in range(depth):  # calls around it, whose patterns may see what has changed
        if above is None:
            break
        term = plug(above, term)
        if isinstance(term, Call):
            possible = reduct(term, allowed)
            if possible is not None:
                outer = (above.parent, term, possible)
        above = above.parent
    if outer is not None:
        return outer
    inside = first_redex(frame, focus, allowed)
    if inside is not None:
        return inside
    while frame is not None:  # to the right of it, and of what is around it
        left = (*frame.left, focus)
        for place, one in enumerate(frame.right):
            here = Frame(
                frame.parent, frame.head, left + frame.right[:place], frame.right[place + 1 :]
            )
            found = first_redex(here, one, allowed)
            if found is not None:
                return found
        focus = plug(frame, focus)
        frame = frame.parent
    return None


def first_redex(frame: Frame | None, term: Any, allowed: frozenset[Function]) -> Found | None:
    """The first redex within a term, outer before inner and left before right."""
    stack: list[tuple[Frame | None, Any]] = [(frame, term)]
    while stack:
        around, current = stack.pop()
        if type(current)._token is not None:  # a value
            continue
        if type(current) is Call:
            possible = reduct(current, allowed)
            if possible is not None:
                return around, current, possible
        for place in range(len(current) - 1, 0, -1):
            if type(current[place])._token is None:
                inner = Frame(around, current[0], current[1:place], current[place + 1 :])
                stack.append((inner, current[place]))
    return None


# Parallel rounds


def _parallel_rounds(term: Any, allowed: frozenset[Function]) -> Iterator[Round]:
    number = total = 0
    while True:
        reducts: list[Reduct] = []
        term = develop(term, allowed, reducts.append)
        if not reducts:
            return
        number += 1
        total += len(reducts)
        if total > MAX_CALLS:
            raise WeftError(
                f"the reduction of all calls at once takes more than {MAX_CALLS:,} calls",
                remedy="Give a smaller term, or fewer rounds",
            )
        reducts.sort(key=lambda one: one.position)
        yield Round(number, tuple(reducts), None, term)


def develop(term: Any, allowed: frozenset[Function], record: Callable[[Reduct], None]) -> Any:
    """The term after all its reducible calls are reduced at once."""

    def developed(term: Any, frame: Frame | None) -> Any:
        arguments = []
        for place in range(1, len(term)):
            one = term[place]
            if isinstance(one, Inductive):
                arguments.append(one)
            else:
                inner = Frame(frame, term[0], term[1:place], term[place + 1 :])
                arguments.append((yield developed(one, inner)))
        if isinstance(term, Open):
            return build(term[0], arguments)
        if reduct(term, allowed) is None:
            return _new(Call, (term[0], *arguments))
        # The patterns see constructors only, which the arguments have kept.
        new = _new(Call, (term[0], *arguments))
        possible = reduct(new, allowed)
        assert possible is not None
        record(Reduct(term, *possible, frame))
        return possible[1]

    return term if isinstance(term, Inductive) else run_generators(developed(term, None))
