"""Rules that rewrite operations into simpler ones with the same values.

Every rule keeps the value at every position of every word, also at the begin symbol, and yields no
more operations than it replaces. Rules look at an operation and at its operands; some also look
through an operand, which saves something only if nothing else uses that operand.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, lcm

from weft.crasp.expressions import (
    Add,
    And,
    Comparison,
    Conditional,
    Constant,
    Counting,
    Exists,
    Expression,
    Integer,
    Maximum,
    Minimum,
    Name,
    Not,
    Operator,
    Or,
    Periodic,
    Position,
    Previous,
    Subtract,
    Symbol,
    operands,
)
from weft.crasp.graph import (
    MIRRORED,
    Bounds,
    GraphBuilder,
    index_of,
    operation_bounds,
    plus,
)
from weft.crasp.reference import OPERATORS, evaluate

MAX_PERIOD = 10_000
"""Periodic predicates are combined into one up to this period."""

NEGATED: dict[Operator, Operator] = {
    "<": ">=", "<=": ">", "==": "!=", "!=": "==", ">=": "<", ">": "<="
}  # fmt: skip


@dataclass(frozen=True)
class LinearForm:
    """A sum of counts, each with an integer coefficient, and of a constant.

    Attributes:
        coefficients: by reference, in the order of appearance; none is 0.
        constant: what is added.
        operations: how many additions and subtractions wrote it.
    """

    coefficients: dict[Expression, int]
    constant: int = 0
    operations: int = 0

    def plus(self, other: LinearForm, sign: int = 1) -> LinearForm:
        """The sum of two, or the difference if the sign is -1."""
        total = dict(self.coefficients)
        for reference, coefficient in other.coefficients.items():
            total[reference] = total.get(reference, 0) + sign * coefficient
        return LinearForm(
            {reference: coefficient for reference, coefficient in total.items() if coefficient},
            self.constant + sign * other.constant,
            self.operations + other.operations,
        )

    def part(self, sign: int) -> LinearForm:
        """What it adds, or what it subtracts if the sign is -1."""
        signed = {r: sign * c for r, c in self.coefficients.items() if sign * c > 0}
        return LinearForm(signed, max(0, sign * self.constant))

    @property
    def terms(self) -> int:
        """How many counts it adds and subtracts, each as often as its coefficient says."""
        return sum(map(abs, self.coefficients.values()))


class Rewriter(GraphBuilder):
    """Collects operations in their simplest form.

    Attributes:
        single: the operations that are used only once, so that rules may look through them.
        bounds: of every operation that is a count.
    """

    def __init__(self) -> None:
        super().__init__()
        self.single: set[int] = set()
        self.bounds: list[Bounds | None] = []
        self._forms: list[LinearForm] = []
        self._at_begin: dict[str, tuple[int, ...]] = {}

    def add(self, operation: Expression) -> Name:
        """A reference to the simplest form of an operation."""
        reference = super().add(self._rewrite(operation))
        if index_of(reference) == len(self.bounds):
            added = self.operations[-1]
            self.bounds.append(operation_bounds(added, self.bounds))
            self._forms.append(self._full_form(reference, added))
            self._at_begin[reference.name] = (evaluate(added, 0, (), self._at_begin),)
        return reference

    def _rewrite(self, operation: Expression) -> Expression:
        """The operation, simplified once: an operation or a reference to one."""
        match operation:
            case Position(predicate):
                return _smallest_period(predicate)
            case Not(operand):
                return self._not(operand)
            case And() | Or():
                return self._junction(operation)
            case Comparison(operator, left, right):
                return self._comparison(operator, left, right)
            case Exists() | Previous() | Counting():
                return self._counted(operation)
            case Conditional():
                return self._conditional(operation)
            case Add(left, right):
                return self._sum(operation, self._form(left).plus(self._form(right)))
            case Subtract(left, right):
                return self._sum(operation, self._form(left).plus(self._form(right), -1))
            case Minimum() | Maximum():
                return self._extreme(operation)
        return operation

    # Booleans

    def _not(self, operand: Expression) -> Expression:
        match self.at(operand):
            case Constant(value):
                return Constant(not value)
            case Not(inside):
                return inside
            case Position(Periodic(period, residues, "")):
                others = tuple(r for r in range(period) if r not in residues)
                return Position(Periodic(period, others))
            case Comparison(operator, left, right) if index_of(operand) in self.single:
                return Comparison(NEGATED[operator], left, right)
        return Not(operand)

    def _junction(self, operation: And | Or) -> Expression:
        """A conjunction; or a disjunction, which is the negated conjunction of the negations."""
        conjunction = isinstance(operation, And)
        absorbing = Constant(not conjunction)
        chosen: dict[Expression, None] = {}
        for operand in self._flat(operation):
            if self.at(operand) == absorbing:
                return absorbing
            if not isinstance(self.at(operand), Constant):
                chosen[operand] = None
        literals = {operand: self._literal(operand, conjunction) for operand in chosen}
        symbols = {
            reference
            for reference, positive in literals.values()
            if positive and isinstance(self.at(reference), Symbol)
        }
        if len(symbols) > 1 or len({reference for reference, _ in literals.values()}) < len(chosen):
            return absorbing  # two symbols at one position, or something and its negation
        for operand, (reference, positive) in literals.items():
            other_symbol = symbols and not positive and isinstance(self.at(reference), Symbol)
            if other_symbol or self._absorbed(operand, operation, chosen):
                del chosen[operand]
        if self._combine_positions(chosen, conjunction):
            return absorbing
        if len(chosen) == 1:
            return next(iter(chosen))
        if not chosen:
            return Constant(conjunction)
        return And(tuple(chosen)) if conjunction else Or(tuple(chosen))

    def _flat(self, operation: And | Or | Minimum | Maximum) -> list[Expression]:
        """The operands, and those of operands of the same kind that nothing else uses."""
        flat: list[Expression] = []
        for operand in operation.operands:
            inside = self.at(operand)
            if type(inside) is type(operation) and index_of(operand) in self.single:
                flat += operands(inside)
            else:
                flat.append(operand)
        return flat

    def _literal(self, operand: Expression, positive: bool) -> tuple[Expression, bool]:
        """An operand without its negation, and `positive`, or its opposite if it had one."""
        inside = self.at(operand)
        return (inside.operand, not positive) if isinstance(inside, Not) else (operand, positive)

    def _absorbed(
        self, operand: Expression, operation: And | Or, chosen: dict[Expression, None]
    ) -> bool:
        """Whether it is `P or Q` in a conjunction with P, or `P and Q` in a disjunction with P."""
        inside = self.at(operand)
        dual = Or if isinstance(operation, And) else And
        return isinstance(inside, dual) and any(other in chosen for other in operands(inside))

    def _combine_positions(self, chosen: dict[Expression, None], conjunction: bool) -> bool:
        """Replace periodic predicates by one, if it is constant or has the period of one of them.

        Predicates that were declared with a name stay, unless together they are constant. Returns
        whether they decide the whole.
        """
        predicates = {
            operand: inside.predicate
            for operand in chosen
            if isinstance(inside := self.at(operand), Position)
        }
        period = lcm(*(predicate.period for predicate in predicates.values()))
        if len(predicates) < 2 or period > MAX_PERIOD:
            return False
        together = all if conjunction else any
        residues = tuple(
            residue
            for residue in range(period)
            if together(predicate.holds(residue) for predicate in predicates.values())
        )
        combined = _smallest_period(Periodic(period, residues))
        if combined == Constant(not conjunction):
            return True
        plain = not any(predicate.name for predicate in predicates.values())
        if isinstance(combined, Constant) or (
            plain and period in (predicate.period for predicate in predicates.values())
        ):
            for operand in predicates:
                del chosen[operand]
            if isinstance(combined, Position):
                chosen[self.add(combined)] = None
        return False

    def _comparison(self, operator: Operator, left: Expression, right: Expression) -> Expression:
        low, high = self._form_bounds(self._difference(left, right))
        ends = (min(1, max(-1, low)), min(1, max(-1, high)))
        possible = [sign for sign in (-1, 0, 1) if ends[0] <= sign <= ends[1]]
        outcomes = {bool(OPERATORS[operator](sign, 0)) for sign in possible}
        if len(outcomes) == 1:
            return Constant(outcomes.pop())
        form = self._form(left).plus(self._form(right), -1)
        more, less, between = form.part(1), form.part(-1), operator
        if more.terms == 0:  # 0 < D is D > 0
            more, less, between = less, more, MIRRORED[operator]
        if less.terms == 0:  # nothing is left beside the constant
            fewest = more.terms - 1
            less = LinearForm({}, less.constant - more.constant)
            more = LinearForm(more.coefficients)
        else:
            fewest = more.terms + less.terms - 2 + (form.constant != 0)
        if fewest < form.operations:
            return Comparison(between, self._written(more), self._written(less))
        return Comparison(operator, left, right)

    # Counts

    def _counted(self, operation: Exists | Previous | Counting) -> Expression:
        """Counts over nothing, and `exists` that says no more than its body."""
        body = self.at(operation.body)
        local = None if isinstance(operation, Previous) else operation.local
        if body == Constant(False) or (local is not None and not local.offsets):
            return Integer(0) if isinstance(operation, Counting) else Constant(False)
        if isinstance(operation, Exists):
            if local is None and isinstance(body, Exists) and body.local is None:
                return operation.body
            if local is not None and local.offsets == (0,):
                if not self._at_begin[str(index_of(operation.body))][0]:
                    return operation.body
        return operation

    def _conditional(self, operation: Conditional) -> Expression:
        condition, then, otherwise = operands(operation)
        inside = self.at(condition)
        if isinstance(inside, Constant):
            return then if inside.value else otherwise
        if then == otherwise:
            return then
        if isinstance(inside, Not):
            return Conditional(inside.operand, otherwise, then)
        return operation

    def _extreme(self, operation: Minimum | Maximum) -> Expression:
        """A minimum or a maximum, without operands that another one always reaches."""
        largest = isinstance(operation, Maximum)
        chosen = dict.fromkeys(self._flat(operation))
        for operand in list(chosen):
            for other in chosen:
                low, high = self._form_bounds(self._difference(other, operand))
                if other != operand and (low >= 0 if largest else high <= 0):
                    del chosen[operand]
                    break
        if len(chosen) == 1:
            return next(iter(chosen))
        return Maximum(tuple(chosen)) if largest else Minimum(tuple(chosen))

    # Linear forms

    def _form(self, reference: Expression) -> LinearForm:
        """The sum that a reference stands for, looking through sums that are used once."""
        if index_of(reference) not in self.single:
            return self._shallow_form(reference)
        match self.at(reference):
            case Add(left, right):
                return self._form(left).plus(self._form(right)).plus(LinearForm({}, 0, 1))
            case Subtract(left, right):
                return self._form(left).plus(self._form(right), -1).plus(LinearForm({}, 0, 1))
        return self._shallow_form(reference)

    def _shallow_form(self, reference: Expression) -> LinearForm:
        inside = self.at(reference)
        if isinstance(inside, Integer):
            return LinearForm({}, inside.value)
        return LinearForm({reference: 1})

    def _full_form(self, reference: Expression, operation: Expression) -> LinearForm:
        """The sum that a reference stands for, looking through all sums."""
        match operation:
            case Add(left, right):
                return self._forms[index_of(left)].plus(self._forms[index_of(right)])
            case Subtract(left, right):
                return self._forms[index_of(left)].plus(self._forms[index_of(right)], -1)
        return self._shallow_form(reference)

    def _form_bounds(self, form: LinearForm) -> Bounds:
        low: float = form.constant
        high: float = form.constant
        for reference, coefficient in form.coefficients.items():
            bounds = self.bounds[index_of(reference)]
            assert bounds is not None
            ends = sorted(_times(coefficient, end) for end in bounds)
            low, high = plus(low, ends[0]), plus(high, ends[1])
        return low, high

    def _difference(self, left: Expression, right: Expression) -> LinearForm:
        """The difference of two counts, looking through all sums."""
        return self._forms[index_of(left)].plus(self._forms[index_of(right)], -1)

    def _sum(self, operation: Add | Subtract, form: LinearForm) -> Expression:
        """A sum with fewer operations, if there is one."""
        everything = self._full_form(operation, operation)
        if not everything.coefficients:
            return Integer(everything.constant)
        leading = form.constant != 0 or not form.part(1).coefficients
        if form.terms + leading - 1 < form.operations + 1:
            return self._written(form)
        return operation

    def _written(self, form: LinearForm) -> Name:
        """A reference to a sum that is written out: first what it adds, then what it subtracts."""
        total: Name | None = None
        for reference, coefficient in form.part(1).coefficients.items():
            for _ in range(coefficient):
                total = self.add(reference if total is None else Add(total, reference))
        if total is None:
            total = self.add(Integer(form.constant))
        elif form.constant != 0:
            constant = self.add(Integer(abs(form.constant)))
            total = self.add((Add if form.constant > 0 else Subtract)(total, constant))
        for reference, coefficient in form.part(-1).coefficients.items():
            for _ in range(coefficient):
                total = self.add(Subtract(total, reference))
        return total


def _smallest_period(predicate: Periodic) -> Constant | Position:
    """The same predicate with the smallest period; a constant if that is 1."""
    if not predicate.residues:
        return Constant(False)
    for times in range(
        len(predicate.residues), 1, -1
    ):  # of that many residues that agree modulo the smaller period
        period, rest = divmod(predicate.period, times)
        residues = tuple(sorted({residue % period for residue in predicate.residues}))
        if rest == 0 and times * len(residues) == len(predicate.residues):
            return Position(Periodic(period, residues)) if period > 1 else Constant(True)
    return Constant(True) if predicate.period == 1 else Position(predicate)


def _times(coefficient: int, end: float) -> float:
    """The product of an integer, which is not 0, and an integer or infinity."""
    return coefficient * end if abs(end) != inf else end if coefficient > 0 else -end
