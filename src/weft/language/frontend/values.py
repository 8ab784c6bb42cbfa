"""Following Python expressions: syntax in, `Expression` out."""

from __future__ import annotations

import ast
import builtins
import itertools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weft.language.bounded import ROUNDS
from weft.language.definition import unknown_variable
from weft.language.expressions import Apply, Choice, Constant, Expression
from weft.language.frontend import calls, tabulation
from weft.language.frontend.machine import (
    STATE,
    Fork,
    Frame,
    NotUnderstood,
    Operand,
    SymbolicMachine,
)

LONGEST = ROUNDS
"""How many iterations of a loop are unrolled."""


@dataclass(frozen=True)
class Membership:
    """Python's `item in container`, or `not in`."""

    infix: str

    def __call__(self, item: Any, container: Any) -> bool:
        return (item in container) is (self.infix == "in")


def pack(*items: Any) -> tuple[Any, ...]:
    """A tuple of its arguments."""
    return items


BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.MatMult: operator.matmul,
}
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: Membership("in"),
    ast.NotIn: Membership("not in"),
}


def value(machine: SymbolicMachine, node: ast.expr) -> Expression:
    """The value of an expression; what cannot be followed is tabulated."""

    def as_value(found: Operand) -> Expression:
        if isinstance(found, Expression):
            return found
        what = "the state itself" if found is STATE else "a function"
        raise NotUnderstood(f"{what} is used as a value", machine.where(node))

    return machine.each(operand(machine, node), as_value)  # type: ignore[no-any-return]


def operand(machine: SymbolicMachine, node: ast.expr) -> Operand:
    """Like `value`, but it may also be the state, or a function defined in the step."""
    return machine.attempt(
        lambda: _follow(machine, node),
        lambda reason: tabulation.tabulate_expression(machine, node, reason),
    )


def _follow(machine: SymbolicMachine, node: ast.expr) -> Operand:
    where = machine.where(node)
    match node:
        case ast.Constant(value=constant):
            return machine.make.constant(constant)
        case ast.Name(id=name):
            return lookup(machine, name)
        case ast.Attribute() | ast.Subscript():
            return _follow_access(machine, node)
        case ast.BinOp(left=left, op=op, right=right):
            operands = value(machine, left), value(machine, right)
            return machine.apply(BINARY[type(op)], *operands, where=where)
        case ast.UnaryOp(op=op, operand=inner):
            return machine.apply(UNARY[type(op)], value(machine, inner), where=where)
        case ast.BoolOp(op=op, values=values):
            return _follow_bool(machine, isinstance(op, ast.And), values)
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            return _follow_compare(
                machine, value(machine, left), list(zip(ops, comparators, strict=True)), node
            )
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return machine.branch(
                value(machine, test),
                lambda: operand(machine, body),
                lambda: operand(machine, orelse),
                machine.join,
            )
        case ast.Tuple(elts=items):
            if any(isinstance(item, ast.Starred) for item in items):
                raise NotUnderstood("a starred tuple", where)
            return machine.make.apply(pack, *(value(machine, item) for item in items))
        case ast.Set() | ast.List() | ast.Dict():
            return _follow_display(machine, node)
        case ast.NamedExpr(target=target, value=inner):
            machine.frame.locals[target.id] = result = operand(machine, inner)
            return result
        case ast.Call():
            return calls.call(machine, node)
        case ast.Lambda():
            return calls.local_function(machine, node)
    raise NotUnderstood(f"{type(node).__name__} cannot be followed", where)


def _follow_access(machine: SymbolicMachine, node: ast.Attribute | ast.Subscript) -> Operand:
    return machine.each(operand(machine, node.value), lambda owner: _access(machine, node, owner))


def _access(
    machine: SymbolicMachine, node: ast.Attribute | ast.Subscript, owner: Operand
) -> Operand:
    where = machine.where(node)
    if owner is STATE:
        return machine.read(variable_named(machine, node))
    if isinstance(node, ast.Attribute):
        return machine.apply(_attribute_getter(node.attr), owner, where=where)
    items = elements(owner)
    if isinstance(node.slice, ast.Slice):
        if items is None:
            raise NotUnderstood("a slice", where)
        return machine.make.apply(pack, *items[_bounds(machine, node.slice)])
    index = value(machine, node.slice)
    if items is not None and isinstance(index, Constant) and isinstance(index.value, int):
        if -len(items) <= index.value < len(items):
            return items[index.value]
    return machine.apply(operator.getitem, owner, index, where=where)


def _bounds(machine: SymbolicMachine, node: ast.Slice) -> slice:
    """A slice whose bounds do not depend on the state."""
    bounds = []
    for part in (node.lower, node.upper, node.step):
        bound = machine.make.constant(None) if part is None else value(machine, part)
        if not isinstance(bound, Constant):
            raise NotUnderstood("a slice that depends on the state", machine.where(node))
        bounds.append(bound.value)
    return slice(*bounds)


def variable_named(machine: SymbolicMachine, node: ast.Attribute | ast.Subscript) -> str:
    """The variable in `z.name` or `z[name]`, if the name does not depend on the state."""
    where = machine.where(node)
    if isinstance(node, ast.Attribute):
        variable = node.attr
    else:
        index = value(machine, node.slice)
        if not isinstance(index, Constant) or not isinstance(index.value, str):
            raise NotUnderstood("the state is used with a computed name", where)
        variable = index.value
    if variable not in machine.variables:
        raise unknown_variable(machine.owner, variable, machine.variables, where)
    return variable


