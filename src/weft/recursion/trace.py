"""Traces of reductions: every round and its delta, beta and iota steps, as text and as JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from weft.errors import WeftError
from weft.recursion.expressions import Match
from weft.recursion.inductive import Inductive
from weft.recursion.notation import PREFIX, Notation, encode_term, show_term
from weft.recursion.reduction import MAX_ROUNDS, Reduction
from weft.recursion.rounds import Frame, Reduct, iterate

if TYPE_CHECKING:
    from weft.recursion.expressions import Term
    from weft.recursion.function import Function

KEPT = 1_000
"""Characters of a value whose text is kept while a trace is written."""
SHOWN_CASES = 8
"""Cases of a definition that are written out."""


@dataclass(frozen=True)
class Step:
    """A delta, beta or iota step.

    Attributes:
        kind: delta, beta or iota.
        rule: what it does: the definition, the parameters with their arguments, or the case with
            its variables.
        after: what stands in place of the call after the step.
    """

    kind: Literal["delta", "beta", "iota"]
    rule: str
    after: str


def steps(reduct: Reduct, notation: Notation = PREFIX) -> tuple[Step, ...]:
    """The steps by which a call was reduced; without iota if its function does not match.

    Example:
        >>> from weft.recursion import definition, reduce, steps
        >>> from weft.recursion.library.binary import One, X1
        >>> round = reduce(definition("successor").call(X1(One()))).rounds[0]
        >>> delta, beta, iota = steps(round.reducts[0])
        >>> delta.rule[:44]
        'successor := fun n => match n with 01 => XO '
        >>> beta.rule, iota.rule, iota.after
        ('n := X1 01', 'X1 b with b := 01', 'XO successor 01')
    """
    function = reduct.equation.function
    arguments = [show_term(one, notation) for one in reduct.call.arguments]
    names = [name for name, _ in function.parameters]
    cases = case_list(function)
    matched = _matched(function)
    body = f"match {', '.join(names[one] for one in matched)} with {cases}" if matched else cases
    lifted = f"fun {' '.join(names)} => {body}"
    bracketed = " ".join(f"({one})" if " " in one else one for one in arguments)
    delta = Step("delta", f"{function.token} := {lifted}", f"({lifted}) {bracketed}")
    given = ", ".join(f"{name} := {one}" for name, one in zip(names, arguments, strict=True))
    result = show_term(reduct.result, notation)
    if not matched:
        return delta, Step("beta", given, result)
    subject = ", ".join(arguments[one] for one in matched)
    beta = Step("beta", given, f"match {subject} with {cases}")
    bound = [
        f"{name} := {show_term(term, notation)}"
        for name, term in reduct.bindings.items()
        if name not in names
    ]
    patterns = reduct.equation.patterns
    case = ", ".join(str(patterns[one]) for one in matched)
    rule = f"{case} with {', '.join(bound)}" if bound else case
    return delta, beta, Step("iota", rule, result)


def case_list(function: Function) -> str:
    """The cases of a function on one line, of long tables the first few."""
    matched = _matched(function)
    if not matched:
        return str(function.equations[0].right)
    shown = [
        f"{', '.join(str(one.patterns[place]) for place in matched)} => {one.right}"
        for one in function.equations[:SHOWN_CASES]
    ]
    more = len(function.equations) - SHOWN_CASES
    return " | ".join([*shown, *([f"... {more} more"] if more > 0 else [])])


def _matched(function: Function) -> list[int]:
    """The parameters on which a function matches."""
    return [
        place
        for place in range(function.arity)
        if any(isinstance(one.patterns[place], Match) for one in function.equations)
    ]


def trace_lines(
    reduction: Reduction, notation: Notation = PREFIX, *, with_steps: bool = False
) -> Iterator[str]:
    """The lines of a trace: a term for every round, and above it the steps that lead to it.

    Example:
        >>> from weft.recursion import definition, reduce, trace_lines
        >>> from weft.recursion.library.binary import One, X1
        >>> print(*trace_lines(reduce(definition("successor").call(X1(One())))), sep="; ")
        0: successor X1 01; 1: XO successor 01; 2: XO XO 01
    """
    yield f"0: {show_term(reduction.start, notation)}"
    for one in reduction.rounds:
        for reduct in one.reducts if with_steps else ():
            for step in steps(reduct, notation):
                yield f"   {step.kind}: {step.rule}"
        yield f"{one.number}: {show_term(one.after, notation)}"


def reduction_json(reduction: Reduction, notation: Notation = PREFIX) -> dict[str, Any]:
    """A reduction as a JSON object; docs/recursion.md lists its keys."""
    return {
        "notation": {
            "style": notation.style,
            "order": notation.order,
            "labels": notation.labels,
        },
        "start": encode_term(reduction.start, notation),
        "rounds": [
            {
                "number": one.number,
                "calls": [_reduct_json(reduct, notation) for reduct in one.reducts],
                "term": encode_term(one.after, notation),
            }
            for one in reduction.rounds
        ],
        "term": encode_term(reduction.term, notation),
        "finished": reduction.finished,
    }


def _reduct_json(reduct: Reduct, notation: Notation) -> dict[str, Any]:
    return {
        "function": reduct.equation.function.token,
        "position": list(reduct.position),
        "case": reduct.equation.number,
        "equation": str(reduct.equation),
        "call": encode_term(reduct.call, notation),
        "steps": [
            {"kind": step.kind, "rule": step.rule, "after": step.after}
            for step in steps(reduct, notation)
        ],
    }


def trace_texts(
    term: Term,
    *,
    only: Collection[Function] = (),
    max_rounds: int = MAX_ROUNDS,
) -> list[str]:
    """The terms of a reduction in outermost rounds as text, in prefix notation; fast.

    Args:
        term: the term at the beginning.
        only: the functions whose calls are reduced; all if empty.
        max_rounds: rounds after which it is an error.

    Example:
        >>> from weft.recursion import definition, trace_texts
        >>> from weft.recursion.library.binary import One, X1
        >>> trace_texts(definition("successor").call(X1(One())))
        ['successor X1 01', 'XO successor 01', 'XO XO 01']
    """
    texts = _Texts()
    found = [" ".join(encode_term(term))]
    for one in islice(iterate(term, only=only), max_rounds + 1):
        if one.number > max_rounds:
            raise WeftError(f"the reduction takes more than {max_rounds:,} rounds")
        reduct = one.reducts[0]
        before, after = texts.around(reduct.frame)
        found.append(before + texts.of(reduct.result) + after)
    return found


class _Texts:
    """Texts of terms and of what is around them, kept for as long as a trace is written."""

    def __init__(self) -> None:
        self._kept: list[Any] = []  # so that no id is used twice
        self._around: dict[int, tuple[str, str]] = {}
        self._values: dict[int, str] = {}

    def of(self, term: Any) -> str:
        """The text of a term."""
        pieces: list[str] = []
        stack = [term]
        while stack:
            current = stack.pop()
            if current.__class__._token is None:
                pieces.append(current[0].token)
                stack.extend(current[:0:-1])
            else:
                pieces.append(self._value(current))
        return " ".join(pieces)

    def _value(self, term: Any) -> str:
        """The text of a value; short ones are kept."""
        found = self._values.get(id(term))
        if found is None:
            found = " ".join(encode_term(term))
            if len(found) <= KEPT:
                self._values[id(term)] = found
                self._kept.append(term)
        return found

    def around(self, frame: Frame | None) -> tuple[str, str]:
        """The text before the hole of a frame and after it, up to the root."""
        waiting: list[Frame] = []
        while frame is not None and id(frame) not in self._around:
            waiting.append(frame)
            frame = frame.parent
        before, after = ("", "") if frame is None else self._around[id(frame)]
        for one in reversed(waiting):
            left = "".join(f"{self.of(part)} " for part in one.left)
            right = "".join(f" {self.of(part)}" for part in one.right)
            before, after = f"{before}{one.head.token} {left}", f"{right}{after}"
            self._around[id(one)] = before, after
            self._kept.append(one)
        return before, after


def shown_calls(reducts: Sequence[Reduct]) -> str:
    """What a round did, for a table: its case, or how many calls it reduced."""
    if len(reducts) > 1:
        return f"{len(reducts)} calls"
    equation = reducts[0].equation
    matched = _matched(equation.function)
    return ", ".join(str(equation.patterns[place]) for place in matched) or "-"


def is_value(term: Any) -> bool:
    """Whether a term has no calls."""
    return isinstance(term, Inductive)
