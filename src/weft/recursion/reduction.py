"""Reductions of terms: to the normal form, by a number of rounds, or unrolled.

See `weft.recursion.rounds` for what a round is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from weft.errors import WeftError
from weft.recursion.codegen import OutOfSteps
from weft.recursion.evaluation import MAX_STEPS, compiled, run_generators, too_long
from weft.recursion.expressions import Build, Call, Open, Term, Variable, build
from weft.recursion.inductive import Inductive
from weft.recursion.reading import made
from weft.recursion.rounds import Reduct, Round, first_redex, iterate, reduct

if TYPE_CHECKING:
    from weft.recursion.function import Function

_new = tuple.__new__
MAX_ROUNDS = 100_000
"""Rounds of a reduction before it is an error."""


@dataclass(frozen=True, eq=False)
class Reduction:
    """A reduction, round by round.

    Attributes:
        start: the term at the beginning.
        rounds: the rounds.
        term: the term at the end.
        finished: whether nothing is left to reduce.
    """

    start: Any
    rounds: tuple[Round, ...]
    term: Any
    finished: bool

    def terms(self) -> Iterator[Any]:
        """The term at the beginning and after every round."""
        yield self.start
        for one in self.rounds:
            yield one.after


def reduce(
    term: Term,
    rounds: int | None = None,
    *,
    parallel: bool = False,
    only: Collection[Function] = (),
    max_rounds: int = MAX_ROUNDS,
) -> Reduction:
    """Reduce a term, round by round.

    Args:
        term: the term, as `function.call(...)`.
        rounds: after how many rounds to stop; at the normal form if None.
        parallel: whether a round reduces all reducible calls, not the outermost alone.
        only: the functions whose calls are reduced; all if empty.
        max_rounds: rounds after which a reduction to the normal form is an error.

    Example:
        >>> from weft.recursion import definition, reduce, show_term
        >>> from weft.recursion.library.binary import One, X1
        >>> found = reduce(definition("successor").call(X1(X1(One()))))
        >>> for term in found.terms():
        ...     print(show_term(term))
        successor X1 X1 01
        XO successor X1 01
        XO XO successor 01
        XO XO XO 01
    """
    if rounds is not None and rounds < 0:
        raise WeftError(f"the number of rounds is {rounds}", remedy="Give 0 or more")
    most = max_rounds + 1 if rounds is None else rounds
    found = tuple(islice(iterate(term, parallel=parallel, only=only), most))
    if rounds is None and len(found) > max_rounds:
        raise WeftError(
            f"the reduction takes more than {max_rounds:,} rounds",
            remedy="Give a smaller term, or raise max_rounds (--max-rounds)",
        )
    last = found[-1].after if found else term
    finished = rounds is None or first_redex(None, last, frozenset(only)) is None
    return Reduction(term, found, last, finished)


def next_term(term: Term, *, parallel: bool = False, only: Collection[Function] = ()) -> Any:
    """The term after one round; None if nothing is left to reduce.

    Example:
        >>> from weft.recursion import definition, next_term
        >>> from weft.recursion.library.binary import One, X1
        >>> next_term(definition("successor").call(X1(One())))
        XO(successor(01))
    """
    for one in iterate(term, parallel=parallel, only=only):
        return one.after
    return None


def combination(call: Call) -> Any:
    """The right-hand side for a call of values, with its recursive calls replaced by their values.

    What is left to do is to combine the values of the recursive calls.

    Example:
        >>> from weft.recursion import combination, definition, parse_term
        >>> from weft.recursion.library.trees import Tree
        >>> tree = parse_term("Branch a Branch b Leaf Leaf Branch c Leaf Leaf", Tree)
        >>> combination(definition("in-order").call(tree))
        append(Cons(b, Nil), Cons(a, Cons(c, Nil)))
    """
    found = reduct(call)
    if found is None:
        raise WeftError("no equation matches the call yet", subject=call.function.name)
    equation, result = found
    bindings = Reduct(call, equation, result).bindings

    def filled(expression: Any) -> Any:
        if isinstance(expression, Variable):
            return bindings[expression.name]
        arguments = [filled(one) for one in expression.arguments]
        if isinstance(expression, Build):
            return made(expression.head, arguments)
        term = _new(Call, (expression.function, *arguments))
        return normal_form(term) if expression in equation.recursive_calls else term

    return filled(equation.right)


def unroll(term: Term, rounds: int, *, only: Collection[Function] = ()) -> Any:
    """The term after some parallel rounds.

    Example:
        >>> from weft.recursion import definition, unroll
        >>> from weft.recursion.library.binary import One, X1
        >>> unroll(definition("successor").call(X1(X1(One()))), 2)
        XO(XO(successor(01)))
    """
    return reduce(term, rounds, parallel=True, only=only).term


def normal_form(term: Term, *, max_steps: int | None = None) -> Any:
    """The value of a term, with every call evaluated.

    Example:
        >>> from weft.recursion import definition, normal_form
        >>> from weft.recursion.library.binary import One, X1
        >>> normal_form(definition("successor").call(X1(X1(One()))))
        XO(XO(XO(01)))
    """
    limit = left = MAX_STEPS if max_steps is None else max_steps

    def value(term: Any) -> Any:
        nonlocal left
        arguments = []
        for one in term[1:]:
            arguments.append(one if isinstance(one, Inductive) else (yield value(one)))
        if isinstance(term, Open):
            return build(term[0], arguments)
        program = compiled(term[0])
        try:
            result = program.value(tuple(arguments), left)
        except OutOfSteps:
            raise too_long(term[0], limit) from None
        left -= program.applied
        return result

    return term if isinstance(term, Inductive) else run_generators(value(term))
