"""Python that cannot be followed is executed as it stands, once for every combination of inputs.

A piece of syntax (an expression, or a statement such as a `while` loop) becomes a function of just
the variables that it depends on, and that function becomes a table. The piece runs in a namespace
of its own, in which names stand for the values that they have in one state; what it binds, writes
or returns is read off afterwards.
"""

from __future__ import annotations

import ast
import copy
import math
import symtable
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any

from weft.errors import Location, WeftError, did_you_mean
from weft.language.check import head_write_error
from weft.language.expressions import (
    FAILED,
    Constant,
    Expression,
    Failure,
    Read,
    evaluate,
    value_key,
    walk,
)
from weft.language.frontend import purity
from weft.language.frontend.machine import (
    STATE,
    Fork,
    LocalFunction,
    Machine,
    NotUnderstood,
)
from weft.language.names import accesses, resolve, state_name
from weft.language.ranges import UNDEFINED
from weft.language.tables import LIMIT

VALUE = "__weft_value"
RETURN = "__weft_return"
TICK = "__weft_tick"
OVER = "__weft_over"
ROUNDS = 100_000
"""How many rounds the `while` loops of a piece may make in one state."""


class Returned(BaseException):
    """A `return` within a piece; not an `Exception`, so that no handler of the piece takes it."""

    def __init__(self, value: Any = None) -> None:
        super().__init__()
        self.value = value


class Unforeseen(BaseException):
    """A piece uses a variable that its syntax does not show; no handler of the piece takes it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Box:
    """A state for a piece: the variables it may use, and which of them it wrote."""

    __content__: tuple[dict[str, Any], dict[str, Any], list[str]]

    def __init__(self, values: dict[str, Any]) -> None:
        object.__setattr__(self, "__content__", (values, {}, []))

    def __getitem__(self, name: str) -> Any:
        value = self.__content__[0][_foreseen(self, name)]
        if value is FAILED:
            raise Failure(name)
        return value

    def __setitem__(self, name: str, value: Any) -> None:
        values, written, _ = self.__content__
        values[_foreseen(self, name)] = written[name] = value

    __getattr__ = __getitem__
    __setattr__ = __setitem__


def _foreseen(box: Box, name: str) -> str:
    values, _, missing = box.__content__
    if name not in values:
        missing.append(name)
        raise Unforeseen(name)
    return name


class Piece:
    """A piece of a step as a function of variables: gives what it returned, bound and wrote.

    Pieces are computed from the results of other pieces, so each result is computed just once.
    """

    def __init__(self, text: str, run: Callable[..., Any]) -> None:
        self.text = text if len(text) <= 60 else text[:57] + "..."
        self.__name__ = self.text
        self._run = run
        self._results: dict[Any, Any] = {}

    def __call__(self, *values: Any) -> Any:
        key = value_key(values)
        if key not in self._results:
            self._results[key] = self._outcome(values)
        found = self._results[key]
        if isinstance(found, Exception):
            raise found
        return found

    def _outcome(self, values: tuple[Any, ...]) -> Any:
        try:
            return self._run(*values)
        except Exception as error:
            return error.with_traceback(None)


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
    if isinstance(node, (ast.Name, ast.Constant, ast.Starred, ast.Lambda)):
        raise reason
    test = _open_test(machine, node)
    if test is not None:

        def again() -> Expression:
            if machine.decided(test) is None:
                raise reason
            return tabulate_expression(machine, node, reason)

        return machine.branch(test, again, again, machine.make.choice)
    statement = ast.Assign(targets=[ast.Name(VALUE, ast.Store())], value=node)
    found = _tabulate(machine, ast.copy_location(statement, node), node, reason)
    bound = found.bound.pop(VALUE, None)
    if bound is None:  # it fails in every state
        return machine.apply(_always_fails, found.node, where=machine.where(node))
    found.take(machine, machine.where(node))
    return bound


def _always_fails(_: Any) -> Any:
    raise Failure


def tabulate_statement(machine: Machine, node: ast.stmt, reason: NotUnderstood) -> None:
    """A statement as a table from what it reads to what it binds, writes and returns."""
    if next(_own_jumps(node), None) is not None or _catches_all(node):
        raise reason
    test = _open_test(machine, node)
    if test is not None:

        def again() -> None:
            if machine.decided(test) is None:
                raise reason
            tabulate_statement(machine, node, reason)

        return machine.branch(test, again, again)
    _tabulate(machine, node, node, reason).take(machine, machine.where(node))


def _open_test(machine: Machine, root: ast.AST) -> Expression | None:
    """What must be known before it is known which functions the names of a piece stand for."""
    from weft.language.frontend.values import find

    for node in ast.walk(root):
        found = machine.settled(find(machine, node.id)) if isinstance(node, ast.Name) else None
        if isinstance(found, Fork):
            return found.test
    return None


class _Found:
    """The results of a piece, as expressions."""

    def __init__(self, machine: Machine, node: Expression, where: Location) -> None:
        self.node = node
        outcomes = machine.tables.of(node).values
        make = machine.make

        def item(picker: Callable[[Any], Any]) -> Expression:
            return make.apply(picker, node)

        self.bound: dict[str, Expression] = {}
        for name in sorted({name for outcome in outcomes for name, _ in outcome[2]}):
            everywhere = all(name in dict(outcome[2]) for outcome in outcomes)
            value = item(_Picker(2, name))
            if not everywhere:
                before = machine.frame.locals.get(name, machine.unbound(name))
                value = make.choice(item(_Picker(2, name, has=True)), value, before)
            self.bound[name] = value
        self.written = {
            name: (item(_Picker(3, name, has=True)), item(_Picker(3, name)))
            for name in sorted({name for outcome in outcomes for name, _ in outcome[3]})
        }
        for name in self.written:
            if machine.variables[name].is_head:
                raise head_write_error(machine.owner, name, where)
        self.returns = any(outcome[0] for outcome in outcomes)
        self.returned, self.result = item(_Picker(0)), item(_Picker(1))

    def take(self, machine: Machine, where: Location) -> None:
        """Bind names, write variables, return."""
        make = machine.make
        for name, value in self.bound.items():
            machine.frame.locals[name] = value
        for name, (wrote, value) in self.written.items():
            old = machine.values[name]
            machine.values[name] = make.choice(wrote, make.written(value, where), old)
        if self.returns:
            frame = machine.frame
            frame.result = make.choice(self.returned, self.result, frame.result)
            frame.returned = make.either(frame.returned, self.returned)


class _Picker:
    """Takes one part out of a piece's results."""

    _made: dict[tuple[int, str, bool], _Picker] = {}

    def __new__(cls, part: int, name: str = "", has: bool = False) -> _Picker:
        key = (part, name, has)
        if key not in cls._made:
            cls._made[key] = super().__new__(cls)
        return cls._made[key]

    def __init__(self, part: int, name: str = "", has: bool = False) -> None:
        self.part, self.name, self.has = part, name, has
        self.__name__ = f"has_{name}" if has else name or ("returned", "result")[part]

    def __call__(self, outcome: Any) -> Any:
        if self.part < 2:
            return outcome[self.part]
        named = dict(outcome[self.part])
        return self.name in named if self.has else named[self.name]


