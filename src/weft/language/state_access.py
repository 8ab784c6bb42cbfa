"""What a function does with its state, without running it: which variables it names, what escapes.

`step`, the functions defined in it and the helpers that it hands its state to are searched for
`z.name` and `z["name"]`. A state is for that, for handing on to a function that can be read, and
for giving it another name. Anything else (`str(z)`, `[z]`, `return z`) is an escape: what it gives
depends on the object that stands for the state, not on the variables.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import FunctionType, MethodType
from typing import Any

from weft.errors import Location, WeftError
from weft.language.source import FunctionSource, free_variables, function_source

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
FUNCTION_NODES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
SCOPES = (*FUNCTION_NODES, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


NOT_PLAIN = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
"""Flags of functions whose calls do not execute their bodies."""


@dataclass(frozen=True)
class Access:
    """One mention of a variable."""

    name: str
    writes: bool
    where: Location


@dataclass(frozen=True)
class Escape:
    """One use of the state as a value."""

    what: str
    where: Location


def escape_error(owner: str, escape: Escape) -> WeftError:
    """The error for a step that uses its state as a value."""
    return WeftError(
        f"the state escapes: {escape.what}",
        subject=f"{owner}.step",
        where=escape.where,
        remedy="Read and write its variables, or hand it to a helper whose source can be read",
    )


def state_name(node: ast.AST, state: str) -> str | None:
    """The variable in `z.name` or `z["name"]`; None if the node is something else."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=variable) if name == state:
            return variable
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(variable))) if (
            name == state
        ):
            return variable
    return None


def uses(function: Any, parameter: int) -> Iterator[Access | Escape]:
    """Everything that a function does with the state passed as the given parameter."""
    yield from _uses(function, parameter, set())