_GETTERS: dict[str, Callable[[Any], Any]] = {}


def _attribute_getter(attribute: str) -> Callable[[Any], Any]:
    """The same object for the same attribute, so that equal expressions are shared."""
    return _GETTERS.setdefault(attribute, operator.attrgetter(attribute))


def _follow_display(machine: SymbolicMachine, node: ast.Set | ast.List | ast.Dict) -> Expression:
    """A set, list or dictionary of constants; one that depends on the state is tabulated."""
    if isinstance(node, ast.Dict):
        parts = [*node.keys, *node.values]
    else:
        parts = list(node.elts)
    constants = [None if part is None else value(machine, part) for part in parts]
    if not all(isinstance(constant, Constant) for constant in constants):
        raise NotUnderstood("a list, set or dictionary that depends on the state")
    items = [constant.value for constant in constants]  # type: ignore[union-attr]
    half = len(items) // 2
    made: Any = items
    if isinstance(node, ast.Set):
        made = set(items)
    elif isinstance(node, ast.Dict):
        made = dict(zip(items[:half], items[half:], strict=True))
    return machine.make.constant(made)


def _follow_bool(machine: SymbolicMachine, conjunction: bool, nodes: list[ast.expr]) -> Expression:
    first = value(machine, nodes[0])
    if len(nodes) == 1:
        return first

    def rest() -> Expression:
        return _follow_bool(machine, conjunction, nodes[1:])

    if conjunction:
        return machine.branch(first, rest, lambda: first, machine.make.choice)
    return machine.branch(first, lambda: first, rest, machine.make.choice)


def _follow_compare(
    machine: SymbolicMachine,
    left: Expression,
    rest: list[tuple[ast.cmpop, ast.expr]],
    node: ast.expr,
) -> Expression:
    (op, right_node), *more = rest
    right = value(machine, right_node)
    first = _equal_tuples(machine, op, left, right, node)
    if first is None:
        first = machine.apply(COMPARE[type(op)], left, right, where=machine.where(node))
    if not more:
        return first
    return machine.branch(
        first,
        lambda: _follow_compare(machine, right, more, node),
        lambda: first,
        machine.make.choice,
    )


def _equal_tuples(
    machine: SymbolicMachine, op: ast.cmpop, left: Expression, right: Expression, node: ast.expr
) -> Expression | None:
    """Tuples of known length are compared item by item, up to the first that differs."""
    one, other = _tuple_items(machine, left), _tuple_items(machine, right)
    if one is None or other is None or not isinstance(op, (ast.Eq, ast.NotEq)):
        return None
    equal: Expression = machine.make.constant(len(one) == len(other))
    if len(one) == len(other):
        for mine, theirs in zip(reversed(one), reversed(other), strict=True):
            same = machine.make.apply(operator.eq, mine, theirs, where=machine.where(node))
            equal = machine.make.choice(same, equal, machine.make.false)
    return machine.make.negated(equal) if isinstance(op, ast.NotEq) else equal


def find(machine: SymbolicMachine, name: str) -> Operand | None:
    """What a name stands for: a local, then what encloses the function, globals, builtins."""
    return find_from(machine, machine.frame, name)


def find_from(machine: SymbolicMachine, frame: Frame, name: str) -> Operand | None:
    """What a name stands for in a call."""
    while True:
        if name in frame.locals:
            return frame.locals[name]
        if frame.parent is None:
            break
        frame = frame.parent
    around = frame.function.__globals__ if frame.function is not None else {}
    for names in (frame.names, around, vars(builtins)):
        if name in names:
            return machine.make.constant(names[name])
    return None


def lookup(machine: SymbolicMachine, name: str) -> Operand:
    """What a name stands for, noted as read."""
    result = find(machine, name)
    if result is None:
        return machine.computed(machine.unbound(name))
    result = machine.settled(result)
    if not isinstance(result, Expression):
        _note_unbound(machine, _as_bound(machine, result))
        return result
    result = machine.known(result)
    _note_unbound(machine, result)
    return result


def _as_bound(machine: SymbolicMachine, found: Operand) -> Expression:
    """An expression that fails if a name that may stand for functions is not bound."""
    if isinstance(found, Fork):
        sides = _as_bound(machine, found.then), _as_bound(machine, found.otherwise)
        return machine.make.choice(found.test, *sides)
    return found if isinstance(found, Expression) else machine.make.true


def _note_unbound(machine: SymbolicMachine, found: Expression) -> None:
    if isinstance(found, (Apply, Choice)) and machine.may_be_unbound(found):
        machine.computed(found)


def elements(node: Operand) -> list[Expression] | None:
    """The items of a tuple whose length is known; None if it is not."""
    if isinstance(node, Apply) and node.function is pack:
        return list(node.arguments)
    return None


def _tuple_items(machine: SymbolicMachine, node: Expression) -> list[Expression] | None:
    if isinstance(node, Constant) and type(node.value) is tuple:
        return [machine.make.constant(item) for item in node.value]
    return elements(node)


def items_of(machine: SymbolicMachine, node: Operand) -> list[Expression] | None:
    """The items that a loop iterates over, if they do not depend on the state."""
    listed = elements(node)
    if listed is not None:
        return listed
    if isinstance(node, Constant):
        try:
            items = list(itertools.islice(node.value, LONGEST + 1))
        except TypeError:
            return None
        return [machine.make.constant(item) for item in items] if len(items) <= LONGEST else None
    return None