def _tabulate(
    machine: Machine, statement: ast.stmt, shown: ast.AST, reason: NotUnderstood
) -> _Found:
    purity.check_piece(machine, shown)
    _check_handlers(machine, shown)
    inputs = _Inputs(machine, shown, reason)
    body = [*inputs.definitions(), copy.deepcopy(statement)]
    module = ast.Module([_Rewriter().visit(part) for part in body], [])
    code = compile(ast.fix_missing_locations(module), machine.frame.source.file, "exec")
    text = ast.unparse(shown).splitlines()[0]
    while True:
        try:
            node = _as_function(machine, inputs, code, text, machine.where(shown))
            return _Found(machine, node, machine.where(shown))
        except Unforeseen as missing:
            inputs.add_variable(missing.name, shown)


def _check_handlers(machine: Machine, root: ast.AST) -> None:
    """`except E as name` unbinds the name at its end, which the results of a piece do not show."""
    for node in ast.walk(root):
        if isinstance(node, ast.ExceptHandler) and node.name in machine.frame.locals:
            what = f"the exception is named '{node.name}', as something else is"
            raise NotUnderstood(what, machine.where(node), "Give it a name of its own")


def _as_function(
    machine: Machine, inputs: _Inputs, code: CodeType, text: str, where: Location
) -> Expression:
    """The piece over the variables below its inputs, on its path; or over its inputs."""
    values = list(inputs.symbolic.values())
    path = machine.path
    below = _reads_below([*values, *(test for test, _ in path)])
    names = [node.variable for node in below]

    def over_variables(*given: Any) -> Any:
        state = {n: UNDEFINED if v is FAILED else v for n, v in zip(names, given, strict=True)}
        memo: dict[int, Any] = {}
        if any(bool(evaluate(test, state, memo)) is not held for test, held in path):
            raise Failure
        return inputs.run(code, [_value_or_failed(value, state, memo) for value in values])

    if _count(machine, below) <= LIMIT:
        arguments: tuple[Expression, ...] = tuple(below)
        piece = Piece(text, over_variables)
    else:
        arguments = tuple(values)
        piece = Piece(text, lambda *given: inputs.run(code, list(given)))
    found = machine.make.apply(piece, *arguments, where=where, lazy=True)
    machine.tabulated(found, where)
    purity.check_results(machine, found, where)
    table = machine.tables.of(found)
    if not arguments and not table.fails:
        return machine.make.constant(table.values[0])
    return machine.computed(found)


