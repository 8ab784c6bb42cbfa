"""Python that cannot be followed is executed as it stands, once for every combination of inputs.

A piece of syntax (an expression, or a statement such as a `while` loop) becomes a function of just
the variables and symbolic locals that it reads, and that function becomes a table.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from weft.errors import Location, WeftError, did_you_mean
from weft.language.expressions import Constant, Expression, look
from weft.language.frontend.machine import STATE, Machine, NotUnderstood, Unbound
from weft.language.names import accesses, resolve, state_name

LOOK = "__weft_look"
BOX = "__weft_box"
UNSET = object()


class Box:
    """A state with just the variables that a tabulated statement uses."""

    def __init__(self, values: dict[str, Any]) -> None:
        object.__setattr__(self, "_values", values)

    def __getattr__(self, name: str) -> Any:
        return look(self._values[name])

    def __setattr__(self, name: str, value: Any) -> None:
        self._values[name] = value

    __getitem__ = __getattr__
    __setitem__ = __setattr__


class Piece:
    """A callable made from source, named by that source."""

    def __init__(self, function: Callable[..., Any], text: str) -> None:
        self.function = function
        self.__name__ = text if len(text) <= 60 else text[:57] + "..."

    def __call__(self, *values: Any) -> Any:
        return self.function(*values)


def unknown_variable(machine: Machine, name: str, where: Location) -> WeftError:
    """The step names a variable that the program does not have."""
    return WeftError(
        f"there is no variable '{name}'",
        subject=f"{machine.owner}.step",
        where=where,
        remedy=did_you_mean(name, list(machine.variables)).capitalize(),
    )


def tabulate_expression(machine: Machine, node: ast.expr, reason: NotUnderstood) -> Expression:
    """An expression as a table over what it reads."""
    if isinstance(node, (ast.Name, ast.Constant, ast.Lambda, ast.Await, ast.Yield, ast.YieldFrom)):
        raise reason
    if _hands_on_state(machine, node):  # what is done to it there would be lost
        raise reason
    inputs = _Inputs(machine, node, reason)
    names = list(inputs.symbolic)
    rewritten = ast.fix_missing_locations(inputs.rewritten(copy.deepcopy(node)))
    function = ast.Lambda(args=_parameters(names), body=rewritten)
    code = compile(_located(ast.Expression(function), node), machine.frame.source.file, "eval")
    made = eval(code, inputs.globals())
    piece = Piece(made, ast.unparse(node))
    found = machine.apply(
        piece, *inputs.symbolic.values(), where=machine.where(node), lazy=bool(names)
    )
    machine.tables.of(found)
    return found


def _hands_on_state(machine: Machine, root: ast.AST) -> bool:
    """Whether the state itself is passed to something."""
    from weft.language.frontend.values import lookup

    return any(
        isinstance(argument, ast.Name) and lookup(machine, argument.id) is STATE
        for node in ast.walk(root)
        if isinstance(node, ast.Call)
        for argument in (*node.args, *(keyword.value for keyword in node.keywords))
    )


def tabulate_statement(machine: Machine, node: ast.stmt, reason: NotUnderstood) -> None:
    """A statement as a table from what it reads to what it writes."""
    if any(isinstance(n, (ast.Break, ast.Continue)) for n in _own_jumps(node)):
        raise reason
    _refuse_unfit(machine, node)
    inputs = _Inputs(machine, node, reason)
    local_names = sorted(_assigned_names(node))
    for name in local_names:
        if name in machine.frame.locals:
            inputs.add_local(name)
    written = sorted(inputs.written)
    function = _block_function(inputs, node, local_names, written)
    arguments = tuple(inputs.symbolic.values())
    found = machine.apply(function, *arguments, where=machine.where(node), lazy=bool(arguments))
    machine.tables.of(found)
    _take_results(machine, found, node, local_names, written)


_UNFIT = (
    ast.With,
    ast.Global,
    ast.Nonlocal,
    ast.Delete,
    ast.ClassDef,
    ast.AsyncFor,
    ast.AsyncWith,
    ast.AsyncFunctionDef,
    ast.Yield,
    ast.YieldFrom,
    ast.Await,
)


def _refuse_unfit(machine: Machine, root: ast.AST) -> None:
    """What has no place in a step, which only computes and assigns."""
    for node in ast.walk(root):
        if isinstance(node, _UNFIT):
            raise WeftError(
                f"`{type(node).__name__.lower()}` has no place in a step",
                subject=f"{machine.owner}.step",
                where=machine.where(node),
                remedy="A step only computes and assigns",
            )


def _take_results(
    machine: Machine, found: Expression, node: ast.stmt, local_names: list[str], written: list[str]
) -> None:
    """Spread the tuple that a tabulated statement gives over names and variables."""
    where = machine.where(node)

    def item(place: int) -> Expression:
        return machine.make.apply(_picker(place), found, where=where)

    for place, name in enumerate(local_names):
        bound = machine.make.apply(_is_set(place + 2), found)
        machine.frame.locals[name] = machine.make.choice(
            bound, item(place + 2), machine.unbound(name)
        )
    for place, name in enumerate(written):
        machine.write(name, item(place + 2 + len(local_names)), where)
    if any(isinstance(n, ast.Return) for n in ast.walk(node)):
        frame, returned = machine.frame, item(0)
        frame.result = machine.make.choice(returned, item(1), frame.result)
        frame.returned = machine.make.either(frame.returned, returned)


_PICKERS: dict[int, Callable[[Any], Any]] = {}
_SETS: dict[int, Callable[[Any], bool]] = {}


def _picker(place: int) -> Callable[[Any], Any]:
    def pick(results: Any) -> Any:
        return results[place]

    return _PICKERS.setdefault(place, pick)


def _is_set(place: int) -> Callable[[Any], bool]:
    def is_set(results: Any) -> bool:
        return results[place] is not UNSET

    return _SETS.setdefault(place, is_set)


class _Inputs:
    """What a piece of syntax reads, sorted into symbolic inputs and constants."""

    def __init__(self, machine: Machine, node: ast.AST, reason: NotUnderstood) -> None:
        self.machine = machine
        self.reason = reason
        self.states: set[str] = set()
        self.locals: dict[str, str] = {}
        self.variables: dict[str, str] = {}
        self.constants: dict[str, Any] = {}
        self.symbolic: dict[str, Expression] = {}
        self.written: set[str] = set()
        self._collect(node)

    def _collect(self, root: ast.AST) -> None:
        from weft.language.frontend.values import lookup

        inner = _bound_inside(root)
        handled: set[int] = set()
        for node in ast.walk(root):
            for variable, writes, owner in self._state_accesses(node):
                self.add_variable(variable, node)
                if writes:
                    self.written.add(variable)
                handled.add(id(owner))
            if isinstance(node, ast.Name) and node.id not in inner and id(node) not in handled:
                if isinstance(node.ctx, ast.Load) and node.id not in self.constants:
                    self._add_name(node, lookup(self.machine, node.id))

    def _state_accesses(self, node: ast.AST) -> Iterator[tuple[str, bool, ast.AST]]:
        """Variables named by a node: `z.name`, `z["name"]`, or a helper that is given `z`."""
        if isinstance(node, (ast.Attribute, ast.Subscript)) and self._is_state(node.value):
            variable = state_name(node, node.value.id)  # type: ignore[attr-defined]
            if variable is None:
                raise self.reason
            yield variable, not isinstance(node.ctx, ast.Load), node.value
        elif isinstance(node, ast.Call):
            for place, argument in enumerate(node.args):
                if self._is_state(argument):
                    for variable, writes in self._helper_accesses(node.func, place):
                        yield variable, writes, argument

    def _helper_accesses(self, function: ast.expr, place: int) -> Iterator[tuple[str, bool]]:
        owner = self.machine.frame.function
        helper = resolve(owner, function) if isinstance(owner, FunctionType) else None
        found = [(a.name, a.writes) for a in accesses(helper, place)]
        if not found:
            raise self.reason
        yield from found

    def _is_state(self, node: ast.AST) -> bool:
        from weft.language.frontend.values import lookup

        if not isinstance(node, ast.Name) or lookup(self.machine, node.id) is not STATE:
            return False
        self.states.add(node.id)
        return True

    def _add_name(self, node: ast.Name, found: Any) -> None:
        if found is STATE or not isinstance(found, Expression):
            raise self.reason
        if isinstance(found, Constant):
            self.constants[node.id] = found.value
        elif not isinstance(getattr(found, "function", None), Unbound):
            self.add_local(node.id)

    def add_local(self, name: str) -> None:
        """A local name whose value depends on the state."""
        found = self.machine.frame.locals.get(name)
        if isinstance(found, Constant):
            self.constants[name] = found.value
        elif isinstance(found, Expression):
            self.locals[name] = f"__weft_local_{name}"
            self.symbolic[self.locals[name]] = self.machine.known(found)

    def add_variable(self, name: str, node: ast.AST) -> None:
        """A variable of the program."""
        if name not in self.machine.variables:
            raise unknown_variable(self.machine, name, self.machine.where(node))
        self.variables[name] = f"__weft_variable_{name}"
        value = self.machine.known(self.machine.plain(self.machine.values[name]))
        self.symbolic[self.variables[name]] = value

    def globals(self) -> dict[str, Any]:
        """The names that the piece finds around it."""
        frame = self.machine.frame
        around = dict(frame.function.__globals__) if frame.function is not None else {}
        return {**around, **frame.names, **self.constants, LOOK: look, BOX: Box, "UNSET": UNSET}

    def rewritten(self, node: Any) -> Any:
        """The syntax with its inputs in place of the state and of symbolic names."""
        return _Rewriter(self).visit(node)


class _Rewriter(ast.NodeTransformer):
    def __init__(self, inputs: _Inputs) -> None:
        self.inputs = inputs

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return self._access(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        return self._access(node)

    def _access(self, node: ast.Attribute | ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in self.inputs.states:
            variable = state_name(node, node.value.id)
            if variable is not None:
                return _looked_at(self.inputs.variables[variable])
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if isinstance(node.ctx, ast.Load) and node.id in self.inputs.locals:
            return _looked_at(self.inputs.locals[node.id])
        return node


def _looked_at(name: str) -> ast.expr:
    """`look(name)`: fails if the input has no value, and only when it is reached."""
    return ast.Call(func=ast.Name(LOOK, ast.Load()), args=[ast.Name(name, ast.Load())], keywords=[])


def _block_function(
    inputs: _Inputs, node: ast.stmt, local_names: list[str], written: list[str]
) -> Piece:
    """The statement as a function from inputs to (returned, result, locals..., variables...)."""
    names = list(inputs.symbolic)
    prologue = [f"{local} = {LOOK}({given})" for local, given in inputs.locals.items()]
    box = ", ".join(f"{name!r}: {given}" for name, given in inputs.variables.items())
    prologue += [f"{state} = {BOX}({{{box}}})" for state in sorted(inputs.states)]
    state = next(iter(sorted(inputs.states)), None)
    outputs = [f"locals().get({name!r}, UNSET)" for name in local_names]
    outputs += [f"{state}._values[{name!r}]" for name in written]
    results = "".join(f"{output}, " for output in outputs)
    body = ast.parse("\n".join(prologue)).body
    body += [_Returns(results).visit(copy.deepcopy(node))]
    body += ast.parse(f"return (False, None, {results})").body
    function = ast.FunctionDef(
        name="__weft_block", args=_parameters(names), body=body, decorator_list=[]
    )
    if hasattr(ast, "TypeVar"):  # Python 3.12
        function.type_params = []  # type: ignore[attr-defined, unused-ignore]
    module = ast.fix_missing_locations(ast.Module(body=[function], type_ignores=[]))
    scope = inputs.globals()
    exec(compile(module, inputs.machine.frame.source.file, "exec"), scope)
    return Piece(scope["__weft_block"], ast.unparse(node).splitlines()[0])


class _Returns(ast.NodeTransformer):
    """Turns `return x` into a return of everything that the statement did."""

    def __init__(self, results: str) -> None:
        self.results = results

    def visit_Return(self, node: ast.Return) -> ast.AST:
        replaced = ast.parse(f"return (True, None, {self.results})").body[0]
        assert isinstance(replaced, ast.Return)
        assert isinstance(replaced.value, ast.Tuple)
        if node.value is not None:
            replaced.value.elts[1] = node.value
        return ast.copy_location(replaced, node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node


def _parameters(names: list[str]) -> ast.arguments:
    return ast.arguments(
        posonlyargs=[],
        args=[ast.arg(arg=name) for name in names],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )


def _located(tree: ast.Expression, node: ast.expr) -> ast.Expression:
    ast.copy_location(tree.body, node)
    return ast.fix_missing_locations(tree)


def _bound_inside(root: ast.AST) -> set[str]:
    """Names that comprehensions and lambdas within the syntax bind for themselves."""
    bound = set()
    for node in ast.walk(root):
        if isinstance(node, ast.comprehension):
            bound |= {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
        elif isinstance(node, ast.Lambda):
            bound |= {a.arg for a in (*node.args.posonlyargs, *node.args.args)}
    return bound


def _assigned_names(root: ast.AST) -> set[str]:
    return {
        node.id
        for node in ast.walk(root)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    } - _bound_inside(root)


def _own_jumps(node: ast.stmt) -> Iterator[ast.stmt]:
    """The `break` and `continue` that leave the statement itself, not a loop within it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Break, ast.Continue)):
            if not isinstance(node, (ast.For, ast.While)):
                yield child
        elif isinstance(child, ast.stmt) and not isinstance(child, (ast.For, ast.While)):
            if not isinstance(node, (ast.For, ast.While)):
                yield from _own_jumps(child)