def unreadable(function: Any) -> str | None:
    """Why a function cannot be given the state; None if it can: what it does can be seen."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", None) or type(function).__name__
    plain = function.__func__ if isinstance(function, MethodType) else function
    if not isinstance(plain, FunctionType):
        return f"it is given to {name}, whose source cannot be read"
    if plain.__code__.co_flags & NOT_PLAIN:
        return f"it is given to {name}, which is a generator or asynchronous"
    return None


def _uses(function: Any, parameter: int, seen: set[Any]) -> Iterator[Access | Escape]:
    around: dict[str, Any] = {}
    if isinstance(function, MethodType):
        bound, function, parameter = function.__self__, function.__func__, parameter + 1
        source = function_source(function)
        if source is not None and source.parameters:
            around[source.parameters[0]] = bound
    source = function_source(function)
    if source is None or (function, parameter) in seen or parameter >= len(source.parameters):
        return
    seen.add((function, parameter))
    yield from _Search(function, source, around, source.parameters[parameter], seen).run()


@dataclass
class _Scope:
    """The names of a function: what each is bound to (None: something that is not seen)."""

    node: ast.AST
    outer: _Scope | None
    bound: dict[str, list[ast.AST | None]] = field(default_factory=dict)
    states: set[str] = field(default_factory=set)  # parameters that are given the state

    def home(self, name: str) -> _Scope | None:
        """The scope that binds a name, from the inside out."""
        scope: _Scope | None = self
        while scope is not None and name not in scope.bound:
            scope = scope.outer
        return scope


class _Search:
    """One function with all that is defined within it."""

    def __init__(
        self,
        function: FunctionType,
        source: FunctionSource,
        around: Mapping[str, Any],
        state: str,
        seen: set[Any],
    ) -> None:
        self.function, self.source, self.around, self.seen = function, source, around, seen
        self.state = state
        self.scopes: dict[int, _Scope] = {}
        self._visiting: set[tuple[int, str]] = set()
        self.parents: dict[int, ast.AST] = {}
        root = self._collect(source.node, None)
        root.states.add(state)
        self.nodes = [(node, self._scope_of(node)) for node in ast.walk(source.node)]
        declared = [n for n, _ in self.nodes if isinstance(n, (ast.Global, ast.Nonlocal))]
        self.elsewhere = {name for node in declared for name in node.names}

    # Names and what they are bound to

    def _collect(self, node: ast.AST, outer: _Scope | None) -> _Scope:
        scope = self.scopes[id(node)] = _Scope(node, outer)
        if isinstance(node, FUNCTION_NODES):
            given = node.args
            for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs):
                scope.bound[argument.arg] = []
            for rest in (given.vararg, given.kwarg):
                if rest is not None:
                    scope.bound[rest.arg] = [None]
        for child in ast.iter_child_nodes(node):
            self._collect_within(child, node, scope)
        return scope

    def _collect_within(self, node: ast.AST, parent: ast.AST, scope: _Scope) -> None:
        self.parents[id(node)] = parent
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._bind(scope, target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._bind(scope, target, value)
            case ast.NamedExpr(target=target, value=value):
                self._bind(scope, target, value)
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                for name in _stored(target):
                    scope.bound.setdefault(name, []).append(_Items(value))
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                scope.bound.setdefault(name, []).append(node)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if name not in scope.bound:
                scope.bound[name] = [None]
        if isinstance(node, SCOPES):
            self._collect(node, scope)
            return
        for child in ast.iter_child_nodes(node):
            self._collect_within(child, node, scope)

    def _bind(self, scope: _Scope, target: ast.expr, value: ast.AST) -> None:
        if isinstance(target, ast.Name):
            scope.bound.setdefault(target.id, []).append(value)
        for name in _stored(target) if not isinstance(target, ast.Name) else ():
            scope.bound.setdefault(name, []).append(None)

    def _scope_of(self, node: ast.AST) -> _Scope:
        """The scope in which a node is evaluated; defaults belong to the outer one."""
        while id(node) in self.parents:
            child, node = node, self.parents[id(node)]
            if isinstance(node, FUNCTION_NODES):
                body = node.body if isinstance(node.body, list) else [node.body]
                if not any(child is part for part in body):
                    continue
            if isinstance(node, ast.comprehension) and child is node.iter:
                owner = self.parents[id(node)]
                if owner.generators[0] is node:  # type: ignore[attr-defined]
                    node = owner  # the first iterable is evaluated outside
                    continue
            if id(node) in self.scopes:
                return self.scopes[id(node)]
        return self.scopes[id(self.source.node)]

    def _is_state(self, node: ast.AST | None, scope: _Scope) -> bool:
        """Whether an expression is the state under one of its names."""
        result = list(self._origins(node, scope))
        return bool(result) and all(result)

    def _origins(self, node: ast.AST | None, scope: _Scope) -> Iterator[bool]:
        """For each thing that an expression may be, whether that is the state."""
        match node:
            case ast.Name(id=name) if (home := scope.home(name)) is not None:
                if name not in home.states:
                    for bound in self._bound(home, name):
                        yield from self._origins(bound, home)
                else:  # a parameter that is bound again is left to the front end
                    yield not home.bound[name]
            case ast.IfExp(body=body, orelse=orelse):
                yield from self._origins(body, scope)
                yield from self._origins(orelse, scope)
            case ast.NamedExpr(value=value):
                yield from self._origins(value, scope)
            case _:
                yield False

    def _bound(self, home: _Scope, name: str) -> Iterator[ast.AST | None]:
        """What a name is bound to; nothing while that is being looked at, as in `q = q`."""
        key = (id(home), name)
        if key not in self._visiting:
            self._visiting.add(key)
            yield from home.bound[name]
            self._visiting.discard(key)

    # Functions that are given the state

    def run(self) -> Iterator[Access | Escape]:
        """All uses; first it is found out which inner functions are given the state."""
        calls = [(node, scope) for node, scope in self.nodes if isinstance(node, ast.Call)]
        before = -1
        while before != (before := sum(len(scope.states) for scope in self.scopes.values())):
            for call, scope in calls:
                self._hand_on(call, scope)
            for node, scope in self.nodes:
                if isinstance(node, FUNCTION_NODES):
                    self._give_defaults(node, scope)
        for node, scope in self.nodes:
            yield from self._uses_at(node, scope)

    def _hand_on(self, call: ast.Call, scope: _Scope) -> None:
        for function in self._local_functions(call.func, scope):
            inner, given = self.scopes[id(function)], function.args
            names = [argument.arg for argument in (*given.posonlyargs, *given.args)]
            for name, argument in zip(names, call.args, strict=False):
                if self._is_state(argument, scope):
                    inner.states.add(name)
            for keyword in call.keywords:
                if keyword.arg in inner.bound and self._is_state(keyword.value, scope):
                    inner.states.add(keyword.arg or "")

    def _give_defaults(self, node: FunctionNode, scope: _Scope) -> None:
        names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        for name, default in zip(reversed(names), reversed(node.args.defaults), strict=False):
            if self._is_state(default, scope):
                self.scopes[id(node)].states.add(name)

    def _local_functions(self, node: ast.AST | None, scope: _Scope) -> list[FunctionNode]:
        """The functions of this function's own text that an expression may be."""
        if isinstance(node, FUNCTION_NODES):
            return [node]
        sides: list[ast.expr] = []
        if isinstance(node, ast.IfExp):
            sides = [node.body, node.orelse]
        elif isinstance(node, _Items) and isinstance(node.value, (ast.Tuple, ast.List, ast.Set)):
            sides = node.value.elts
        if sides:
            return [function for side in sides for function in self._local_functions(side, scope)]
        home = scope.home(node.id) if isinstance(node, ast.Name) else None
        if home is None or not isinstance(node, ast.Name):
            return []
        result = [self._local_functions(bound, home) for bound in self._bound(home, node.id)]
        return [function for functions in result for function in functions]

    def _outer_functions(self, node: ast.AST | None, scope: _Scope) -> Iterator[Any]:
        """The objects from outside that an expression surely or possibly is."""
        match node:
            case ast.IfExp(body=body, orelse=orelse):
                yield from self._outer_functions(body, scope)
                yield from self._outer_functions(orelse, scope)
            case ast.Name(id=name) if (home := scope.home(name)) is not None:
                if name in self.around and not home.bound[name]:
                    yield self.around[name]
                for bound in self._bound(home, name):
                    yield from self._outer_functions(bound, home)
            case _Items(value=ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items)):
                for item in items:
                    yield from self._outer_functions(item, scope)
            case ast.Attribute(value=owner, attr=attribute):
                for result in self._outer_functions(owner, scope):
                    if hasattr(result, attribute):
                        yield getattr(result, attribute)
            case ast.Constant(value=value):
                yield value
            case ast.Name():
                result = resolve(self.function, node)
                if result is not None:
                    yield result

    # Uses

    def _uses_at(self, node: ast.AST, scope: _Scope) -> Iterator[Access | Escape]:
        match node:
            case ast.Attribute(value=owner) | ast.Subscript(value=owner):
                yield from self._access(node, owner, scope)
            case ast.Call(func=callee):
                yield from self._call(node, callee, scope)
            case ast.Name() if self._is_state(node, scope):
                what = self._escape(node, scope)
                if what is not None:
                    yield Escape(what, self.source.location(node))

    def _access(
        self, node: ast.Attribute | ast.Subscript, owner: ast.expr, scope: _Scope
    ) -> Iterator[Access]:
        if not isinstance(owner, ast.Name):
            return
        home = scope.home(owner.id)
        is_parameter = home is not None and owner.id in home.states
        variable = state_name(node, owner.id)
        if variable is not None and (is_parameter or self._is_state(owner, scope)):
            yield Access(variable, not isinstance(node.ctx, ast.Load), self.source.location(node))

    def _call(self, node: ast.Call, callee: ast.expr, scope: _Scope) -> Iterator[Access | Escape]:
        places = [p for p, argument in enumerate(node.args) if self._is_state(argument, scope)]
        named = [k.arg for k in node.keywords if k.arg and self._is_state(k.value, scope)]
        if not places and not named:
            return
        for local in self._local_functions(callee, scope):
            if _into_rest(local.args, places, named):
                yield Escape("it is stored", self.source.location(node))
                return
        for function in self._outer_functions(callee, scope):
            why = unreadable(function) if callable(function) else None
            if why is not None:
                yield Escape(why, self.source.location(node))
                return
            source = function_source(getattr(function, "__func__", function))
            offset = isinstance(function, MethodType)
            if source is not None and _into_rest(
                source.node.args, [p + offset for p in places], named
            ):
                yield Escape("it is stored", self.source.location(node))
                return
            parameters = source.parameters[offset:] if source is not None else []
            for place in (*places, *(parameters.index(n) for n in named if n in parameters)):
                yield from _uses(function, place, self.seen)

    def _escape(self, node: ast.expr, scope: _Scope) -> str | None:
        """What is done with the state here, if it is not something that a state is for."""
        if not isinstance(node.ctx, ast.Load):  # type: ignore[attr-defined]
            return "it is deleted" if isinstance(node.ctx, ast.Del) else None  # type: ignore[attr-defined]
        inner: ast.AST = node
        parent = self.parents[id(inner)]
        while isinstance(parent, (ast.IfExp, ast.NamedExpr)) and self._is_state(parent, scope):
            inner, parent = parent, self.parents[id(parent)]
        match parent:
            case ast.Attribute() | ast.Subscript(value=ast.Name()) if parent.value is inner:
                return None
            case ast.Call(func=callee):
                return "it is called" if callee is inner else None
            case ast.keyword(arg=str()):
                return None
            case ast.Assign(targets=targets):
                return None if all(self._is_local(t) for t in targets) else "it is stored"
            case ast.AnnAssign(target=target) | ast.NamedExpr(target=target):
                return None if self._is_local(target) else "it is stored"
            case ast.arguments():
                return None
            case ast.Return() | ast.Lambda():
                return "it is returned"
            case ast.FormattedValue():
                return "it is written out as text"
            case ast.Tuple() | ast.List() | ast.Set() | ast.Dict() | ast.Starred():
                return "it is stored"
        return "it is used as a value"

    def _is_local(self, target: ast.expr) -> bool:
        return isinstance(target, ast.Name) and target.id not in self.elsewhere


class _Items(ast.expr):
    """One of the items of an expression that a loop goes over."""

    _fields = ("value",)
    __match_args__ = ("value",)

    def __init__(self, value: ast.expr) -> None:
        super().__init__()
        self.value = value


def _into_rest(given: ast.arguments, places: list[int], names: list[str]) -> bool:
    """Whether arguments at these places and of these names end up in `*args` or `**kwargs`."""
    known = [argument.arg for argument in (*given.posonlyargs, *given.args)]
    keywords = {*known, *(argument.arg for argument in given.kwonlyargs)}
    many = given.vararg is not None and any(place >= len(known) for place in places)
    return many or (given.kwarg is not None and any(name not in keywords for name in names))


def _stored(target: ast.AST) -> list[str]:
    return [
        node.id
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


def resolve(function: FunctionType, node: ast.expr) -> Any:
    """The object that a name or dotted name stands for in a function; None if unknown."""
    if isinstance(node, ast.Attribute):
        owner = resolve(function, node.value)
        return None if owner is None else getattr(owner, node.attr, None)
    if not isinstance(node, ast.Name):
        return None
    closure = free_variables(function)
    if node.id in closure:
        return closure[node.id]
    return function.__globals__.get(node.id, getattr(builtins, node.id, None))