def _value_or_failed(node: Expression, state: dict[str, Any], memo: dict[int, Any]) -> Any:
    try:
        return evaluate(node, state, memo)
    except Exception:
        return FAILED


def _reads_below(nodes: list[Expression]) -> list[Read]:
    return [node for node in walk(*nodes) if isinstance(node, Read)]


def _count(machine: Machine, nodes: list[Read]) -> int:
    return math.prod(machine.tables.of(node).codes for node in nodes)


class _Inputs:
    """What a piece of syntax depends on, and how to run it in one state."""

    def __init__(self, machine: Machine, root: ast.AST, reason: NotUnderstood) -> None:
        self.machine = machine
        self.reason = reason
        self.symbolic: dict[tuple[str, str], Expression] = {}
        self._constants: dict[str, Any] = {}
        self._states: set[str] = set()
        self._functions: dict[str, LocalFunction] = {}
        self._collect(root)

    def _collect(self, root: ast.AST, free: set[str] | None = None) -> None:
        for node in ast.walk(root):
            if isinstance(node, ast.Name) and (free is None or node.id in free):
                self._add_name(node.id)
            if isinstance(node, (ast.Attribute, ast.Subscript)) and self._is_state(node.value):
                self._add_access(node)
            elif isinstance(node, ast.Call):
                self._add_call(node)
        self._check_bare_states(root)

    def _add_name(self, name: str) -> None:
        from weft.language.frontend.values import find

        found = self.machine.settled(find(self.machine, name))
        if found is None or name in self._constants or name in self._functions:
            return
        if found is STATE:
            self._states.add(name)
        elif isinstance(found, LocalFunction):
            self._functions[name] = found
            self._add_function(name, found)
        elif isinstance(found, Constant):
            self._constants[name] = found.value
        elif isinstance(found, Expression):
            self.symbolic["local", name] = self.machine.known(found)

    def _add_function(self, name: str, function: LocalFunction) -> None:
        """A function is defined again where the piece runs: its names must mean the same there."""
        from weft.language.frontend.values import find, find_from

        machine, free = self.machine, _free_names(function.node)
        if any(find(machine, n) is not find_from(machine, function.frame, n) for n in free):
            raise self.reason
        for place, default in enumerate(function.defaults):
            if not isinstance(default, Expression):
                raise self.reason
            self.symbolic["local", _default_name(name, place)] = default
        self._collect(function.node, free)

    def _is_state(self, node: ast.AST) -> bool:
        from weft.language.frontend.values import find

        return isinstance(node, ast.Name) and find(self.machine, node.id) is STATE

    def _add_access(self, node: ast.Attribute | ast.Subscript) -> None:
        assert isinstance(node.value, ast.Name)
        variable = state_name(node, node.value.id)
        if variable is not None:  # a computed name is found when the piece is executed
            self.add_variable(variable, node, not isinstance(node.ctx, ast.Load))

    def _add_call(self, node: ast.Call) -> None:
        for place, argument in enumerate(node.args):
            if self._is_state(argument):
                owner = self.machine.frame.function
                helper = resolve(owner, node.func) if isinstance(owner, FunctionType) else None
                for access in accesses(helper, place) if helper is not None else ():
                    self.add_variable(access.name, node, access.writes)

    def add_variable(self, name: str, node: ast.AST, writes: bool = False) -> None:
        """Let the piece use a variable."""
        machine = self.machine
        if name not in machine.variables:
            raise unknown_variable(machine, name, machine.where(node))
        if writes and machine.variables[name].is_head:
            raise head_write_error(machine.owner, name, machine.where(node))
        self.symbolic["variable", name] = machine.known(machine.plain(machine.values[name]))

    def _check_bare_states(self, root: ast.AST) -> None:
        """The state may be read, written and handed to a helper; anything else cannot be seen."""
        fine: set[int] = set()
        for node in ast.walk(root):
            if isinstance(node, (ast.Attribute, ast.Subscript)):
                fine.add(id(node.value))
            elif isinstance(node, ast.Call):
                fine |= {id(argument) for argument in node.args}
        for node in ast.walk(root):
            if isinstance(node, ast.Name) and node.id in self._states and id(node) not in fine:
                raise self.reason

    def definitions(self) -> Iterator[ast.stmt]:
        """The functions defined in the step that the piece uses, defined again."""
        for name, function in self._functions.items():
            node = copy.deepcopy(function.node)
            node.args.defaults = [
                ast.Name(_default_name(name, place), ast.Load())
                for place in range(len(function.defaults))
            ]
            if isinstance(node, ast.Lambda):
                yield ast.Assign(targets=[ast.Name(name, ast.Store())], value=node, lineno=1)
            else:
                yield node

    def run(self, code: CodeType, values: list[Any]) -> Any:
        """Execute the piece where its inputs have these values."""
        frame = self.machine.frame
        around = frame.function.__globals__ if frame.function is not None else {}
        given = dict(zip(self.symbolic, values, strict=True))
        variables = {name: value for (kind, name), value in given.items() if kind == "variable"}
        box = Box(variables)
        names = {
            name: value
            for (kind, name), value in given.items()
            if kind == "local" and value is not FAILED
        }
        start = {**self._constants, **names, **dict.fromkeys(self._states, box)}
        ticker = _Ticker(self.machine)
        own = {RETURN: Returned, TICK: ticker.tick, OVER: ticker.over}
        space = {**around, **frame.names, **start, **own}
        for kind, name in given:  # a local name that has no value hides a global one
            if kind == "local" and name not in names:
                space.pop(name, None)
        returned, result = False, None
        before = dict(space)
        try:
            exec(code, space)
        except Returned as end:
            returned, result = True, end.value
        if ticker.rounds > ROUNDS:  # nor may a handler of the piece take this one
            raise Failure("a loop does not end")
        _, written, missing = box.__content__
        if missing:  # a handler of the piece may have taken the exception
            raise Unforeseen(missing[0])
        bound = tuple(
            (name, value)
            for name, value in space.items()
            if (
                name not in self._functions
                and not name.startswith("__")
                and (name not in before or before[name] is not value)
            )
            or name == VALUE
        )
        return returned, result, bound, tuple(sorted(written.items()))


def _default_name(function: str, place: int) -> str:
    return f"__weft_default_{function}_{place}"


def _free_names(node: ast.FunctionDef | ast.Lambda) -> set[str]:
    """The names in a function that stand for something outside of it."""
    bare = copy.deepcopy(node)
    bare.args.defaults = [ast.Constant(None) for _ in bare.args.defaults]
    stack = symtable.symtable(ast.unparse(bare), "function", "exec").get_children()
    found: set[str] = set()
    while stack:
        table = stack.pop()
        found |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()}
        stack.extend(table.get_children())
    return found


class _Ticker:
    """Counts the rounds of loops, so that a piece that never ends is given up."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.rounds = 0

    def over(self, items: Iterable[Any]) -> Iterator[Any]:
        """The items of a loop that ends by itself, counted."""
        for item in items:
            self.machine.spend(1)
            yield item

    def tick(self) -> None:
        self.rounds += 1
        self.machine.spend(1)
        if self.rounds > ROUNDS:
            raise Failure("a loop does not end")


class _Rewriter(ast.NodeTransformer):
    """Makes a piece fit to run on its own: returns are raised, rounds of loops counted."""

    def visit_Return(self, node: ast.Return) -> ast.AST:
        call = ast.Call(ast.Name(RETURN, ast.Load()), [node.value] if node.value else [], [])
        return ast.copy_location(ast.Raise(exc=call, cause=None), node)

    def visit_While(self, node: ast.While) -> ast.AST:
        self.generic_visit(node)
        tick = ast.Expr(ast.Call(ast.Name(TICK, ast.Load()), [], []))
        node.body.insert(0, ast.copy_location(tick, node))
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.iter = _counted(node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        node.iter = _counted(node.iter)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return _InnerRewriter().generic_visit(node)


def _counted(items: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name(OVER, ast.Load()), [items], []), items)


class _InnerRewriter(_Rewriter):
    """Within a function a `return` is just that."""

    def visit_Return(self, node: ast.Return) -> ast.AST:
        return self.generic_visit(node)


def _own_jumps(node: ast.AST) -> Iterator[ast.AST]:
    """The `break` and `continue` that leave the piece itself, not a loop within it."""
    if isinstance(node, (ast.Break, ast.Continue)):
        yield node
    elif isinstance(node, (ast.For, ast.While)):
        for statement in node.orelse:
            yield from _own_jumps(statement)
    elif not isinstance(node, (ast.FunctionDef, ast.Lambda)):
        for child in ast.iter_child_nodes(node):
            yield from _own_jumps(child)


def _catches_all(root: ast.AST) -> bool:
    """Whether a handler would also catch the exception that stands for `return`."""
    has_return = any(isinstance(node, ast.Return) for node in ast.walk(root))
    return has_return and any(
        isinstance(node, ast.ExceptHandler)
        and (node.type is None or "BaseException" in ast.unparse(node.type))
        for node in ast.walk(root)
    )
